"""det simulate: the numbers of small clusters can be told by hand."""
import json
import pathlib

import pytest

TRACES = pathlib.Path(__file__).parents[2] / "examples/traces"
CLUSTER = """resource_pools:
  - pool_name: default
    scheduler: {type: %s, preemption: %s}
    agents: [{count: %d, slots: %d}]
"""


@pytest.fixture
def simulate(det, tmp_path):
    def run(trace, *clusters, flags=("--json",)):
        (tmp_path / "trace.csv").write_bytes(trace.encode())
        options = []
        for i, cluster in enumerate(clusters):
            (tmp_path / f"c{i}.yaml").write_text(cluster)
            options += ["--cluster", str(tmp_path / f"c{i}.yaml")]
        return det.run("simulate", str(tmp_path / "trace.csv"), *options, *flags, DET_MASTER="http://127.0.0.1:1")
    return run


def numbers(done):
    assert done.returncode == 0, done.stderr
    return [each["all"] for each in json.loads(done.stdout)]


def cluster(agents=1, slots=1, scheduler="priority", preemption="false"):
    return CLUSTER % (scheduler, preemption, agents, slots)


def test_jobs_run_one_after_the_other(simulate):
    [one] = numbers(simulate("submit,slots,duration\n0,1,100\n0,1,100\n0,1,100\n", cluster()))
    assert (one["jobs"], one["never_started"], one["slots"], one["preemptions"]) == (3, 0, 1, 0)
    assert one["makespan_s"] == 300 and one["utilization"] == 1
    assert (one["wait_mean_s"], one["wait_p50_s"], one["wait_p99_s"]) == (100, 100, 200)


def test_clusters_stand_side_by_side(simulate):
    small, large = numbers(simulate("submit,slots,duration\n0,1,100\n0,1,100\n", cluster(), cluster(agents=2)))
    assert (small["wait_p99_s"], large["wait_p99_s"]) == (100, 0)
    assert (small["makespan_s"], large["makespan_s"]) == (200, 100)


def test_an_important_job_preempts_and_what_was_done_is_kept(simulate):
    trace = "submit,slots,duration,priority\n0,1,100,50\n40,1,10,1\n"
    calm, preemptive = numbers(simulate(trace, cluster(), cluster(preemption="true")))
    assert (calm["preemptions"], calm["wait_p99_s"], calm["makespan_s"]) == (0, 60, 110)
    assert (preemptive["preemptions"], preemptive["wait_p99_s"], preemptive["makespan_s"]) == (1, 0, 110)


def test_fair_share_is_fairer(simulate):
    trace = "submit,slots,duration,searcher,trials,concurrent_trials\n0,1,1000,random,8,8\n10,1,1000,random,8,8\n"
    priority, fair = numbers(simulate(trace, cluster(slots=8), cluster(slots=8, scheduler="fair_share")))
    assert fair["fairness"] > 0.95 > priority["fairness"]
    assert fair["wait_p99_s"] == 0 and priority["wait_p99_s"] > 900


def test_a_search_stops_what_is_worse(simulate):
    trace = "submit,slots,duration,searcher,trials,concurrent_trials\n0,1,160,%s,16,16\n"
    [asha] = numbers(simulate(trace % "adaptive_asha", cluster(slots=16)))
    [random] = numbers(simulate(trace % "random", cluster(slots=16)))
    assert random["utilization"] == 1 and 0 < asha["utilization"] < 0.9


def test_what_fits_nowhere_never_starts(simulate):
    [one] = numbers(simulate("submit,slots,duration\n0,12,100\n", cluster(agents=2, slots=8)))
    assert (one["never_started"], one["utilization"]) == (1, 0)


@pytest.mark.parametrize("trace, words", [
    ("submit,slots\n0,1\n", "row 1, column duration is missing"),
    ("submit,slots,duration,color\n", "row 1, column color"),
    ("submit,slots,duration,slots\n", "row 1, column slots"),
    ("submit,slots,duration\n0,1,10\n0,x,10\n", "row 3, column slots: \"x\""),
    ("submit,slots,duration\r\n0,1,10\r\n\r\n0,1.5,10\r\n", "row 4, column slots: \"1.5\""),
    ("submit,slots,duration\n-1,1,10\n", "row 2, column submit"),
    ("submit,slots,duration\n0,1,0\n", "row 2, column duration"),
    ("submit,slots,duration\n0,1\n", "row 2, column duration"),
    ("submit,slots,duration\n0,1,10,7\n", "row 2"),
    ("submit,slots,duration,priority\n0,1,10,100\n", "row 2, column priority: \"100\""),
    ("submit,slots,duration,weight\n0,1,10,nan\n", "row 2, column weight"),
    ("submit,slots,duration,weight\n0,1,10,0\n", "row 2, column weight"),
    ("submit,slots,duration,pool\n0,1,10,other\n", "row 2, column pool"),
    ("submit,slots,duration,searcher\n0,1,10,bayes\n", "row 2, column searcher"),
    ("submit,slots,duration,name\n0,1,10,\"a\n", "row 2, column 4"),
    ("submit,slots,duration\n", "no job"),
    ("", "no job"),
])
def test_bad_rows_are_named(simulate, trace, words):
    done = simulate(trace, cluster())
    assert done.returncode == 1 and words in done.stderr, done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("text, words", [
    ("resource_pools: []", "resource_pools"),
    ("resource_pools: [{pool_name: a}]", "agents"),
    ("resource_pools: [{pool_name: a, agents: [{slots: 65}]}]", "slots"),
    ("resource_pools: [{pool_name: a, agents: [{slots: 1}], scheduler: {type: lottery}}]", "scheduler.type"),
    ("resource_pools: [{pool_name: a, agents: [{slots: 1}], colour: red}]", "colour"),
    ("resource_pools: [{pool_name: a, agents: [{slots: 1}]}, {pool_name: a, agents: [{slots: 1}]}]", "name"),
])
def test_a_bad_cluster_is_refused(simulate, text, words):
    done = simulate("submit,slots,duration\n0,1,10\n", text)
    assert done.returncode == 1 and words in done.stderr, done.stderr


def test_the_examples_run(det):
    clusters = [word for name in ("cluster", "more-agents", "fair-share") for word in ("--cluster", str(TRACES / f"{name}.yaml"))]
    for trace in ("day.csv", "searches.csv"):
        done = det.run("simulate", str(TRACES / trace), *clusters, DET_MASTER="http://127.0.0.1:1")
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == 5
