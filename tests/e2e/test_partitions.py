"""A network that is cut for longer than either side waits for a word: what tasks behind the cut do, that log lines are stored once, and that no
slot stays taken. Hosts are network namespaces."""
import contextlib
import pathlib
import re
import subprocess

import pytest
from support.cluster import Cluster, wait_for
from support.experiments import log_of, the_trial, wait_no_supervisors, wait_slots_free
from support.hosts import COUNTING, counted, open_place, over, pulled, start_on

TIMEOUT = "4s"  # agent_link_timeout; the shortest that there is


@pytest.fixture
def place(tmp_path):
    return open_place(tmp_path)


@contextlib.contextmanager
def cluster_of(tmp_path, hosts, patience, agents):
    config = {"resource_manager": {"type": "agent", "agent_link_timeout": TIMEOUT},
              "resource_pools": [{"pool_name": "default", "agent_reconnect_wait": patience}]}
    directory = tmp_path / "cluster"
    directory.mkdir()
    with Cluster(directory, config=config) as c:
        start_on(c, hosts, agents)
        yield c


def agent_log(cluster, i):
    return (cluster.dir / f"host{i}.log").read_text()


def wait_cut(cluster, i):
    """Waits until both ends have given the connection up."""
    wait_for("the master to give the connection up", lambda: f"agent.disconnected id=host{i}" in cluster.master_log())
    wait_for("the agent to give the connection up", lambda: "link.down" in agent_log(cluster, i))


def lines(cluster, experiment, run, rank):
    return [int(n) for n in re.findall(rf"line {run} {rank} (\d+)", log_of(cluster, experiment))]


def tasks_of(hosts, i):
    """Process ids of trials' programs on a host."""
    pids = subprocess.run(["ip", "netns", "pids", hosts.names[i]], capture_output=True, text=True, check=True).stdout.split()
    return [pid for pid in pids if b"t.py" in program(pid)]


def program(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def both(place, run=1, more=5):
    return counted(place, 0, run) > more and counted(place, 1, run) > more


def test_a_task_goes_on_if_its_agent_comes_back_in_time(hosts, place, tmp_path):
    with cluster_of(tmp_path, hosts, "10m", 2) as cluster:
        x = over(cluster, 2, COUNTING, PLACE=place)
        wait_for("both ranks", lambda: both(place))
        for cut in (1, 2):
            with pulled(hosts, 1):
                wait_for("the cut to be noticed", lambda cut=cut: cluster.master_log().count("agent.disconnected id=host1") == cut)
                wait_for("the agent to notice, too", lambda cut=cut: agent_log(cluster, 1).count("no word from the peer for 4 s") == cut)
                reached = [counted(place, r) for r in (0, 1)]
                wait_for("both to go on", lambda reached=reached: all(counted(place, r) > reached[r] + 50 for r in (0, 1)))
            wait_for("the agent to be back", lambda: cluster.get("/api/v1/agents/host1").json["agent"]["registeredTime"])
        (place / "end").write_text("")
        assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
        for rank in (0, 1):
            assert lines(cluster, x, 1, rank) == list(range(1, counted(place, rank) + 1))
        assert the_trial(cluster, x)["restarts"] == 0
        wait_slots_free(cluster)
        wait_no_supervisors(cluster)


def test_a_task_is_restarted_elsewhere_if_its_agent_comes_back_too_late_and_ends_there(hosts, place, tmp_path):
    with cluster_of(tmp_path, hosts, "1s", 3) as cluster:
        x = over(cluster, 2, COUNTING, PLACE=place)
        wait_for("both ranks", lambda: both(place))
        used = {a["id"] for a in cluster.get("/api/v1/agents").json["agents"] for s in a["slots"].values() if s.get("container")}
        gone = int(sorted(used)[-1].removeprefix("host"))
        with pulled(hosts, gone):
            wait_cut(cluster, gone)
            wait_for("the trial to go on elsewhere", lambda: both(place, run=2))
            # Nobody can tell the task behind the cut to end, and it does no harm: it goes on.
            reached = [counted(place, r) for r in (0, 1)]
            assert tasks_of(hosts, gone)
            wait_for("the task behind the cut", lambda: any(counted(place, r) > reached[r] + 20 for r in (0, 1)))
        wait_for("the agent to be back", lambda: cluster.get(f"/api/v1/agents/host{gone}").json["agent"].get("registeredTime"))
        wait_for("the end of the task that was behind the cut", lambda: not tasks_of(hosts, gone))
        assert both(place, run=2)
        (place / "end").write_text("")
        assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
        trial = the_trial(cluster, x)
        assert trial["restarts"] == 0, "a cut network is no failure of the trial"
        for rank in (0, 1):
            assert lines(cluster, x, 2, rank) == list(range(1, counted(place, rank, run=2) + 1))
            before = lines(cluster, x, 1, rank)
            assert before == list(range(1, len(before) + 1)), "lines from before the cut are there once"
        wait_slots_free(cluster)
        wait_no_supervisors(cluster)
