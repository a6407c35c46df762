"""The examples, as a newcomer runs them: det, master, agent, library and PyTorch together."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from support.cluster import ROOT, Cluster, wait_for
from support.det import det
from support.experiments import log_of, the_trial

DIGITS, CORE_API = ROOT / "examples/digits_pytorch", ROOT / "examples/core_api"
HAS_TORCH = subprocess.run([sys.executable, "-c", "import importlib.util as u; exit(not (u.find_spec('torch') and u.find_spec('sklearn')))"],
                           check=False).returncode == 0
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="torch and scikit-learn are not installed in this environment")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """One whose tasks run with the Python of these tests."""
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    with Cluster(tmp_path_factory.mktemp("cluster"), env={"PATH": path, "OMP_NUM_THREADS": "1"}) as c:
        c.start_master()
        c.start_agent(slots=2)
        c.login()
        yield c


def create(cluster, directory, *words, name="const.yaml"):
    return int(re.search(r"^Created experiment (\d+)$", det(cluster, "experiment", "create", directory / name, directory, *words),
                         re.M).group(1))


def validations(cluster, trial_id):
    """(steps, metrics) of each validation, in order."""
    lines = cluster.get(f"/api/v1/trials/metrics/validation_metrics?trialIds={trial_id}").lines
    return [(r["totalBatches"], r["metrics"].get("avg_metrics") or r["metrics"]["validation_metrics"])
            for line in lines for r in line["result"]["metrics"]]


def listed_checkpoints(cluster, trial_id):
    checkpoints = cluster.get(f"/api/v1/trials/{trial_id}/checkpoints").json["checkpoints"]
    return sorted((c for c in checkpoints if c["state"] == "STATE_COMPLETED"), key=lambda c: c["metadata"]["steps_completed"])


def check_checkpoints(cluster, trial_id):
    """Every listed checkpoint lies on the disk with the files that it names; and det downloads the last one."""
    checkpoints = listed_checkpoints(cluster, trial_id)
    assert checkpoints
    for c in checkpoints:
        for name, size in c["resources"].items():
            path = cluster.storage / c["uuid"] / name
            assert path.is_dir() if name.endswith("/") else path.stat().st_size == int(size), path
    target = cluster.dir / "downloaded"
    det(cluster, "checkpoint", "download", checkpoints[-1]["uuid"], "-o", target)
    assert {p.name for p in target.iterdir()} >= {name for name in checkpoints[-1]["resources"] if "/" not in name}
    shutil.rmtree(target)
    return checkpoints


def pause_after(cluster, experiment, steps):
    """Pauses once a checkpoint-worthy number of steps is reported, and waits until the slots are given back."""
    trial = the_trial(cluster, experiment)["id"]
    wait_for(f"a validation after {steps} steps", lambda: any(s >= steps for s, _ in validations(cluster, trial)))
    det(cluster, "experiment", "pause", experiment)
    wait_for("the end of the run", lambda: "activeAllocations" not in (x := cluster.get(f"/api/v1/tasks/{the_trial(cluster, experiment)['taskId']}")
             .json["task"]) and all(a["state"] == "STATE_TERMINATED" for a in x["allocations"]))
    assert cluster.experiment(experiment)["state"] == "STATE_PAUSED", log_of(cluster, experiment)
    return listed_checkpoints(cluster, trial)[-1]["metadata"]["steps_completed"]


def training_steps(cluster, trial_id):
    lines = cluster.get(f"/api/v1/trials/metrics/trial_metrics?trialIds={trial_id}&group=training").lines
    return [(r["trialRunId"], r["totalBatches"]) for line in lines for r in line["result"]["metrics"]]


def check_resumed(cluster, experiment, paused_at, first_step):
    """The second run went on behind the checkpoint of the first one."""
    trial = the_trial(cluster, experiment)
    steps = training_steps(cluster, trial["id"])
    assert min(s for run, s in steps if run == 1) <= first_step
    assert min(s for run, s in steps if run == 2) > paused_at, steps
    assert trial["restarts"] == 0
    assert len({s for _, s in steps}) == len(steps), "a step was reported twice"


# ---- digits_pytorch ----


@needs_torch
def test_digits_reach_95_percent(cluster):
    x = create(cluster, DIGITS)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    trial = the_trial(cluster, x)
    results = validations(cluster, trial["id"])
    assert [s for s, _ in results] == [46, 92, 138, 184, 230]
    assert results[-1][1]["accuracy"] >= 0.95
    assert trial["bestValidation"]["metrics"]["avgMetrics"]["accuracy"] >= 0.95
    assert check_checkpoints(cluster, trial["id"])[-1]["metadata"]["steps_completed"] == 230
    [described] = json.loads(det(cluster, "experiment", "describe", "--json", x))
    assert described["experiment"]["state"] == "STATE_COMPLETED" and described["experiment"]["progress"] == 1
    assert "validation metrics after 230 steps" in det(cluster, "trial", "logs", trial["id"])


@needs_torch
def test_digits_go_on_from_their_checkpoint_after_a_pause(cluster):
    x = create(cluster, DIGITS, "--config", "searcher.max_length.epochs=30")
    paused_at = pause_after(cluster, x, 46)
    assert 46 <= paused_at < 690
    det(cluster, "experiment", "activate", x)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    check_resumed(cluster, x, paused_at, first_step=46)
    assert validations(cluster, the_trial(cluster, x)["id"])[-1][0] == 690


WITH_TRAINER = """
import logging

