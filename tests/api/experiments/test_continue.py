"""Tests that an experiment that is over goes on, with its configuration as it was or with some keys changed, and what is refused."""
import json
import os
import sys
import threading
from concurrent import futures

import pytest
from support.cluster import Cluster, wait_for
from support.det import run_det


def go_on(c, experiment, override=None, status=200):
    reply = c.post("/api/v1/experiments/continue", {"id": experiment, "overrideConfig": override or ""})
    assert reply.status == status, reply
    return reply.json["experiment"] if status == 200 else reply.json["error"]["error"]


def ended(c, state, **config):
    experiment = c.create(**config)
    if state == "CANCELED":
        assert c.post(f"/api/v1/experiments/{experiment}/kill").status == 200
    assert c.wait_experiment(experiment)["state"] == f"STATE_{state}"
    return experiment


def test_a_failed_experiment_goes_on_with_another_configuration(cluster):
    x = ended(cluster, "ERROR", entrypoint="exit 3", labels=["old"])
    original = cluster.experiment(x)["originalConfig"]
    [trial] = cluster.trial_ids(x)
    again = go_on(cluster, x, "entrypoint: echo run $DET_TRIAL_RUN_ID of $DET_TRIAL_ID\nlabels: [new]\nname: better\n")
    assert again["id"] == x and again["name"] == "better" and again["labels"] == ["new"]
    done = cluster.wait_experiment(x)
    assert done["state"] == "STATE_COMPLETED", cluster.trial_log(trial)
    assert done["config"]["labels"] == ["new"] and done["originalConfig"] == original and done["endTime"]
    assert cluster.trial_ids(x) == [trial]
    t = cluster.get(f"/api/v1/trials/{trial}").json["trial"]
    assert len(t["taskIds"]) == 2 and t["taskIds"][1] == t["taskIds"][0] + "-1" and t["restarts"] == 0
    assert f"of {trial}" in cluster.trial_log(trial)


def test_a_completed_single_experiment_goes_on_as_it_was(cluster):
    x = ended(cluster, "COMPLETED")
    was = cluster.experiment(x)["config"]
    go_on(cluster, x)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    assert cluster.experiment(x)["config"] == was
    assert len(cluster.get(f"/api/v1/trials/{cluster.trial_ids(x)[0]}").json["trial"]["taskIds"]) == 2


def test_what_an_override_has_no_effect_with_is_told(cluster, tmp_path):
    x = ended(cluster, "COMPLETED")
    override = tmp_path / "override.yaml"
    override.write_text("resources: {agent_label: big}\nhyperparameters: {n: 1}\n")
    done = run_det(cluster, "experiment", "continue", x, "--config-file", override)
    assert done.returncode == 0, done
    for words in ("resources.agent_label has no effect: ", 'hyperparameters: the key n (line 2) is read as "false"'):
        assert f"Warning: {words}" in done.stderr
        assert cluster.trial_log(cluster.trial_ids(x)[0]).count(f"warning: {words}") == 1
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    again = cluster.post("/api/v1/experiments/continue", {"id": x, "overrideConfig": ""})
    # warnings about what the configuration already had are not given again
    assert again.status == 200 and not again.json.get("configWarnings")
    cluster.wait_experiment(x)


def test_allocations_of_each_task_are_numbered_from_1(new_cluster):
    c = new_cluster()
    c.start_master()
    c.start_agent()
    c.login()
    x = ended(c, "ERROR", entrypoint="echo this is $DET_ALLOCATION_ID, run $DET_TRIAL_RUN_ID.; exit 3", max_restarts=1)
    [trial] = c.trial_ids(x)
    go_on(c, x)
    c.wait_experiment(x)
    c.stop_master()
    c.start_master()
    c.login()
    wait_for("the agent", lambda: c.agent_is_up("agent0"))
    go_on(c, x)
    c.wait_experiment(x)
    task = c.get(f"/api/v1/trials/{trial}").json["trial"]["taskIds"][0]
    said = [line.rstrip(".") for line in c.trial_log(trial).splitlines() if line.startswith("this is")]
    assert said == [f"this is {task}{more}.{n}, run {run}" for run, (more, n) in enumerate(
        [("", 1), ("", 2), ("-1", 1), ("-1", 2), ("-2", 1), ("-2", 2)], 1)]


def test_of_many_trials_those_that_completed_are_left_alone(cluster):
    half = "case $DET_HPARAMS in *1*) exit 1;; esac"
    x = ended(cluster, "COMPLETED", entrypoint=half, searcher={"name": "grid", "metric": "loss"},
              hyperparameters={"a": {"type": "categorical", "vals": [1, 2]}})
    states = {t["id"]: t["state"] for t in cluster.get(f"/api/v1/experiments/{x}/trials").json["trials"]}
    assert sorted(states.values()) == ["STATE_COMPLETED", "STATE_ERROR"]
    go_on(cluster, x)
    cluster.wait_experiment(x)
    for trial, state in states.items():
        runs = len(cluster.get(f"/api/v1/trials/{trial}").json["trial"]["taskIds"])
        assert runs == (1 if state == "STATE_COMPLETED" else 2)


