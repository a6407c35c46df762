"""Tests commands, notebooks, shells and TensorBoards: launching, showing, listing, killing, their place in the queue, restarts."""
import base64
import contextlib
import json
import os
import signal
import sqlite3
import subprocess

import pytest
from support.cluster import error_of, wait_for
from support.launched import KINDS, file_of, launch, launch_id, log_of, master_log_of, shown, wait_state

# ---- a command --------------------------------------------------------------------------------------------------------

def test_a_command_runs_in_the_directory_of_its_files_and_its_exit_code_is_told(cluster):
    reply = launch(cluster, files=[file_of("data/x.txt", "sent with it\n")], entrypoint=["cat data/x.txt; exit 7"],
                   description="reads a file")
    made = reply.json["command"]
    assert made["description"] == "reads a file" and made["username"] == "determined" and made["resourcePool"] == "default"
    assert reply.json["config"]["resources"]["slots"] == 0
    over = wait_state(cluster, made["id"], "TERMINATED")
    assert over["exitStatus"] == "container failed with non-zero exit code (exit code 7)"
    assert log_of(cluster, made["id"]) == ["sent with it"]
    task = cluster.get(f"/api/v1/tasks/{made['id']}").json["task"]
    [allocation] = task["allocations"]
    assert task["taskType"] == "TASK_TYPE_COMMAND" and task["endTime"]
    assert (allocation["statusCode"], allocation["exitReason"]) == (7, over["exitStatus"])


def test_a_command_that_ends_well_says_so(cluster):
    made = launch_id(cluster, entrypoint=["echo", "two words"])
    assert wait_state(cluster, made, "TERMINATED")["exitStatus"] == "allocation exited successfully"
    assert log_of(cluster, made) == ["two words"]
    assert "allocation exited successfully" not in master_log_of(cluster, made)[0]


def test_a_command_without_a_description_gets_a_name(cluster):
    assert launch(cluster).json["command"]["description"].startswith("Command (")


def test_a_command_has_its_slots_and_shows_its_container(cluster):
    made = launch_id(cluster, entrypoint=["echo slots $DET_SLOT_IDS; sleep 1000"], resources={"slots": 2})
    x = wait_state(cluster, made, "RUNNING")
    assert [d["id"] for d in x["container"]["devices"]] == [0, 1] and x["container"]["state"] == "STATE_RUNNING"
    wait_for("its output", lambda: log_of(cluster, made) == ["slots [0,1]"])
    listed = cluster.get("/api/v1/tasks").json["allocationIdToSummary"][f"{made}.1"]
    assert (listed["slotsNeeded"], listed["name"], listed["priority"]) == (2, x["description"], 42)
    cluster.post(f"/api/v1/commands/{made}/kill")


def test_the_context_of_a_task_is_read_back_and_stored_once(cluster):
    files = [file_of("same.txt", "the same in both\n")]
    first, second = launch_id(cluster, files=files), launch_id(cluster, files=files)
    archive = cluster.get(f"/api/v1/tasks/{first}/context_directory").json["b64Tgz"]
    assert base64.b64decode(archive)[:2] == b"\x1f\x8b"
    assert cluster.get(f"/api/v1/tasks/{second}/context_directory").json["b64Tgz"] == archive
    assert cluster.get(f"/api/v1/tasks/{launch_id(cluster)}/context_directory").json["b64Tgz"] == ""


# ---- kill -------------------------------------------------------------------------------------------------------------

def test_kill_ends_a_command_and_may_be_asked_for_again(cluster):
    made = launch_id(cluster, entrypoint=["sleep 1000"])
    wait_state(cluster, made, "RUNNING")
    reply = cluster.post(f"/api/v1/commands/{made}/kill")
    assert reply.json["command"]["state"] == "STATE_TERMINATING"
    assert wait_state(cluster, made, "TERMINATED")["exitStatus"] == "task was killed by the master"
    again = cluster.post(f"/api/v1/commands/{made}/kill")
    assert (again.status, again.json["command"]["state"]) == (200, "STATE_TERMINATED")


def test_kill_ends_a_command_that_waits_for_slots(cluster):
    made = launch_id(cluster, resources={"slots": 64})
    assert shown(cluster, made)["state"] == "STATE_QUEUED" and shown(cluster, made)["container"] is None
    killed = cluster.post(f"/api/v1/commands/{made}/kill").json["command"]
    assert (killed["state"], killed["exitStatus"]) == ("STATE_TERMINATED", "task was aborted before the task was started")
    assert shown(cluster, made) == killed


