"""Tests generic tasks: creating, forking, pausing, unpausing and killing them, trees of tasks, restarts, and who may do what."""
import base64
import json
import signal

import pytest
from support.cluster import client_hash, error_of, wait_for
from support.launched import file_of, log_of, master_log_of

# Says which run it is, and sleeps until it is ended.
COUNTS = "echo run $DET_ALLOCATION_ID; exec sleep 1000"


def create(c, files=(), expect=200, token="", config=None, **fields):
    """Creates a task without slots, unless its configuration says more. Returns its id, or the reply if it is refused."""
    if config is None:
        config = json.dumps({"entrypoint": ["sleep 1000"], "resources": {"slots": 0}})
    elif not isinstance(config, str):
        config = json.dumps({"resources": {"slots": 0}, **config})
    reply = c.post("/api/v1/generic-tasks", {"config": config, "contextDirectory": list(files), **fields}, token=token)
    assert reply.status == expect, reply
    return reply.json["taskId"] if expect == 200 else reply


def shown(c, task_id):
    return c.get(f"/api/v1/tasks/{task_id}").json["task"]


def state(c, task_id):
    return shown(c, task_id)["taskState"].removeprefix("GENERIC_TASK_STATE_")


def wait_state(c, task_id, wanted):
    wait_for(f"task {task_id} in {wanted}", lambda: state(c, task_id) == wanted)
    return shown(c, task_id)


def wait_running(c, task_id, run=1):
    wait_for(f"run {run} of task {task_id}", lambda: [a for a in shown(c, task_id)["allocations"]
                                                      if a["allocationId"] == f"{task_id}.{run}" and a["state"] == "STATE_RUNNING" and a["isReady"]])


def change(c, what, task_id, status=200, token="", **body):
    reply = c.post(f"/api/v1/tasks/{task_id}/{what}", {"taskId": task_id, **body} if what == "kill" else {}, token=token)
    assert reply.status == status, reply
    return reply


# ---- one task ---------------------------------------------------------------------------------------------------------

def test_a_task_runs_with_its_files_and_completes(cluster):
    made = create(cluster, [file_of("x.txt", "sent\n")], config="entrypoint: cat x.txt\nresources: {slots: 0}\n")
    task = wait_state(cluster, made, "COMPLETED")
    assert log_of(cluster, made) == ["sent"]
    assert task["taskType"] == "TASK_TYPE_GENERIC" and task["endTime"] and task["noPause"] is False and task["childIds"] == []
    assert task["allocations"][0]["exitReason"] == "allocation exited successfully"
    assert json.loads(task["config"])["entrypoint"] == ["cat x.txt"]
    assert cluster.get(f"/api/v1/tasks/{made}/config").json["config"] == task["config"]


def test_a_task_that_fails_is_in_error_and_is_not_run_again(cluster):
    made = create(cluster, config={"entrypoint": ["exit 5"]})
    [run] = wait_state(cluster, made, "ERROR")["allocations"]
    assert run["statusCode"] == 5


def test_a_task_is_paused_and_goes_on_in_another_run(cluster):
    made = create(cluster, config={"entrypoint": [COUNTS], "preemption_timeout": 1})
    wait_running(cluster, made)
    wait_for("its line", lambda: log_of(cluster, made) == [f"run {made}.1"])
    change(cluster, "pause", made)
    assert "endTime" not in wait_state(cluster, made, "PAUSED")
    assert f"{made}.1" not in cluster.get("/api/v1/tasks").json["allocationIdToSummary"]
    change(cluster, "pause", made)
    change(cluster, "unpause", made)
    assert state(cluster, made) == "ACTIVE"
    wait_running(cluster, made, run=2)
    wait_for("the line of the second run", lambda: log_of(cluster, made) == [f"run {made}.1", f"run {made}.2"])
    change(cluster, "unpause", made)
    change(cluster, "kill", made)
    assert len(wait_state(cluster, made, "CANCELED")["allocations"]) == 2
    change(cluster, "kill", made)  # again: nothing happens
    assert any("the task was paused by determined" in line for line in master_log_of(cluster, made))


