"""The examples of other frameworks than PyTorch alone: created with det, trained to their end, paused and gone on with."""
import os
import re

import pytest
from e2e.helpers import FINAL, log_of, the_trial
from support.cluster import ROOT, Cluster, wait_for
from support.det import det

FRAMEWORKS = ROOT / ".venv-frameworks/bin/python"
TENSORFLOW = ROOT / ".venv-tensorflow/bin/python"
# Example → (metric, whether it is good).
EXAMPLES = {
    "keras_iris": ("accuracy", lambda x: x > 0.6),
    "keras_trial_iris": ("val_accuracy", lambda x: x > 0.6),
    "huggingface_text": ("eval_loss", lambda x: x < 4),
    "lightning_digits": ("accuracy", lambda x: x > 0.8),
    "deepspeed_tiny": ("accuracy", lambda x: x > 0.8),
    "accelerate_digits": ("accuracy", lambda x: x > 0.8),
}


def new_cluster_with(directory, python):
    path = f"{os.path.dirname(python)}:{os.environ['PATH']}"
    return Cluster(directory, env={"PATH": path, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    if not FRAMEWORKS.exists():
        pytest.skip("the frameworks are not installed: make framework-deps")
    with new_cluster_with(tmp_path_factory.mktemp("cluster"), FRAMEWORKS) as c:
        c.start_master()
        c.start_agent(slots=2)
        c.login()
        yield c


def create(cluster, example, *words):
    directory = ROOT / "examples" / example
    created = det(cluster, "experiment", "create", directory / "const.yaml", directory, *words)
    return int(re.search(r"^Created experiment (\d+)$", created, re.M).group(1))


def validations(cluster, experiment):
    trial = the_trial(cluster, experiment)["id"]
    lines = cluster.get(f"/api/v1/trials/metrics/validation_metrics?trialIds={trial}").lines
    return [(r["totalBatches"], r["metrics"].get("avg_metrics") or r["metrics"]["validation_metrics"])
            for line in lines for r in line["result"]["metrics"]]


def check(cluster, experiment, example):
    """It has come to its end, has learnt something, and has left its last state in a checkpoint."""
    metric, good = EXAMPLES[example]
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED", log_of(cluster, experiment)
    steps, last = validations(cluster, experiment)[-1]
    assert good(last[metric]), last
    checkpoints = cluster.get(f"/api/v1/trials/{the_trial(cluster, experiment)['id']}/checkpoints").json["checkpoints"]
    assert steps in [c["metadata"]["steps_completed"] for c in checkpoints if c["state"] == "STATE_COMPLETED"]
    return steps


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_comes_to_its_end_also_when_it_was_paused(cluster, example):
    experiment = create(cluster, example)
    # DeepSpeed compiles a part of itself when it is used first.
    wait_for("its first validation", lambda: cluster.trial_ids(experiment) and
             (validations(cluster, experiment) or cluster.experiment(experiment)["state"] in FINAL), timeout_s=400)
    assert cluster.experiment(experiment)["state"] not in FINAL - {"STATE_COMPLETED"}, log_of(cluster, experiment)
    det(cluster, "experiment", "pause", experiment, check=False)
    wait_for("the end of its run", lambda: cluster.experiment(experiment)["state"] == "STATE_PAUSED" or
             cluster.experiment(experiment)["state"] == "STATE_COMPLETED")
    det(cluster, "experiment", "activate", experiment, check=False)
    check(cluster, experiment, example)
    reported = [steps for steps, _ in validations(cluster, experiment)]
    assert reported == sorted(set(reported)), "no validation twice"


def test_a_trial_of_keras_on_torch_trains_in_two_slots(cluster):
    experiment = create(cluster, "keras_trial_iris", "--config", "resources.slots_per_trial=2")
    check(cluster, experiment, "keras_trial_iris")
    lines = cluster.get(f"/api/v1/trials/{the_trial(cluster, experiment)['id']}/logs").lines
    assert {0, 1} <= {line["result"].get("rankId") for line in lines}


def test_keras_trains_on_tensorflow(tmp_path):
    if not TENSORFLOW.exists():
        pytest.skip("TensorFlow is not installed: make framework-deps")
    with new_cluster_with(tmp_path, TENSORFLOW) as c:
        c.start_master()
        c.start_agent(slots=2)
        c.login()
        experiment = create(c, "keras_iris", "--config", "environment.environment_variables=[KERAS_BACKEND=tensorflow]")
        check(c, experiment, "keras_iris")
        on_tensorflow = ("--config", "environment.environment_variables=[KERAS_BACKEND=tensorflow]")
        check(c, create(c, "keras_trial_iris", *on_tensorflow), "keras_trial_iris")
        refused = create(c, "keras_trial_iris", *on_tensorflow, "--config", "resources.slots_per_trial=2", "--config", "max_restarts=0")
        assert c.wait_experiment(refused)["state"] == "STATE_ERROR"
        assert "trains in one where Keras computes with tensorflow" in log_of(c, refused)
