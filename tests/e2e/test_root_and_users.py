"""Who a task is on the machine: never root under a root agent that was not told so, and never able to become it."""
import os
import re
import subprocess
import tempfile

import pytest
from support.cluster import BUILD, TIMEOUT_S, Cluster, client_hash
from support.experiments import is_root, log_of, shell, task_lines, the_trial, wait_line

pytestmark = pytest.mark.skipif(not is_root(), reason="only a root agent can run tasks as somebody else")

SAYS_WHO = ("id -u; id -g; id -G; grep NoNewPrivs /proc/self/status; grep CapEff /proc/self/status; touch here && stat -c %u here;"
            " echo home $HOME; touch $HOME/x && echo home is mine")
LINKED_UID, LINKED_GID = 61234, 61235
FIRST = 2000000  # the agent's task_uids.first


@pytest.fixture(scope="module")
def cluster():
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)  # tasks must be able to go through it
        with Cluster(directory) as c:
            c.config["security"]["allow_root_links"] = True
            c.start_master()
            c.start_agent(slots=2, allow_root_tasks=False)
            c.login("admin")
            yield c


def user(cluster, name, agent=None):
    """Makes a user, linked to an account on the agents if told so, and logs in."""
    cluster.login("admin")
    body = {"user": {"username": name, "active": True, "admin": False, **({"agentUserGroup": agent} if agent else {})},
            "password": client_hash("Passw0rd-of-all"), "isHashed": True}
    reply = cluster.post("/api/v1/users", body)
    assert reply.status == 200, reply
    assert cluster.login(name, "Passw0rd-of-all").status == 200


def said_by(cluster, script, **config):
    x = shell(cluster, script, **config)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    return task_lines(cluster, the_trial(cluster, x)["id"])


def own_uid(cluster):
    """Of who is logged in, on an agent that gives uids of their own."""
    return FIRST + cluster.get("/api/v1/me").json["user"]["id"]


def test_a_task_is_its_owners_own_user_and_can_gain_nothing(cluster):
    cluster.login()
    lines = said_by(cluster, SAYS_WHO)
    own = str(own_uid(cluster))
    assert lines[:3] == [own, own, own]
    assert lines[3].split() == ["NoNewPrivs:", "1"]
    assert int(lines[4].split()[1], 16) == 0
    assert lines[5] == own, "the working directory is the task's own"
    assert lines[-1] == "home is mine"


def test_a_task_of_a_linked_user_is_that_account(cluster):
    user(cluster, "linked", {"agentUid": LINKED_UID, "agentGid": LINKED_GID, "agentUser": "linked", "agentGroup": "linked"})
    lines = said_by(cluster, SAYS_WHO)
    assert lines[:3] == [str(LINKED_UID), str(LINKED_GID), str(LINKED_GID)]
    assert lines[3].split() == ["NoNewPrivs:", "1"]
    assert lines[5] == str(LINKED_UID)


def test_a_workspace_goes_before_the_linked_account_field_by_field(cluster):
    user(cluster, "linked_too", {"agentUid": LINKED_UID, "agentGid": LINKED_GID, "agentUser": "linked", "agentGroup": "linked"})
    mine = cluster.token
    cluster.login("admin")
    w = cluster.post("/api/v1/workspaces", {"name": "lab", "agentUserGroup": {"agentGid": LINKED_GID + 1}}).json["workspace"]["id"]
    cluster.token = mine
    p = cluster.post(f"/api/v1/workspaces/{w}/projects", {"name": "p"}).json["project"]
    lines = said_by(cluster, SAYS_WHO, workspace="lab", project=p["name"])
    assert lines[:3] == [str(LINKED_UID), str(LINKED_GID + 1), str(LINKED_GID + 1)]


def test_a_user_linked_to_root_gets_a_user_of_their_own_or_a_clear_error(cluster):
    user(cluster, "rooted", {"agentUid": 0, "agentGid": 0, "agentUser": "root", "agentGroup": "root"})
    assert said_by(cluster, "id -u")[0] == str(own_uid(cluster))
    user(cluster, "wheel", {"agentUid": LINKED_UID, "agentGid": 0, "agentUser": "wheel", "agentGroup": "root"})
    # Another agent may have another rule, so the trial is tried again; its log says what to do.
    x = shell(cluster, "id")
    assert "link the owner to another group" in wait_line(cluster, x, "linked to group 0")
    assert cluster.post(f"/api/v1/experiments/{x}/kill").status == 200
    assert cluster.wait_experiment(x)["state"] == "STATE_CANCELED"


def test_a_task_cannot_read_the_data_of_master_and_agent(cluster):
    cluster.login()
    secrets = [cluster.dir / "data/agent.token", cluster.dir / "agent0/tasks/epoch"]
    if "db" not in cluster.config:
        secrets.append(cluster.dir / "data/determined.db")
    for path in secrets:
        assert path.exists(), path
    lines = said_by(cluster, f"cat {' '.join(map(str, secrets))} 2>&1; ls {cluster.dir}/data; true")
    assert len([line for line in lines if "Permission denied" in line]) >= len(secrets), lines


def test_a_task_does_not_see_the_directories_of_other_tasks(cluster):
    cluster.login()
    lines = said_by(cluster, f"ls {cluster.dir}/agent0/tasks; cat /proc/$PPID/environ | tr '\\0' '\\n' | grep -c TOKEN; true")
    assert not any(re.fullmatch(r"[0-9a-f-]{36}", line) for line in lines), lines


STORES = """
from determined import core

with core.init() as context:
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "state").write_text("kept")
"""


def test_checkpoint_storage_is_the_tasks_to_write(cluster):
    cluster.login()
    x = cluster.create(files={"script.py": STORES}, entrypoint="python3 script.py")
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    [state] = cluster.storage.glob("*/state")
    assert state.read_text() == "kept" and state.stat().st_uid == own_uid(cluster)


def test_a_storage_that_the_task_may_not_write_is_a_clear_error(cluster):
    cluster.login()
    closed = cluster.dir / "closed"
    closed.mkdir(mode=0o700, exist_ok=True)
    x = cluster.create(files={"script.py": STORES}, entrypoint="python3 script.py",
                       checkpoint_storage={"type": "shared_fs", "host_path": str(closed)})
    assert cluster.wait_experiment(x)["state"] == "STATE_ERROR"
    log = log_of(cluster, x)
    assert "may not write to the checkpoint directory" in log and str(closed) in log, log


def test_a_root_task_is_what_was_asked_for_where_the_agent_allows_it(new_cluster):
    cluster = new_cluster()
    cluster.config["security"]["allow_root_links"] = True
    cluster.start_master()
    cluster.start_agent(allow_root_tasks=True)
    user(cluster, "rooted", {"agentUid": 0, "agentGid": 0, "agentUser": "root", "agentGroup": "root"})
    lines = said_by(cluster, SAYS_WHO)
    assert lines[0] == "0"
    assert "NoNewPrivs:\t1" in lines


def test_an_agent_whose_directory_is_closed_to_its_tasks_says_so_at_its_start(tmp_path):
    tmp_path.chmod(0o700)
    done = subprocess.run([BUILD / "determined-agent", "run", "--master-host", "127.0.0.1", "--master-port", "1", "--token", "x",
                           "--container-runtime", "process", "--data-dir", tmp_path / "agent"],
                          capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 1
    assert f"(uid {FIRST + 1} and following), who cannot reach {tmp_path}/agent/tasks" in done.stderr and "run_root" in done.stderr, done.stderr
