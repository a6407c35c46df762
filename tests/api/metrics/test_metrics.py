"""Tests metrics in the API: charts, streams of an experiment's metrics, sealing while other requests are served, and wrong reports."""
import fractions
import json
import math
import random
import signal
import threading

import pytest
from support.cluster import error_of, wait_for

TRIALS = "/api/v1/trials"


def report(c, trial, step, metrics, group="training", run=0, **more):
    return c.post(f"{TRIALS}/{trial}/metrics", {"group": group, "metrics": {
        "trialId": trial, "trialRunId": run, "stepsCompleted": step, "metrics": {"avgMetrics": metrics}, **more}})


@pytest.fixture
def trial(master):
    experiment = master.create(activate=False)
    return experiment, master.trial_ids(experiment)[0]


def stored(c, trial, group="training"):
    """Returns every report of a group as (batches, metrics), read from the stream."""
    key = "validation_metrics" if group == "validation" else "avg_metrics"
    return [(m["totalBatches"], m["metrics"][key])
            for line in c.get(f"{TRIALS}/metrics/trial_metrics?trialIds={trial}&group={group}").lines
            for m in line["result"]["metrics"]]


# ---- charts ----

def test_series_of_trials_are_compared(master, trial):
    _, t = trial
    for step in range(1, 201):
        assert report(master, t, step, {"loss": 1 / step, "acc": step % 5, "epoch": step // 10}).status == 200
    assert report(master, t, 200, {"loss": 0.125}, group="validation").status == 200
    url = f"{TRIALS}/time-series?trialIds={t}&maxDatapoints=50&metricIds=training.loss&metricIds=validation.loss"
    [found] = master.get(url).json["trials"]
    assert found["trial"]["id"] == t
    training, validation = found["metrics"]
    assert (training["group"], training["type"]) == ("training", "METRIC_TYPE_TRAINING")
    assert 40 <= len(training["data"]) <= 50
    assert [training["data"][i]["batches"] for i in (0, -1)] == [1, 200]
    assert training["data"][0]["values"] == {"loss": 1.0} and training["data"][0]["epoch"] == 0
    assert validation["data"][0]["values"] == {"loss": 0.125}
    older = master.get(f"{TRIALS}/time-series?trialIds={t}&maxDatapoints=1000&metricNames=loss&metricNames=acc&group=training").json
    assert [p["values"] for p in older["trials"][0]["metrics"][0]["data"]][:2] == [{"loss": 1.0, "acc": 1}, {"loss": 0.5, "acc": 2}]


@pytest.mark.parametrize("query, first, last", [
    ("startBatches=10&endBatches=20", 10, 20),
    ("timeSeriesFilter.name=batches&timeSeriesFilter.integerRange.gt=10&timeSeriesFilter.integerRange.lt=20", 11, 19),
    ("timeSeriesFilter.name=epoch&timeSeriesFilter.doubleRange.gte=1&timeSeriesFilter.doubleRange.lte=2.5", 10, 25),
    ("timeSeriesFilter.name=epoch&timeSeriesFilter.doubleRange.gt=1&timeSeriesFilter.doubleRange.lt=2.5", 11, 24),
    ("timeSeriesFilter.name=epoch&timeSeriesFilter.integerRange.gt=1&timeSeriesFilter.integerRange.lte=2", 11, 20),
    ("timeSeriesFilter.name=batches&timeSeriesFilter.integerRange.lt=1", 0, 0),
    ("timeSeriesFilter.name=batches&timeSeriesFilter.integerRange.lte=0", 0, 0),
    ("timeSeriesFilter.name=batches&timeSeriesFilter.integerRange.gt=2147483647", 0, -1),
    ("timeSeriesFilter.name=batches&timeSeriesFilter.integerRange.lt=-2147483648", 0, -1),
    ("timeSeriesFilter.name=batches&timeSeriesFilter.integerRange.gt=3&timeSeriesFilter.integerRange.gte=2&"
     "timeSeriesFilter.integerRange.lt=6&timeSeriesFilter.integerRange.lte=9", 4, 5),
    ("timeSeriesFilter.name=time&timeSeriesFilter.timeRange.gte=2026-01-01T00:00:05Z&timeSeriesFilter.timeRange.lte=2026-01-01T00:00:09Z", 5, 9),
])
def test_series_have_ranges(master, trial, query, first, last):
    _, t = trial
    for step in range(31):
        assert report(master, t, step, {"loss": step, "epoch": step / 10}, reportTime=f"2026-01-01T00:00:{step:02}Z").status == 200
    found = master.get(f"{TRIALS}/time-series?trialIds={t}&maxDatapoints=100&metricIds=training.loss&{query}").json
    assert [p["batches"] for p in found["trials"][0]["metrics"][0]["data"]] == list(range(first, last + 1))


@pytest.mark.parametrize("query", ["timeSeriesFilter.doubleRange.gte=-Infinity", "timeSeriesFilter.timeRange.lt=1970-01-01T00:00:00Z",
                                   "timeSeriesFilter.name=steps&timeSeriesFilter.integerRange.lt=1", "timeSeriesFilter.name=epoch"])
def test_a_range_of_nothing_known_is_refused(master, trial, query):
    _, t = trial
    reply = master.get(f"{TRIALS}/time-series?trialIds={t}&maxDatapoints=100&metricIds=training.loss&{query}")
    assert reply.status == 400 and "timeSeriesFilter" in reply.json["error"]["error"]


def lttb(points, n):
    """Computes Steinarsson's Largest-Triangle-Three-Buckets, as his thesis describes it."""
    every = fractions.Fraction(len(points) - 2, n - 2)
    begin = [int(b * every) + 1 for b in range(n - 1)] + [len(points)]
    chosen = [points[0]]
    for b in range(n - 2):
        after = points[begin[b + 1]:begin[b + 2]]
        cx, cy = (sum(p[i] for p in after) / len(after) for i in (0, 1))
        ax, ay = chosen[-1]
        chosen.append(max(points[begin[b]:begin[b + 1]], key=lambda p: abs((ax - cx) * (p[1] - ay) - (ax - p[0]) * (cy - ay))))
    return [*chosen, points[-1]]


def thinned(points, n):
    """Returns the points of lttb() with room left for the extremes, which the master always shows."""
    by_value = sorted(points, key=lambda p: p[1])
    for k in range(n, 2, -1):
        chosen = sorted({*lttb(points, k), by_value[0], by_value[-1]})
        if len(chosen) <= n:
            return chosen


@pytest.mark.parametrize("query, within", [
    ("", lambda i: True),
    ("timeSeriesFilter.name=batches&timeSeriesFilter.integerRange.gte=300", lambda i: i >= 100),
    ("timeSeriesFilter.name=epoch&timeSeriesFilter.doubleRange.lte=12", lambda i: i <= 120),
    ("timeSeriesFilter.name=time&timeSeriesFilter.timeRange.gte=2026-01-01T00:01:00Z", lambda i: i >= 60),
])
def test_a_long_series_is_thinned_to_the_number_of_points_asked_for(master, long_series, query, within):
    trial, points = long_series
    url = f"{TRIALS}/time-series?trialIds={trial}&metricIds=training.loss&maxDatapoints=24&{query}"
    [series] = master.get(url).json["trials"][0]["metrics"]
    expected = thinned([p for i, p in enumerate(points) if within(i)], 24)
    assert [(p["batches"], p["values"]["loss"]) for p in series["data"]] == expected


@pytest.fixture(scope="module")
def long_series(master):
    """Makes a trial and returns (the trial, its 200 points)."""
    trial = master.trial_ids(master.create(activate=False))[0]
    draw = random.Random(5)
    points = [(3 * i, math.sin(i / 7) + draw.random()) for i in range(200)]
    for i, (batches, loss) in enumerate(points):
        reply = report(master, trial, batches, {"loss": loss, "epoch": i / 10},
                       reportTime=f"2026-01-01T00:{i // 60:02}:{i % 60:02}Z")
        assert reply.status == 200, reply
    return trial, points


@pytest.mark.parametrize("query, part", [
    ("maxDatapoints=5", "trialIds"), ("trialIds=1&maxDatapoints=-1", "maxDatapoints is -1"),
    ("trialIds=1&metricIds=loss", "GROUP.NAME"), ("trialIds=1&metricNames=loss", "group is missing"),
    ("trialIds=1&startBatches=5&endBatches=2", "batches from 5 to 2"),
    ("trialIds=1&timeSeriesFilter.name=colour", "allowed are batches"),
])
def test_bad_comparisons(master, trial, query, part):
    assert part in error_of(master.get(f"{TRIALS}/time-series?{query}"), 400)


def test_comparison_of_an_unknown_trial(master):
    assert master.get(f"{TRIALS}/time-series?trialIds=999999&maxDatapoints=5&metricIds=training.loss").status == 404


# ---- streams of an experiment, until it ends ----

class Follower(threading.Thread):
    """Reads a stream to its end, in a thread."""

    def __init__(self, c, path):
        super().__init__()
        self.c, self.path, self.results = c, path, None
        self.start()

    def run(self):
        self.results = [line["result"] for line in self.c.get(self.path).lines]

    def done(self):
        self.join(120)
        assert self.results is not None
        return self.results


def test_streams_follow_an_experiment_until_it_ends(master, trial):
    x, t = trial
    base = "/api/v1/experiments"
    assert report(master, t, 10, {"loss": 0.5}, group="validation").status == 200
    followers = {what: Follower(master, path) for what, path in {
        "names": f"{base}/metrics-stream/metric-names?ids={x}&periodSeconds=1",
        "batches": f"{base}/{x}/metrics-stream/batches?metricName=loss&group=validation&periodSeconds=1",
        "sample": f"{base}/{x}/metrics-stream/trials-sample?metricName=loss&group=validation&periodSeconds=1",
        "snapshot": f"{base}/{x}/metrics-stream/trials-snapshot?metricName=loss&group=validation&batchesProcessed=20"
                    "&batchesMargin=5&periodSeconds=1"}.items()}
    assert report(master, t, 20, {"loss": 0.25, "late": 1}, group="validation").status == 200
    assert master.post(f"{base}/{x}/kill").status == 200
    ends = {what: follower.done() for what, follower in followers.items()}
    names = [(n["group"], n["name"]) for r in ends["names"] for n in r["metricNames"]]
    assert sorted(names) == [("validation", "late"), ("validation", "loss")], "each name once"
    assert ends["names"][0]["searcherMetrics"] == [master.experiment(x)["searcherMetric"]]
    assert [b for r in ends["batches"] for b in r["batches"]] == [10, 20]
    assert [n for r in ends["sample"] for n in r["promotedTrials"]] == [t]
    assert [(p["batches"], p["values"]["loss"]) for r in ends["sample"] for tr in r["trials"] for p in tr["data"]] == [
        (10, 0.5), (20, 0.25)]
    assert ends["sample"][0]["trials"][0]["hparams"] == master.get(f"{TRIALS}/{t}").json["trial"]["hparams"]
    assert [(s["trialId"], s["metric"], s["batchesProcessed"]) for s in ends["snapshot"][-1]["trials"]] == [(t, 0.25, 20)]


@pytest.mark.parametrize("path, part", [
    ("metric-names", "ids is missing"), ("metric-names?ids=1&periodSeconds=-1", "periodSeconds is -1"),
    ("1/batches?group=training", "metricName is missing"), ("1/batches?metricName=loss", "group is missing"),
    ("1/trials-sample?metricName=loss&group=training&maxTrials=-1", "maxTrials is -1"),
    ("1/trials-snapshot?metricName=loss&group=training", "batchesProcessed is 0"),
    ("1/trials-snapshot?metricName=loss&group=training&batchesProcessed=1&batchesMargin=101", "batchesMargin is 101"),
])
def test_bad_streams(master, trial, path, part):
    parent, _, name = path.rpartition("/")
    url = "/api/v1/experiments/" + (f"{parent}/metrics-stream/{name}" if parent else f"metrics-stream/{name}")
    assert part in error_of(master.get(url), 400)


# ---- sealing ----

def sealed(c):
    return c.metric("det_metric_sealed_reports_total")


def test_reports_are_sealed_and_nobody_sees_it(new_cluster):
    c = new_cluster()
    c.start_master()
    c.login()
    x = c.create(activate=False)
    [t] = c.trial_ids(x)
    told = []
    for step in range(1, 1301):
        metrics = {"loss": round(random.random(), 4), "acc": step % 7, "nan": "NaN" if step % 100 == 0 else 1.5}
        told.append((step, metrics))
        assert report(c, t, step, metrics).status == 200
    wait_for("sealing", lambda: sealed(c) >= 1024)
    assert stored(c, t) == told
    assert report(c, t, 3, {"late": [1, {"x": None}]}).status == 200
    told[2][1]["late"] = [1, {"x": None}]
    assert "another value" in error_of(report(c, t, 4, {"acc": 99}), 400)
    assert report(c, t, 4, told[3][1]).status == 200, "said twice, counted once"
    assert stored(c, t) == told
    c.stop_master(signal.SIGKILL)
    c.start_master()
    c.login()
    assert stored(c, t) == told
    summary = c.get(f"{TRIALS}/{t}").json["trial"]["summaryMetrics"]["avg_metrics"]
    assert summary["acc"]["count"] == 1300 and summary["acc"]["type"] == "number"
    assert math.isclose(summary["loss"]["sum"], sum(m["loss"] for _, m in told))
    workloads = c.get(f"{TRIALS}/{t}/workloads?limit=3&offset=500&sortKey=batches").json
    assert [w["training"]["totalBatches"] for w in workloads["workloads"]] == [501, 502, 503]
    assert workloads["pagination"]["total"] == 1300


def test_a_chart_of_many_trials_reads_as_much_as_that_of_one(new_cluster):
    """Of 400 trials each may be unpacked to 1,000 points. A longer one is drawn from what its block keeps for charts: fewer points, and all extremes."""
    c = new_cluster()
    c.start_master()
    c.login()
    config = {"name": "many", "searcher": {"name": "random", "metric": "loss", "max_trials": 400}}
    x = c.post("/api/v1/experiments", {"config": json.dumps(config), "unmanaged": True, "activate": False}).json["experiment"]["id"]
    ids = [c.post(TRIALS, {"experimentId": x, "unmanaged": True, "hparams": {}}).json["trial"]["id"] for _ in range(400)]
    for step in range(1, 1301):
        assert report(c, ids[0], step, {"loss": 1000 if step == 700 else step % 5}).status == 200
    wait_for("sealing", lambda: sealed(c) >= 1024)

    def points(trials):
        wanted = "&".join(f"trialIds={t}" for t in trials)
        data = c.get(f"{TRIALS}/time-series?{wanted}&metricIds=training.loss&maxDatapoints=1000").json["trials"][0]["metrics"][0]["data"]
        return {p["batches"]: p["values"]["loss"] for p in data}

    alone, beside = points(ids[:1]), points(ids)
    assert len(alone) == 1000 and 60 <= len(beside) < 500
    assert alone[700] == beside[700] == 1000 and {1, 1300} <= beside.keys()


def test_master_killed_while_it_seals_loses_and_doubles_nothing(new_cluster):
    """Reports are sent without a pause, and the master is killed again and again. What was acknowledged must be stored exactly once."""
    c = new_cluster()
    c.start_master()
    c.login()
    [t] = c.trial_ids(c.create(activate=False))
    told, step = {}, 0
    for _ in range(4):
        before = sealed(c)
        while step == 0 or sealed(c) == before:
            for step in range(step + 1, step + 201):
                if report(c, t, step, {"loss": step / 8}).status == 200:
                    told[step] = {"loss": step / 8}
        c.stop_master(signal.SIGKILL)
        c.start_master()
        c.login()
        assert stored(c, t) == sorted(told.items())


# ---- wrong reports: they are refused and change nothing ----

def deep(levels):
    return json.loads('{"a":' * levels + "1" + "}" * levels)


@pytest.mark.parametrize("metrics, step, group, part", [
    ({f"key-{i}": i for i in range(100000)}, 1, "training", "more than 10000 metrics"),
    ({"a": "x" * 70000}, 1, "training", "has a value of 70002 bytes"),
    ({"x" * 300: 1}, 1, "training", "has 300 bytes, at most 256"),
    ({"a": 1}, -1, "training", "steps_completed is -1"),
    ({"a\0b": 1}, 1, "training", "NUL"),
    ({"a": 1}, 1, "train.ing", "must not contain a dot"),
    ({"a": 1}, 1, "g" * 300, "has 300 bytes"),
    ([1, 2], 1, "training", "object"),
    ("text", 1, "training", "object"),
])
def test_bad_reports_change_nothing(master, trial, metrics, step, group, part):
    _, t = trial
    assert part in error_of(report(master, t, step, metrics, group=group), 400)
    assert stored(master, t) == []
    assert master.get(f"{TRIALS}/{t}").json["trial"]["summaryMetrics"] == {}


def test_deeply_nested_metrics_are_refused_or_kept_whole(master, trial):
    _, t = trial
    assert report(master, t, 1, {"a": deep(50)}).status == 200
    assert report(master, t, 2, {"a": deep(400)}).status == 400
    assert stored(master, t) == [(1, {"a": deep(50)})]


@pytest.mark.parametrize("body", [
    {"trialRunId": "x"}, {"stepsCompleted": 1.5}, {"stepsCompleted": 2**40}, {"metrics": None}, {"metrics": {"batchMetrics": [1]}}])
def test_wrong_types_are_refused(master, trial, body):
    _, t = trial
    reply = master.post(f"{TRIALS}/{t}/metrics", {"group": "training", "metrics": {
        "trialId": t, "trialRunId": 0, "stepsCompleted": 1, "metrics": {"avgMetrics": {"a": 1}}, **body}})
    if body != {"metrics": None}:
        assert reply.status == 400, reply
        assert stored(master, t) == []


def test_reports_of_other_runs_and_ended_trials_are_refused(master, trial):
    x, t = trial
    assert "invalid run id, 7 != 0" in error_of(report(master, t, 1, {"a": 1}, run=7), 400)
    assert "invalid run id, 7 != 0" in error_of(report(master, t, 1, {"a": 1}, run=7, group="validation"), 400)
    assert "not found" in error_of(report(master, 999999, 1, {"a": 1}), 404)
    assert master.post(f"/api/v1/experiments/{x}/kill").status == 200
    master.wait_experiment(x)
    assert "has ended" in error_of(report(master, t, 1, {"a": 1}), 400)
    assert stored(master, t) == []
