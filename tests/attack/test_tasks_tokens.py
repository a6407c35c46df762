"""Tests the two tokens that a task has: the session of its allocation, and a login on behalf of its owner (docs/security.md,
Credentials)."""
import contextlib
import json
import os
import signal

import pytest
from support.cluster import client_hash, error_of, wait_for

SCRIPT = """
import json, os, pathlib, time
told = pathlib.Path(os.environ["TOLD"])
told.with_suffix(".new").write_text(json.dumps(dict(os.environ)))
told.with_suffix(".new").rename(told)
time.sleep(3600)
"""


def start_task(c, name, **changes):
    """Starts a task of the user who is logged in, and returns its experiment's number and its environment."""
    told = c.storage / name
    told.unlink(missing_ok=True)
    x = c.create(entrypoint=["python3", "-c", SCRIPT], environment={"environment_variables": [f"TOLD={told}"]}, **changes)
    wait_for(f"the task {name}", told.exists)
    return x, json.loads(told.read_text())


@pytest.fixture(scope="module")
def tasks(cluster):
    """Starts two tasks of the user `determined`."""
    return start_task(cluster, "one"), start_task(cluster, "two")


def trial_state(c, env):
    return c.get(f"/api/v1/trials/{env['DET_TRIAL_ID']}").json["trial"]


def test_a_task_reports_metrics_into_another_trial_of_its_own_owner(cluster, tasks):
    (_, mine), (_, other) = tasks
    report = {"metrics": {"avgMetrics": {"loss": 0}}, "stepsCompleted": 1, "trialRunId": 1}
    for trial, status in ((mine["DET_TRIAL_ID"], 200), (other["DET_TRIAL_ID"], 403)):
        body = {"metrics": {**report, "trialId": int(trial)}, "group": "training"}
        reply = cluster.post(f"/api/v1/trials/{trial}/metrics", body, token=mine["DET_SESSION_TOKEN"])
        assert reply.status == status, reply
    assert trial_state(cluster, other)["summaryMetrics"] in (None, {})
    assert "is not of allocation" in reply.json["error"]["error"]


def test_a_task_names_another_trial_in_the_body_and_its_own_in_the_path(cluster, tasks):
    """The path takes precedence over the body, so the object that is checked is the one that is written."""
    (_, mine), (_, other) = tasks
    body = {"metrics": {"metrics": {"avgMetrics": {"sly": 1}}, "stepsCompleted": 2, "trialRunId": 1,
                        "trialId": int(other["DET_TRIAL_ID"])}, "group": "training"}
    assert cluster.post(f"/api/v1/trials/{mine['DET_TRIAL_ID']}/metrics", body, token=mine["DET_SESSION_TOKEN"]).status == 200
    assert "sly" in json.dumps(trial_state(cluster, mine)["summaryMetrics"])
    assert "sly" not in json.dumps(trial_state(cluster, other)["summaryMetrics"])


def test_a_task_writes_into_the_log_of_another_one(cluster, tasks):
    (_, mine), (_, other) = tasks
    lines = [{"taskId": other["DET_TASK_ID"], "log": "I am the other one\n"}]
    assert "is not of allocation" in error_of(
        cluster.post("/api/v1/task/logs", {"logs": lines}, token=mine["DET_SESSION_TOKEN"]), 403)
    reply = cluster.request("POST", "/task-logs", lines, token=mine["DET_SESSION_TOKEN"])
    assert reply.status == 403 and "is not of allocation" in reply.json["message"]
    assert "I am the other one" not in cluster.trial_log(other["DET_TRIAL_ID"])


def test_a_task_posts_a_line_in_the_name_of_another_allocation(cluster, tasks):
    """Log policies act on the allocation that a line names."""
    (_, mine), (_, other) = tasks
    line = {"taskId": mine["DET_TASK_ID"], "allocationId": other["DET_ALLOCATION_ID"], "log": "x\n"}
    assert "is no allocation of task" in error_of(
        cluster.post("/api/v1/task/logs", {"logs": [line]}, token=mine["DET_SESSION_TOKEN"]), 400)


def test_a_task_stops_another_one_by_its_searcher_and_its_signals(cluster, tasks):
    (_, mine), (_, other) = tasks
    trial, allocation = other["DET_TRIAL_ID"], other["DET_ALLOCATION_ID"]
    for path, body in ((f"/api/v1/trials/{trial}/early_exit", {"reason": "EXITED_REASON_INVALID_HP"}),
                       (f"/api/v1/trials/{trial}/progress", {"progress": 1}),
                       (f"/api/v1/trials/{trial}/searcher/completed_operation", {"op": {"length": "1"}, "searcherMetric": 1}),
                       (f"/api/v1/trials/{trial}/runner/metadata", {"state": "x"}),
                       (f"/api/v1/trials/{trial}/kill", None),
                       (f"/api/v1/allocations/{allocation}/signals/pending_preemption", {}),
                       (f"/api/v1/allocations/{allocation}/signals/ack_preemption", {}),
                       (f"/api/v1/allocations/{allocation}/all_gather", {"requestUuid": "u", "numPeers": 1}),
                       (f"/api/v1/experiments/{other['DET_EXPERIMENT_ID']}/kill", None),
                       (f"/api/v1/experiments/{mine['DET_EXPERIMENT_ID']}/kill", None)):
        assert cluster.post(path, body, token=mine["DET_SESSION_TOKEN"]).status == 403, path
    assert trial_state(cluster, other)["state"] == "STATE_RUNNING"


