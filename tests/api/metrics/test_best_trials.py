"""Tests which trial is the best, by the searcher's metric and in the searcher's direction, in every reply that says it."""
import uuid

import pytest
from support.det import run_det

TRIALS = 4
SEARCHER = {"name": "random", "metric": "acc", "max_trials": TRIALS}
HPARAMS = {"lr": {"type": "double", "minval": 0, "maxval": 1}}


def validate(c, trial, step, **metrics):
    reply = c.post(f"/api/v1/trials/{trial}/metrics", {"group": "validation", "metrics": {
        "trialId": trial, "trialRunId": 0, "stepsCompleted": step, "metrics": {"avgMetrics": metrics}}})
    assert reply.status == 200, reply


def checkpoint(c, trial, step):
    name = str(uuid.uuid4())
    task = c.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    assert c.report_checkpoint({"uuid": name, "taskId": task, "state": "STATE_COMPLETED", "resources": {"a": "1"},
                                          "metadata": {"steps_completed": step}}).status == 200
    return name


@pytest.fixture(scope="module", params=[True, False], ids=["smaller", "larger"])
def searched(request, master):
    """Returns (cluster, experiment, its trials from the best one to the one without a number, whether smaller is better)."""
    c, smaller = master, request.param
    x = c.create(activate=False, searcher={**SEARCHER, "smaller_is_better": smaller}, hyperparameters=HPARAMS)
    a, b, none, other = c.trial_ids(x)
    # Another metric would order the trials the other way, and the best validation of b was not its last one.
    validate(c, a, 1, acc=0.5, other=1)
    validate(c, b, 1, acc=0.25 if smaller else 0.75, other=2)
    validate(c, b, 2, acc=0.9 if smaller else 0.1, other=9)
    validate(c, none, 1, acc="NaN", other=0)
    validate(c, other, 1, acc=0.75 if smaller else 0.25, other=-5)
    return c, x, [b, a, other, none], smaller


def order(smaller, backwards=False):
    return "ORDER_BY_ASC" if smaller != backwards else "ORDER_BY_DESC"


def test_trials_are_sorted_by_their_best_validation_and_what_has_none_is_last(searched):
    c, x, trials, smaller = searched
    url = f"/api/v1/experiments/{x}/trials?sortBy=SORT_BY_BEST_VALIDATION_METRIC&orderBy="
    assert [t["id"] for t in c.get(url + order(smaller)).json["trials"]] == trials
    assert [t["id"] for t in c.get(url + order(smaller, backwards=True)).json["trials"]] == [*trials[2::-1], trials[3]]
    latest = c.get(f"/api/v1/experiments/{x}/trials?sortBy=SORT_BY_LATEST_VALIDATION_METRIC&orderBy={order(smaller)}").json["trials"]
    assert [t["id"] for t in latest] == [trials[1], trials[2], trials[0], trials[3]], "b's second validation was its worst"


def test_a_trial_shows_its_best_validation_and_its_latest(searched):
    c, _, trials, smaller = searched
    t = c.get(f"/api/v1/trials/{trials[0]}").json["trial"]
    assert (t["bestValidation"]["totalBatches"], t["bestValidation"]["metrics"]["avgMetrics"]["acc"]) == (1, 0.25 if smaller else 0.75)
    assert t["latestValidation"]["totalBatches"] == 2
    empty = c.get(f"/api/v1/trials/{trials[3]}").json["trial"]
    assert not empty.get("bestValidation") and empty["latestValidation"]["metrics"]["avgMetrics"]["acc"] == "NaN"


def test_the_experiment_knows_its_best_metric_and_trial(searched):
    c, x, trials, smaller = searched
    best = 0.25 if smaller else 0.75
    assert c.get(f"/api/v1/experiments/{x}/searcher/best_searcher_validation_metric").json["metric"] == best
    [found] = [e for e in c.post("/api/v1/experiments-search", {}).json["experiments"] if e["experiment"]["id"] == x]
    assert found["bestTrial"]["id"] == trials[0] and found["experiment"]["bestTrialSearcherMetric"] == best
    assert found["experiment"]["bestTrialId"] == trials[0]


def test_checkpoints_are_listed_from_the_best(searched):
    c, x, trials, _ = searched
    made = {t: checkpoint(c, t, 1) for t in reversed(trials)}
    listed = c.get(f"/api/v1/experiments/{x}/checkpoints?sortByAttr=SORT_BY_SEARCHER_METRIC").json["checkpoints"]
    assert [k["uuid"] for k in listed] == [made[t] for t in trials]
    done = run_det(c, "experiment", "list-checkpoints", "--csv", "--best", "2", x)
    assert done.returncode == 0 and [made[t] in done.stdout for t in trials] == [True, True, False, False]
    assert done.stdout.index(made[trials[0]]) < done.stdout.index(made[trials[1]])


def test_charts_show_the_best_trials_only(searched):
    c, x, trials, _ = searched
    c.post(f"/api/v1/experiments/{x}/kill")  # so that streams end
    url = f"/api/v1/experiments/{x}/metrics-stream/trials-sample?metricName=acc&group=validation&maxTrials=2&periodSeconds=1"
    assert [t for line in c.get(url).lines for t in line["result"]["promotedTrials"]] == trials[:2]
