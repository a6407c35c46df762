"""Tests what a task tries against the agent itself, if that agent runs as an ordinary user: the task then has the same uid."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest
from support.cluster import BUILD, TIMEOUT_S, Cluster, wait_for
from support.det import det, run_det

UID = 61999
REFUSE = pathlib.Path(__file__).resolve().parents[1] / "support/refuse.py"
pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root can start an agent as another user"),
              pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv (util-linux) is missing")]
AS_USER = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]


def lines_of(cluster, experiment):
    [trial] = cluster.trial_ids(experiment)
    return [line["result"]["log"] for line in cluster.get(f"/api/v1/trials/{trial}/logs").lines]


def said(cluster, experiment, mark):
    def find():
        if not cluster.trial_ids(experiment):
            return None
        return [line.split(mark, 1)[1].strip() for line in lines_of(cluster, experiment) if mark in line]
    return wait_for(f"{mark} of experiment {experiment}", find)[0]


def start_agent(cluster, **options):
    home = cluster.dir / "agent0"
    home.mkdir(exist_ok=True)
    token = home / "join.token"
    token.write_text((cluster.dir / "data/agent.token").read_text())
    token.chmod(0o600)
    for path in (home, token):
        os.chown(path, UID, UID)
    return cluster.start_agent(prefix=AS_USER, allow_root_tasks=False, **{"token_file": str(token), **options})


@pytest.fixture
def cluster():
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        with Cluster(directory) as c:
            yield c.start_master()


def agent_log(cluster):
    return (cluster.dir / "agent0.log").read_text()


def key_of(cluster):
    path = cluster.dir / "agent0/agent.key"
    wait_for("the agent's own key", path.exists)
    return path


LOOKS = """
import glob, json, os
found, seen = [], 0
secrets = json.loads(os.environ["SECRETS"])
places = json.loads(os.environ["PLACES"])
for pid in os.listdir("/proc"):
    if pid.isdigit() and int(pid) != os.getpid():
        places += [f"/proc/{pid}/{name}" for name in ("environ", "cmdline")]
        places += [f"/proc/{pid}/root{path}" for path in json.loads(os.environ["PLACES"])]
for path in places:
    try:
        with open(path, "rb") as f:
            text = f.read()
    except OSError:
        continue
    seen += 1
    found += [path for secret in secrets if secret[::-1].encode() in text]
