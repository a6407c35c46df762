"""Questions about the training library: what its loop, its timings and its reports cost training."""
import json
import os
import subprocess

from harness import ROOT, Row, question, running_master

PYTHON = ROOT / ".venv/bin/python"
BATCH_US = 5000  # of the batches that the targets speak of

# Reports as fast as they go, each timed; a task of the real cluster.
REPORTS = """
import time
from determined import core
times = []
with core.init() as context:
    for step in range(1, 3001):
        began = time.perf_counter()
        context.train.report_training_metrics(step, {"loss": 1 / step, "accuracy": 0.5})
        times.append(time.perf_counter() - began)
        time.sleep(0.002)
times.sort()
print("blocked_us", times[len(times) // 2] * 1e6, times[len(times) * 99 // 100] * 1e6)
"""


@question
def training_loop():
    """What does PyTorchTrial's loop add to a batch, and what its timings?"""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([PYTHON, ROOT / "bench/training_loop.py"], capture_output=True, text=True, env=env, check=True)
    turns = json.loads(done.stdout)
    bare = [t["bare"] for t in turns]
    yield Row("PyTorchTrial: CPU of its loop, beyond a bare loop, per batch", [t["ours"] - t["bare"] for t in turns], "µs",
              f"≤ {BATCH_US * 0.02:.0f}", "bare loop of a tiny model", bare)
    yield Row("… timings beyond that", [t["timed"] - t["ours"] for t in turns], "µs", f"≤ {BATCH_US * 0.005:.0f}")


@question
def report_blocking():
    """How long does a report of metrics keep training waiting?"""
    with running_master() as cluster:
        cluster.start_agent()
        python = {"environment": {"environment_variables": [f"PATH={PYTHON.parent}:{os.environ['PATH']}"]}}
        experiment = cluster.create(entrypoint=[str(PYTHON), "-u", "-c", REPORTS], **python)
        assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
        [trial] = cluster.get(f"/api/v1/experiments/{experiment}/trials").json["trials"]
        line = next(text for text in cluster.trial_log(trial["id"]).splitlines() if "blocked_us" in text)
        median, p99 = (float(word) for word in line.split("blocked_us")[1].split())
    yield Row("a report of training metrics keeps its caller for, p99", [p99 / 1000], "ms", "≤ 1")
    yield Row("… median", [median / 1000], "ms")
