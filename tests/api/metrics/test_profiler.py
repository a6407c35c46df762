"""Tests profiles in the form of older releases: samples that are posted, agents' reports, and the series as which both are read."""
import json
import threading

import pytest
from support.cluster import wait_for

POST = "/api/v1/trials/profiler/metrics"
KINDS = {kind: f"PROFILER_METRIC_TYPE_{kind.upper()}" for kind in ("system", "timing", "misc")}


@pytest.fixture
def trial(master):
    return master.trial_ids(master.create(activate=False))[0]


def series(trial, name, values, kind="system", batches=None, second=0, **labels):
    if kind == "system":
        labels = {"agentId": "a", **labels}
    return {"labels": {"trialId": trial, "name": name, "metricType": KINDS[kind], **labels}, "values": values,
            "batches": batches or list(range(1, len(values) + 1)),
            "timestamps": [f"2026-01-01T00:00:{second + i:02}Z" for i in range(len(values))]}


def posted(c, *batches):
    reply = c.post(POST, {"batches": batches})
    assert reply.status == 200, reply


def read(c, trial, name, **labels):
    more = "".join(f"&labels.{key}={value}" for key, value in labels.items())
    reply = c.get(f"/api/v1/trials/{trial}/profiler/metrics?labels.name={name}{more}")
    assert reply.status == 200, reply
    return [line["result"]["batch"] for line in reply.lines]


def available(c, trial):
    lines = c.get(f"/api/v1/trials/{trial}/profiler/available_series").lines
    assert len(lines) == 1
    return {(s["name"], s.get("agentId", ""), s.get("gpuUuid", ""), s["metricType"]) for s in lines[0]["result"]["labels"]}


def kept(c, trial, group):
    return [(m["totalBatches"], m["endTime"], m["metrics"]["avg_metrics"])
            for line in c.get(f"/api/v1/trials/metrics/trial_metrics?trialIds={trial}&group={group}").lines
            for m in line["result"]["metrics"]]


def test_what_is_posted_is_read_back(master, trial):
    batches = [series(trial, "gpu_util", [10, 20.5], gpuUuid="g0"), series(trial, "gpu_util", [30, "NaN"], gpuUuid="g1", agentId="b"),
               series(trial, "net_throughput_sent", [0.1]), series(trial, "free_memory", [1.5, 2]),
               series(trial, "train_batch.backward", [0.25, 0.5], "timing"), series(trial, "samples_per_second", [100], "misc")]
    posted(master, *batches)
    assert available(master, trial) == {
        ("gpu_util", "a", "g0", KINDS["system"]), ("gpu_util", "b", "g1", KINDS["system"]), ("net_throughput_sent", "a", "", KINDS["system"]),
        ("free_memory", "a", "", KINDS["system"]), ("train_batch.backward", "", "", KINDS["timing"]), ("samples_per_second", "", "", KINDS["misc"])}
    for batch in batches:
        labels = {k: v for k, v in batch["labels"].items() if k not in ("trialId", "name")}
        [found] = read(master, trial, batch["labels"]["name"], **labels)
        assert (found["values"], found["batches"], found["timestamps"]) == (batch["values"], batch["batches"], batch["timestamps"])
        assert {k: v for k, v in found["labels"].items() if v} == batch["labels"]
    assert len(read(master, trial, "gpu_util")) == 2, "labels that are left out mean any"
    assert len(read(master, trial, "gpu_util", agentId="b")) == 1 and read(master, trial, "gpu_util", gpuUuid="g9") == []


def test_samples_are_metrics_like_all_others_in_bytes(master, trial):
    posted(master, series(trial, "free_memory", [1.5]), series(trial, "net_throughput_recv", [8]), series(trial, "gpu_util", [7], gpuUuid="g"),
           series(trial, "gpu_free_memory", [5], gpuUuid="g"), series(trial, "to_device", [0.1], "timing"), series(trial, "train_batch", [0.2], "timing"))
    time = "2026-01-01T00:00:00Z"
    assert kept(master, trial, "memory") == [(1, time, {"a": {"memory_free": 1.5e9}})]
    assert kept(master, trial, "network") == [(1, time, {"a": {"net_throughput_recv": 1e9}})]
    [(_, _, gpu)] = kept(master, trial, "gpu")
    assert gpu == {"a": {"g": {"gpu_util": 7, "gpu_free_memory": 5}}}, "what was measured at once is one report"
    assert kept(master, trial, "timings") == [(1, time, {"to_device": 0.1, "train_batch": 0.2})]


