"""Tests what the API shows and does while tasks run: agents, slots, pools, jobs, tasks, and the routes that tasks call."""
import base64
import csv
import json
import os
import re
import threading
import urllib.parse

import pytest
from support.cluster import wait_for
from support.det import run_det

SLEEP = ["sh", "-c", "sleep 1000"]


@pytest.fixture(scope="module")
def running(cluster):
    """Starts an experiment with one trial that sleeps on a slot, and returns (experiment id, trial id, allocation id, task id)."""
    x = cluster.create(entrypoint=SLEEP, name="sleeper")
    wait_for("the trial to run", lambda: cluster.experiment(x)["state"] == "STATE_RUNNING")
    [trial] = cluster.trial_ids(x)
    task = cluster.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    yield x, trial, f"{task}.1", task
    cluster.post(f"/api/v1/experiments/{x}/kill")
    cluster.wait_experiment(x)


@pytest.fixture(scope="module")
def admin(cluster):
    return cluster.login("admin", keep=False).json["token"]


def slots(cluster):
    [agent] = cluster.get("/api/v1/agents").json["agents"]
    return agent["slots"]


def test_agents_show_slots_containers_and_statistics(cluster, running):
    [agent] = cluster.get("/api/v1/agents").json["agents"]
    assert sorted(agent["slots"]) == ["/agents/agent0/slots/0", "/agents/agent0/slots/1"]
    busy = [s for s in agent["slots"].values() if s["container"]]
    assert len(busy) == 1 and busy[0]["container"]["state"] == "STATE_RUNNING"
    assert busy[0]["container"]["parent"] == running[2]
    assert list(agent["containers"]) == [busy[0]["container"]["id"]]
    [stats] = agent["slotStats"]["typeStats"].values()
    assert stats["total"] == 2 and stats["states"]["STATE_RUNNING"] == 1
    bare = cluster.get("/api/v1/agents?excludeSlots=true&excludeContainers=true").json["agents"][0]
    assert bare["slots"] == {} and bare["containers"] == {}
    assert cluster.get("/api/v1/agents/agent0").json["agent"] == agent
    assert len(cluster.get("/api/v1/agents/agent0/slots").json["slots"]) == 2
    assert cluster.get("/api/v1/agents/agent0/slots/1").json["slot"]["id"] == "1"
    assert cluster.get("/api/v1/agents/agent0/slots/9").status == 404
    assert cluster.get("/api/v1/agents?offset=7").status == 400


def test_the_list_of_agents_is_never_behind(cluster, running, admin, request):
    """If an agent has not changed, the list has the same text for it as before. Every change must show."""
    def alone():
        return cluster.get("/api/v1/agents/agent0").json["agent"]

    def both():
        while True:
            earlier, [listed], later = alone(), cluster.get("/api/v1/agents").json["agents"], alone()
            if earlier == later:  # else the agent has changed between the two requests, and the list may have shown either state
                assert listed == later
                return listed

    before = both()
    assert both() == before
    free = next(s["id"] for s in before["slots"].values() if not s["container"])
    cluster.post(f"/api/v1/agents/agent0/slots/{free}/disable", {"drain": True}, token=admin)
    assert not both()["slots"][f"/agents/agent0/slots/{free}"]["enabled"]
    cluster.post(f"/api/v1/agents/agent0/slots/{free}/enable", token=admin)
    assert both() == before
    x = cluster.create(entrypoint=SLEEP)
    request.addfinalizer(lambda: cluster.post(f"/api/v1/experiments/{x}/kill"))  # other tests need the slot
    wait_for("the second trial to run", lambda: both()["slotStats"]["typeStats"]["TYPE_CPU"]["states"].get("STATE_RUNNING") == 2)
    cluster.post("/api/v1/agents/agent0/disable", {"drain": True}, token=admin)
    assert both()["draining"]
    cluster.post("/api/v1/agents/agent0/enable", token=admin)
    cluster.post(f"/api/v1/experiments/{x}/kill")
    wait_for("the slot to be free", lambda: both() == before)


