"""Tests experiments and trials that run outside of the cluster and only report to it (core_v2)."""
import json

import pytest
from api.checkpoints.test_checkpoints import store_checkpoint
from support.cluster import wait_for

CHECKPOINT = "0a1b2c3d-1111-4222-8333-4444555566{:02d}"


def config(c, **changes):
    config = c.experiment_config(**changes)
    del config["entrypoint"]
    return json.dumps(config)


def make(c, **body):
    reply = c.post("/api/v1/experiments", {"config": config(c), "unmanaged": True, **body})
    assert reply.status == 200, reply
    return reply.json["experiment"]["id"]


def trial_of(c, experiment, **hparams):
    reply = c.post("/api/v1/trials", {"experimentId": experiment, "unmanaged": True, "hparams": hparams})
    assert reply.status == 200, reply
    return reply.json["trial"]


def patch(c, trial, state=None):
    return c.patch(f"/api/v1/trials/{trial}", {"state": state})


def refusal(reply, status=400):
    assert reply.status == status, reply
    return reply.json["error"]["error"]


def test_the_master_makes_no_trials_for_an_unmanaged_experiment(master):
    x = make(master)
    got = master.experiment(x)
    assert got["unmanaged"] is True and got["state"] == "STATE_PAUSED" and got["numTrials"] == 0
    t = trial_of(master, x, lr=0.1)
    assert t["state"] == "STATE_PAUSED" and t["hparams"] == {"lr": 0.1} and t["taskId"].startswith(f"{x}.")
    assert master.experiment(x)["trialIds"] == [t["id"]]
    for action in ("kill", "cancel"):
        assert master.post(f"/api/v1/experiments/{x}/{action}").status == 200
    assert "is unmanaged" in refusal(master.post(f"/api/v1/experiments/{x}/pause"))
    assert master.experiment(x)["state"] == "STATE_PAUSED"


def test_an_experiment_whose_deletion_failed_stays_so_whatever_its_trials_say(master):
    x = make(master)
    t = trial_of(master, x)["id"]
    source = store_checkpoint(master, t, 1)
    assert patch(master, t, "STATE_COMPLETED").status == 200
    y = master.create(activate=False, searcher={"name": "single", "metric": "loss", "source_checkpoint_uuid": source})
    assert master.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the failure", lambda: master.experiment(x)["state"] == "STATE_DELETE_FAILED")
    for state in ("STATE_RUNNING", "STATE_COMPLETED"):
        assert patch(master, t, state).json["trial"]["state"] == state
        assert master.experiment(x)["state"] == "STATE_DELETE_FAILED"
    assert master.post(f"/api/v1/experiments/{y}/kill").status == 200


def test_a_trial_tells_its_state_and_the_experiment_follows(master):
    x = make(master)
    a, b = trial_of(master, x)["id"], trial_of(master, x)["id"]
    start = master.post(f"/api/v1/trials/{a}/start", {}).json
    assert start["trialRunId"] == 1 and start["stepsCompleted"] == 0 and "latestCheckpoint" not in start
    assert master.get(f"/api/v1/trials/{a}").json["trial"]["state"] == "STATE_RUNNING"
    assert master.experiment(x)["state"] == "STATE_RUNNING"
    assert "already been started" in refusal(master.post(f"/api/v1/trials/{a}/start", {}))
    assert master.post(f"/api/v1/trials/{a}/start", {"resume": True}).json["trialRunId"] == 2
    assert patch(master, a).json["trial"]["state"] == "STATE_RUNNING", "a heartbeat changes nothing"
    assert patch(master, a, "STATE_ERROR").json["trial"]["endTime"]
    assert master.experiment(x)["state"] == "STATE_ERROR"
    assert patch(master, b, "STATE_RUNNING").status == 200
    assert master.experiment(x)["state"] == "STATE_RUNNING" and not master.experiment(x)["endTime"]
    assert patch(master, b, "STATE_COMPLETED").status == 200
    got = master.experiment(x)
    assert got["state"] == "STATE_COMPLETED" and got["progress"] == 1
    assert got["endTime"] == master.get(f"/api/v1/trials/{b}").json["trial"]["endTime"]