@pytest.mark.parametrize("path", ["commands/none-such", "commands/none-such/kill", "commands/none-such/set_priority"])
def test_a_command_that_does_not_exist_is_not_found(cluster, path):
    reply = cluster.get(f"/api/v1/{path}") if path.endswith("such") else cluster.post(f"/api/v1/{path}", {"priority": 3})
    assert "command 'none-such' not found" in error_of(reply, 404)


def test_an_id_of_another_kind_is_not_found(cluster):
    made = launch_id(cluster, entrypoint=["sleep 1000"])
    for kind in ("notebook", "shell", "tensorboard"):
        assert f"{kind} '{made}' not found" in error_of(cluster.get(f"/api/v1/{kind}s/{made}"), 404)
        assert f"{kind} '{made}' not found" in error_of(cluster.post(f"/api/v1/{kind}s/{made}/kill"), 404)
    assert shown(cluster, made)["exitStatus"] == ""
    cluster.post(f"/api/v1/commands/{made}/kill")


# ---- what is refused --------------------------------------------------------------------------------------------------

def count(cluster):
    return cluster.get("/api/v1/commands").json["pagination"]["total"]


@pytest.mark.parametrize("config, more, status, says", [
    ({"entrypoint": ["true"], "reources": {"slots": 0}}, {}, 400, "reources"),
    ({"entrypoint": ["true"], "resources": {"slots": -1}}, {}, 400, "slots"),
    ({"entrypoint": ["true"], "resources": {"priority": 100}}, {}, 400, "priority"),
    ({"entrypoint": ["true"], "resources": {"resource_pool": "none-such"}}, {}, 400, "none-such"),
    ({"entrypoint": 7}, {}, 400, "entrypoint"),
    ({}, {}, 400, "entrypoint"),
    ({"entrypoint": ["true"]}, {"templateName": "none-such"}, 404, "none-such"),
    ({"entrypoint": ["true"]}, {"workspaceId": 4711}, 404, "4711"),
    ({"entrypoint": ["true"]}, {"files": [file_of("../escape", "x")]}, 400, "../escape"),
    ("not an object", {}, 400, "config"),
], ids=lambda v: str(v)[:40])
def test_a_request_that_cannot_be_met_is_refused_and_changes_nothing(cluster, config, more, status, says):
    before = count(cluster)
    reply = cluster.post("/api/v1/commands", {"config": config, **more})
    assert says in error_of(reply, status)
    assert count(cluster) == before


def test_too_large_a_context_is_refused(cluster):
    size = 97 * 1024 * 1024
    reply = cluster.post("/api/v1/commands", {"config": {"entrypoint": ["true"]},
                                              "files": [{**file_of("big", ""), "content": base64.b64encode(bytes(size)).decode()}]})
    assert reply.status in (400, 413), reply
    assert "big" in reply.body.decode() or "bytes" in reply.body.decode()


def test_more_slots_than_an_agent_has_are_accepted_with_a_warning_and_wait_with_the_reason(cluster):
    reply = launch(cluster, resources={"slots": 3})
    made = reply.json["command"]
    assert reply.json["warnings"] == ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"]
    [job] = [j["full"] for j in cluster.get("/api/v1/job-queues-v2?resourcePool=default").json["jobs"]
             if j["full"]["entityId"] == made["id"]]
    assert job["summary"]["state"] == "STATE_QUEUED"
    assert job["summary"]["reason"] == "needs 3 slots on one agent: the largest agent of pool default has 2"
    cluster.post(f"/api/v1/commands/{made['id']}/kill")


def test_more_slots_than_an_agent_has_are_refused_where_the_cluster_wants_that(new_cluster):
    c = new_cluster(config={"launch_error": True})
    c.start_master()
    c.start_agent(slots=1)
    c.login()
    reply = c.post("/api/v1/commands", {"config": {"entrypoint": ["true"], "resources": {"slots": 2}}})
    assert "slots requested exceeds cluster capacity" in error_of(reply, 400)


# ---- templates, workspaces --------------------------------------------------------------------------------------------

def test_a_template_lies_below_the_configuration(cluster):
    cluster.post("/api/v1/templates/quick", {"name": "quick", "config": {"description": "from the template", "resources": {"slots": 0},
                                                                         "environment": {"environment_variables": ["A=1"]}}})
    reply = cluster.post("/api/v1/commands", {"templateName": "quick", "config": {
        "entrypoint": ["echo $A $B"], "environment": {"environment_variables": ["B=2"]}}})
    made = reply.json["command"]
    assert made["description"] == "from the template"
    wait_state(cluster, made["id"], "TERMINATED")
    assert log_of(cluster, made["id"]) == ["1 2"]


