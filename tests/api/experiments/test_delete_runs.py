"""Tests the deletion of single runs: files and rows of that run are removed, nothing of others is, also if the master crashes."""
import signal

import pytest
from api.checkpoints.test_checkpoints import policy, small_experiment, store_checkpoint, worked_experiment
from support.cluster import wait_for

GOES_ON = "cannot delete run in STATE_PAUSED state"


def delete(c, *runs, **more):
    reply = c.post("/api/v1/runs/delete", {"runIds": list(runs), **more})
    assert reply.status == 200, reply
    return {r["id"]: r["error"] for r in reply.json["results"]}


def is_gone(c, trial):
    return c.get(f"/api/v1/trials/{trial}").status == 404


def end(c, x):
    assert c.post(f"/api/v1/experiments/{x}/kill").status == 200
    c.wait_experiment(x)


@pytest.fixture
def worked(master):
    x, numbered = worked_experiment(master, policy(9, 9, 9))
    return x, sorted(master.trial_ids(x)), {n: master.storage / name for n, name in numbered.items()}


def test_a_run_goes_with_its_files_and_nothing_else_does(master, worked):
    x, (first, second), place = worked
    assert delete(master, first) == {first: GOES_ON} and place[1].exists()
    end(master, x)
    assert master.experiment(x)["numTrials"] == 2
    best = master.get(f"/api/v1/experiments/{x}/searcher/best_searcher_validation_metric").json
    assert delete(master, second, 999999) == {second: "", 999999: "run '999999' not found"}
    wait_for("the deletion", lambda: is_gone(master, second))
    assert [n for n in place if place[n].exists()] == [1, 2, 3, 4, 5]
    assert master.trial_ids(x) == [first]
    found = master.experiment(x)
    assert (found["numTrials"], found["checkpointCount"], found["bestTrialId"]) == (1, 5, first)
    assert best["metric"] == 0.2 and master.get(f"/api/v1/experiments/{x}/searcher/best_searcher_validation_metric").json["metric"] == 0.4
    assert master.get(f"/api/v1/trials/metrics/trial_metrics?trialIds={first}&group=validation").lines
    assert master.get(f"/api/v1/trials/{second}/logs").status == 404
    assert delete(master, second) == {second: f"run '{second}' not found"}
    refused = master.post("/api/v1/experiments/continue", {"id": x})
    assert refused.status == 400 and "has lost trials" in refused.json["error"]["error"], refused


def test_an_experiment_outlives_all_its_runs_and_can_be_deleted(master, worked):
    x, (first, second), place = worked
    end(master, x)
    assert delete(master, first, second, first) == {first: "", second: ""}
    wait_for("the deletion", lambda: is_gone(master, first) and is_gone(master, second))
    assert not any(path.exists() for path in place.values())
    found = master.experiment(x)
    assert (found["state"], found["numTrials"], found.get("bestTrialId")) == ("STATE_CANCELED", 0, None)
    assert master.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the experiment's deletion", lambda: master.get(f"/api/v1/experiments/{x}").status == 404)


def test_only_its_owner_and_admins_delete_a_run_and_not_while_the_search_goes_on(master, worked):
    x, (first, second), _ = worked
    assert master.post(f"/api/v1/trials/{first}/kill").status == 200
    wait_for("its end", lambda: master.get(f"/api/v1/trials/{first}").json["trial"]["state"] == "STATE_CANCELED")
    [error] = delete(master, first).values()
    assert f"while its experiment {x} is in STATE_" in error
    end(master, x)
    owner = master.token
    try:
        master.login("admin")
        other = {"user": {"username": f"other{x}", "active": True}, "password": "long enough 1", "isHashed": False}
        assert master.post("/api/v1/users", other).status == 200
        assert master.login(f"other{x}", password="long enough 1").status == 200
        assert "belongs to user 'determined'" in delete(master, first)[first]
    finally:
        master.token = owner
    assert delete(master, first, projectId=77) == {first: f"run '{first}' not found"}
    assert not is_gone(master, first)


def test_a_run_from_whose_checkpoint_another_starts_waits_to_be_asked_again(master):
    x, trial = small_experiment(master)
    source = store_checkpoint(master, trial, 1)
    end(master, x)
    y = master.create(activate=False, searcher={"name": "single", "metric": "loss", "source_checkpoint_uuid": source})
    assert delete(master, trial) == {trial: ""}
    wait_for("the refusal", lambda: f"experiment.delete_failed exp={x} trial={trial}" in master.master_log())
    assert (master.storage / source / "state").exists() and not is_gone(master, trial)
    end(master, y)
    assert delete(master, trial) == {trial: ""}
    wait_for("the deletion", lambda: is_gone(master, trial))
    assert not (master.storage / source).exists()


def test_a_killed_master_goes_on_with_it(new_cluster):
    c = new_cluster()
    c.start_master()
    c.login()
    for _ in range(3):
        x, numbered = worked_experiment(c, policy(9, 9, 9))
        first, second = sorted(c.trial_ids(x))
        end(c, x)
        assert delete(c, first) == {first: ""}
        c.stop_master(signal.SIGKILL)
        c.start_master()
        c.login()
        wait_for("the deletion", lambda trial=first: is_gone(c, trial))
        assert [n for n in numbered if (c.storage / numbered[n]).exists()] == [6, 7, 8, 9, 10]
        assert c.experiment(x)["numTrials"] == 1 and not is_gone(c, second)