def test_a_task_is_told_of_the_preemption_and_saves_its_state(cluster):
    curl = 'curl -s -H "Authorization: Bearer $DET_SESSION_TOKEN" $DET_MASTER/api/v1/allocations/$DET_ALLOCATION_ID'
    program = f"{curl}/signals/preemption?timeoutSeconds=600 && {curl}/signals/ack_preemption -X POST -d '{{}}' && echo saved"
    made = create(cluster, config={"entrypoint": [program]})
    wait_running(cluster, made)
    change(cluster, "pause", made)
    [run] = wait_state(cluster, made, "PAUSED")["allocations"]
    assert run["exitReason"] == "allocation exited successfully" and any("saved" in line for line in log_of(cluster, made))
    change(cluster, "kill", made)
    wait_state(cluster, made, "CANCELED")


def test_a_task_with_ports_that_nobody_uses_is_canceled_and_says_why(cluster):
    """Such a task has not failed; without proxy_ports nobody could see whether it is used."""
    made = create(cluster, config={"entrypoint": ["sleep 1000"], "idle_timeout": "300ms", "environment": {"proxy_ports": [{"proxy_port": 8123}]}})
    wait_state(cluster, made, "CANCELED")
    lines = master_log_of(cluster, made)
    assert any("idle for more than 0.3s: service is inactive" in line for line in lines), lines


def test_a_task_that_waits_for_slots_can_be_paused(cluster):
    made = create(cluster, config={"entrypoint": ["true"], "resources": {"slots": 64}})
    change(cluster, "pause", made)
    assert state(cluster, made) == "PAUSED"
    queue = cluster.get("/api/v1/job-queues-v2?resourcePool=default").json["jobs"]
    assert made not in [j["full"]["entityId"] for j in queue if j.get("full")]
    change(cluster, "unpause", made)
    assert state(cluster, made) == "ACTIVE"
    change(cluster, "kill", made)
    assert state(cluster, made) == "CANCELED"


def test_a_task_created_with_no_pause_cannot_be_paused(cluster):
    made = create(cluster, noPause=True)
    assert f"task '{made}' was created with no_pause" in error_of(change(cluster, "pause", made, 400))
    assert state(cluster, made) == "ACTIVE" and shown(cluster, made)["noPause"] is True
    change(cluster, "kill", made)


def test_more_slots_than_an_agent_has_are_a_warning(cluster):
    reply = cluster.post("/api/v1/generic-tasks", {"config": "entrypoint: 'true'\nresources: {slots: 64}\n", "contextDirectory": []})
    assert reply.json["warnings"] == ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"]
    change(cluster, "kill", reply.json["taskId"])


# ---- what is refused --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("fields, status, says", [
    ({"config": ""}, 400, "entrypoint"), ({"config": "entrypoint: [a"}, 400, "line 1"), ({"config": "reources: {}\nentrypoint: x\n"}, 400, "reources"),
    ({"parentId": "none-such"}, 404, "task 'none-such' not found"), ({"forkedFrom": "none-such"}, 404, "task 'none-such' not found"),
    ({"inheritContext": True}, 400, "inheritContext needs parentId"), ({"projectId": 4711}, 404, "4711"),
], ids=lambda v: str(v)[:40])
def test_what_cannot_be_created_is_refused(cluster, fields, status, says):
    assert says in error_of(create(cluster, expect=status, **fields))


@pytest.mark.parametrize("what", ["kill", "pause", "unpause"])
def test_a_task_that_does_not_exist_or_is_of_another_kind_is_refused(cluster, what):
    assert "task 'none-such' not found" in error_of(change(cluster, what, "none-such", 404))
    command = cluster.post("/api/v1/commands", {"config": {"entrypoint": ["sleep 100"], "resources": {"slots": 0}}}).json["command"]["id"]
    assert "is of type COMMAND" in error_of(change(cluster, what, command, 400))
    assert cluster.get(f"/api/v1/commands/{command}").json["command"]["exitStatus"] == ""
    cluster.post(f"/api/v1/commands/{command}/kill")