SAVES = """
import determined as det
from determined import core

info = det.get_cluster_info()
print("from", info.latest_checkpoint)
with core.init() as context:
    for step in (1, 2):
        context.train.report_validation_metrics(step, {"loss": float(step)})
        with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
            (path / "x").write_text("x")
        print("stored", uuid)
"""


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """A cluster whose tasks find this Python and its packages."""
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    with Cluster(tmp_path_factory.mktemp("training"), env={"PATH": path}) as c:
        c.start_master()
        c.start_agent(slots=2)
        c.login()
        yield c


@pytest.mark.parametrize("latest, best", [(0, 1), (0, 0), (1, 0)])
def test_a_trial_goes_on_from_the_latest_checkpoint_that_is_left(training, latest, best):
    """The last checkpoint of the trial may have been collected when the experiment ended."""
    c = training
    storage = {**c.config["checkpoint_storage"], "save_experiment_best": 0, "save_trial_best": best, "save_trial_latest": latest}
    x = c.create(files={"t.py": SAVES}, entrypoint="python3 t.py", checkpoint_storage=storage)
    assert c.wait_experiment(x)["state"] == "STATE_COMPLETED"
    [trial] = c.trial_ids(x)
    stored = [line.split()[1] for line in c.trial_log(trial).splitlines() if line.startswith("stored")]
    left = [stored[1]] if latest else [stored[0]] if best else []
    checkpoints = f"/api/v1/experiments/{x}/checkpoints?states=STATE_COMPLETED"
    wait_for("the collection", lambda: [k["uuid"] for k in c.get(checkpoints).json["checkpoints"]] == left)
    go_on(c, x)
    assert c.wait_experiment(x)["state"] == "STATE_COMPLETED"
    began = [line.split()[1] for line in c.trial_log(trial).splitlines() if line.startswith("from")]
    assert began == ["None", *(left or ["None"])]


def test_a_warm_start_needs_a_checkpoint_that_is_there(training):
    c = training
    storage = {**c.config["checkpoint_storage"], "save_experiment_best": 0, "save_trial_best": 1, "save_trial_latest": 0}
    source = c.create(files={"t.py": SAVES}, entrypoint="python3 t.py", checkpoint_storage=storage)
    c.wait_experiment(source)
    [trial] = c.trial_ids(source)
    first, last = [line.split()[1] for line in c.trial_log(trial).splitlines() if line.startswith("stored")]
    wait_for("the collection", lambda: c.get(f"/api/v1/checkpoints/{last}").json["checkpoint"]["state"] == "STATE_DELETED")

    def start(**searcher):
        config = c.experiment_config(searcher={"name": "single", "metric": "loss", **searcher})
        return c.post("/api/v1/experiments", {"config": json.dumps(config), "activate": False})

    unknown = "0a1b2c3d-0000-4000-8000-000000000000"
    for searcher, status, words in [({"source_checkpoint_uuid": unknown}, 404, f"checkpoint '{unknown}' not found"),
                                    ({"source_checkpoint_uuid": last}, 400, f"checkpoint {last} is DELETED"),
                                    ({"source_trial_id": 99999}, 404, "trial '99999' not found")]:
        reply = start(**searcher)
        assert reply.status == status and words in reply.json["error"]["error"], reply
        assert f"searcher.{next(iter(searcher))}" in reply.json["error"]["error"]
    for searcher in ({"source_checkpoint_uuid": first}, {"source_trial_id": trial}):
        heir = start(**searcher).json["experiment"]["id"]
        [t] = c.trial_ids(heir)
        assert c.get(f"/api/v1/trials/{t}").json["trial"]["warmStartCheckpointUuid"] == first
        assert c.post(f"/api/v1/experiments/{heir}/kill").status == 200


@pytest.fixture(scope="module")
def canceled(master):
    return ended(master, "CANCELED")


@pytest.mark.parametrize("override, words", [
    ("max_restarts: -1", "<config>.max_restarts (line 1, column 15): must be at least 0, found -1"),
    ("workspace: a\nproject: b", "an experiment is continued where it is"),
    ("searcher: {name: random, max_trials: 3}", "<config>.searcher.name: must stay single"),
    ("resources: {resource_pool: none}", 'there is no pool "none"'),
    ("a: [", "is not valid YAML"),
    ("- a", "expected a mapping"),
    ("bogus: 1", 'unknown field "bogus"'),
])
def test_a_bad_override_is_refused_and_changes_nothing(master, canceled, override, words):
    before = master.experiment(canceled)
    assert words in go_on(master, canceled, override, status=400)
    assert master.experiment(canceled) == before