def test_a_command_is_in_its_workspace_and_an_archived_one_takes_none(cluster):
    workspace = cluster.post("/api/v1/workspaces", {"name": "for commands"}).json["workspace"]["id"]
    made = launch_id(cluster, workspaceId=workspace)
    assert [x["id"] for x in cluster.get(f"/api/v1/commands?workspaceId={workspace}").json["commands"]] == [made]
    assert cluster.post(f"/api/v1/workspaces/{workspace}/archive").status == 200
    refused = cluster.post("/api/v1/commands", {"config": {"entrypoint": ["true"]}, "workspaceId": workspace})
    assert "for commands" in error_of(refused, 400) and "archived" in error_of(refused, 400)


# ---- lists ------------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def five(master):
    """Five commands that wait, since the master has no agents."""
    return [launch_id(master, description=name) for name in ("c", "a", "e", "b", "d")]


def listed(master, query):
    reply = master.get(f"/api/v1/commands?{query}")
    assert reply.status == 200, reply
    return "".join(x["description"] for x in reply.json["commands"]), reply.json["pagination"]


@pytest.mark.parametrize("query, names, window", [
    ("sortBy=SORT_BY_DESCRIPTION", "abcde", (0, 5)),
    ("sortBy=SORT_BY_DESCRIPTION&orderBy=ORDER_BY_DESC", "edcba", (0, 5)),
    ("sortBy=SORT_BY_START_TIME", "caebd", (0, 5)),
    ("sortBy=SORT_BY_START_TIME&orderBy=ORDER_BY_DESC&limit=2", "db", (0, 2)),
    ("sortBy=SORT_BY_DESCRIPTION&offset=1&limit=3", "bcd", (1, 4)),
    ("sortBy=SORT_BY_DESCRIPTION&offset=-2", "de", (3, 5)),
    ("sortBy=SORT_BY_DESCRIPTION&users=determined", "abcde", (0, 5)),
    ("sortBy=SORT_BY_DESCRIPTION&users=admin", "", (0, 0)),
    ("sortBy=SORT_BY_DESCRIPTION&userIds=2", "abcde", (0, 5)),
    ("workspaceId=2", "", (0, 0)),
])
def test_commands_are_listed_by_filters_in_order_and_in_pages(master, five, query, names, window):
    found, page = listed(master, query)
    assert (found, (page["startIndex"], page["endIndex"])) == (names, window)


@pytest.mark.parametrize("query", ["offset=6", "limit=-1", "sortBy=SORT_BY_COLOUR"])
def test_a_page_that_cannot_be_is_refused(master, five, query):
    assert master.get(f"/api/v1/commands?{query}").status == 400


def test_a_command_that_has_ended_is_listed_for_a_day(new_cluster):
    c = new_cluster()
    c.start_master()
    c.login()
    made = launch_id(c)
    c.post(f"/api/v1/commands/{made}/kill")
    assert [x["state"] for x in c.get("/api/v1/commands").json["commands"]] == ["STATE_TERMINATED"]
    if c.config.get("db"):
        return  # the clock of what is stored is set back in a file only
    c.stop_master()
    with contextlib.closing(sqlite3.connect(c.dir / "data/determined.db")) as db, db:
        db.execute("UPDATE tasks SET end_us = end_us - 86400000000")
    c.start_master()
    assert c.get("/api/v1/commands").json["commands"] == []
    assert shown(c, made)["state"] == "STATE_TERMINATED"


def test_lists_of_other_kinds_do_not_show_commands(master, five):
    for kind in ("notebook", "shell", "tensorboard"):
        assert master.get(f"/api/v1/{kind}s").json[f"{kind}s"] == []
    assert master.get("/api/v1/tasks/count").json == {"commands": 5, "notebooks": 0, "shells": 0, "tensorboards": 0}


# ---- the queue --------------------------------------------------------------------------------------------------------

def queue(master):
    return [(j["full"]["name"], j["full"]["type"], j["full"]["priority"])
            for j in master.get("/api/v1/job-queues-v2?resourcePool=default").json["jobs"]]