def test_a_task_that_has_ended_is_not_paused_and_gets_no_children(cluster):
    made = create(cluster, config={"entrypoint": ["true"]})
    wait_state(cluster, made, "COMPLETED")
    for what in ("pause", "unpause"):
        assert f"task '{made}' has ended" in error_of(change(cluster, what, made, 400))
    assert f"task '{made}' has ended" in error_of(create(cluster, parentId=made, expect=400))


# ---- forks and trees --------------------------------------------------------------------------------------------------

def test_files_of_ended_tasks_are_removed_and_a_fork_without_them_is_told(new_cluster):
    """What an open task needs is kept, also where an ended task was sent with the same files."""
    c = new_cluster(config={"retention_policy": {"context_days": 0}}).start_master()
    c.start_agent(slots=0)
    c.login()
    ends = {"entrypoint": ["true"]}
    gone, shared = create(c, [file_of("a", "of the first")], config=ends), create(c, [file_of("a", "of both")], config=ends)
    bare = create(c, config=ends)
    for task in (gone, shared, bare):
        wait_state(c, task, "COMPLETED")
    open_one = create(c, forkedFrom=shared)
    files = [c.get(f"/api/v1/tasks/{task}/context_directory") for task in (gone, shared, open_one, bare)]
    assert [bool(f.json["b64Tgz"]) for f in files] == [True, True, True, False]
    c.stop_master()
    c.start_master()  # looks for files to remove when it starts
    c.login()
    wait_for("the removal", lambda: c.get(f"/api/v1/tasks/{gone}/context_directory").status == 404)
    text = error_of(create(c, config="", forkedFrom=gone, expect=400))
    assert f"the files of task '{gone}' are no longer kept: they are removed 0 days after" in text and "send the files again" in text
    assert "retention_policy.context_days" in error_of(c.get(f"/api/v1/tasks/{gone}/context_directory"), 404)
    again = create(c, [file_of("a", "of the first")], config="", forkedFrom=gone)
    wait_state(c, again, "COMPLETED")
    # the files that both have are there; a task that was sent without files is what it was
    assert c.get(f"/api/v1/tasks/{open_one}/context_directory").json == files[2].json
    assert c.get(f"/api/v1/tasks/{bare}/context_directory").json == files[3].json
    assert "context.removed count=1" in c.master_log()
    create(c, config=ends, forkedFrom=shared)
    change(c, "kill", open_one)


def test_a_fork_has_the_configuration_and_the_files_of_the_other(cluster):
    first = create(cluster, [file_of("x.txt", "of the first\n")], config={"entrypoint": ["cat x.txt"], "description": "reads"}, noPause=True)
    fork = create(cluster, config="", forkedFrom=first)
    wait_state(cluster, fork, "COMPLETED")
    task = shown(cluster, fork)
    assert log_of(cluster, fork) == ["of the first"]
    assert task["forkedFrom"] == first and "parentId" not in task and task["noPause"] is True
    assert task["config"] == shown(cluster, first)["config"]
    other = create(cluster, config="entrypoint: [tac x.txt]\n", forkedFrom=fork)
    assert json.loads(wait_state(cluster, other, "COMPLETED")["config"])["description"] == "reads"
    assert log_of(cluster, other) == ["of the first"]


def test_a_child_has_the_files_of_its_parent_if_it_wants_to(cluster):
    parent = create(cluster, [file_of("x.txt", "of the parent\n")])
    child = create(cluster, config={"entrypoint": ["cat x.txt"]}, parentId=parent, inheritContext=True)
    bare = create(cluster, config={"entrypoint": ["test ! -e x.txt"]}, parentId=parent)
    refused = create(cluster, [file_of("y", "")], parentId=parent, inheritContext=True, expect=400)
    assert "exclude each other" in error_of(refused)
    wait_state(cluster, child, "COMPLETED")
    wait_state(cluster, bare, "COMPLETED")
    assert log_of(cluster, child) == ["of the parent"]
    assert shown(cluster, parent)["childIds"] == [child, bare] and shown(cluster, child)["parentId"] == parent
    change(cluster, "kill", parent)