def test_what_cannot_go_on(master, canceled):
    assert go_on(master, 99999, status=404) == "experiment '99999' not found"
    live = master.create(activate=False)
    assert "is not over yet" in go_on(master, live, status=400)
    asha = ended(master, "CANCELED", searcher={"name": "adaptive_asha", "metric": "m", "max_trials": 2, "max_length": {"batches": 9}})
    assert "only single, grid and random ones can be continued" in go_on(master, asha, status=400)
    grid = ended(master, "CANCELED", searcher={"name": "grid", "metric": "m"}, hyperparameters={"a": {"type": "categorical", "vals": [1]}})
    assert "only an experiment with the searcher single" in go_on(master, grid, "max_restarts: 1", status=400)
    assert master.post(f"/api/v1/experiments/{canceled}/archive").status == 200
    assert "is archived" in go_on(master, canceled, status=400)
    assert master.post(f"/api/v1/experiments/{canceled}/unarchive").status == 200
    assert go_on(master, canceled)["state"] in ("STATE_ACTIVE", "STATE_QUEUED")
    assert "is not over yet" in go_on(master, canceled, status=400)
    assert master.post(f"/api/v1/experiments/{canceled}/kill").status == 200


def delete_experiment(c, x):
    reply = c.request("DELETE", f"/api/v1/experiments/{x}")
    return "" if reply.status == 200 else reply.json["error"]["error"]


def delete_in_bulk(c, x):
    [result] = c.request("DELETE", "/api/v1/projects/-1/experiments/delete", {"experimentIds": [x]}).json["results"]
    return result["error"]


def delete_run(c, x):
    [result] = c.post("/api/v1/runs/delete", {"runIds": c.trial_ids(x)}).json["results"]
    return result["error"]


@pytest.mark.parametrize("delete, rounds", [(delete_experiment, 40), (delete_in_bulk, 40), (delete_run, 20)])
def test_of_a_deletion_and_a_continuation_at_once_exactly_one_happens(master, delete, rounds):
    """Deletion and continuation both saw the experiment when it was over. The deletion must not remove what runs, and what it removes
    must not be continued."""
    def at_once(x, start, act):
        start.wait()
        return act(master, x)

    def continued(c, x):
        return c.post("/api/v1/experiments/continue", {"id": x}).status == 200

    with futures.ThreadPoolExecutor(2) as pool:
        for _ in range(rounds):
            x = ended(master, "CANCELED")
            [trial] = master.trial_ids(x)
            start = threading.Barrier(2)
            going, gone = (pool.submit(at_once, x, start, act) for act in (continued, delete))
            if gone.result():
                assert going.result(), gone.result()
                assert master.experiment(x)["state"] == "STATE_QUEUED"
                assert master.get(f"/api/v1/trials/{trial}").json["trial"]["state"] == "STATE_QUEUED"
                assert master.post(f"/api/v1/experiments/{x}/kill").status == 200
            else:
                assert not going.result()
                path = f"/api/v1/trials/{trial}" if delete is delete_run else f"/api/v1/experiments/{x}"
                wait_for("the deletion", lambda path=path: master.get(path).status == 404)


def test_many_who_continue_and_kill_one_experiment_at_once_do_no_harm(master):
    """A continuation must not take over a run that another one has begun and a user has killed since it read the experiment."""
    x = ended(master, "CANCELED")
    trial = f"/api/v1/trials/{master.trial_ids(x)[0]}"

    def repeat(path, body, rounds):
        statuses = [master.post(path, body).status for _ in range(rounds)]
        assert set(statuses) <= {200, 400}
        return statuses.count(200)

    with futures.ThreadPoolExecutor(6) as pool:
        begun = [pool.submit(repeat, "/api/v1/experiments/continue", {"id": x}, 40) for _ in range(4)]
        killed = [pool.submit(repeat, f"/api/v1/experiments/{x}/kill", {}, 80) for _ in range(2)]
        continued = sum(b.result() for b in begun)
        assert [k.result() for k in killed] == [80, 80]
    assert master.post(f"/api/v1/experiments/{x}/kill").status == 200
    assert master.wait_experiment(x)["state"] == "STATE_CANCELED"
    tasks = master.get(trial).json["trial"]["taskIds"]
    assert len(tasks) == len(set(tasks)) == continued + 1 > 1


def test_a_continued_experiment_survives_the_master(new_cluster):
    c = new_cluster().start_master()
    c.login()
    x = ended(c, "CANCELED")
    go_on(c, x, json.dumps({"max_restarts": 4}))
    c.stop_master(9)
    c.start_master()
    assert c.experiment(x)["state"] == "STATE_QUEUED" and c.experiment(x)["config"]["max_restarts"] == 4
    c.start_agent()
    assert c.wait_experiment(x)["state"] == "STATE_COMPLETED"