print("LOOKED " + json.dumps([seen, found]), flush=True)
"""


def test_a_task_reads_the_token_or_the_key_of_its_agent(cluster):
    """Looks at everything that /proc shows of processes of the same user, and at the files that they use."""
    agent = start_agent(cluster)
    key = key_of(cluster)
    assert key.stat().st_mode & 0o777 == 0o600
    token = (cluster.dir / "data/agent.token").read_text()
    cluster.login()
    # The secrets are given backwards, so that the task's own environment does not contain what it looks for.
    x = cluster.create(files={"look.py": LOOKS}, entrypoint=["python3", "look.py"], environment={"environment_variables": [
        "SECRETS=" + json.dumps([token[::-1], key.read_text()[::-1]]),
        "PLACES=" + json.dumps([str(key), str(cluster.dir / "agent0/join.token"), f"/proc/{agent.pid}/environ"])]})
    seen, found = json.loads(said(cluster, x, "LOOKED "))
    assert seen > 0 and not found, found


def test_a_token_given_on_the_command_line_or_in_the_environment_is_read_in_proc(cluster):
    token = (cluster.dir / "data/agent.token").read_text()
    (cluster.dir / "agent0").mkdir()
    os.chown(cluster.dir / "agent0", UID, UID)

    def is_connected():  # an agent that has gone is still listed, as lost
        return any(a["id"] == "told" and a["registeredTime"] for a in cluster.get("/api/v1/agents").json["agents"])

    for words, more in (["--token", token], {}), ([f"--token={token}"], {}), ([], {"DET_TOKEN": token}):
        done = subprocess.Popen([*AS_USER, BUILD / "determined-agent", "run", "--master-host", "127.0.0.1", "--master-port", str(cluster.port),
                                 "--agent-id", "told", "--artificial-slots", "1", "--data-dir", cluster.dir / "agent0", *words],
                                env={**os.environ, **more}, stderr=subprocess.DEVNULL)
        try:
            cluster.login("admin")
            wait_for("the agent", is_connected)
            with open(f"/proc/{done.pid}/cmdline", "rb") as f:
                assert token.encode() not in f.read()
            with open(f"/proc/{done.pid}/environ", "rb") as f:
                assert token.encode() not in f.read()
            by_itself = subprocess.run([*AS_USER, "cat", f"/proc/{done.pid}/environ"], capture_output=True, text=True, timeout=TIMEOUT_S,
                                       check=False)
            assert by_itself.returncode != 0 and "ermission denied" in by_itself.stderr
        finally:
            done.terminate()
            done.wait(TIMEOUT_S)
        wait_for("its end", lambda: not is_connected())
        (cluster.dir / "agent0/agent.key").unlink(missing_ok=True)


def test_a_task_that_kills_its_supervisor_runs_again_and_again(cluster):
    start_agent(cluster)
    cluster.login()
    # Between the supervisor and the entrypoint is the shell that prepares the task, so the supervisor is the parent of the parent.
    x = cluster.create(entrypoint=["sh", "-c", "echo SHOOTING; kill -9 $(ps -o ppid= -p $PPID) $PPID; sleep 600"], max_restarts=1)
    assert cluster.wait_experiment(x)["state"] == "STATE_ERROR"
    [trial] = cluster.get(f"/api/v1/experiments/{x}/trials").json["trials"]
    assert trial["restarts"] == 2 or trial["restarts"] == 1, trial
    assert sum("SHOOTING" in line for line in lines_of(cluster, x)) <= 2
    assert any("supervisor was killed" in line for line in lines_of(cluster, x))


def test_an_agents_key_opens_no_door_but_its_own_and_none_once_it_is_revoked(cluster):
    start_agent(cluster)
    key = key_of(cluster).read_text()

    def knock(agent_id, secret):
        return cluster.request("GET", f"/agents?id={agent_id}&version=x&resource_pool=default&hostname=h", token=secret).status

    assert knock("agent1", key) == 401 and knock("", key) == 401 and knock("agent0", key + "x") == 401
    assert knock("agent0", key) not in (401, 403), "the counter-test: its own door is open"
    store = cluster.dir / "data/determined.db"
    if store.exists():
        assert key.encode() not in b"".join(p.read_bytes() for p in store.parent.glob("determined.db*")), "only its hash is stored"
    cluster.login("determined")
    assert cluster.request("DELETE", "/api/v1/agents/agent0/key").status == 403
    cluster.login("admin")
    done = run_det(cluster, "agent", "revoke-key", "agent0", user="admin")
    assert done.returncode == 0 and "Revoked" in done.stderr, done
    assert knock("agent0", key) == 401
    assert cluster.request("DELETE", "/api/v1/agents/nobody/key").status == 404


def test_an_agent_goes_on_with_its_key_when_the_join_token_has_left_its_machine(cluster):
    start_agent(cluster)
    key_of(cluster)
    cluster.stop_agent()
    (cluster.dir / "agent0/join.token").unlink()
    cluster.start_agent(prefix=AS_USER, allow_root_tasks=False, token_file="")
    wait_for("the second connection", lambda: agent_log(cluster).count(" link.up ") == 2)


def test_an_agent_whose_key_was_revoked_joins_again_only_with_the_token(cluster):
    start_agent(cluster)
    old = key_of(cluster).read_text()
    cluster.login("admin")
    assert cluster.request("DELETE", "/api/v1/agents/agent0/key").status == 200
    wait_for("a new key", lambda: key_of(cluster).read_text() not in ("", old))
    assert "joining again" in agent_log(cluster)


def test_an_agent_that_cannot_keep_users_apart_says_so(cluster):
    start_agent(cluster)
    log = agent_log(cluster)
    assert log.count("agent.not_isolated") == 1 and "the agent is not root" in log
    [agent] = cluster.get("/api/v1/agents").json["agents"]
    assert not agent.get("isolated") and "not root" in agent["isolationGap"]
    [row] = json.loads(det(cluster, "agent", "list", "--json"))
    assert row["isolated"] is False and "not root" in row["isolation_gap"]


def test_an_agent_that_cannot_keep_users_apart_gets_work_where_isolation_is_required(new_cluster):
    c = new_cluster(config={"security": {"initial_user_password": "Test-Passw0rd", "task_isolation": "required"}})
    c.dir.chmod(0o755)
    c.start_master()
    agent = c.start_agent(wait=False, allow_root_tasks=True)
    assert agent.wait(TIMEOUT_S) == 1
    c.agents.pop("agent0")
    log = (c.dir / "agent0.log").read_text()
    assert "security.task_isolation is required" in log and "allow_root_tasks is set" in log
    c.login("admin")
    assert c.get("/api/v1/agents").json["agents"] == []


def test_an_agent_of_root_is_taken_where_isolation_is_required():
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        with Cluster(directory, config={"security": {"initial_user_password": "Test-Passw0rd", "task_isolation": "required"}}) as c:
            c.start_master()
            c.start_agent(allow_root_tasks=False)
            [agent] = c.get("/api/v1/agents").json["agents"]
            assert agent["isolated"] and not agent.get("isolationGap")


@pytest.mark.parametrize("wanted", ["required", "preferred"])
def test_a_machine_that_refuses_isolation_runs_tasks_where_it_is_required(wanted):
    """The trial is launched again, after longer and longer pauses, as after any failure of a machine. Its log says why each time."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        os.chmod(directory, 0o755)
        with Cluster(directory, config={"security": {"initial_user_password": "Test-Passw0rd", "task_isolation": wanted}}) as c:
            c.start_master()
            c.start_agent(allow_root_tasks=False, prefix=[sys.executable, REFUSE, "unshare"])
            c.login()
            x = c.create(entrypoint="echo it ran")
            [trial] = c.trial_ids(x)
            if wanted == "preferred":
                assert c.wait_experiment(x)["state"] == "STATE_COMPLETED"
                assert "it ran" in c.trial_log(trial) and "this machine refuses" in c.trial_log(trial)
                return
            wait_for("two launches", lambda: c.trial_log(trial).count("this machine cannot keep the task apart") >= 2)
            assert "it ran" not in c.trial_log(trial) and "(security.task_isolation)" in c.trial_log(trial)
            assert c.get(f"/api/v1/trials/{trial}").json["trial"]["restarts"] == 0
            assert c.post(f"/api/v1/experiments/{x}/kill").status == 200
            assert c.wait_experiment(x)["state"] == "STATE_CANCELED"