def test_lists_of_experiments_say_how_far_they_are(cluster, running, request):
    """Lists show the same state of an experiment as GetExperiment. Filters compare the state that is stored."""
    waits = cluster.create(entrypoint="true", resources={"slots_per_trial": 2})
    request.addfinalizer(lambda: cluster.post(f"/api/v1/experiments/{waits}/kill") and cluster.wait_experiment(waits))
    wanted = {running[0]: "STATE_RUNNING", waits: "STATE_QUEUED"}
    for x, state in wanted.items():
        assert cluster.experiment(x)["state"] == state
    for path in ("/api/v1/experiments?limit=-1", "/api/v1/experiments?states=STATE_ACTIVE"):
        found = {x["id"]: x["state"] for x in cluster.get(path).json["experiments"]}
        assert wanted.items() <= found.items() and "STATE_ACTIVE" not in found.values(), path
    found = {x["experiment"]["id"]: x["experiment"]["state"] for x in
             cluster.post("/api/v1/experiments-search", {"limit": 100, "filter": "{}"}).json["experiments"]}
    assert wanted.items() <= found.items()
    for words, states in (([], {"RUNNING", "QUEUED"}), (["--state", "running"], {"RUNNING"}), (["--state", "QUEUED"], {"QUEUED"}),
                          (["--state", "ACTIVE"], {"RUNNING", "QUEUED"}), (["--state", "ERROR", "--state", "QUEUED"], {"QUEUED"})):
        rows = {row["ID"]: row["State"] for row in csv.DictReader(run_det(cluster, "e", "list", "--csv", *words).stdout.splitlines())}
        assert {rows.get(str(x)) for x in wanted} - {None} == states, words
        assert not words or set(rows.values()) <= {*states, "ERROR"}, words
    listed = json.loads(run_det(cluster, "e", "list", "--json", "--state", "QUEUED", "--limit", 1).stdout)
    assert [x["state"] for x in listed] == ["STATE_QUEUED"]
    assert json.loads(run_det(cluster, "e", "list", "--json", "--state", "RUNNING", "--limit", 1, "--offset", 100).stdout) == []


def test_only_admins_switch_agents_and_slots(cluster, running, admin):
    for path in ("/api/v1/agents/agent0/disable", "/api/v1/agents/agent0/slots/1/disable", "/api/v1/agents/agent0/enable"):
        assert cluster.post(path, {}).status == 403
    free = next(s["id"] for s in slots(cluster).values() if not s["container"])
    off = cluster.post(f"/api/v1/agents/agent0/slots/{free}/disable", {"drain": True}, token=admin).json["slot"]
    assert off["enabled"] is False
    waits = cluster.create(entrypoint="true")
    assert cluster.experiment(waits)["state"] == "STATE_QUEUED"
    assert cluster.post(f"/api/v1/agents/agent0/slots/{free}/enable", token=admin).json["slot"]["enabled"] is True
    assert cluster.wait_experiment(waits)["state"] == "STATE_COMPLETED"
    assert cluster.post("/api/v1/agents/none/disable", {}, token=admin).status == 404


def test_a_disabled_agent_says_why_until_it_is_enabled(new_cluster):
    c = new_cluster().start_master()
    c.start_agent(slots=2)
    c.login("admin")

    def listed():
        [agent] = json.loads(run_det(c, "agent", "list", "--json").stdout)
        return agent.get("disabled_reason")

    assert listed() is None
    assert run_det(c, "agent", "disable", "agent0", "--drain", "--reason", "new disks", user="admin").returncode == 0
    waits = c.create(entrypoint="true")
    assert listed() == "new disks" and c.get("/api/v1/agents/agent0").json["agent"]["disabledReason"] == "new disks"
    [job] = c.get("/api/v1/job-queues-v2?resourcePool=default").json["jobs"]
    assert "takes new work: 1 draining (agent0: new disks)" in json.dumps(job)
    c.stop_master()
    c.start_master()
    c.login("admin")
    wait_for("the agent to be back", lambda: c.get("/api/v1/agents/agent0").json["agent"]["registeredTime"])
    assert listed() == "new disks"
    shown = run_det(c, "agent", "describe", "agent0").stdout
    assert "new disks" in shown and "\nSlots:\n" in shown and shown.count("FREE") == 4
    agent = json.loads(run_det(c, "agent", "describe", "agent0", "--json").stdout)
    assert agent["id"] == "agent0" and len(agent["slots"]) == 2 and agent["disabledReason"] == "new disks"
    for reason, words in (("x" * 256, "at most 255 bytes, found 256"), ("two\nlines", "one line of text")):
        assert words in c.post("/api/v1/agents/agent0/disable", {"reason": reason}).json["error"]["error"]
    assert c.post("/api/v1/agents/agent0/disable", {"drain": True}).json["agent"]["disabledReason"] == "new disks"
    assert c.post("/api/v1/agents/agent0/enable").json["agent"].get("disabledReason") is None and listed() is None
    assert c.wait_experiment(waits)["state"] == "STATE_COMPLETED"
    assert "agent 'none' not found" in run_det(c, "agent", "describe", "none").stderr


SHOW_CAPABILITIES = "grep -E 'Cap(Prm|Eff|Bnd)' /proc/self/status"


