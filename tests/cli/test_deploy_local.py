"""det deploy local with the real programs: a cluster comes up, works, and leaves nothing behind."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile

import conftest
import pytest
from support.cluster import wait_for
from support.ports import free_port
from test_terminal import Terminal

pytestmark = pytest.mark.skipif(not (conftest.BUILD / "determined-master").exists() or not (conftest.BUILD / "determined-agent").exists(),
                                reason="the master or the agent is not built")


@pytest.fixture
def tmp_path():
    """pytest's own directories are closed to the user that tasks of a root agent run as."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield pathlib.Path(directory)


@pytest.fixture
def cluster(tmp_path):
    port = free_port()
    det = conftest.Det(f"localhost:{port}", tmp_path / "config")
    det.environment |= {"XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path)}
    for name in ("DET_USER", "DET_PASS"):
        det.environment.pop(name)
    det.port, det.directory = str(port), tmp_path / "data" / "determined" / "determined"
    yield det
    det.run("deploy", "local", "cluster-down")


def processes_of(cluster):
    """Commands of running processes that name the cluster's directory."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = open(f"/proc/{pid}/cmdline").read()
        except OSError:
            continue
        if str(cluster.directory) in command:
            found.append(command.replace("\0", " "))
    return found


# A task that ends when it is paused: for one that does not, det waits half a minute (the next test).
HEEDS_A_PAUSE = """
import time
from determined import core

with core.init() as context:
    print("it runs", flush=True)
    while not context.preempt.should_preempt():
        time.sleep(0.05)
"""


def test_cluster_comes_up_works_and_goes_down(cluster, tmp_path):
    up = cluster("deploy", "local", "cluster-up", "--master-port", cluster.port, "--agents", 2)
    assert f"http://localhost:{cluster.port}" in up and str(cluster.directory) in up
    assert (cluster.directory / "master").stat().st_mode & 0o777 == 0o700
    assert cluster("user", "whoami") == "You are logged in as user 'determined'\n"
    assert len(json.loads(cluster("agent", "list", "--json"))) == 2

    again = cluster.run("deploy", "local", "cluster-up", "--master-port", cluster.port)
    assert again.returncode == 1 and "is up already: its master is process" in again.stderr
    taken = cluster.run("deploy", "local", "cluster-up", "--master-port", cluster.port, "--cluster-name", "other")
    assert taken.returncode == 1 and "is taken by another program" in taken.stderr

    project = tmp_path / "project"
    project.mkdir()
    (project / "main.py").write_text(HEEDS_A_PAUSE)
    (project / "config.yaml").write_text("name: long\nentrypoint: python3 main.py\nsearcher: {name: single, metric: loss}\n")
    cluster("experiment", "create", project / "config.yaml", project)
    with subprocess.Popen([conftest.BUILD / "det", "experiment", "logs", "-f", "1"], stdout=subprocess.PIPE, text=True, env=cluster.environment) as logs:
        assert any("it runs" in line for line in logs.stdout)
        logs.kill()
    assert any("determined-task" in command for command in processes_of(cluster))

    assert cluster("deploy", "local", "cluster-down") == "Paused experiment 1\nCluster 'determined' is down.\n"
    assert processes_of(cluster) == []
    assert cluster("deploy", "local", "cluster-down") == "Cluster 'determined' is down.\n"


def test_cluster_down_asks_about_what_runs_and_pauses_it(cluster, tmp_path):
    cluster("deploy", "local", "cluster-up", "--master-port", cluster.port)
    (tmp_path / "config.yaml").write_text("name: long\nentrypoint: sleep 600\nsearcher: {name: single, metric: loss}\n")
    cluster("experiment", "create", tmp_path / "config.yaml")

    def state():
        return json.loads(cluster("experiment", "list", "--json"))[0]["state"]

    asked = Terminal(cluster, "deploy", "local", "cluster-down")
    asked.wait_for("Stop the cluster? [y/n]: ")
    assert "1 experiment is running" in asked.text() and "They are paused" in asked.text()
    os.write(asked.ours, b"n\n")
    assert "The cluster stays up." in asked.end() and asked.status == 0
    assert state() not in ("STATE_PAUSED", "STATE_CANCELED")

    asked = Terminal(cluster, "deploy", "local", "cluster-down", "-y")
    shown = asked.end()  # the task heeds no request to stop: det says that it waits, and then ends it
    assert shown.startswith("Paused experiment 1\n") and shown.endswith("Cluster 'determined' is down.\n")
    cluster("deploy", "local", "cluster-up", "--master-port", cluster.port)
    assert state() == "STATE_PAUSED"
    cluster("experiment", "activate", 1)
    assert "Killed experiment 1\n" in cluster("deploy", "local", "cluster-down", "--kill")
    cluster("deploy", "local", "cluster-up", "--master-port", cluster.port)
    assert state() == "STATE_CANCELED"


def test_agents_that_the_master_has_launched_go_down_with_it(cluster, tmp_path):
    (tmp_path / "master.yaml").write_text(json.dumps({"resource_pools": [
        {"pool_name": "default", "provider": {"type": "local", "min_instances": 2, "max_instances": 2}}]}))
    cluster("deploy", "local", "cluster-up", "--master-port", cluster.port, "--agents", 0, "--master-config-path", tmp_path / "master.yaml")
    wait_for("both agents", lambda: len(json.loads(cluster("agent", "list", "--json"))) == 2)
    assert sum("master-instances" in command for command in processes_of(cluster)) == 2
    cluster("deploy", "local", "cluster-down")
    assert processes_of(cluster) == []
    assert not (cluster.directory / "master-instances").exists()


def test_tasks_run_with_the_active_virtual_environment(cluster, tmp_path):
    venv = tmp_path / "venv" / "bin"
    venv.mkdir(parents=True)
    (venv / "say").write_text("#!/bin/sh\necho from the venv\n")
    (venv / "say").chmod(0o755)
    cluster("deploy", "local", "cluster-up", "--master-port", cluster.port, VIRTUAL_ENV=str(venv.parent))
    (tmp_path / "config.yaml").write_text("name: venv\nentrypoint: say\nsearcher: {name: single, metric: loss}\nmax_restarts: 0\n")
    assert "from the venv" in cluster("experiment", "create", tmp_path / "config.yaml", "-f")


def test_data_outlives_the_cluster_until_it_is_deleted(cluster):
    first = cluster("deploy", "local", "master-up", "--master-port", cluster.port, "--initial-user-password", "Chosen123")
    assert "You are logged in" in first
    cluster("deploy", "local", "master-down")
    cluster("deploy", "local", "master-up", "--master-port", cluster.port)
    assert cluster("user", "whoami") == "You are logged in as user 'determined'\n"
    cluster("deploy", "local", "master-down", "--delete-db")
    assert not (cluster.directory / "master").exists()


def test_master_that_cannot_start_shows_its_log(cluster, tmp_path):
    (tmp_path / "master.yaml").write_text("nonsense: 1\n")
    done = cluster.run("deploy", "local", "master-up", "--master-port", cluster.port, "--master-config-path", tmp_path / "master.yaml")
    assert done.returncode == 1 and "nonsense" in done.stderr and "master.log" in done.stderr
    assert processes_of(cluster) == []


def test_logs_of_the_cluster(cluster):
    assert cluster.run("deploy", "local", "logs", "--no-follow").returncode == 1
    cluster("deploy", "local", "cluster-up", "--master-port", cluster.port)
    text = cluster("deploy", "local", "logs", "--no-follow")
    assert "master | " in text and "agent-0 | " in text


def pid_of(cluster, name):
    return int((cluster.directory / f"{name}.pid").read_text().split()[0])


def end_of(pid):
    return lambda: not os.path.exists(f"/proc/{pid}") or open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z"


def connected(cluster):
    return sorted(a["id"] for a in json.loads(cluster("agent", "list", "--json")) if a["registered_time"])


@pytest.mark.parametrize("what", ["agent-1", "master"])
def test_cluster_up_after_a_crash_starts_what_is_missing(cluster, what):
    cluster("deploy", "local", "cluster-up", "--master-port", cluster.port, "--agents", 2)
    kept = {name: pid_of(cluster, name) for name in ("master", "agent-0", "agent-1") if name != what}
    crashed = pid_of(cluster, what)
    os.kill(crashed, signal.SIGKILL)
    wait_for("its end", end_of(crashed))
    cluster("deploy", "local", "cluster-up", "--master-port", cluster.port, "--agents", 2)
    wait_for("both agents", lambda: connected(cluster) == ["agent-0", "agent-1"])
    assert {name: pid_of(cluster, name) for name in kept} == kept


def test_agents_of_a_cluster_whose_database_was_deleted_join_the_new_one(cluster):
    for _ in range(3):  # so that the old cluster has had more starts than the new one
        cluster("deploy", "local", "cluster-up", "--master-port", cluster.port)
        cluster("deploy", "local", "cluster-down")
    cluster("deploy", "local", "cluster-up", "--master-port", cluster.port, "--delete-db")
    assert connected(cluster) == ["agent-0"]
    master = pid_of(cluster, "master")
    os.kill(master, signal.SIGKILL)  # the agent goes on, with the old cluster's token and tasks
    wait_for("its end", end_of(master))
    cluster("deploy", "local", "cluster-up", "--master-port", cluster.port, "--delete-db")
    wait_for("the agent", lambda: connected(cluster) == ["agent-0"])


def test_agent_up_goes_where_det_master_says(cluster):
    cluster("deploy", "local", "cluster-up", "--master-port", cluster.port, "--agents", 0)
    assert cluster.environment["DET_MASTER"].endswith(f":{cluster.port}")
    cluster("deploy", "local", "agent-up", "localhost", "--agent-name", "extra")
    wait_for("the agent", lambda: connected(cluster) == ["extra"])
