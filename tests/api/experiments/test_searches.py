"""Tests searches as their trials see them: operations, validations, and refused reports; and previews of searches."""
import json
import signal

import pytest
from support.cluster import error_of, wait_for
from support.det import run_det

HALVING = {"name": "async_halving", "metric": "loss", "num_rungs": 2, "max_trials": 4, "divisor": 2, "max_length": {"batches": 8},
           "max_concurrent_trials": 2}
BY_TIME = {"name": "async_halving", "metric": "loss", "num_rungs": 2, "max_trials": 4, "divisor": 2, "max_time": 8,
           "time_metric": "batches", "max_concurrent_trials": 2}
SPACE = {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}, "n": {"type": "int", "minval": 1, "maxval": 100}}


def create(c, searcher, **changes):
    return c.create(searcher=searcher, hyperparameters=SPACE, reproducibility={"experiment_seed": 42}, **changes)


def trials(c, x):
    """Returns the trials, the oldest first."""
    return sorted(c.get(f"/api/v1/experiments/{x}/trials?limit=-1").json["trials"], key=lambda t: t["id"])


def operation(c, trial):
    reply = c.get(f"/api/v1/trials/{trial}/searcher/operation")
    assert reply.status == 200, reply
    return int(reply.json["op"]["validateAfter"]["length"]) if reply.json["op"] else None, reply.json["completed"]


def complete(c, trial, length, metric):
    return c.post(f"/api/v1/trials/{trial}/searcher/completed_operation", {"op": {"length": length}, "searcherMetric": metric})


def validate(c, trial, **metrics):
    return c.post(f"/api/v1/trials/{trial}/metrics", {"group": "validation", "metrics": {
        "trialId": trial, "stepsCompleted": metrics.get("batches", 1), "trialRunId": 1, "metrics": {"avgMetrics": metrics}}})


def test_operations_lead_from_rung_to_rung(master):
    x = create(master, HALVING)
    a, b = (t["id"] for t in trials(master, x))
    assert operation(master, a) == (4, False)
    assert complete(master, a, 4, 0.5).status == 200
    assert complete(master, a, 4, 0.5).status == 200, "told twice, as when the first answer was lost"
    assert operation(master, a) == (4, True), "nobody knows yet whether it is among the best"
    assert complete(master, b, 4, 0.9).status == 200
    assert operation(master, a) == (8, False), "now it is"
    assert operation(master, b) == (4, True)
    assert len(trials(master, x)) == 3, "the first of two made room for a third; the promoted one took the place of the other"
    assert master.post(f"/api/v1/experiments/{x}/kill").status == 200
    wait_for("the end", lambda: operation(master, a) == (None, True))


@pytest.mark.parametrize("body, status, sentence", [
    ({"op": {"length": 5}, "searcherMetric": 1}, 400, "was asked to train until 4, and reports that it did until 5"),
    ({"op": {"length": -1}, "searcherMetric": 1}, 400, "length"),
    ({"op": {"length": 4}}, 400, "is expected"),
    ({"op": {}, "searcherMetric": 1}, 400, "is expected"),
    ({"op": {"length": 4}, "searcherMetric": "worst"}, 400, "searcher"),
    ({}, 400, "is expected"),
])
def test_operations_that_cannot_be_are_refused(master, body, status, sentence):
    x = create(master, HALVING)
    trial = trials(master, x)[0]["id"]
    reply = master.post(f"/api/v1/trials/{trial}/searcher/completed_operation", body)
    assert reply.status == status and sentence in error_of(reply), reply
    assert operation(master, trial) == (4, False)
    master.post(f"/api/v1/experiments/{x}/kill")


def test_not_every_search_has_operations(master):
    trial = trials(master, create(master, BY_TIME))[0]["id"]
    reply = master.get(f"/api/v1/trials/{trial}/searcher/operation")
    assert reply.status == 400 and "searcher.max_length is not set" in error_of(reply)
    assert complete(master, trial, 8, 1).status == 400
    assert master.get("/api/v1/trials/99999/searcher/operation").status == 404


def test_a_metric_that_is_no_number_counts_as_the_worst(master):
    x = create(master, HALVING)
    a, b = (t["id"] for t in trials(master, x))
    assert complete(master, a, 4, "NaN").status == 200
    assert complete(master, b, 4, 1e300).status == 200
    assert operation(master, b) == (8, False)
    master.post(f"/api/v1/experiments/{x}/kill")