@pytest.mark.skipif(os.geteuid() != 0, reason="an agent that is not root takes nothing out of the bounding set")
def test_dropped_capabilities_are_those_of_the_cluster_and_of_the_experiment(new_cluster):
    c = new_cluster(config={"task_container_defaults": {"drop_capabilities": ["cap_mknod"]}}).start_master()
    c.start_agent()
    c.login()
    x = c.create(entrypoint=SHOW_CAPABILITIES, environment={"drop_capabilities": ["NET_RAW", "CAP_CHOWN"]})
    assert c.wait_experiment(x)["state"] == "STATE_COMPLETED"
    log = c.trial_log(c.trial_ids(x)[0])
    has = {name: int(value, 16) for name, value in re.findall(r"(Cap\w+):\s+([0-9a-f]+)", log)}
    assert set(has) == {"CapPrm", "CapEff", "CapBnd"} and has["CapBnd"] & 1 << 5
    assert not any(value & (1 << 13 | 1 << 0 | 1 << 27) for value in has.values())  # the agent is root's, and the user is linked to root
    assert "no effect" not in log


def test_a_capability_that_does_not_exist_is_refused(cluster):
    reply = cluster.post("/api/v1/experiments", {"config": json.dumps(cluster.experiment_config(environment={"drop_capabilities": ["NET_RAWW"]}))})
    assert reply.status == 400
    assert '<config>.environment.drop_capabilities (line 1, column ' in reply.json["error"]["error"]
    assert 'there is no Linux capability "NET_RAWW"' in reply.json["error"]["error"]


def test_pools_and_queues_count_what_runs(cluster, running):
    [pool] = cluster.get("/api/v1/resource-pools").json["resourcePools"]
    assert (pool["name"], pool["numAgents"], pool["slotsAvailable"], pool["slotsUsed"]) == ("default", 1, 2, 1)
    assert pool["defaultComputePool"] and pool["slotsPerAgent"] == 2
    [stat] = cluster.get("/api/v1/job-queues/stats?resourcePools=default").json["results"]
    assert stat["stats"] == {"queuedCount": 0, "scheduledCount": 1}
    [job] = [j["full"] for j in cluster.get("/api/v1/job-queues-v2").json["jobs"]]
    assert (job["entityId"], job["name"], job["username"]) == (str(running[0]), "sleeper", "determined")
    assert job["summary"]["state"] == "STATE_SCHEDULED" and job["allocatedSlots"] == 1
    assert cluster.get("/api/v1/job-queues-v2?states=STATE_QUEUED").json["jobs"] == []
    assert cluster.get(f"/api/v1/experiments/{running[0]}").json["jobSummary"] == {"state": "STATE_SCHEDULED", "jobsAhead": 0}


def test_tasks_and_allocations_are_listed(cluster, running):
    [entry] = cluster.get("/api/v1/tasks").json["allocationIdToSummary"].values()
    assert entry["name"] == f"Trial {running[1]} (Experiment {running[0]})" and entry["slotsNeeded"] == 1
    assert list(entry["resources"][0]["agentDevices"]) == ["agent0"]
    allocation = cluster.get(f"/api/v1/allocations/{running[2]}").json["allocation"]
    assert allocation["state"] == "STATE_RUNNING" and allocation["taskId"] == running[3]
    task = cluster.get(f"/api/v1/tasks/{running[3]}").json["task"]
    assert [a["allocationId"] for a in task["allocations"]] == [running[2]]


def test_metrics_page_is_open_metrics(cluster, running):
    reply = cluster.get("/metrics")
    assert reply.headers["Content-Type"].startswith("application/openmetrics-text")
    text = reply.body.decode()
    assert text.endswith("# EOF\n")
    assert cluster.metric("det_agents") == 1 and cluster.metric("det_slots_used") == 1
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names)) and all(f"# HELP {name} " in text for name in names)


def test_master_configuration_is_for_admins_and_hides_secrets(cluster, running, admin):
    assert cluster.get("/api/v1/master/config").status == 403
    config = cluster.get("/api/v1/master/config", token=admin).json["config"]
    assert config["security"]["initial_user_password"] == "********"
    assert config["port"] == cluster.port


