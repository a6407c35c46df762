"""Whole searches: trials that report, stop and crash, users who pause them, and a master that is killed meanwhile."""
import os
import shutil
import signal

import pytest
from e2e.test_examples import DIGITS, create, needs_torch, validations
from support.cluster import Cluster, wait_for
from support.experiments import wait_slots_free
from support.light_python import light_python

# A trial's loss follows from its seed, so that a run can be compared with another one bit by bit. Some trials crash once.
TRAIN = """
import os, random, time
import determined as det
from determined import core

info = det.get_cluster_info()
with core.init() as context:
    done = 0
    if info.latest_checkpoint:
        with context.checkpoint.restore_path(info.latest_checkpoint) as path:
            done = int((path / "done").read_text())
    for step in range(done + 1, 17):
        time.sleep(0.02)
        if info.trial.hparams["number"] % 5 == 3 and info.trial._trial_run_id == 1:
            os._exit(1)
        loss = random.Random(info.trial.trial_seed * 100 + step).random() + 1 / step
        context.train.report_validation_metrics(step, {"loss": loss, "batches": step, "seed": info.trial.trial_seed})
        with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
            (path / "done").write_text(str(step))
        if context.preempt.should_preempt():
            break
"""
SEARCHER = {"name": "adaptive_asha", "metric": "loss", "max_trials": 16, "max_concurrent_trials": 4, "max_time": 16,
            "time_metric": "batches"}
SPACE = {"number": {"type": "int", "minval": 0, "maxval": 1000}, "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}}
SEED = 5


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    directory = tmp_path_factory.mktemp("searches")
    path = f"{light_python(directory / 'python')}:{os.environ['PATH']}"
    with Cluster(directory / "cluster", env={"PATH": path, "OMP_NUM_THREADS": "1"}) as c:
        c.start_master()
        c.start_agent(slots=4)
        c.login()
        yield c


def trials(c, x):
    """Oldest first."""
    return sorted(c.get(f"/api/v1/experiments/{x}/trials?limit=-1").json["trials"], key=lambda t: t["id"])


def reports(c, x):
    return sum(len(validations(c, t["id"])) for t in trials(c, x))


def kill_master(c):
    c.stop_master(signal.SIGKILL)
    c.start_master()


def disturb(c, x):
    """Paused, killed while it is paused, activated, killed while it runs."""
    wait_for("some reports", lambda: reports(c, x) > 4, timeout_s=300)
    assert c.post(f"/api/v1/experiments/{x}/pause").status == 200
    wait_slots_free(c)
    kill_master(c)
    assert c.experiment(x)["state"] == "STATE_PAUSED"
    assert c.post(f"/api/v1/experiments/{x}/activate").status == 200
    before = reports(c, x)
    wait_for("more reports", lambda: reports(c, x) > before + 2, timeout_s=300)
    kill_master(c)


def drawn(c, n, **config):
    """What the first n trials of any search with this seed are given: the order of draws does not depend on the method."""
    x = c.create(activate=False, **{**config, "searcher": {"name": "random", "metric": "loss", "max_trials": n,
                                                           "max_concurrent_trials": n}})
    found = [t["hparams"] for t in trials(c, x)]
    c.post(f"/api/v1/experiments/{x}/kill")
    return found


def test_a_disturbed_search_has_the_trials_of_an_undisturbed_one(cluster):
    c = cluster
    config = {"entrypoint": "python3 train.py", "searcher": SEARCHER, "hyperparameters": SPACE, "max_restarts": 2,
              "reproducibility": {"experiment_seed": SEED}}
    assert any(h["number"] % 5 == 3 for h in drawn(c, 16, **config)[:4]), "one of the first trials crashes"
    undisturbed = c.create({"train.py": TRAIN}, **config)
    assert c.wait_experiment(undisturbed)["state"] == "STATE_COMPLETED"
    disturbed = c.create({"train.py": TRAIN}, **config)
    disturb(c, disturbed)
    assert c.wait_experiment(disturbed)["state"] == "STATE_COMPLETED", c.master_log()[-3000:]
    first, second = trials(c, undisturbed), trials(c, disturbed)
    assert len(first) == len(second) == 16
    assert any(t["restarts"] for t in second)
    for a, b in zip(first, second):
        assert a["hparams"] == b["hparams"]
        steps = zip(validations(c, a["id"]), validations(c, b["id"]))
        assert all(x == y for x, y in steps), "the same numbers, seed included, as far as both came"
    assert {t["state"] for t in second} == {"STATE_COMPLETED"}


# The trial with these hyperparameters dies once, in its first epoch.
CRASH = """
import json, os, pathlib
if json.loads(os.environ["DET_HPARAMS"]) == {hparams}:
    _train_batch = DigitsTrial.train_batch
    _mark = pathlib.Path({mark!r})
    def _crash(self, batch, epoch_idx, batch_idx):
        if batch_idx >= 5 and not _mark.exists():
            _mark.touch()
            os._exit(9)
        return _train_batch(self, batch, epoch_idx, batch_idx)
    DigitsTrial.train_batch = _crash
"""


TRIALS = 8


@needs_torch
def test_adaptive_asha_on_digits(cluster, tmp_path):
    """Importing torch twenty times is what takes the time, half a minute of CPU in all."""
    c = cluster
    short = ("--config", "searcher.max_time=4", "--config", "searcher.max_length.epochs=4", "--config", f"searcher.max_trials={TRIALS}")
    undisturbed = create(c, DIGITS, *short, name="adaptive.yaml")
    hparams = [t["hparams"] for t in trials(c, undisturbed)]
    crashing = shutil.copytree(DIGITS, tmp_path / "digits")
    with open(crashing / "model_def.py", "a") as file:
        file.write(CRASH.format(hparams=hparams[1], mark=str(tmp_path / "crashed")))
    assert c.wait_experiment(undisturbed, timeout_s=1800)["state"] == "STATE_COMPLETED"
    x = create(c, crashing, *short, name="adaptive.yaml")
    disturb(c, x)
    assert c.wait_experiment(x, timeout_s=1800)["state"] == "STATE_COMPLETED", c.master_log()[-3000:]
    first, found = trials(c, undisturbed), trials(c, x)
    config = c.experiment(x)["config"]
    expected = drawn(c, TRIALS, hyperparameters=config["hyperparameters"], reproducibility={"experiment_seed": 17})
    assert [t["hparams"] for t in found] == [t["hparams"] for t in first] == expected
    assert found[1]["restarts"] == 1 and sum(t["restarts"] for t in first) == 0, c.trial_log(found[1]["id"])
    for a, b in zip(first, found):
        for (steps, there), (same_steps, here) in zip(validations(c, a["id"]), validations(c, b["id"])):
            assert (steps, there) == (same_steps, here), f"trial {b['id']}: the same numbers, bit by bit, as far as both came"
    for some in (first, found):
        last = [validations(c, t["id"])[-1][1]["epochs"] for t in some]
        assert max(last) == 4 and min(last) < 4, "some are stopped; which ones, and how many, depends on who reports first"
