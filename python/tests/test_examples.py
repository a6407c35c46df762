"""The examples, off the cluster and as trials of a fake one."""

import json
import os
import subprocess
import sys

import pytest
import yaml

from tests.conftest import EXAMPLES, REPOSITORY


def start(example, run_dir, tmp_path, *argv):
    env = {
        **os.environ,
        "DET_RUN_DIR": str(run_dir),
        "XDG_DATA_HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(REPOSITORY / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.Popen([sys.executable, *argv], cwd=EXAMPLES / example, env=env, stderr=subprocess.PIPE, text=True)


def finish(process):
    _, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return err


def test_digits__trains_off_the_cluster(tmp_path):
    log = finish(start("digits_pytorch", tmp_path, tmp_path, "train.py", "--epochs", "2"))
    assert "validation metrics after 46 steps" in log and len(list((tmp_path / "home/determined").iterdir())) == 1


def test_digits__reaches_95_percent_as_a_trial(cluster, tmp_path):
    cluster.config.update(
        {
            "hyperparameters": {"global_batch_size": 64, "lr": 0.003, "channels": 16, "dropout": 0.25},
            "data": {"split_seed": 0},
            "min_validation_period": {"epochs": 2},
            "scheduling_unit": 20,
        }
    )
    cluster.config["searcher"]["max_length"] = {"epochs": 10}
    cluster.write()
    finish(start("digits_pytorch", cluster.run_dir, tmp_path, "-m", "determined.exec.harness", "model_def:DigitsTrial"))
    validations = cluster.master.reports("validation")
    assert [step for step, _ in validations] == [46, 92, 138, 184, 230]
    assert validations[-1][1]["accuracy"] >= 0.95


def test_digits__config_says_what_the_test_above_says():
    text = (EXAMPLES / "digits_pytorch" / "const.yaml").read_text()
    for line in (
        "entrypoint: model_def:DigitsTrial",
        "  global_batch_size: 64",
        "  lr: 0.003",
        "  channels: 16",
        "  dropout: 0.25",
        "scheduling_unit: 20",
        "  metric: accuracy",
        "    epochs: 10",
    ):
        assert f"\n{line}\n" in text


def test_core_api__trains_off_the_cluster(tmp_path):
    log = finish(start("core_api", tmp_path, tmp_path, "train.py"))
    assert log.count("validation metrics") == 20 and "accuracy 0.9" in log


@pytest.fixture
def core_api(cluster):
    cluster.config["hyperparameters"] = {"lr": 0.5, "epochs": 6}
    cluster.write()
    return cluster


def last_state(cluster):
    uuid = list(cluster.master.checkpoints)[-1]
    return uuid, json.loads((cluster.storage / uuid / "state.json").read_text())


def test_core_api__reports_as_a_trial(core_api, tmp_path):
    finish(start("core_api", core_api.run_dir, tmp_path, "train.py"))
    assert [step for step, _ in core_api.master.reports("training")] == [1, 2, 3, 4, 5, 6]
    assert core_api.master.reports("validation")[-1][1]["accuracy"] > 0.9
    assert [b["progress"] for b in core_api.master.bodies("ReportTrialProgress")][-1] == 1.0
    assert [c["metadata"]["steps_completed"] for c in core_api.master.checkpoints.values()] == [1, 2, 3, 4, 5, 6]


def test_core_api__preempted_goes_on_as_if_it_had_not_been(core_api, tmp_path):
    finish(start("core_api", core_api.run_dir, tmp_path, "train.py"))
    whole = last_state(core_api)[1]
    core_api.write(trial_run_id=2)
    core_api.master.checkpoints.clear()
    core_api.master.preempt = True
    finish(start("core_api", core_api.run_dir, tmp_path, "train.py"))
    uuid, stopped = last_state(core_api)
    assert stopped["epochs_trained"] == 1 and core_api.master.acknowledged
    core_api.master.preempt = False
    core_api.write(latest_checkpoint=uuid, trial_run_id=3)
    finish(start("core_api", core_api.run_dir, tmp_path, "train.py"))
    assert last_state(core_api)[1] == whole


def test_core_api__started_from_another_trials_checkpoint_trains_in_full(core_api, tmp_path):
    finish(start("core_api", core_api.run_dir, tmp_path, "train.py"))
    uuid, _ = last_state(core_api)
    core_api.master.metrics.clear()
    core_api.write(latest_checkpoint=uuid, trial_id=12)
    finish(start("core_api", core_api.run_dir, tmp_path, "train.py"))
    assert len(core_api.master.reports("training")) == 6


def configure(cluster, example):
    """Takes what the harness reads from the example's own configuration."""
    config = yaml.safe_load((EXAMPLES / example / "const.yaml").read_text())
    cluster.config.update({name: value for name, value in config.items() if name != "searcher"})
    cluster.config["searcher"] = {"smaller_is_better": True, **config["searcher"]}
    cluster.write()
    return config["entrypoint"]


def fingerprints(cluster):
    return {step: metrics["fingerprint"] for step, metrics in cluster.master.reports("validation")}


def test_reproducibility__paused_in_the_middle_of_an_epoch_ends_with_the_same_weights(cluster, tmp_path):
    entrypoint = configure(cluster, "reproducibility")
    argv = ("reproducibility", cluster.run_dir, tmp_path, "-m", "determined.exec.harness", entrypoint)
    finish(start(*argv))
    whole = fingerprints(cluster)
    assert list(whole) == [58, 116, 174]
    cluster.master.metrics.clear()
    cluster.write(trial_run_id=2)
    cluster.master.preempt = True  # at once, which is after one batch
    finish(start(*argv))
    uuid, steps = list(cluster.master.checkpoints.items())[-1]
    assert steps["metadata"]["steps_completed"] == 1
    cluster.master.preempt = False
    cluster.write(trial_run_id=3, latest_checkpoint=uuid)
    finish(start(*argv))
    assert fingerprints(cluster) == whole


def test_profiling__tells_that_training_waits_for_its_data(cluster, tmp_path):
    entrypoint = configure(cluster, "profiling")
    log = finish(start("profiling", cluster.run_dir, tmp_path, "-m", "determined.exec.harness", entrypoint))
    assert "training is data-bound" in log
    timings = cluster.master.reports("timings")
    assert [step for step, _ in timings] == [16, 24, 32, 40, 48]
    assert all(metrics["dataloader_next"] > 0.032 for _, metrics in timings), "32 records of a millisecond each"
    assert list(cluster.storage.rglob("*.pt.trace.json"))
