"""The examples of other frameworks than PyTorch alone: created with det, trained to their end, paused and gone on with."""
import os
import re
import shutil
import signal

import pytest
from e2e.processes import cluster_of, ranks, ranks_in_log
from e2e.test_examples import training_steps
from support.cluster import ROOT, Cluster, wait_for
from support.det import det
from support.experiments import FINAL, log_of, the_trial
from support.machines import need_namespaces

FRAMEWORKS = ROOT / ".venv-frameworks/bin/python"
TENSORFLOW = ROOT / ".venv-tensorflow/bin/python"
ON_TENSORFLOW = ("--config", "environment.environment_variables=[KERAS_BACKEND=tensorflow]")
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
    """The experiment has come to its end, has learnt something, and has left its last state in a checkpoint."""
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


BY_DEEPSPEED = "entrypoint=python3 -m determined.launch.deepspeed --trial model_def:DigitsTrial"


def test_deepspeed_starts_a_process_for_each_slot_of_processors(cluster):
    experiment = create(cluster, "deepspeed_tiny", "--config", BY_DEEPSPEED, "--config", "max_restarts=0")
    check(cluster, experiment, "deepspeed_tiny")
    lines = cluster.get(f"/api/v1/trials/{the_trial(cluster, experiment)['id']}/logs").lines
    assert {line["result"].get("rankId") for line in lines if line["result"].get("source") == "task"} >= {0, 1}
    verdicts = [line for line in log_of(cluster, experiment).splitlines() if "went into waiting for data" in line]
    assert len(verdicts) == 1 and "communication-bound" not in verdicts[0], "nobody measures what DeepSpeed exchanges"


def test_deepspeed_says_why_it_does_not_train_on_two_agents_of_one_machine(tmp_path):
    if not FRAMEWORKS.exists():
        pytest.skip("the frameworks are not installed: make framework-deps")
    with new_cluster_with(tmp_path, FRAMEWORKS) as c:
        c.start_master()
        for name in ("agent0", "agent1"):
            c.start_agent(name, slots=1)
        c.login()
        experiment = create(c, "deepspeed_tiny", "--config", BY_DEEPSPEED, "--config", "max_restarts=0")
        assert c.wait_experiment(experiment)["state"] == "STATE_ERROR"
        # The package pdsh is looked for first.
        why = "DeepSpeed knows machines by their addresses" if shutil.which("pdsh") else "install the package pdsh"
        assert why in log_of(c, experiment), log_of(c, experiment)


def test_keras_trains_on_tensorflow(tmp_path):
    if not TENSORFLOW.exists():
        pytest.skip("TensorFlow is not installed: make framework-deps")
    with new_cluster_with(tmp_path, TENSORFLOW) as c:
        c.start_master()
        c.start_agent(slots=2)
        c.login()
        experiment = create(c, "keras_iris", *ON_TENSORFLOW)
        check(c, experiment, "keras_iris")
        check(c, create(c, "keras_trial_iris", *ON_TENSORFLOW), "keras_trial_iris")


# Stands still after 60 batches of its first run, so that there is time to do something to it.
HOLDING = """
import time

import determined as det
import iris
from determined.keras import callbacks


class Holding(callbacks.Callback):
    trained = 0

    def on_train_batch_begin(self, batch, logs=None):
        while self.trained == 60 and det.get_cluster_info().trial._trial_run_id == 1:
            time.sleep(0.05)
        self.trained += 1


class IrisTrial(iris.IrisTrial):
    def keras_callbacks(self):
        return [*super().keras_callbacks(), Holding()]
"""


@pytest.mark.parametrize("machines", [1, 2])
def test_a_trial_of_keras_on_tensorflow_trains_in_two_slots(tmp_path, machines):
    """And goes on from its checkpoint in both when one has died."""
    if not TENSORFLOW.exists():
        pytest.skip("TensorFlow is not installed: make framework-deps")
    need_namespaces()
    shutil.copytree(ROOT / "examples/keras_trial_iris", tmp_path / "iris")
    (tmp_path / "iris/model_def.py").rename(tmp_path / "iris/iris.py")
    (tmp_path / "iris/model_def.py").write_text(HOLDING)
    with cluster_of(tmp_path / "cluster", machines, slots=2 // machines, python=TENSORFLOW) as c:
        experiment = create(c, tmp_path / "iris", *ON_TENSORFLOW, "--config", "resources.slots_per_trial=2")
        trial = wait_for("its trial", lambda: c.trial_ids(experiment))[0]
        wait_for("steps behind a checkpoint", lambda: any(s == 60 for _, s in training_steps(c, trial)), timeout_s=400)
        os.kill(wait_for("its processes", lambda: ranks(c).get(1)), signal.SIGKILL)
        check(c, experiment, "keras_trial_iris")
        assert the_trial(c, experiment)["restarts"] == 1, log_of(c, experiment)
        second = [s for run, s in training_steps(c, trial) if run == 2]
        assert min(second) == 60 and max(second) == 200, "from the checkpoint after 40 batches on"
        assert ranks_in_log(c, experiment) == {0, 1} and ranks(c) == {}
