"""Questions about metrics: how many reports a second become durable, what sealed ones take, how quickly charts are drawn."""
import contextlib
import os
import statistics

from ask_api import credentials
from ask_store import numbers_of
from harness import Row, cpu_ms, directory, fsync_ms, question, running_master, wrk

TRIALS = 64
# Each request is the next report of the next trial, so that no two clients report the same step.
REPORTS = """
local n, trials = FIRST, {TRIALS}
wrk.method = 'POST'
wrk.headers['Content-Type'] = 'application/json'
function request()
    n = n + 1
    local trial = trials[n % #trials + 1]
    return wrk.format(nil, '/api/v1/trials/' .. trial .. '/metrics', nil, string.format(
        '{"group":"training","metrics":{"trialId":%d,"trialRunId":0,"stepsCompleted":%d,"metrics":{"avgMetrics":'
        .. '{"loss":%.9g,"accuracy":%.6g,"lr":0.001}}}}', trial, n, 1 / n, n % 64 / 64))
end
"""
RUNS, SECONDS = 3, 3


def write_script(path, trials, first):
    path.write_text(REPORTS.replace("FIRST", str(first)).replace("TRIALS", ",".join(map(str, trials))))
    return path


@contextlib.contextmanager
def engine(name):
    """Masters that are started within keep their store there."""
    before = os.environ.pop("DET_TEST_DB", None)
    if name == "postgres":
        os.environ["DET_TEST_DB"] = name
    try:
        yield
    finally:
        os.environ.pop("DET_TEST_DB", None)
        if before:
            os.environ["DET_TEST_DB"] = before


@question
def reports():
    """How many training reports a second are durable before they are answered, on both engines?"""
    for name in ("sqlite", "postgres"):
        with engine(name), running_master() as cluster:
            trials = [cluster.trial_ids(cluster.create(activate=False))[0] for _ in range(TRIALS)]
            for clients in (16, 64):
                yield from ask_reports(cluster, name, clients, trials)


def ask_reports(cluster, name, clients, trials):
    loads, disk, cpu = [], [], []
    for run in range(RUNS):
        disk += fsync_ms(cluster.dir)
        # Every run goes on where none has reported yet: a step that is said twice is another question.
        script = write_script(cluster.dir / "reports.lua", trials, (clients * RUNS + run) * 1000000)
        before = cpu_ms(cluster.master.pid)
        loads.append(wrk(cluster.url, clients, SECONDS, credentials(cluster), script))
        cpu.append((cpu_ms(cluster.master.pid) - before) * 1000 / (loads[-1].per_s * SECONDS))
    at_best = clients * 1000 / statistics.median(disk)
    yield Row(f"metric reports, fsynced, {clients} clients, {name}", [load.per_s for load in loads], "/s",
              f"≥ {min(10000, 0.6 * at_best):.0f}", f"{clients} / fsync", [at_best])
    yield Row("… p99", [load.p99_ms for load in loads], "ms")
    yield Row("… CPU of the master, each", cpu, "µs")


@question
def metric_points():
    """What do ten million sealed metric points take on disk, and how long does a chart over them take?"""
    with directory() as path:
        found = numbers_of("metric_points", str(path))
    targets = {"bytes a point, four metrics a report": "≤ 3", "chart of 1,000 points over 10,000,000": "≤ 100"}
    for what, number in found.items():
        unit = "B" if what.startswith("bytes") else "/s" if what.startswith("points") else "ms"
        yield Row(f"metrics: {what}", [number], unit, targets.get(what, ""))