def test_what_is_done_to_a_task_is_done_to_those_below_it(cluster):
    config = {"entrypoint": ["sleep 1000"], "preemption_timeout": 1}
    root = create(cluster, config=config)
    child = create(cluster, config=config, parentId=root)
    leaf = create(cluster, config=config, parentId=child)
    fixed = create(cluster, config=config, parentId=child, noPause=True)
    for task in (root, child, leaf, fixed):
        wait_running(cluster, task)
    change(cluster, "pause", child)
    wait_state(cluster, child, "PAUSED")
    wait_state(cluster, leaf, "PAUSED")
    assert (state(cluster, root), state(cluster, fixed)) == ("ACTIVE", "ACTIVE")
    change(cluster, "unpause", root)
    assert state(cluster, leaf) == "ACTIVE"
    change(cluster, "kill", leaf, killFromRoot=True)
    for task in (root, child, leaf, fixed):
        wait_state(cluster, task, "CANCELED")


def test_a_task_below_one_that_has_ended_is_killed_through_it(cluster):
    go = cluster.dir / "go-root"
    root = create(cluster, config={"entrypoint": [f"while ! [ -e {go} ]; do sleep 0.05; done"]})
    child = create(cluster, parentId=root)
    leaf = create(cluster, parentId=child)
    go.touch()
    wait_state(cluster, root, "COMPLETED")
    assert state(cluster, child) == "ACTIVE"
    change(cluster, "kill", leaf, killFromRoot=True)
    wait_state(cluster, child, "CANCELED")
    wait_state(cluster, leaf, "CANCELED")


# ---- restarts ---------------------------------------------------------------------------------------------------------

def test_tasks_keep_their_states_over_a_restart(new_cluster):
    c = new_cluster()
    c.start_master()
    c.start_agent()
    c.login()
    paused = create(c, config={"entrypoint": [COUNTS], "preemption_timeout": 1})
    runs = create(c, config={"entrypoint": [COUNTS]})
    pausing = create(c, config={"entrypoint": [COUNTS], "preemption_timeout": 3})
    child = create(c, parentId=paused)
    for task in (paused, runs, pausing):
        wait_running(c, task)
    change(c, "pause", paused)
    wait_state(c, paused, "PAUSED")
    change(c, "pause", pausing)
    c.stop_master(signal.SIGKILL)
    c.start_master()
    assert (state(c, paused), state(c, runs), shown(c, child)["parentId"]) == ("PAUSED", "ACTIVE", paused)
    wait_state(c, pausing, "PAUSED")
    change(c, "unpause", paused)
    wait_running(c, paused, run=2)
    for task in (paused, runs, pausing):
        change(c, "kill", task)
        wait_state(c, task, "CANCELED")
    wait_state(c, child, "CANCELED")


# ---- who may do what --------------------------------------------------------------------------------------------------

def test_a_task_of_another_user_is_not_changed(new_cluster):
    c = new_cluster()
    c.start_master()
    c.login()
    password = "Long-Enough-1"
    c.post("/api/v1/users", {"user": {"username": "eve", "active": True}, "password": client_hash(password), "isHashed": True},
           token=c.admin_token())
    eve = c.login("eve", password=password, keep=False).json["token"]
    mine = create(c)
    for what in ("kill", "pause", "unpause"):
        assert "belongs to user 'determined'" in error_of(change(c, what, mine, 403, token=eve))
    for field in ("parentId", "forkedFrom"):
        assert "belongs to user 'determined'" in error_of(create(c, expect=403, token=eve, **{field: mine}))
    assert state(c, mine) == "ACTIVE"
    hers = create(c, token=eve)
    change(c, "kill", hers, token=c.admin_token())
    assert state(c, hers) == "CANCELED" and state(c, mine) == "ACTIVE"


def test_the_context_of_a_task_is_read_back(cluster):
    made = create(cluster, [file_of("x", "y")])
    fork = create(cluster, config="", forkedFrom=made)
    archive = cluster.get(f"/api/v1/tasks/{made}/context_directory").json["b64Tgz"]
    assert base64.b64decode(archive)[:2] == b"\x1f\x8b"
    assert cluster.get(f"/api/v1/tasks/{fork}/context_directory").json["b64Tgz"] == archive
    for task in (made, fork):
        change(cluster, "kill", task)