def test_a_task_reads_what_its_owner_may_read(cluster, tasks):
    (_, mine), (_, other) = tasks
    for path in ("/api/v1/me", f"/api/v1/experiments/{other['DET_EXPERIMENT_ID']}", f"/api/v1/trials/{other['DET_TRIAL_ID']}",
                 f"/api/v1/tasks/{mine['DET_TASK_ID']}/context_directory", "/api/v1/workspaces"):
        assert cluster.get(path, token=mine["DET_SESSION_TOKEN"]).status == 200, path


def test_the_task_of_an_admin_uses_an_admins_rights(new_cluster):
    c = new_cluster()
    c.start_master()
    c.start_agent()
    c.login("admin")
    _, env = start_task(c, "admins")
    c.login("determined")
    theirs = c.create(activate=False)
    determined = c.get("/api/v1/me").json["user"]["id"]
    for token in (env["DET_SESSION_TOKEN"], env["DET_USER_TOKEN"]):
        assert c.get("/api/v1/master/config", token=token).status == 403
        assert c.post("/api/v1/users", {"user": {"username": "eve", "admin": True, "active": True}, "password": client_hash("Long-Enough-1"),
                                        "isHashed": True}, token=token).status == 403
        assert c.patch(f"/api/v1/users/{determined}", {"admin": True}, token=token).status == 403
        assert c.post(f"/api/v1/experiments/{theirs}/kill", token=token).status == 403
        assert c.post("/api/v1/agents/agent0/disable", {}, token=token).status == 403
    assert "never has an admin's rights" in error_of(c.get("/api/v1/master/config", token=env["DET_USER_TOKEN"]), 403)


def test_a_tasks_login_changes_the_account_of_its_owner(cluster, tasks):
    """With a password that the task knows, or with a second login, it could act for the user after its own end."""
    (_, mine), _ = tasks
    me = cluster.get("/api/v1/me").json["user"]["id"]
    for change in ({"password": client_hash("Long-Enough-2"), "isHashed": True}, {"displayName": "eve"}, {"active": False}):
        assert cluster.patch(f"/api/v1/users/{me}", change, token=mine["DET_USER_TOKEN"]).status == 403
    assert cluster.post("/api/v1/users/setting", {"settings": [{"key": "k", "value": "v"}]},
                        token=mine["DET_USER_TOKEN"]).status == 403
    assert cluster.login("determined", keep=False).status == 200


def test_a_tasks_login_is_what_scripts_use_as_their_owner(cluster, tasks):
    (x, mine), _ = tasks
    made = cluster.post("/api/v1/experiments", {"config": json.dumps(cluster.experiment_config()), "activate": False},
                        token=mine["DET_USER_TOKEN"])
    assert made.status == 200
    assert made.json["experiment"]["username"] == "determined"
    assert cluster.patch(f"/api/v1/experiments/{x}", {"notes": "from inside"}, token=mine["DET_USER_TOKEN"]).status == 200


def both_end(c, env):
    return all(c.get("/api/v1/me", token=env[name]).status == 401 for name in ("DET_SESSION_TOKEN", "DET_USER_TOKEN"))


def test_a_tasks_tokens_are_used_after_its_end(new_cluster):
    c = new_cluster()
    c.start_master()
    c.start_agent(slots=2)
    c.login()
    x, env = start_task(c, "first")
    _, other = start_task(c, "second")
    assert c.get("/api/v1/me", token=env["DET_USER_TOKEN"]).json["user"]["username"] == "determined"
    assert c.post(f"/api/v1/experiments/{x}/kill").status == 200
    c.wait_experiment(x)
    wait_for("the end of both tokens", lambda: both_end(c, env))
    c.stop_master(signal.SIGKILL)
    c.start_master()
    assert both_end(c, env)
    assert c.get("/api/v1/me", token=other["DET_USER_TOKEN"]).status == 200  # the task of this token still runs


def test_a_tasks_tokens_are_used_after_an_end_that_the_master_did_not_see(new_cluster):
    """The task ends while the master is away, and the trial goes on with another allocation, which has tokens of its own."""
    c = new_cluster()
    c.start_master()
    c.start_agent()
    c.login()
    _, env = start_task(c, "task")
    c.stop_master(signal.SIGKILL)
    for pid in c.supervisors():
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    c.start_master()
    wait_for("the end of both tokens", lambda: both_end(c, env))