def test_validations_stop_trials_and_replace_them(master):
    x = create(master, BY_TIME)
    a, b = (t["id"] for t in trials(master, x))
    assert validate(master, a, loss=0.1, batches=4).status == 200
    assert validate(master, b, loss=0.2, batches=4).status == 200
    assert [t["state"] for t in trials(master, x)] == ["STATE_QUEUED", "STATE_COMPLETED", "STATE_QUEUED"]
    assert validate(master, a, loss=0.1, batches=8).status == 200
    assert trials(master, x)[0]["state"] == "STATE_COMPLETED", "at the top"
    assert len(trials(master, x)) == 4
    master.post(f"/api/v1/experiments/{x}/kill")


@pytest.mark.parametrize("metrics, sentence", [
    ({"batches": 4}, 'error parsing searcher metric: the validation reports no metric "loss"'),
    ({"loss": "NaN", "batches": 4}, 'the metric "loss" is no number but "NaN"'),
    ({"loss": 1}, 'error parsing searcher time metric: the validation reports no metric "batches"'),
])
def test_a_validation_that_says_nothing_ends_the_search(master, metrics, sentence):
    x = create(master, BY_TIME)
    trial = trials(master, x)[0]["id"]
    reply = validate(master, trial, **metrics)
    assert reply.status == 400 and sentence in error_of(reply), reply
    ended = master.wait_experiment(x)
    assert ended["state"] == "STATE_ERROR" and ended["failure"].startswith(f"trial {trial}: ") and sentence in ended["failure"]


def test_retired_names_run_and_say_so(master):
    x = create(master, {"name": "adaptive_simple", "metric": "loss", "max_trials": 4, "max_length": {"epochs": 4}})
    first = trials(master, x)[0]["id"]
    assert 'warning: the searcher "adaptive_simple" has been retired and runs as adaptive_asha' in master.trial_log(first)
    master.post(f"/api/v1/experiments/{x}/kill")


def test_det_says_at_once_that_a_searcher_has_been_retired(master, tmp_path):
    config = tmp_path / "old.yaml"
    config.write_text("entrypoint: run\nsearcher: {name: sync_halving, metric: m, num_rungs: 2, max_length: {batches: 9}, "
                      "budget: {batches: 99}}\n")
    done = run_det(master, "experiment", "create", config, "--paused")
    assert done.returncode == 0 and 'Warning: the searcher "sync_halving" has been retired and runs as async_halving.' in done.stderr
    config.write_text("entrypoint: run\nsearcher: {name: single, metric: m}\n")
    assert "retired" not in run_det(master, "experiment", "create", config, "--paused").stderr


def test_det_tells_all_mistakes_and_what_is_missing_at_once(master, tmp_path):
    config = tmp_path / "bad.yaml"
    config.write_text("max_restarts: -1\nsearcher:\n  name: adaptive_asha\n  max_trials: 0\n")
    done = run_det(master, "experiment", "create", config)
    assert done.returncode == 1 and done.stderr.splitlines() == [
        "Failed to create an experiment:", f"{config}:1:15: <config>.max_restarts: must be at least 0, found -1",
        f"{config}:4:15: <config>.searcher.max_trials: must be at least 1, found 0",
        f'{config}:3:3: <config>.searcher: "metric" must be set',
        f"{config}:3:3: <config>.searcher: adaptive_asha needs max_length, or max_time together with time_metric",
        f'{config}:1:1: <config>: "entrypoint" must be set, as the cluster runs this experiment']


@pytest.mark.parametrize("searcher, sentence", [
    ({"name": "custom", "metric": "loss"}, '"custom" cannot run; choose adaptive_asha, async_halving, random, grid or single'),
    ({"name": "adaptive_asha", "metric": "loss", "max_trials": 4}, "needs max_length, or max_time together with time_metric"),
    ({"name": "random", "metric": "loss", "max_trials": 10**15}, "searcher.max_trials"),
    ({"name": "random", "metric": "loss", "max_trials": 10**6, "max_concurrent_trials": 0}, "at most 100000 can"),
    ({"name": "grid", "metric": "loss"}, 'a grid search needs "count" here'),
    ({"name": "async_halving", "metric": "loss", "max_trials": 2, "num_rungs": 10**6, "max_length": {"batches": 1}}, "num_rungs"),
    ({"name": "async_halving", "metric": "loss", "max_trials": 2, "num_rungs": 2, "divisor": 1, "max_length": {"batches": 1}}, "divisor"),
])
def test_searches_that_cannot_run_are_refused(master, searcher, sentence):
    config = master.experiment_config(searcher=searcher, hyperparameters=SPACE)
    reply = master.post("/api/v1/experiments", {"config": json.dumps(config)})
    assert reply.status == 400 and sentence in error_of(reply), reply