def test_metrics_and_checkpoints_arrive(master):
    x = make(master)
    t = trial_of(master, x)
    assert master.post(f"/api/v1/trials/{t['id']}/start", {}).status == 200
    assert master.post(f"/api/v1/trials/{t['id']}/metrics", {"group": "validation", "metrics": {
        "trialId": t["id"], "trialRunId": 1, "stepsCompleted": 5, "metrics": {"avgMetrics": {"loss": 0.5}}}}).status == 200
    uuid = CHECKPOINT.format(1)
    assert master.post("/api/v1/checkpoints", {"uuid": uuid, "taskId": t["taskId"], "resources": {"a": "3"},
                                               "state": "STATE_COMPLETED", "metadata": {"steps_completed": 5}}).status == 200
    got = master.get(f"/api/v1/trials/{t['id']}").json["trial"]
    assert got["bestValidation"]["metrics"]["avgMetrics"] == {"loss": 0.5} and got["checkpointCount"] == 1
    again = master.post(f"/api/v1/trials/{t['id']}/start", {"resume": True}).json
    assert (again["trialRunId"], again["latestCheckpoint"], again["stepsCompleted"]) == (2, uuid, 5), again


def test_metrics_of_a_checkpoint_are_those_of_the_trials_that_use_it(master):
    x = make(master)
    owner = trial_of(master, x)
    uuid = CHECKPOINT.format(40)
    assert master.post("/api/v1/checkpoints", {"uuid": uuid, "taskId": owner["taskId"], "resources": {}, "state": "STATE_COMPLETED",
                                               "metadata": {"steps_completed": 1}}).status == 200
    users = {}
    for kind in ("INFERENCE", "FINE_TUNING"):
        t = users[kind] = trial_of(master, x)["id"]
        assert master.post(f"/api/v1/trials/{t}/start", {}).status == 200
        for step, group in ((1, "inference"), (2, "inference"), (3, "validation")):
            assert master.post(f"/api/v1/trials/{t}/metrics", {"group": group, "metrics": {
                "trialId": t, "trialRunId": 1, "stepsCompleted": step, "metrics": {"avgMetrics": {"m": step}}}}).status == 200
        assert master.post("/api/v1/trial-source-info", {"trialSourceInfo": {
            "trialId": t, "checkpointUuid": uuid, "trialSourceInfoType": f"TRIAL_SOURCE_INFO_TYPE_{kind}"}}).status == 200

    def found(query=""):
        reply = master.get(f"/api/v1/checkpoints/{uuid}/metrics{query}")
        assert reply.status == 200, reply
        return [(m["trialId"], m["totalBatches"], m["group"]) for m in reply.json["metrics"]]
    a, b = users["INFERENCE"], users["FINE_TUNING"]
    every = [(t, step, group) for t in (a, b) for step, group in ((1, "inference"), (2, "inference"), (3, "validation"))]
    assert sorted(found()) == sorted(every)
    assert found("?trialSourceInfoType=TRIAL_SOURCE_INFO_TYPE_FINE_TUNING&metricGroup=inference") == [(b, 1, "inference"), (b, 2, "inference")]
    assert found("?metricGroup=none") == []
    assert refusal(master.get("/api/v1/checkpoints/0a1b2c3d-0000-4222-8333-444455556600/metrics"), 404)