def test_tasks_stand_in_the_queue_with_experiments_and_are_moved_like_these(new_cluster):
    c = new_cluster()
    c.start_master()
    c.login()
    x = c.create(name="an experiment")
    command = launch(c, description="a command", resources={"slots": 1}).json["command"]
    shell = launch(c, "shell", description="a shell", resources={"slots": 1}).json["shell"]
    rows = [("an experiment", "TYPE_EXPERIMENT", 42), ("a command", "TYPE_COMMAND", 42), ("a shell", "TYPE_SHELL", 42)]
    assert queue(c) == rows
    job = c.get(f"/api/v1/experiments/{x}").json["experiment"]["jobId"]
    c.post("/api/v1/job-queues", {"updates": [{"jobId": shell["jobId"], "aheadOf": job}]})
    assert queue(c) == [rows[2], rows[0], rows[1]]
    assert c.post(f"/api/v1/commands/{command['id']}/set_priority", {"priority": 7}).status == 200
    assert queue(c) == [("a command", "TYPE_COMMAND", 7), rows[2], rows[0]]
    assert c.get(f"/api/v1/commands/{command['id']}").json["config"]["resources"]["priority"] == 7
    refused = c.post("/api/v1/job-queues", {"updates": [{"jobId": shell["jobId"], "resourcePool": "default"}]})
    assert "setting resource pool for job type SHELL is not supported" in error_of(refused, 400)
    refused = c.post(f"/api/v1/commands/{command['id']}/set_priority", {"priority": 0})
    assert "priority must be between 1 and 99" in error_of(refused, 400)
    c.stop_master(signal.SIGKILL)
    c.start_master()
    assert queue(c) == [("a command", "TYPE_COMMAND", 7), rows[2], rows[0]]


# ---- restarts ---------------------------------------------------------------------------------------------------------

def test_a_command_goes_on_while_the_master_is_away(new_cluster):
    c = new_cluster()
    c.start_master()
    c.start_agent()
    c.login()
    go = c.dir / "go"
    made = launch_id(c, entrypoint=[f"echo begins; while ! [ -e {go} ]; do sleep 0.05; done; echo ends; exit 3"])
    wait_for("its first line", lambda: log_of(c, made) == ["begins"])
    c.stop_master(signal.SIGKILL)
    c.start_master()
    assert shown(c, made)["state"] == "STATE_RUNNING"
    go.touch()
    assert wait_state(c, made, "TERMINATED")["exitStatus"] == "container failed with non-zero exit code (exit code 3)"
    assert log_of(c, made) == ["begins", "ends"]


def test_a_command_waits_for_slots_over_a_restart_and_a_lost_one_says_why_it_ended(new_cluster):
    c = new_cluster(config={"resource_pools": [{"pool_name": "default", "agent_reconnect_wait": "1s"}]})
    c.start_master()
    c.login()
    waiting = launch_id(c, resources={"slots": 1}, entrypoint=["sleep 1000"])
    c.stop_master(signal.SIGKILL)
    c.start_master()
    assert shown(c, waiting)["state"] == "STATE_QUEUED"
    c.start_agent()
    wait_state(c, waiting, "RUNNING")
    supervisors = c.supervisors()
    c.stop_agent(signo=signal.SIGKILL)
    over = wait_state(c, waiting, "TERMINATED")
    assert over["exitStatus"] == "agent failed while the container was running"
    for pid in supervisors:
        subprocess.run(["kill", "-9", str(pid)], check=False)


# ---- notebooks, shells, TensorBoards ----------------------------------------------------------------------------------

def test_a_shell_has_a_key_pair_that_openssh_reads(master, tmp_path):
    made = launch(master, "shell").json["shell"]
    key = tmp_path / "key"
    key.write_text(made["privateKey"])
    key.chmod(0o600)
    public = subprocess.run(["ssh-keygen", "-y", "-f", key], capture_output=True, text=True, timeout=60, check=True).stdout
    assert public.split()[:2] == made["publicKey"].split()[:2] and made["publicKey"].startswith("ssh-ed25519 ")
    assert made["agentUserGroup"]["user"] == "root"


def test_the_private_key_of_a_shell_can_have_a_passphrase(master, tmp_path):
    data = base64.b64encode(json.dumps({"passphrase": "open sesame"}).encode()).decode()
    made = launch(master, "shell", data=data).json["shell"]
    key = tmp_path / "key"
    key.write_text(made["privateKey"])
    key.chmod(0o600)

    def read(passphrase):
        return subprocess.run(["ssh-keygen", "-y", "-P", passphrase, "-f", key], capture_output=True, text=True, timeout=60)
    assert read("open sesame").stdout.split()[:2] == made["publicKey"].split()[:2]
    assert read("open barley").returncode != 0


