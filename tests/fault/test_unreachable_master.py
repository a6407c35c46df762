"""A master that cannot be reached for long while a trial trains: training goes on, what it says arrives later, nothing twice.

Five seconds here; under `make faults` (DET_FAULT_KILLS) a minute and more, longer than a request waits for its answer.
"""
import os
import signal
import time

import pytest
from support.cluster import wait_for
from support.experiments import log_of, task_lines, the_trial

AWAY_S = 70 if int(os.environ.get("DET_FAULT_KILLS", "10")) > 10 else 5

# Trains until somebody says that it is enough; what it has done is told without the master, too.
TRAIN = """
import pathlib, sys, time
from determined import core

place, step = pathlib.Path(sys.argv[1]), 0
with core.init() as context:
    while not (place / "enough").exists():
        step += 1
        loss = sum(1 / (step + i) for i in range(2000))
        print("step", step, flush=True)
        context.train.report_training_metrics(step, {"loss": loss})
        if step % 10 == 0:
            context.train.report_validation_metrics(step, {"loss": loss})
        assert not context.preempt.should_preempt()
        (place / "done.new").write_text(str(step))
        (place / "done.new").rename(place / "done")
        time.sleep(0.05)
    with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
        (path / "state").write_text(str(step))
"""


def reported(cluster, trial, group):
    lines = cluster.get(f"/api/v1/trials/metrics/trial_metrics?trialIds={trial}&group={group}").lines
    return sorted(r["totalBatches"] for line in lines for r in line["result"]["metrics"])


def done(place):
    return int((place / "done").read_text())


@pytest.mark.parametrize("how", ["killed", "silent"])
def test_a_trial_trains_on_while_the_master_is_unreachable(new_cluster, tmp_path, how):
    """A silent one still takes connections and requests in, and answers none."""
    cluster = new_cluster().start_master()
    cluster.start_agent()
    cluster.login()
    x = cluster.create(files={"train.py": TRAIN}, entrypoint=["python3", "train.py", str(tmp_path)])
    trial = the_trial(cluster, x)["id"]
    wait_for("some reports", lambda: len(reported(cluster, trial, "training")) > 5)
    if how == "killed":
        cluster.stop_master(signal.SIGKILL)
    else:
        cluster.master.send_signal(signal.SIGSTOP)
    try:
        before, end = done(tmp_path), time.monotonic() + AWAY_S
        wait_for("training to go on", lambda: done(tmp_path) > before + 20 and time.monotonic() > end, timeout_s=AWAY_S + 120)
    finally:
        if how == "silent":
            cluster.master.send_signal(signal.SIGCONT)
    if how == "killed":
        cluster.start_master()
    (tmp_path / "enough").touch()
    assert cluster.wait_experiment(x, timeout_s=300)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    steps = done(tmp_path)
    assert reported(cluster, trial, "training") == list(range(1, steps + 1))
    assert reported(cluster, trial, "validation") == list(range(10, steps + 1, 10))
    said = [line for line in task_lines(cluster, trial) if line.startswith("step ")]
    assert said == [f"step {i}" for i in range(1, steps + 1)]
    checkpoints = cluster.get(f"/api/v1/trials/{trial}/checkpoints").json["checkpoints"]
    assert [c["metadata"]["steps_completed"] for c in checkpoints] == [steps]
    assert the_trial(cluster, x)["restarts"] == 0
