"""Tests what one user's task tries against another user's task on the same machine, if the agent runs as root.

Victim and attacker are real tasks of two users whom nobody has linked to accounts, which is the default of a new cluster."""
import json
import os
import tempfile

import pytest
from support.cluster import Cluster, client_hash, wait_for
from support.processes import outside

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only a root agent gives each user a uid of their own")

FIRST = 2000000  # task_uids.first of the agent
PASSWORD = "Passw0rd-of-all"


def add_user(cluster, name, **agent):
    cluster.login("admin")
    body = {"user": {"username": name, "active": True, "admin": False, **({"agentUserGroup": agent} if agent else {})},
            "password": client_hash(PASSWORD), "isHashed": True}
    reply = cluster.post("/api/v1/users", body)
    assert reply.status == 200, reply
    return reply.json["user"]["id"]


def become(cluster, name):
    assert cluster.login(name, PASSWORD).status == 200


def lines_of(cluster, experiment):
    [trial] = cluster.trial_ids(experiment)
    return [line["result"] for line in cluster.get(f"/api/v1/trials/{trial}/logs").lines]


def said(cluster, experiment, mark):
    """Waits until the task has printed something after a mark, and returns it."""
    def find():
        if not cluster.trial_ids(experiment):
            return None
        found = [line["log"].split(mark, 1)[1].strip() for line in lines_of(cluster, experiment) if mark in line["log"]]
        return found or None
    return wait_for(f"{mark} of experiment {experiment}", find)[0]


VICTIM = """
import json, os, time
print("I-AM " + json.dumps({"pid": os.getpid(), "uid": os.getuid(), "run": os.environ["DET_RUN_DIR"], "cwd": os.getcwd()}), flush=True)
while not os.path.exists("go"):
    time.sleep(0.05)
print("UNHARMED " + json.dumps(sorted(os.listdir("."))), flush=True)
"""

ATTACK = """
import ctypes, json, os, signal
victim = json.loads(os.environ["VICTIM"])
pid, result = victim["pid"], {}

def attempt(name, f):
    try:
        result[name] = repr(f())
    except OSError as e:
        result[name] = e.__class__.__name__

libc = ctypes.CDLL(None, use_errno=True)
def ptrace():
    if libc.ptrace(16, pid, 0, 0) < 0:  # PTRACE_ATTACH
        raise OSError(ctypes.get_errno(), "ptrace")

for name in ("environ", "maps", "mem", "cwd", "root", "fd"):
    path = f"/proc/{pid}/{name}"
    attempt(name, lambda: os.listdir(path) if name in ("fd", "root") else os.readlink(path) if name == "cwd" else open(path, "rb").read(1))
attempt("ptrace", ptrace)
for signo in (0, signal.SIGTERM, signal.SIGKILL):
    attempt(f"kill {int(signo)}", lambda: os.kill(pid, signo))
attempt("kill of its group", lambda: os.killpg(pid, signal.SIGKILL))
attempt("list", lambda: os.listdir(victim["run"]))
attempt("list of its work", lambda: os.listdir(victim["cwd"]))
attempt("write", lambda: open(victim["cwd"] + "/planted", "w").write("x"))
attempt("replace", lambda: os.rename(victim["cwd"], victim["cwd"] + ".gone"))
attempt("token file", lambda: open(victim["run"] + "/info/cluster.json").read())
attempt("supervisor", lambda: os.listdir(os.path.dirname(victim["run"]) + "/supervisor"))
print("ATTACKED " + json.dumps(result), flush=True)
"""
REFUSALS = {"PermissionError", "ProcessLookupError", "FileNotFoundError"}


@pytest.fixture(scope="module")
def cluster():
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)  # tasks must be able to enter it
        with Cluster(directory) as c:
            c.start_master()
            c.start_agent(slots=4, allow_root_tasks=False)
            c.user_ids = {name: add_user(c, name) for name in ("victim", "attacker")}
            yield c


