"""Tests resources.max_idle_time: what leaves its slots unused is warned and stopped for good, with the reason where people look for it."""
import json
import time

import pytest
from support.cluster import Cluster, error_of, wait_for
from support.launched import launch, launch_id, master_log_of, wait_state

SLEEP = ["sh", "-c", "sleep 1000"]
BUSY = ["sh", "-c", "while :; do :; done"]
POLICY = "/api/v1/config-policies/global/EXPERIMENT"
LIMIT = {"slots": 1, "max_idle_time": "2s"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("cluster")) as c:
        c.start_master()
        c.login()
        c.admin = c.login("admin", keep=False).json["token"]
        c.start_agent(slots=2)
        yield c


def trial_log(cluster, trial):
    return "\n".join(line["result"]["log"] for line in cluster.get(f"/api/v1/trials/{trial}/logs").lines)


def test_a_trial_that_leaves_its_slots_unused_ends_in_error_and_says_why(cluster):
    x = cluster.create(entrypoint=SLEEP, max_restarts=5, preemption_timeout=1, resources={"slots_per_trial": 1, "max_idle_time": "2s"})
    assert cluster.wait_experiment(x)["state"] == "STATE_ERROR"
    [trial] = cluster.get(f"/api/v1/experiments/{x}/trials").json["trials"]
    assert trial["state"] == "STATE_ERROR" and trial["restarts"] == 0
    text = trial_log(cluster, trial["id"])
    assert ("warning: the slots of this run have not been used for 1s; the run will be stopped when that has lasted for 2s "
            "(resources.max_idle_time)") in text
    assert "the trial does not run again: the slots of a run were not used for 2s, which is its resources.max_idle_time" in text


def test_a_command_that_leaves_its_slots_unused_is_stopped_and_one_that_computes_is_not(cluster):
    busy = launch_id(cluster, entrypoint=BUSY, resources=LIMIT)
    wait_state(cluster, busy, "RUNNING")
    idle = launch_id(cluster, entrypoint=SLEEP, resources=LIMIT)
    assert wait_state(cluster, idle, "TERMINATED")["exitStatus"].startswith("task was killed by the master")
    assert "its slots were not used for 2s, which is its resources.max_idle_time" in "\n".join(master_log_of(cluster, idle))
    wait_state(cluster, busy, "RUNNING")
    assert "max_idle_time" not in "\n".join(master_log_of(cluster, busy))
    cluster.post(f"/api/v1/commands/{busy}/kill", {})
    wait_state(cluster, busy, "TERMINATED")


def test_the_limit_holds_over_a_restart_of_the_master(cluster):
    """Half of it is over at the restart, and the end comes before all of it could pass anew."""
    task = launch_id(cluster, entrypoint=SLEEP, resources={"slots": 1, "max_idle_time": "20s"})
    wait_for("the warning", lambda: "not been used for 10s" in "\n".join(master_log_of(cluster, task)))
    cluster.stop_master()
    cluster.start_master()
    begin = time.monotonic()
    cluster.login()
    wait_state(cluster, task, "TERMINATED")
    assert time.monotonic() - begin < 20
    text = "\n".join(master_log_of(cluster, task))
    assert "its slots were not used for 20s" in text and text.count("not been used for 10s") == 1


def test_a_task_without_slots_has_none_to_leave_unused(cluster):
    task = launch_id(cluster, entrypoint=["sh", "-c", "sleep 3"], resources={"slots": 0, "max_idle_time": "1s"})
    assert wait_state(cluster, task, "TERMINATED")["exitStatus"] == "allocation exited successfully"


@pytest.mark.parametrize("time", ["0s", "-1s", "soon", {}])
def test_wrong_times_are_refused(cluster, time):
    assert "resources.max_idle_time" in error_of(launch(cluster, entrypoint=SLEEP, resources={"max_idle_time": time}, expect=400))
    config = json.dumps(cluster.experiment_config(resources={"max_idle_time": time}))
    assert "resources.max_idle_time" in error_of(cluster.post("/api/v1/experiments", {"config": config}), 400)


def test_policies_give_a_default_and_a_limit(cluster):
    def put(policy):
        reply = cluster.request("PUT", POLICY, {"workloadType": "EXPERIMENT", "configPolicies": json.dumps(policy)}, token=cluster.admin)
        assert reply.status == 200, reply

    def time_of(**options):
        return cluster.experiment(cluster.create(entrypoint=["true"], **options))["config"]["resources"]["max_idle_time"]

    try:
        put({"constraints": {"resources": {"max_idle_time": "1h"}}})
        assert time_of() == "1h0m0s" and time_of(resources={"max_idle_time": "20m"}) == "20m"
        config = json.dumps(cluster.experiment_config(resources={"max_idle_time": "2h"}))
        assert "allows at most 1h0m0s" in error_of(cluster.post("/api/v1/experiments", {"config": config}), 400)
        put({"invariant_config": {"resources": {"max_idle_time": "30m"}}})
        assert time_of(resources={"max_idle_time": "20m"}) == "30m"
    finally:
        cluster.request("DELETE", POLICY, token=cluster.admin)


@pytest.mark.parametrize("time", ["0s", "-1h", "now and then"])
def test_wrong_times_in_policies_are_refused(cluster, time):
    for policy in ({"constraints": {"resources": {"max_idle_time": time}}}, {"invariant_config": {"resources": {"max_idle_time": time}}}):
        reply = cluster.request("PUT", POLICY, {"workloadType": "EXPERIMENT", "configPolicies": json.dumps(policy)}, token=cluster.admin)
        assert "max_idle_time" in error_of(reply, 400)
