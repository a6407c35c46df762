"""Trials of several processes, on one machine and on two: network namespaces, each with an agent."""
import json

import pytest
from e2e.processes import PATIENCE_S, cable_bytes, check_goes_on_after_a_death, check_learnt_by_two, check_pause_is_heeded, cluster_of
from e2e.test_examples import DIGITS, check_checkpoints, create, needs_torch, validations
from support.cluster import ROOT
from support.experiments import log_of, the_trial, wait_no_supervisors
from support.machines import need_namespaces

INFERENCE, OWN_LAUNCHER, PROFILING = (ROOT / "examples" / name for name in ("distributed_inference", "custom_launcher", "profiling"))

# 25 MB of gradients for a few multiplications.
WIDE = """
import torch

from determined import pytorch


class WideTrial(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.model = context.wrap_model(torch.nn.Embedding(50_000, 128))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))

    def build_training_data_loader(self):
        return pytorch.DataLoader(torch.arange(64), batch_size=self.context.get_per_slot_batch_size())

    def build_validation_data_loader(self):
        return pytorch.DataLoader(torch.arange(4), batch_size=2)

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = self.model(batch).square().mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch, batch_idx):
        return {"loss": self.model(batch).square().mean()}
"""

pytestmark = needs_torch


@pytest.fixture(scope="module")
def one_machine(tmp_path_factory):
    need_namespaces()
    with cluster_of(tmp_path_factory.mktemp("one"), 1, slots=2) as c:
        yield c


@pytest.fixture(scope="module")
def two_machines(tmp_path_factory):
    need_namespaces()
    with cluster_of(tmp_path_factory.mktemp("two"), 2, slots=1) as c:
        yield c


@pytest.fixture(params=["one_machine", "two_machines"])
def cluster(request):
    return request.getfixturevalue(request.param)


def test_digits_are_learnt_by_two_processes(cluster):
    check_learnt_by_two(cluster)


@pytest.fixture(scope="module")
def learnt(one_machine):
    """The uuid of a checkpoint of digits_pytorch."""
    x = create(one_machine, DIGITS, "--config", "searcher.max_length.epochs=4")
    assert one_machine.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(one_machine, x)
    return check_checkpoints(one_machine, the_trial(one_machine, x)["id"])[-1]["uuid"]


@pytest.mark.parametrize(("config", "group"), [("const.yaml", "validation"), ("recipe.yaml", "training")])
def test_inference_of_two_processes(one_machine, learnt, config, group):
    cluster = one_machine
    x = create(cluster, INFERENCE, "--config", f"hyperparameters.checkpoint={learnt}", name=config)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    trial = the_trial(cluster, x)["id"]
    lines = cluster.get(f"/api/v1/trials/metrics/trial_metrics?trialIds={trial}&group={group}").lines
    reported = [r["metrics"].get("avg_metrics") or r["metrics"].get("validation_metrics") for line in lines for r in line["result"]["metrics"]]
    assert reported[-1]["accuracy"] > 0.85
    if config == "const.yaml":
        parts = [json.loads(p.read_text()) for p in cluster.storage.glob("*/rank_*/from_*.json")]
        predicted = [int(index) for part in parts for index in part]
        assert sorted(predicted) == list(range(1797)), "each record once"


def test_a_pause_is_heeded_by_all_processes(cluster):
    check_pause_is_heeded(cluster)


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_dies_has_the_trial_go_on_from_its_checkpoint(cluster, tmp_path, victim):
    check_goes_on_after_a_death(cluster, tmp_path / "digits", victim)


def test_a_launcher_of_ones_own_trains_in_all_slots(cluster):
    x = create(cluster, OWN_LAUNCHER)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    trial = the_trial(cluster, x)["id"]
    assert [s for s, _ in validations(cluster, trial)] == list(range(20, 201, 20))
    assert validations(cluster, trial)[-1][1]["accuracy"] > 0.95
    said = {}
    for line in cluster.get(f"/api/v1/trials/{trial}/logs").lines:
        if "after step" in line["result"]["log"]:
            said.setdefault(line["result"]["rankId"], []).append(line["result"]["log"])
    assert sorted(said) == [0, 1] and said[0] == said[1], "both have the same weights"


@pytest.mark.parametrize("rank", [0, 1])
def test_a_launcher_of_ones_own_ends_all_when_one_has_failed(cluster, rank):
    script = f"[ $RANK = {rank} ] && exit 5; exec sleep 600"
    x = create(cluster, OWN_LAUNCHER, "--config", f"entrypoint=[python3,launcher.py,sh,-c,'{script}']", "--config", "max_restarts=0")
    assert cluster.wait_experiment(x)["state"] == "STATE_ERROR"
    assert "container failed with non-zero exit code: 5" in log_of(cluster, x), log_of(cluster, x)
    wait_no_supervisors(cluster)


def test_gradients_go_by_the_cable_between_two_machines(two_machines):
    cluster = two_machines
    before = [cable_bytes(cluster, i) for i in (0, 1)]
    x = cluster.create(files={"model_def.py": WIDE}, entrypoint="model_def:WideTrial", hyperparameters={"global_batch_size": 4},
                       searcher={"name": "single", "metric": "loss", "max_length": {"batches": 4}}, resources={"slots_per_trial": 2}, max_restarts=0)
    assert cluster.wait_experiment(x, timeout_s=PATIENCE_S)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    # Each batch has 50,000 x 128 gradients of 4 bytes, which both machines send to each other.
    assert all(cable_bytes(cluster, i) - before[i] > 4 * 25_000_000 for i in (0, 1))


def test_the_log_says_that_training_waits_for_gradients(one_machine):
    cluster = one_machine
    x = cluster.create(files={"model_def.py": WIDE}, entrypoint="model_def:WideTrial", hyperparameters={"global_batch_size": 4},
                       searcher={"name": "single", "metric": "loss", "max_length": {"batches": 40}}, resources={"slots_per_trial": 2}, max_restarts=0)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    assert log_of(cluster, x).count("training is communication-bound; larger batches, aggregation_frequency or gradient_compression") == 1


def test_the_log_says_that_training_waits_for_data(one_machine):
    cluster = one_machine
    x = create(cluster, PROFILING)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    assert log_of(cluster, x).count("training is data-bound; more num_workers or a cheaper dataset") == 1
    trial = the_trial(cluster, x)["id"]
    lines = cluster.get(f"/api/v1/trials/metrics/trial_metrics?trialIds={trial}&group=timings").lines
    timings = [r["metrics"]["avg_metrics"] for line in lines for r in line["result"]["metrics"]]
    assert all(t["dataloader_next"] > 0.03 for t in timings) and len(timings) == 5, "of batches 8 to 47, every 8, 32 records of 1 ms each"
