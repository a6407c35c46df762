"""Tests that a trial that can never start is launched only as often as its max_restarts allows."""
import json

import pytest
from support.cluster import Cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("launches")) as c:
        c.start_master()
        c.start_agent(slots=2)
        c.login("determined")
        yield c


CANNOT_START = {
    "no such program": {"entrypoint": ["/no/such/program", "x"]},
    "a program that is not executable": {"entrypoint": ["/etc/passwd", "x"]},
    "an environment beyond what exec takes": {"environment": {"environment_variables": ["BIG=" + "x" * 200_000]},
                                              "entrypoint": ["true", "x"]},
}


@pytest.mark.parametrize("restarts", [0, 2])
@pytest.mark.parametrize("what", CANNOT_START)
def test_a_task_that_cannot_start_is_launched_again_and_again(cluster, what, restarts):
    config = cluster.experiment_config(max_restarts=restarts, **CANNOT_START[what])
    reply = cluster.post("/api/v1/experiments", {"config": json.dumps(config), "activate": True})
    if reply.status == 400:  # to refuse the experiment when it is created is as good
        return
    experiment = cluster.wait_experiment(reply.json["experiment"]["id"])
    if experiment["state"] == "STATE_COMPLETED":  # a large environment may reach the task by other means than exec
        assert "environment" in what
        return
    assert experiment["state"] == "STATE_ERROR"
    [trial] = cluster.get(f"/api/v1/experiments/{experiment['id']}/trials").json["trials"]
    assert trial["restarts"] <= restarts + 1
    log = cluster.trial_log(trial["id"])
    assert log.count("crashed: ") == restarts + 1, log
    assert "environment" not in what or "cannot be started as it was submitted" in log