def play(c, x, killed=()):
    """Every trial completes what it is asked for, the oldest first. A trial's metric follows from its seed. The master is killed before
    the turns in `killed`."""
    for turn in range(200):
        if turn in killed:
            c.stop_master(signal.SIGKILL)
            c.start_master()
        for t in trials(c, x):
            length, completed = operation(c, t["id"])
            if not completed:
                assert complete(c, t["id"], length, t["hparams"]["n"] + 1 / length).status == 200
                break
        else:
            break
    assert c.experiment(x)["state"] == "STATE_COMPLETED"
    return [(t["hparams"], t["state"]) for t in trials(c, x)]


def test_a_killed_master_goes_on_with_the_same_search(new_cluster):
    c = new_cluster()
    c.start_master()
    c.login()
    searcher = {"name": "adaptive_asha", "metric": "loss", "max_trials": 12, "max_length": {"batches": 64}, "max_concurrent_trials": 4}
    undisturbed = play(c, create(c, searcher))
    assert len(undisturbed) == 12
    assert play(c, create(c, searcher), killed=(1, 7, 8, 13)) == undisturbed


# ---- preview ----

def preview(c, searcher, hyperparameters=SPACE):
    reply = c.post("/api/v1/preview-hp-search", {"config": {"searcher": searcher, "hyperparameters": hyperparameters}})
    assert reply.status == 200, reply
    return [(t["count"], "all" if t["unit"]["maxLength"] else (t["unit"]["value"], t["unit"]["name"]))
            for t in reply.json["summary"]["trials"]], reply.json["summary"]["config"]


def test_preview_counts_trials_by_length(master):
    plan, config = preview(master, {"name": "adaptive_asha", "metric": "loss", "max_trials": 10, "max_time": 900, "time_metric": "batches",
                                    "max_rungs": 10, "divisor": 3, "max_concurrent_trials": 5})
    assert plan == [(5, (100, "batches")), (3, (300, "batches")), (2, (900, "batches"))]
    assert config["mode"] == "standard" and config["smaller_is_better"] is True, "with all defaults"
    assert preview(master, {"name": "random", "metric": "loss", "max_trials": 7})[0] == [(7, "all")]
    assert preview(master, {"name": "single", "metric": "loss"})[0] == [(1, "all")]
    assert preview(master, HALVING)[0] == [(2, (4, "batches")), (2, (8, "batches"))]
    grid = {"a": {"type": "int", "minval": 0, "maxval": 10, "count": 4}, "b": {"c": {"type": "categorical", "vals": [1, 2, 3]}}}
    assert preview(master, {"name": "grid", "metric": "loss"}, grid)[0] == [(12, "all")]


@pytest.mark.parametrize("config, sentence", [
    ({}, '"searcher" must be set'),
    ({"searcher": {"name": "custom"}}, "cannot run"),
    ({"searcher": {"name": "magic"}}, "must be one of"),
    ({"searcher": {"name": "grid", "metric": "x"}, "hyperparameters": SPACE}, 'needs "count" here'),
    ({"searcher": {"name": "random", "metric": "x"}}, "max_trials"),
])
def test_preview_refuses_what_cannot_run(master, config, sentence):
    reply = master.post("/api/v1/preview-hp-search", {"config": config})
    assert reply.status == 400 and sentence in error_of(reply), reply


# ---- det preview-search ----

def det_preview(c, tmp_path, config, name="search.yaml"):
    path = tmp_path / name
    path.write_text(json.dumps(config))
    return run_det(c, "preview-search", path, HOME=tmp_path, DET_DEBUG_CONFIG_PATH=tmp_path)


def test_det_preview_search_prints_the_search_and_its_plan(master, tmp_path):
    done = det_preview(master, tmp_path, {"searcher": {"name": "random", "metric": "loss", "max_trials": 7, "max_length": {"batches": 30}},
                                      "hyperparameters": SPACE})
    assert done.returncode == 0, done.stderr
    head, _, table = done.stdout.partition("\n\n")
    assert head.startswith("Using search configuration:\n") and "max_trials: 7" in head and "smaller_is_better: true" in head
    rows = [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]
    assert rows[0] == ["Trials", "Training Time"] and rows[2:] == [["7", "train to completion"]]


def test_det_preview_search_blames_the_file(master, tmp_path):
    done = det_preview(master, tmp_path, {"searcher": {"name": "random", "metric": "loss", "max_trials": 0}, "hyperparameters": SPACE})
    assert done.returncode == 1 and "search.yaml" in done.stderr and "max_trials" in done.stderr, done
    missing = run_det(master, "preview-search", tmp_path / "none.yaml", HOME=tmp_path)
    assert missing.returncode != 0 and "none.yaml" in missing.stderr