def test_a_task_reads_traces_kills_or_writes_what_belongs_to_another_users_task(cluster):
    become(cluster, "victim")
    target = cluster.create(files={"work.py": VICTIM}, entrypoint=["python3", "work.py"])
    victim = json.loads(said(cluster, target, "I-AM "))
    assert victim["uid"] == FIRST + cluster.user_ids["victim"]
    victim["pid"] = outside(victim["pid"], victim["uid"])
    become(cluster, "attacker")
    x = cluster.create(files={"attack.py": ATTACK}, entrypoint=["python3", "attack.py"],
                       environment={"environment_variables": ["VICTIM=" + json.dumps(victim)]})
    result = json.loads(said(cluster, x, "ATTACKED "))
    assert len(result) == 17 and set(result.values()) <= REFUSALS, result
    become(cluster, "victim")
    (open(victim["cwd"] + "/go", "w")).close()  # written as root, since nobody else can write there
    assert cluster.wait_experiment(target)["state"] == "STATE_COMPLETED"
    assert "planted" not in said(cluster, target, "UNHARMED ")


def test_a_task_reads_another_users_token_by_way_of_its_own_users_tasks_only(cluster):
    """Checks the attack itself: what is refused above is not refused to the victim's own tasks."""
    become(cluster, "victim")
    target = cluster.create(files={"work.py": VICTIM}, entrypoint=["python3", "work.py"])
    victim = json.loads(said(cluster, target, "I-AM "))
    look = 'import os, json; v = json.loads(os.environ["VICTIM"]); open(v["cwd"] + "/go", "w"); print("REACHED it")'
    x = cluster.create(files={"look.py": look}, entrypoint=["python3", "look.py"],
                       environment={"environment_variables": ["VICTIM=" + json.dumps(victim)]})
    assert said(cluster, x, "REACHED ") == "it"
    assert cluster.wait_experiment(target)["state"] == "STATE_COMPLETED"


STORES = """
from determined import core
with core.init() as context:
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "state").write_text("kept")
"""
SPOILS = """
import json, os, pathlib, shutil
result = {}
for path in pathlib.Path(os.environ["STORAGE"]).iterdir():
    for name, f in {"read": lambda: (path / "state").read_text(), "write": lambda: (path / "state").write_text("x"),
                    "add": lambda: (path / "new").write_text("x"), "remove": lambda: (path / "state").unlink(),
                    "move": lambda: path.rename(path.with_name("gone"))}.items():
        try:
            result[name] = str(f())
        except OSError as e:
            result[name] = e.__class__.__name__
print("SPOILED " + json.dumps(result), flush=True)
"""


def test_a_task_changes_or_removes_another_users_checkpoint_in_the_shared_directory(cluster):
    cluster.storage.chmod(0o1777)  # the mode that `det deploy local` gives the directory
    become(cluster, "victim")
    x = cluster.create(files={"work.py": STORES}, entrypoint=["python3", "work.py"])
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    become(cluster, "attacker")
    y = cluster.create(files={"attack.py": SPOILS}, entrypoint=["python3", "attack.py"],
                       environment={"environment_variables": [f"STORAGE={cluster.storage}"]})
    result = json.loads(said(cluster, y, "SPOILED "))
    assert result == {"read": "kept", "write": "PermissionError", "add": "PermissionError", "remove": "PermissionError",
                      "move": "PermissionError"}, "everybody may begin from a checkpoint, nobody else may change it"


@pytest.mark.parametrize("uid, gid", [(FIRST + 1, 61000), (61000, FIRST + 1)])
def test_a_user_linked_to_another_users_own_uid_runs_nothing(cluster, uid, gid):
    name = f"impostor-{uid}"
    add_user(cluster, name, agentUid=uid, agentGid=gid, agentUser="x", agentGroup="x")
    become(cluster, name)
    x = cluster.create(entrypoint=["id"])
    wait_for("the refusal", lambda: any("task_uids" in line["log"] for line in lines_of(cluster, x)) if cluster.trial_ids(x) else False)
    assert not any("uid=" in line["log"] for line in lines_of(cluster, x))
    assert cluster.post(f"/api/v1/experiments/{x}/kill").status == 200
    cluster.wait_experiment(x)
