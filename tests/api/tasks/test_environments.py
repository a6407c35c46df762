"""Tests that what allocations ran in is reported by their agents and by themselves, and shown with the trial."""
import base64
import re
import shutil

import pytest
from support.cluster import wait_for

PYTHON = {"executable": "/opt/venv/bin/python3", "version": "3.11.2", "frameworks": {"torch": "2.15.0"},
          "packages": {"numpy": "2.4.6", "torch": "2.15.0"}, "seenByAgent": False}


@pytest.fixture(scope="module")
def running(cluster):
    """Starts an experiment that sleeps, and returns (trial, allocation, container, its session token)."""
    x = cluster.create(entrypoint=["sh", "-c", "echo token=$(printf %s $DET_SESSION_TOKEN | base64 -w0); sleep 1000"])
    wait_for("the trial to run", lambda: cluster.experiment(x)["state"] == "STATE_RUNNING")
    [trial] = cluster.trial_ids(x)
    wait_for("the agent's record", lambda: environments(cluster, trial))
    token = base64.b64decode(wait_for("its token", lambda: re.search(r"token=(\S+)\n", cluster.trial_log(trial))).group(1)).decode()
    [container] = [c for a in cluster.get("/api/v1/agents").json["agents"] for c in a["containers"].values()]
    yield trial, container["parent"], container["id"], token
    cluster.post(f"/api/v1/experiments/{x}/kill")
    cluster.wait_experiment(x)


def environments(cluster, trial):
    return cluster.get(f"/api/v1/trials/{trial}/environments").json["environments"]


def put(cluster, allocation, token, **body):
    return cluster.request("PUT", f"/api/v1/allocations/{allocation}/environment", body, token=token)


def test_the_agent_tells_the_machine_and_the_task_its_python(cluster, running):
    trial, allocation, container, token = running
    [at_first] = environments(cluster, trial)
    assert (at_first["allocationId"], at_first["containerId"], at_first["trialRunId"], at_first["rank"]) == (allocation, container, 1, 0)
    assert at_first["agentId"] == "agent0" and at_first["host"]["hostname"] and at_first["python"]["seenByAgent"]
    assert at_first["python"]["executable"] == shutil.which("python3")
    assert [d["brand"] for d in at_first["host"]["devices"]] == ["Artificial"] and int(at_first["host"]["memoryBytes"]) > 0
    for _ in range(2):  # a second report is no error
        assert put(cluster, allocation, token, containerId=container, python=PYTHON).status == 200
    [then] = environments(cluster, trial)
    assert then["python"] == PYTHON and then["host"] == at_first["host"]
    seen = {**at_first["python"], "version": "2.7"}
    assert put(cluster, allocation, token, containerId=container, python=seen).status == 200
    assert environments(cluster, trial) == [then], "what the task itself says counts more than what its agent sees"
    assert put(cluster, allocation, token, containerId=container, python={**PYTHON, "version": "3.12.0"}).status == 200
    assert environments(cluster, trial)[0]["python"]["version"] == "3.12.0"


@pytest.mark.parametrize(("body", "status", "words"), [
    ({"python": PYTHON}, 400, "containerId"),
    ({"containerId": "c"}, 400, "host and python are missing"),
    ({"containerId": "c", "python": {"packages": {"numpy": 2}}}, 400, "packages"),
    ({"containerId": "c", "python": {"packages": ["numpy"]}}, 400, "packages"),
    ({"containerId": "c", "python": {"executable": "x" * 300_000}}, 413, "python has 3"),
])
def test_what_makes_no_sense_is_refused(cluster, running, body, status, words):
    trial, allocation, _, token = running
    before = environments(cluster, trial)
    answer = put(cluster, allocation, token, **body)
    assert answer.status == status and words in str(answer.json), answer
    assert environments(cluster, trial) == before


def test_there_is_none_of_what_does_not_exist(cluster, running):
    assert cluster.get("/api/v1/trials/999999/environments").status == 404
    assert cluster.get(f"/api/v1/trials/{running[0]}/environments", token=None).status == 401


def test_nobody_but_the_allocation_says_what_it_runs_in(cluster, running):
    trial, allocation, container, token = running
    before = environments(cluster, trial)
    for who in (cluster.token, cluster.login("admin", keep=False).json["token"]):
        answer = put(cluster, allocation, who, containerId=container, python=PYTHON)
        assert answer.status == 403 and "is for a task" in answer.json["error"]["error"], answer
    assert put(cluster, "999.none.1", token, containerId=container, python=PYTHON).status == 403, "another allocation's"
    assert put(cluster, allocation, None, containerId=container, python=PYTHON).status == 401
    assert environments(cluster, trial) == before

