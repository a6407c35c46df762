"""Tests requests for cores and memory: what agents tell, placement, reasons for waiting, limits of tasks, restarts of the master."""
import json
import os
import signal

import pytest
from support.cluster import Cluster, error_of, wait_for
from support.control_groups import cgroup_has
from support.det import det
from support.launched import launch, launch_id, log_of, wait_state

CORES = len(os.sched_getaffinity(0))
MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
RESERVED = MEMORY - (2 << 30)  # what is left is 2 GiB
SLEEP = ["sh", "-c", "sleep 1000"]
limits = pytest.mark.skipif(os.geteuid() != 0 or not cgroup_has("memory"), reason="limits of memory need root and a control group")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """An agent with 4 slots that offers all cores but a half, and 2 GiB."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as c:
        c.start_master()
        c.login()
        c.start_agent(slots=4, reserved={"cpus": 0.5, "memory": RESERVED})
        yield c


@pytest.fixture(autouse=True)
def nothing_left(cluster):
    yield
    for x in cluster.get("/api/v1/experiments").json["experiments"]:
        cluster.post(f"/api/v1/experiments/{x['id']}/kill")
    for x in cluster.get("/api/v1/commands").json["commands"]:
        cluster.post(f"/api/v1/commands/{x['id']}/kill")
    wait_for("everything to end", lambda: agent(cluster).get("containers") == {})


def agent(cluster):
    [found] = cluster.get("/api/v1/agents").json["agents"]
    return found


def held(cluster):
    a = agent(cluster)
    return a["cpusUsed"], int(a["memoryUsedBytes"])


def experiment(cluster, **resources):
    return cluster.create(entrypoint=SLEEP, resources={"slots_per_trial": 1, **resources}, preemption_timeout=1)


def reason(cluster, x):
    summary = cluster.get(f"/api/v1/experiments/{x}").json["jobSummary"]
    return summary and summary.get("reason")


def runs(cluster, x):
    wait_for(f"experiment {x} to run", lambda: cluster.experiment(x)["state"] == "STATE_RUNNING")


def test_an_agent_tells_what_it_has_less_what_it_keeps_back(cluster):
    a = agent(cluster)
    assert (a["cpus"], int(a["memoryBytes"])) == (CORES - 0.5, 2 << 30)
    assert held(cluster) == (0, 0)
    said = det(cluster, "agent", "describe", "agent0")
    [shown] = json.loads(det(cluster, "agent", "list", "--json"))
    assert (shown["cpus"], shown["cpus_used"], shown["memory_bytes"], shown["memory_used_bytes"]) == (CORES - 0.5, 0, 2 << 30, 0)
    assert "certificate" not in shown, "this cluster gives no certificates"
    assert "Cores Requested" in said and f"| 0 of {CORES - 0.5:g} " in said and "| 0.0B of 2.0GB " in said, said


def test_what_has_no_memory_left_waits_although_slots_are_free(cluster):
    first = experiment(cluster, memory="1.5 GiB", cpus=0.5)
    runs(cluster, first)
    second = experiment(cluster, memory="1 GiB")
    notebook = launch_id(cluster, entrypoint=SLEEP, resources={"slots": 0, "memory": "600 MiB"})
    small = launch_id(cluster, entrypoint=SLEEP, resources={"slots": 0, "memory": "400 MiB"})
    wait_state(cluster, small, "RUNNING")
    assert held(cluster) == (0.5, (1536 + 400) << 20)
    assert reason(cluster, second) == ("needs 1 GiB of memory: no agent of pool default with the slots free has as much left; "
                                       "the most is 112 MiB")
    cluster.post(f"/api/v1/experiments/{first}/kill")
    runs(cluster, second)
    wait_for("the memory of both", lambda: held(cluster) == (0, (1024 + 600 + 400) << 20))
    assert wait_state(cluster, notebook, "RUNNING")


def test_more_than_the_machine_has_is_told_at_once_and_in_the_queue(cluster):
    x = experiment(cluster, memory="64 TiB")
    expected = "needs 64 TiB of memory: the largest agent of pool default has 2 GiB for tasks"
    wait_for("the reason", lambda: reason(cluster, x) == expected)
    reply = launch(cluster, resources={"slots": 0, "cpus": CORES})
    assert "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED" in reply.json["warnings"]
    jobs = cluster.get("/api/v1/job-queues-v2?resourcePool=default").json["jobs"]
    summaries = [next(v for v in job.values() if isinstance(v, dict))["summary"] for job in jobs]
    assert expected in [s.get("reason") for s in summaries], jobs


@pytest.mark.parametrize("resources, said", [
    ({"cpus": -1}, "resources.cpus"), ({"cpus": 0}, "0.01"), ({"cpus": "four"}, "resources.cpus"), ({"cpus": 1e9}, "100000"),
    ({"memory": -5}, "resources.memory"), ({"memory": "64 elephants"}, "resources.memory"), ({"memory": 5}, "1048576"),
])
def test_bad_requests_are_refused_and_named(cluster, resources, said):
    reply = launch(cluster, expect=400, resources={"slots": 0, **resources})
    assert said in error_of(reply), reply
    before = len(cluster.get("/api/v1/experiments").json["experiments"])
    config = cluster.experiment_config(entrypoint=SLEEP, resources=resources)
    reply = cluster.post("/api/v1/experiments", {"config": json.dumps(config), "activate": True})
    assert said in error_of(reply, 400), reply
    assert len(cluster.get("/api/v1/experiments").json["experiments"]) == before


def test_a_master_that_was_killed_counts_as_before(cluster):
    x = experiment(cluster, memory="1.5 GiB", cpus=1)
    runs(cluster, x)
    waits = launch_id(cluster, entrypoint=SLEEP, resources={"slots": 1, "memory": "1 GiB"})
    cluster.stop_master(signal.SIGKILL)
    cluster.start_master()
    wait_for("the agent", lambda: cluster.agent_is_up("agent0"))
    assert held(cluster) == (1, 1536 << 20)
    assert wait_state(cluster, waits, "QUEUED")
    cluster.post(f"/api/v1/experiments/{x}/kill")
    wait_state(cluster, waits, "RUNNING")
    assert held(cluster) == (0, 1 << 30)


def test_with_launch_error_what_no_machine_can_hold_is_refused(tmp_path):
    with Cluster(tmp_path, {"launch_error": True}) as c:
        c.start_master()
        c.login()
        c.start_agent(slots=1, reserved={"memory": RESERVED})
        expected = "needs 64 GiB of memory: the largest agent of pool default has 2 GiB for tasks"
        assert expected in error_of(launch(c, expect=400, resources={"slots": 1, "memory": "64 GiB"}))
        config = c.experiment_config(resources={"slots_per_trial": 1, "memory": "64 GiB"})
        assert expected in error_of(c.post("/api/v1/experiments", {"config": json.dumps(config), "activate": True}), 400)
        assert c.get("/api/v1/experiments").json["experiments"] == []


@limits
def test_a_task_that_uses_more_than_it_asked_for_is_ended_and_told(cluster):
    made = launch_id(cluster, entrypoint=["python3", "-c", "x = bytearray(300 << 20); print('CAME-THROUGH')"],
                     resources={"slots": 0, "memory": "100 MiB"})
    wait_state(cluster, made, "TERMINATED")
    text = "\n".join(line["result"]["log"] for line in cluster.get(f"/api/v1/tasks/{made}/logs").lines)
    assert "out of memory: the task used 100 MiB, all that it asked for (resources.memory)" in text and "CAME-THROUGH" not in text


@limits
def test_the_smaller_of_request_and_limit_counts(cluster):
    made = launch_id(cluster, entrypoint=["python3", "-c", "x = bytearray(300 << 20); print('CAME-THROUGH')"],
                     resources={"slots": 0, "memory": "1 GiB", "memory_limit": "100 MiB"})
    wait_state(cluster, made, "TERMINATED")
    text = "\n".join(line["result"]["log"] for line in cluster.get(f"/api/v1/tasks/{made}/logs").lines)
    assert "the task used 100 MiB, its limit" in text and "CAME-THROUGH" not in text


@limits
@pytest.mark.skipif(not cgroup_has("cpu"), reason="this machine gives no control group for processor time")
def test_a_task_gets_as_much_processor_time_as_it_asked_for(cluster):
    where = "cat /sys/fs/cgroup/cpu/determined/$DET_CONTAINER_ID/cpu.cfs_quota_us || cat /sys/fs/cgroup/determined/$DET_CONTAINER_ID/cpu.max"
    made = launch_id(cluster, entrypoint=["sh", "-c", where], resources={"slots": 0, "cpus": 0.25})
    wait_state(cluster, made, "TERMINATED")
    assert log_of(cluster, made)[-1].split()[0] == "25000"