def test_reports_of_agents_and_of_the_library_are_shown_in_the_older_form(master, trial):
    for group, steps, metrics in (("network", None, {"a": {"net_throughput_sent": 2.5e8}}), ("timings", 7, {"train_batch": 0.5, "samples_per_second": 64}),
                                  ("disk", None, {"a": {"disk_iops": 3, "/": {"disk_util": 12}}}), ("training", 7, {"loss": 1})):
        body = {"trialId": trial, "trialRunId": 0, "metrics": {"avgMetrics": metrics}, "reportTime": "2026-01-01T00:00:09Z"}
        reply = master.post(f"/api/v1/trials/{trial}/metrics", {"group": group, "metrics": {**body, **({"stepsCompleted": steps} if steps else {})}})
        assert reply.status == 200, reply
    [sent] = read(master, trial, "net_throughput_sent")
    assert (sent["values"], sent["batches"], sent["timestamps"]) == ([2], [0], ["2026-01-01T00:00:09Z"])
    assert [read(master, trial, name)[0]["values"] for name in ("disk_iops", "train_batch", "samples_per_second")] == [[3], [0.5], [64]]
    assert read(master, trial, "train_batch")[0]["batches"] == [7]
    assert {s[0] for s in available(master, trial)} == {"net_throughput_sent", "disk_iops", "train_batch", "samples_per_second"}


def test_many_samples_at_one_batch_are_all_kept_also_once_sealed(master, trial):
    """Samples are neither merged nor refused as duplicates: a batch may take longer than the time between two samples."""
    values, before = [float(i % 97) for i in range(3000)], master.metric("det_metric_sealed_reports_total")
    for start in range(0, 3000, 1000):
        posted(master, {**series(trial, "to_device", values[start:start + 1000], "timing", batches=[5] * 1000),
                        "timestamps": [f"2026-01-01T{i // 3600:02}:{i // 60 % 60:02}:{i % 60:02}Z" for i in range(start, start + 1000)]})
    def all_values():
        return [v for batch in read(master, trial, "to_device") for v in batch["values"]]
    assert all_values() == values
    wait_for("sealed samples", lambda: master.metric("det_metric_sealed_reports_total") >= before + 2000)
    assert all_values() == values


@pytest.mark.parametrize("change, part", [
    ({"values": [1, 2, 3]}, "3 values, 2 batches and 2 timestamps"), ({"batches": [1]}, "1 batches"), ({"timestamps": []}, "0 timestamps"),
    ({"batches": [1, -1]}, "batches[1] is -1"), ({"labels": {"name": ""}}, "labels.name is missing"),
    ({"labels": {"name": "heat"}}, "no system metric; allowed are gpu_util"), ({"labels": {"name": "gpu_util"}}, "labels.gpuUuid is missing"),
    ({"labels": {"agentId": ""}}, "labels.agentId is missing"), ({"labels": {"metricType": "PROFILER_METRIC_TYPE_UNSPECIFIED"}}, "labels.metricType"),
    ({"labels": {"metricType": KINDS["misc"]}}, "the only metric of"),
])
def test_a_bad_batch_is_refused_and_nothing_is_kept(master, trial, change, part):
    good = series(trial, "cpu_util_simple", [1, 2])
    bad = {**good, **change, "labels": {**good["labels"], **change.get("labels", {})}}
    reply = master.post(POST, {"batches": [good, bad]})
    assert reply.status == 400 and part in json.dumps(reply.json), reply
    assert kept(master, trial, "cpu") == []


def test_too_much_an_unknown_trial_and_one_that_has_ended(master, trial):
    assert master.post(POST, {"batches": [series(999999, "cpu_util_simple", [1])]}).status == 404
    assert master.get("/api/v1/trials/999999/profiler/metrics?labels.name=gpu_util").status == 404
    assert master.get("/api/v1/trials/999999/profiler/available_series").status == 404
    assert master.get(f"/api/v1/trials/{trial}/profiler/metrics").status == 400, "which name?"
    many = {**series(trial, "cpu_util_simple", [1]), "values": [1] * 10001, "batches": [1] * 10001, "timestamps": ["2026-01-01T00:00:00Z"] * 10001}
    assert "at most 10000" in json.dumps(master.post(POST, {"batches": [many]}).json)
    assert kept(master, trial, "cpu") == []


def test_a_follower_hears_of_new_samples_until_the_trial_ends(master):
    experiment = master.create(activate=False)
    [trial] = master.trial_ids(experiment)
    posted(master, series(trial, "train_batch", [1], "timing"))
    lines = {}
    def follow(what, path):
        lines[what] = master.get(f"/api/v1/trials/{trial}/profiler/{path}").lines
    threads = [threading.Thread(target=follow, args=a) for a in (("values", "metrics?labels.name=train_batch&follow=true"),
                                                                 ("names", "available_series?follow=true"))]
    for thread in threads:
        thread.start()
    posted(master, series(trial, "train_batch", [2], "timing", batches=[2]), series(trial, "to_device", [3], "timing", batches=[2]))
    assert master.post(f"/api/v1/experiments/{experiment}/kill").status == 200
    for thread in threads:
        thread.join()
    assert [v for line in lines["values"] for v in line["result"]["batch"]["values"]] == [1, 2]
    assert {s["name"] for s in lines["names"][-1]["result"]["labels"]} == {"train_batch", "to_device"}