def test_an_agent_without_mount_namespaces_gets_work_where_isolation_is_required(new_cluster):
    c = new_cluster(config={"security": {"initial_user_password": "Test-Passw0rd", "task_isolation": "required"}})
    c.dir.chmod(0o755)
    c.start_master()
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        agent = c.start_agent(wait=False, allow_root_tasks=False, mount_namespaces=False, run_root=directory)
        assert agent.wait(TIMEOUT_S) == 1
    c.agents.pop("agent0")
    assert "mount_namespaces is false" in (c.dir / "agent0.log").read_text()


@pytest.mark.parametrize("host, warns", [("127.0.0.1", False), ("localhost", False), ("192.0.2.1", True), ("master.example", True)])
def test_a_token_in_clear_over_the_network_is_warned_of(tmp_path, host, warns):
    tmp_path.chmod(0o755)
    log = tmp_path / "log"
    with open(log, "wb") as out:
        agent = subprocess.Popen([BUILD / "determined-agent", "run", "--master-host", host, "--master-port", "1", "--token", "x",
                                  "--artificial-slots", "1", "--container-runtime", "process", "--allow-root-tasks", "true", "--data-dir", tmp_path / "agent"], stderr=out)
    try:
        wait_for("its start", lambda: "agent.start" in log.read_text())
    finally:
        agent.send_signal(signal.SIGTERM)
        agent.wait(TIMEOUT_S)
    said = [line for line in log.read_text().splitlines() if "agent.clear_text" in line]
    assert len(said) == warns
    assert not warns or ("security.tls.enabled: true" in said[0] and "self_signed: true" in said[0])