def test_a_task_tells_the_address_of_its_ports_and_is_told_that_nothing_waits_for_its_container(cluster, running):
    path = f"/api/v1/allocations/{running[2]}"
    assert "proxyAddress" not in cluster.get(path).json["allocation"]
    for wrong in ({}, {"proxyAddress": ""}, {"proxyAddress": "a b"}, {"proxyAddress": "http://x/"}, {"proxyAddress": "x" * 254}):
        assert cluster.post(f"{path}/proxy_address", wrong).status == 400
    assert cluster.post(f"{path}/proxy_address", {"proxyAddress": "10.1.2.3"}).status == 200
    assert cluster.get(path).json["allocation"]["proxyAddress"] == "10.1.2.3"
    assert cluster.post("/api/v1/allocations/1.none.1/proxy_address", {"proxyAddress": "10.1.2.3"}).status == 404
    reply = cluster.post(f"{path}/notify_container_running", {"rank": 0, "numPeers": 1, "nodeName": "n", "requestUuid": "r", "data": {}})
    assert reply.status == 400 and "for Slurm and PBS" in reply.json["error"]["error"]
    assert cluster.post("/api/v1/allocations/1.none.1/notify_container_running", {"data": {}}).status == 404


def test_preemption_answers_at_once_or_when_it_comes(cluster, running):
    path = f"/api/v1/allocations/{running[2]}/signals/preemption"
    assert cluster.get(f"{path}?timeout_seconds=0").json == {"preempt": False}
    assert cluster.get(f"{path}?timeout_seconds=1").json == {"preempt": False}
    assert cluster.get("/api/v1/allocations/nodot/signals/preemption").status == 400
    assert cluster.get("/api/v1/allocations/1.none.1/signals/preemption").status == 404

    x = cluster.create(entrypoint=SLEEP)
    wait_for("the trial to run", lambda: cluster.experiment(x)["state"] == "STATE_RUNNING")
    [trial] = cluster.trial_ids(x)
    allocation = cluster.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"] + ".1"
    answers = []
    poll = threading.Thread(target=lambda: answers.append(
        cluster.get(f"/api/v1/allocations/{allocation}/signals/preemption?timeout_seconds=60").json))
    poll.start()
    assert cluster.post(f"/api/v1/experiments/{x}/pause").status == 200
    poll.join()
    assert answers == [{"preempt": True}]
    assert cluster.post(f"/api/v1/allocations/{allocation}/signals/ack_preemption").status == 200
    cluster.post(f"/api/v1/experiments/{x}/kill")
    assert cluster.wait_experiment(x)["state"] == "STATE_CANCELED"


def test_rendezvous_and_all_gather_bring_peers_together(cluster, running):
    [entry] = cluster.get("/api/v1/tasks").json["allocationIdToSummary"].values()
    resources = entry["resources"][0]["resourcesId"]
    info = cluster.get(f"/api/v1/allocations/{running[2]}/resources/{resources}/rendezvous").json["rendezvousInfo"]
    assert info["rank"] == 0 and info["slots"] == [1] and len(info["addresses"]) == 1
    assert cluster.get(f"/api/v1/allocations/{running[2]}/resources/none/rendezvous").status == 404

    def gather(uuid, data, results):
        results.append(cluster.post(f"/api/v1/allocations/{running[2]}/all_gather",
                                    {"requestUuid": uuid, "numPeers": 2, "data": data}).json["data"])
    results = []
    peers = [threading.Thread(target=gather, args=(f"uuid-{i}", {"rank": i}, results)) for i in range(2)]
    for peer in peers:
        peer.start()
    for peer in peers:
        peer.join()
    assert len(results) == 2 and all(sorted(d["rank"] for d in r) == [0, 1] for r in results)


def test_what_tasks_report_about_themselves(cluster, running):
    x, trial, allocation, task = running
    assert cluster.post(f"/api/v1/allocations/{allocation}/ready").status == 200
    assert cluster.post(f"/api/v1/allocations/{allocation}/waiting").status == 200
    assert cluster.post(f"/api/v1/trials/{trial}/runner/metadata", {"state": "training"}).status == 200
    assert cluster.get(f"/api/v1/trials/{trial}").json["trial"]["runnerState"] == "training"
    assert cluster.post(f"/api/v1/trials/{trial}/progress", {"progress": 0.25, "is_raw": True}).status == 200
    assert cluster.experiment(x)["progress"] == 0.25
    assert cluster.post(f"/api/v1/trials/{trial}/progress", {"progress": "NaN"}).status == 200
    assert cluster.post(f"/api/v1/trials/{trial}/progress", {"progress": -1}).status == 400
    assert cluster.post(f"/api/v1/trials/{trial}/early_exit", {}).status == 400
    # only the trial's task, or an admin, may name the storage of a trial on the cluster
    admin = cluster.login("admin", keep=False).json["token"]
    storage, again = (cluster.post("/api/v1/runs/start", {"runId": trial, "checkpointStorage": s}, token=admin).json
                      for s in ({"type": "directory", "container_path": "/x"}, {"container_path": "/x", "type": "directory"}))
    assert storage["storageId"] == again["storageId"] > 0
    assert cluster.post(f"/api/v1/runs/{trial}/metadata", {"metadata": {"a": {"b": 1}}}).json["metadata"] == {"a": {"b": 1}}
    assert cluster.get(f"/api/v1/runs/{trial}/metadata").json["metadata"] == {"a": {"b": 1}}
    containers = list(cluster.get("/api/v1/agents").json["agents"][0]["containers"])
    body = {"containerId": containers[0], "nodeName": "n", "acceleratorType": "cpu", "acceleratorUuids": ["u"], "taskId": task}
    assert cluster.post(f"/api/v1/allocations/{allocation}/acceleratorData", {"acceleratorData": body}).status == 200
    found = cluster.get(f"/api/v1/tasks/{task}/acceleratorData").json["acceleratorData"]
    assert [d["acceleratorUuids"] for d in found] == [["u"]]