def test_the_same_external_ids_give_the_same_things(master):
    def put(external):
        return master.request("PUT", f"/api/v1/experiments/by-external-id/{external}", {"config": config(master), "unmanaged": True})

    def put_trial(experiment, external):
        return master.request("PUT", "/api/v1/trials", {"externalTrialId": external, "createTrialRequest": {
            "experimentId": experiment, "unmanaged": True, "hparams": {"n": 1}}})
    first, again, other = put("mine"), put("mine"), put("other")
    assert first.status == again.status == other.status == 200
    x = first.json["experiment"]["id"]
    assert again.json["experiment"]["id"] == x != other.json["experiment"]["id"]
    assert first.json["experiment"]["externalExperimentId"] == "mine"
    t = put_trial(x, "t1").json["trial"]["id"]
    assert put_trial(x, "t1").json["trial"]["id"] == t != put_trial(x, "t2").json["trial"]["id"]
    assert put_trial(other.json["experiment"]["id"], "t1").json["trial"]["id"] != t, "of each experiment its own"
    assert master.get("/api/v1/trials/by-external-id/mine/t1").json["trial"]["id"] == t
    assert "trial 't9' of experiment 'mine' not found" in refusal(master.get("/api/v1/trials/by-external-id/mine/t9"), 404)


def test_what_is_refused(master):
    managed, x = master.create(activate=False), make(master)
    [trial] = master.trial_ids(managed)
    mine = trial_of(master, x)["id"]
    assert "managed by the master" in refusal(patch(master, trial, "STATE_COMPLETED"))
    assert "managed by the master" in refusal(master.post(f"/api/v1/trials/{trial}/start", {}))
    assert "managed by the master" in refusal(master.post("/api/v1/trials", {"experimentId": managed, "unmanaged": True}))
    assert "set unmanaged" in refusal(master.post("/api/v1/trials", {"experimentId": x}))
    assert refusal(master.post("/api/v1/trials", {"experimentId": 99999, "unmanaged": True}), 404)
    assert "STATE_STOPPING_KILLED" in refusal(patch(master, mine, "STATE_STOPPING_KILLED"))
    assert refusal(patch(master, 99999), 404)
    assert "set unmanaged" in refusal(master.request("PUT", "/api/v1/experiments/by-external-id/z", {"config": config(master)}))
    assert "createTrialRequest.experimentId is missing" in refusal(master.request("PUT", "/api/v1/trials", {}))
    assert "external_trial_id is missing" in refusal(
        master.request("PUT", "/api/v1/trials", {"createTrialRequest": {"experimentId": x, "unmanaged": True}}))
    assert "forked" in refusal(master.post("/api/v1/experiments", {"config": config(master), "unmanaged": True, "parentId": managed}))


@pytest.mark.parametrize("kind", ["TRIAL_SOURCE_INFO_TYPE_INFERENCE", "TRIAL_SOURCE_INFO_TYPE_FINE_TUNING"])
def test_a_trial_says_what_it_starts_from(master, kind):
    x = make(master)
    t = trial_of(master, x)
    uuid = CHECKPOINT.format(2 + len(kind) % 7)
    assert master.post("/api/v1/checkpoints", {"uuid": uuid, "taskId": t["taskId"], "resources": {"a": "3"},
                                               "state": "STATE_COMPLETED", "metadata": {"steps_completed": 5}}).status == 200

    def say(**info):
        return master.post("/api/v1/trial-source-info", {"trialSourceInfo": {
            "trialId": t["id"], "checkpointUuid": uuid, "trialSourceInfoType": kind, **info}})
    for _ in range(2):
        assert say(modelId=1, modelVersion=2).json == {"trialId": t["id"], "checkpointUuid": uuid}
    assert say(trialId=99999).status == 404
    assert say(checkpointUuid=CHECKPOINT.format(99)).status == 404
    assert "is missing" in refusal(say(trialSourceInfoType="TRIAL_SOURCE_INFO_TYPE_UNSPECIFIED"))
    assert master.post("/api/v1/trial-source-info", {}).status == 400


def test_logs_of_one_trial_are_retained(master):
    [trial] = master.trial_ids(master.create(activate=False))
    assert master.request("PUT", f"/api/v1/trials/{trial}/retain_logs", {"numDays": 3}).status == 200
    assert master.get(f"/api/v1/trials/{trial}").json["trial"]["logRetentionDays"] == 3
    assert "num_days is -2" in refusal(master.request("PUT", f"/api/v1/trials/{trial}/retain_logs", {"numDays": -2}))
    assert master.request("PUT", "/api/v1/trials/99999/retain_logs", {"numDays": 3}).status == 404