import determined as det
from determined import pytorch
from model_def import DigitsTrial

logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
with pytorch.init() as context:
    pytorch.Trainer(DigitsTrial(context), context).fit(
        max_length=pytorch.Epoch(2), validation_period=pytorch.Epoch(1), latest_checkpoint=det.get_cluster_info().latest_checkpoint
    )
"""


@needs_torch
def test_a_script_with_a_trainer(cluster, tmp_path):
    context = tmp_path / "context"
    shutil.copytree(DIGITS, context)
    (context / "script.py").write_text(WITH_TRAINER)
    x = create(cluster, context, "--config", "entrypoint=python3 script.py")
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    trial = the_trial(cluster, x)["id"]
    assert [s for s, _ in validations(cluster, trial)] == [23, 46]
    assert check_checkpoints(cluster, trial)[-1]["metadata"]["steps_completed"] == 46


# ---- reproducibility ----

# Stands still in the third epoch of its first run until it is paused.
PAUSED = """
import time

import determined as det
import model_def


class PausedTrial(model_def.ReproducibleTrial):
    def train_batch(self, batch, epoch_idx, batch_idx):
        while batch_idx == 60 and det.get_cluster_info().trial._trial_run_id == 1 and not self.context._core.preempt.should_preempt():
            time.sleep(0.05)
        return super().train_batch(batch, epoch_idx, batch_idx)
"""


@needs_torch
def test_a_paused_run_ends_with_the_weights_of_an_undisturbed_one(cluster, tmp_path):
    context = tmp_path / "context"
    shutil.copytree(ROOT / "examples/reproducibility", context)
    (context / "paused.py").write_text(PAUSED)
    undisturbed = create(cluster, context)
    paused = create(cluster, context, "--config", "entrypoint=paused:PausedTrial")
    trial = wait_for("its trial", lambda: cluster.trial_ids(paused))[0]
    wait_for("the third epoch", lambda: (1, 60) in training_steps(cluster, trial))
    det(cluster, "experiment", "pause", paused)
    stored = wait_for("a checkpoint in the middle of an epoch of 29 batches",
                      lambda: [c for c in listed_checkpoints(cluster, trial) if c["metadata"]["steps_completed"] % 29])
    assert stored[0]["metadata"]["steps_completed"] == 61
    det(cluster, "experiment", "activate", paused)
    for x in (undisturbed, paused):
        assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    assert {run for run, _ in training_steps(cluster, trial)} == {1, 2}
    ends = [validations(cluster, the_trial(cluster, x)["id"])[-1] for x in (undisturbed, paused)]
    assert ends[0] == ends[1] and ends[0][1]["fingerprint"] != 0, "the same to the last bit"


# ---- core_api ----


def test_core_api(cluster):
    x = create(cluster, CORE_API)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    trial = the_trial(cluster, x)["id"]
    results = validations(cluster, trial)
    assert [s for s, _ in results] == list(range(1, 21))
    assert results[-1][1]["accuracy"] > 0.9
    assert training_steps(cluster, trial) == [(1, s) for s in range(1, 21)]
    assert [c["metadata"]["steps_completed"] for c in check_checkpoints(cluster, trial)][-1] == 20


def test_core_api_goes_on_from_its_checkpoint_after_a_pause(cluster):
    x = create(cluster, CORE_API, "--config", "hyperparameters.epochs=300")
    paused_at = pause_after(cluster, x, 20)
    assert 20 <= paused_at < 300
    det(cluster, "experiment", "activate", x)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    check_resumed(cluster, x, paused_at, first_step=1)
    assert validations(cluster, the_trial(cluster, x)["id"])[-1][0] == 300