def test_a_notebook_is_previewed_without_being_launched(master):
    before = master.get("/api/v1/notebooks").json["pagination"]["total"]
    reply = launch(master, "notebook", preview=True, description="only looked at")
    assert reply.json["config"]["description"] == "only looked at" and reply.json["notebook"]["id"] == ""
    assert master.get("/api/v1/notebooks").json["pagination"]["total"] == before


def test_a_tensorboard_shows_experiments_and_trials_that_exist(master):
    x = master.create(activate=False)
    made = launch(master, "tensorboard", experimentIds=[x, x]).json["tensorboard"]
    assert (made["experimentIds"], made["trialIds"]) == ([x], [])
    trial = master.trial_ids(x)[0]
    assert launch(master, "tensorboard", trialIds=[trial]).json["tensorboard"]["trialIds"] == [trial]
    found = launch(master, "tensorboard", filters={"projectId": 1}).json["tensorboard"]
    assert x in found["experimentIds"]
    assert "needs something to show" in error_of(launch(master, "tensorboard", expect=400))
    assert "4711" in error_of(launch(master, "tensorboard", expect=404, experimentIds=[4711]))
    assert "4711" in error_of(launch(master, "tensorboard", expect=404, trialIds=[4711]))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_launched_shown_listed_given_a_priority_and_killed(master, kind):
    more = {"experimentIds": [master.create(activate=False)]} if kind == "tensorboard" else {}
    made = launch(master, kind, **more).json[kind]
    assert shown(master, made["id"], kind) == made
    assert made["id"] in [x["id"] for x in master.get(f"/api/v1/{kind}s").json[f"{kind}s"]]
    assert master.post(f"/api/v1/{kind}s/{made['id']}/set_priority", {"priority": 9}).status == 200
    assert master.get(f"/api/v1/{kind}s/{made['id']}").json["config"]["resources"]["priority"] == 9
    assert master.post(f"/api/v1/{kind}s/{made['id']}/kill").json[kind]["state"] == "STATE_TERMINATED"
    over = master.post(f"/api/v1/{kind}s/{made['id']}/set_priority", {"priority": 9})
    assert f"{kind} '{made['id']}' has ended" in error_of(over, 400)


# ---- readiness and idleness -------------------------------------------------------------------------------------------

needs_sshd = pytest.mark.skipif(not os.path.exists("/usr/sbin/sshd"), reason="needs OpenSSH's server")


def allocation_of(c, task_id):
    return c.get(f"/api/v1/tasks/{task_id}").json["task"]["allocations"][0]


def test_a_command_is_ready_when_it_runs(cluster):
    made = launch_id(cluster, entrypoint=["sleep 1000"])
    wait_state(cluster, made, "RUNNING")
    assert allocation_of(cluster, made)["isReady"]
    cluster.post(f"/api/v1/commands/{made}/kill")


@needs_sshd
def test_a_shell_is_ready_when_its_output_says_so_also_after_restarts(new_cluster):
    c = new_cluster()
    c.start_master()
    c.start_agent()
    c.login()
    go = c.dir / "go"
    hook = f"while ! [ -e {go} ]; do sleep 0.05; done"
    made = launch_id(c, "shell", files=[file_of("startup-hook.sh", hook)])
    wait_state(c, made, "RUNNING", kind="shell")
    assert not allocation_of(c, made)["isReady"]
    c.stop_agent(signo=signal.SIGKILL)
    c.stop_master(signal.SIGKILL)
    c.start_master()
    c.start_agent()
    assert not allocation_of(c, made)["isReady"]
    go.touch()
    wait_for("the shell to be ready", lambda: allocation_of(c, made)["isReady"])
    c.post(f"/api/v1/shells/{made}/kill")


@needs_sshd
def test_a_task_that_nobody_uses_is_ended_after_its_idle_timeout(cluster):
    made = launch_id(cluster, "shell", idle_timeout="1500ms")
    over = wait_state(cluster, made, "TERMINATED", kind="shell")
    assert over["exitStatus"] == "task was killed by the master"
    assert any("idle for more than 1.5s: service is inactive" in line for line in master_log_of(cluster, made))


def test_a_notebook_tells_whether_it_is_idle(master):
    made = launch_id(master, "notebook", resources={"slots": 64}, idle_timeout="1h")
    for idle in (True, False):
        assert master.request("PUT", f"/api/v1/notebooks/{made}/report_idle", {"idle": idle}).json == {}
    command = launch_id(master)
    for unknown in (command, "none-such"):
        reply = master.request("PUT", f"/api/v1/notebooks/{unknown}/report_idle", {"idle": False})
        assert f"notebook '{unknown}' not found" in error_of(reply, 404)
