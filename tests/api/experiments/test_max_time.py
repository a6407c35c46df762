"""Tests resources.max_time: what runs longer is warned and stopped for good, with the reason where people look for it."""
import json

import pytest
from support.cluster import Cluster, error_of
from support.launched import launch, launch_id, master_log_of, wait_state

SLEEP = ["sh", "-c", "sleep 1000"]
POLICY = "/api/v1/config-policies/global/EXPERIMENT"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("cluster")) as c:
        c.start_master()
        c.login()
        c.admin = c.login("admin", keep=False).json["token"]
        c.start_agent(slots=2)
        yield c


def test_a_trial_that_takes_too_long_ends_in_error_and_says_why(cluster):
    x = cluster.create(entrypoint=SLEEP, max_restarts=5, preemption_timeout=1, resources={"slots_per_trial": 1, "max_time": "1s"})
    assert cluster.wait_experiment(x)["state"] == "STATE_ERROR"
    [trial] = cluster.get(f"/api/v1/experiments/{x}/trials").json["trials"]
    assert trial["state"] == "STATE_ERROR" and trial["restarts"] == 0
    text = "\n".join(line["result"]["log"] for line in cluster.get(f"/api/v1/trials/{trial['id']}/logs").lines)
    assert "warning: this run will be stopped in 0.1s, when it has taken 1s (resources.max_time)" in text
    assert "the trial does not run again: a run has taken 1s, which is its resources.max_time" in text


def test_a_command_that_takes_too_long_is_stopped(cluster):
    task = launch_id(cluster, entrypoint=SLEEP, resources={"max_time": "1s"})
    assert wait_state(cluster, task, "TERMINATED")["exitStatus"].startswith("task was killed by the master")
    assert "it has run for 1s, which is its resources.max_time" in "\n".join(master_log_of(cluster, task))


@pytest.mark.parametrize("time", ["0s", "-1s", "soon", {}])
def test_wrong_times_are_refused(cluster, time):
    assert "resources.max_time" in error_of(launch(cluster, entrypoint=SLEEP, resources={"max_time": time}, expect=400))


def test_policies_give_a_default_and_a_limit(cluster):
    policy = json.dumps({"constraints": {"resources": {"max_time": "1h"}}})
    reply = cluster.request("PUT", POLICY, {"workloadType": "EXPERIMENT", "configPolicies": policy}, token=cluster.admin)
    assert reply.status == 200, reply
    try:
        x = cluster.create(entrypoint=["true"])
        assert cluster.experiment(x)["config"]["resources"]["max_time"] == "1h0m0s"
        config = json.dumps(cluster.experiment_config(resources={"max_time": "2h"}))
        assert "allows at most 1h0m0s" in error_of(cluster.post("/api/v1/experiments", {"config": config}), 400)
    finally:
        cluster.request("DELETE", POLICY, token=cluster.admin)
