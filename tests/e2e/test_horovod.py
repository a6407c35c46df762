"""Trials whose processes are Horovod's, started by the entrypoint model_def:Class alone: a real horovodrun, on CPUs."""
import os
import signal

import pytest
from e2e.helpers import log_of, the_trial
from e2e.test_distributed import cluster_of, holding_digits, ranks
from e2e.test_examples import DIGITS, check_checkpoints, check_resumed, create, pause_after, training_steps, validations
from support.cluster import ROOT, wait_for
from support.det import det
from support.machines import need_namespaces

HOROVOD = ROOT / ".venv-horovod/bin/python"
TWO_SLOTS = ("--config", "resources.slots_per_trial=2")

pytestmark = pytest.mark.skipif(not HOROVOD.exists(), reason="Horovod is not installed: make test-horovod builds it (about 15 minutes)")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    need_namespaces()
    with cluster_of(tmp_path_factory.mktemp("horovod"), 1, slots=2, python=HOROVOD) as c:
        yield c


def started_by_horovod(cluster, experiment):
    return "-m determined.launch.horovod --autohorovod --trial model_def:DigitsTrial" in log_of(cluster, experiment)


@pytest.mark.parametrize("options", [(), ("--config", "optimizations.auto_tune_tensor_fusion=true", "--config",
                                          "optimizations.gradient_compression=true")])
def test_digits_are_learnt_by_two_processes(cluster, options):
    x = create(cluster, DIGITS, *TWO_SLOTS, *options)
    assert cluster.wait_experiment(x, timeout_s=400)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    assert started_by_horovod(cluster, x), log_of(cluster, x)
    trial = the_trial(cluster, x)["id"]
    results = validations(cluster, trial)
    assert [s for s, _ in results] == [46, 92, 138, 184, 230], "an epoch has 23 batches of 64, as with one process"
    assert results[-1][1]["accuracy"] >= 0.95
    assert check_checkpoints(cluster, trial)[-1]["metadata"]["steps_completed"] == 230
    lines = cluster.get(f"/api/v1/trials/{trial}/logs").lines
    assert {line["result"].get("rankId") for line in lines} >= {0, 1}


def test_one_slot_needs_no_horovod(cluster):
    x = create(cluster, DIGITS, "--config", "searcher.max_length.epochs=2")
    assert cluster.wait_experiment(x, timeout_s=400)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    assert not started_by_horovod(cluster, x)


def test_a_pause_is_heeded_by_all_processes(cluster):
    x = create(cluster, DIGITS, *TWO_SLOTS, "--config", "searcher.max_length.epochs=100")
    paused_at = pause_after(cluster, x, 46)
    det(cluster, "experiment", "activate", x)
    trial = the_trial(cluster, x)["id"]
    wait_for("steps of a second run", lambda: any(run == 2 and s > paused_at for run, s in training_steps(cluster, trial)), timeout_s=200)
    check_resumed(cluster, x, paused_at, first_step=46)
    det(cluster, "experiment", "kill", x)
    cluster.wait_experiment(x)


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_dies_has_the_trial_go_on_from_its_checkpoint(cluster, tmp_path, victim):
    x = create(cluster, holding_digits(tmp_path / "digits"), *TWO_SLOTS, "--config", "searcher.max_length.epochs=6", "--config",
               "min_checkpoint_period.epochs=1")
    trial = the_trial(cluster, x)["id"]
    wait_for("steps behind a checkpoint", lambda: any(s == 60 for _, s in training_steps(cluster, trial)), timeout_s=200)
    os.kill(wait_for("the processes", lambda: ranks(cluster, b"HOROVOD_RANK").get(victim)), signal.SIGKILL)
    assert cluster.wait_experiment(x, timeout_s=400)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    assert the_trial(cluster, x)["restarts"] == 1, log_of(cluster, x)
    second = [s for run, s in training_steps(cluster, trial) if run == 2]
    assert min(second) > 46 and max(second) == 6 * 23, "it did not begin anew"
    assert ranks(cluster, b"HOROVOD_RANK") == {}, "nobody is left"