def test_a_tasks_token_is_its_owners_below_the_api_and_ends_with_the_allocation(cluster):
    x = cluster.create(entrypoint="env; echo token=$(printf %s $DET_SESSION_TOKEN | base64 -w0); sleep 1000")
    [trial] = wait_for("the trial", lambda: cluster.trial_ids(x))
    wait_for("the token in the log", lambda: "\ntoken=" in cluster.trial_log(trial))
    log = cluster.trial_log(trial)
    token = base64.b64decode(log.split("\ntoken=")[1].split()[0]).decode()
    assert token.startswith("det1.") and token not in log, "a log has more readers than the task has owners"
    assert "DET_SESSION_TOKEN=********" in log and "DET_USER_TOKEN=********" in log and log.count("det1.") == 0
    assert cluster.get("/api/v1/me", token=token).json["user"]["username"] == "determined"
    assert cluster.get("/api/v1/me", token=None, headers={"Grpc-Metadata-x-allocation-token": f"Bearer {token}"}).status == 200
    assert cluster.get("/users/me", token=token).status == 403
    assert cluster.post("/api/v1/auth/logout", token=token).status == 403
    user = cluster.get("/api/v1/me").json["user"]["id"]
    assert cluster.patch(f"/api/v1/users/{user}", {"displayName": "x"}, token=token).status == 403
    cluster.post(f"/api/v1/experiments/{x}/kill")
    cluster.wait_experiment(x)
    wait_for("the token to end", lambda: cluster.get("/api/v1/me", token=token).status == 401)


def test_workspaces_and_projects_can_be_looked_at(cluster):
    [workspace] = cluster.get("/api/v1/workspaces?name=uncat").json["workspaces"]
    assert workspace["name"] == "Uncategorized" and workspace["immutable"]
    assert cluster.get("/api/v1/workspaces?nameCaseSensitive=uncategorized").json["workspaces"] == []
    assert cluster.get("/api/v1/workspaces/1").json["workspace"]["id"] == 1
    [project] = cluster.get("/api/v1/workspaces/1/projects").json["projects"]
    assert project["name"] == "Uncategorized" and project["workspaceName"] == "Uncategorized"
    assert cluster.get("/api/v1/projects/1").json["project"]["id"] == 1
    key = urllib.parse.quote(project["key"])
    assert cluster.get(f"/api/v1/projects/key/{key}").json["project"]["id"] == 1


def test_settings_of_the_web_are_kept_per_user(cluster, admin):
    assert cluster.post("/api/v1/users/setting", {"settings": [{"key": "k", "storagePath": "p", "value": json.dumps([1])}]}).status == 200
    assert cluster.get("/api/v1/users/setting").json["settings"] == [{"key": "k", "storagePath": "p", "value": "[1]"}]
    assert cluster.get("/api/v1/users/setting", token=admin).json["settings"] == []
    assert cluster.post("/api/v1/users/setting/reset").status == 200
    assert cluster.get("/api/v1/users/setting").json["settings"] == []


def test_the_legacy_list_of_tasks(cluster, running):
    x, trial, allocation, task = running
    listed = cluster.get("/tasks").json
    [resources] = listed[allocation].pop("resources")
    assert resources["allocation_id"] == allocation and list(resources["agent_devices"]) == ["agent0"]
    assert len(resources["agent_devices"]["agent0"]) == 1 and resources["container_id"] == resources["resources_id"]
    mine = listed[allocation]
    assert (mine["task_id"], mine["allocation_id"], mine["slots_needed"]) == (task, allocation, 1)
    assert mine["name"] == f"Trial {trial} (Experiment {x})" and mine["resource_pool"] == "default" and mine["registered_time"].endswith("Z")
