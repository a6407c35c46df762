"""``DeepSpeedTrial`` on the CPU: alone in this process, and in two that torchrun starts, with ZeRO's stages."""

import json
import sys

import pytest

pytest.importorskip("deepspeed")

import deepspeed_program as program
import published_api
import published_signatures
import torch
from deepspeed_program import LineTrial, fit
from scenarios import run_scenarios

from determined import errors, pytorch
from determined.exec import harness
from determined.pytorch import deepspeed as det_deepspeed


def test_names_and_signatures__are_as_published(published_python):
    module = "determined.pytorch.deepspeed"
    published = json.loads(published_python(published_api.__file__, module, DS_ACCELERATOR="cpu"))
    assert list(published_signatures.differences(module, published[module], published_api.describe(module))) == []


def steps(cluster, group):
    return [step for step, _ in cluster.master.reports(group)]


def stored(cluster):
    return [c for c in cluster.master.checkpoints.values() if c["state"] == "STATE_COMPLETED"]


def test_a_trial_trains_reports_and_leaves_a_checkpoint(cluster):
    trial = fit(LineTrial, reporting_period=pytorch.Batch(4), validation_period=pytorch.Batch(4))
    assert steps(cluster, "training") == [4, 8] and steps(cluster, "validation") == [4, 8]
    _, last = cluster.master.reports("training")[-1]
    assert last["batches"] == 8 and last["epochs"] == 1 and last["loss"] > 0
    assert cluster.master.reports("validation")[-1][1]["accuracy"] == pytest.approx(5.5)
    (checkpoint,) = stored(cluster)
    assert checkpoint["metadata"]["steps_completed"] == 8
    directory = cluster.storage / checkpoint["uuid"]
    for name in ("det_state_dict_rank0.pth", "trial_state.pkl", "load_data.json", "model0", "code"):
        assert (directory / name).exists(), name
    assert cluster.master.bodies("ReportTrialProgress")[-1]["progress"] == 1.0
    assert trial.engine.global_steps == 8


def test_train_batch__is_called_for_each_micro_batch(cluster):
    trial = fit(LineTrial)
    assert trial.calls == [[batch // 6, batch] for batch in range(8) for _ in range(2)], "six batches are an epoch"
    assert sorted(i for micro in trial.seen[:12] for i in micro) == list(range(24)), "each record once in an epoch"
    assert len(trial.validations) == 6


class Manual(LineTrial):
    """Goes through the micro batches of a batch itself."""

    def __init__(self, context):
        super().__init__(context)
        context.disable_auto_grad_accumulation()

    def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
        losses = [super(Manual, self).train_batch(dataloader_iter, epoch_idx, batch_idx) for _ in range(2)]
        return losses[-1]


def test_train_batch__may_go_through_the_micro_batches_itself():
    trial = fit(Manual)
    assert len(trial.calls) == 16 and trial.final_weights == fit(LineTrial).final_weights


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_a_paused_trial_goes_on_as_if_it_had_not_been(stage):
    whole, resumed = program.told(fit(program.of_stage(stage))), program.paused(program.of_stage(stage))
    for what in ("final_weights", "seen", "rates"):
        assert resumed[what] == whole[what], what
    assert len(resumed["seen"]) == 16 and len(set(resumed["rates"])) > 4


class PreemptAt3(LineTrial):
    def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
        if batch_idx == 2:
            self.master.ask_to_preempt()
        return super().train_batch(dataloader_iter, epoch_idx, batch_idx)


def test_a_preempted_trial_leaves_with_a_checkpoint(cluster):
    PreemptAt3.master = cluster.master
    fit(PreemptAt3, max_length=pytorch.Batch(10**6))
    (checkpoint,) = stored(cluster)
    assert checkpoint["metadata"]["steps_completed"] >= 3


def test_a_callback_gets_its_state_back_and_hears_of_checkpoints(cluster):
    first = fit(LineTrial, max_length=pytorch.Batch(2))
    for moment in ("on_training_start", "on_checkpoint_save_start", "on_checkpoint_write_end", "on_trial_shutdown"):
        assert moment in first.recorder.events, moment
    second = fit(LineTrial, latest_checkpoint=first.uuids[-1])
    assert "load_state_dict" in second.recorder.events and "on_checkpoint_load_start" in second.recorder.events


def test_the_whole_validation_set_may_be_evaluated_at_once(cluster):
    assert fit(program.AtOnce).metrics[-1]["accuracy"] == sum(range(12))


def test_the_harness_runs_a_deepspeed_trial_as_configured(cluster):
    cluster.config["searcher"]["max_length"] = {"batches": 6}
    cluster.config["min_validation_period"] = {"batches": 3}
    cluster.write()
    assert harness.main(["deepspeed_program:LineTrial"]) == 0
    assert steps(cluster, "validation") == [3, 6]
    assert 6 in [c["metadata"]["steps_completed"] for c in stored(cluster)]


def test_a_searchers_operations_are_followed(cluster):
    cluster.config["searcher"].update(name="adaptive_asha", max_length={"batches": 8})
    cluster.write()
    cluster.master.operations = [3, 8]
    trial = fit(LineTrial, max_length=None)
    assert len(cluster.master.searcher_metrics) == 2 and trial.engine.global_steps == 8


class NoEngine(LineTrial):
    def __init__(self, context):
        self.context, self.recorder = context, program.Recorder()


class NoEvaluation(LineTrial):
    evaluate_batch = det_deepspeed.DeepSpeedTrial.evaluate_batch


class TooFew(LineTrial):
    def build_training_data_loader(self):
        return pytorch.DataLoader(torch.rand(2, 3), batch_size=2)


class NothingToValidate(LineTrial):
    def build_validation_data_loader(self):
        return pytorch.DataLoader([], batch_size=2)


class NoDictionary(LineTrial):
    def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
        super().train_batch(dataloader_iter, epoch_idx, batch_idx)
        return 5


class TorchLoader(LineTrial):
    def build_training_data_loader(self):
        return torch.utils.data.DataLoader(torch.rand(8, 3), batch_size=2)


@pytest.mark.parametrize(
    "trial_class, error, message",
    [
        (NoEngine, errors.InvalidExperimentException, "NoEngine wraps no model engine"),
        (NoEvaluation, errors.InvalidExperimentException, r"evaluate_batch\(\) or evaluate_full_dataset"),
        (TooFew, errors.InvalidExperimentException, "1 micro batches.*gradient_accumulation_steps is 2"),
        (NothingToValidate, errors.InvalidExperimentException, "too few to evaluate"),
        (NoDictionary, TypeError, "must return a dictionary of metrics, not a int"),
        (TorchLoader, RuntimeError, r"context\.disable_dataset_reproducibility_checks\(\)"),
    ],
)
def test_a_mistake_in_a_trial_is_named(cluster, trial_class, error, message):
    with pytest.raises(error, match=message):
        fit(trial_class)
    assert stored(cluster) == []


def test_a_step_that_is_forgotten_is_named(cluster):
    class Forgets(Manual):
        def train_batch(self, *arguments):
            return LineTrial.train_batch(self, *arguments)

    with pytest.raises(errors.InvalidExperimentException, match="1 of 2 micro batches wait"):
        fit(Forgets)


def test_a_checkpoint_of_something_else_is_refused(cluster):
    first = fit(LineTrial, max_length=pytorch.Batch(2))
    directory = cluster.storage / first.uuids[-1]
    (directory / "det_state_dict_rank0.pth").unlink()
    with pytest.raises(errors.InvalidCheckpointException, match="not saved by a DeepSpeedTrial"):
        fit(LineTrial, latest_checkpoint=first.uuids[-1])


def test_a_checkpoint_without_its_engine_is_refused(cluster):
    first = fit(LineTrial, max_length=pytorch.Batch(2))
    for file in (cluster.storage / first.uuids[-1] / "model0").iterdir():
        file.unlink()
    with pytest.raises(errors.InvalidCheckpointException, match="model0"):
        fit(LineTrial, latest_checkpoint=first.uuids[-1])


def test_the_unit_of_a_parallel_model_is_set_once_and_after_an_engine():
    with det_deepspeed.init() as context:
        unit = det_deepspeed.make_data_parallel_mpu(context.distributed)
        assert (unit.data_parallel_rank, unit.data_parallel_world_size) == (0, 1)
        with pytest.raises(errors.InvalidExperimentException, match="wrap_model_engine"):
            context.set_mpu(unit)
        with pytest.raises(errors.InvalidExperimentException, match="wrap_model_engine"):
            context.get_num_micro_batches_per_slot()
        LineTrial(context)
        context.set_mpu(unit)
        with pytest.raises(errors.InvalidExperimentException, match="twice"):
            context.set_mpu(unit)
        with pytest.warns(FutureWarning):
            assert context.num_micro_batches_per_slot == 2 and context.train_micro_batch_size_per_gpu == 2


def test_configuration__is_merged_and_the_file_must_be_unambiguous(tmp_path):
    base = {"optimizer": {"type": "Adam", "params": {"lr": 1, "eps": 2}}, "steps": 1}
    changed = det_deepspeed.overwrite_deepspeed_config(base, {"optimizer": {"params": {"lr": 3}}, "fp16": {"on": 1}})
    assert changed == {"optimizer": {"type": "Adam", "params": {"lr": 3, "eps": 2}}, "steps": 1, "fp16": {"on": 1}}
    assert base["optimizer"]["params"]["lr"] == 1
    file = tmp_path / "ds.json"
    file.write_text('{"a": 1, "a": 2}')
    with pytest.raises(ValueError, match="a twice"):
        det_deepspeed.overwrite_deepspeed_config(str(file), {})
    with pytest.raises(TypeError, match="not a list"):
        det_deepspeed.overwrite_deepspeed_config([], {})


# In two processes


STAGES = [0, 1, 2, 3]


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    names = [f"{kind}{stage}" for stage in STAGES for kind in ("zero", "noisy", "paused")]
    names += ["at_once1", "at_once3", "uneven1", "pipeline", "paused_pipeline"]
    return run_scenarios(tmp_path_factory, 2, *names, program="deepspeed_program.py", python=sys.executable)


def test_processes__share_the_records_and_have_the_same_weights(two):
    first, second = two("noisy1")
    assert sorted(i for micro in first["seen"][:6] + second["seen"][:6] for i in micro) == list(range(24))
    assert first["calls"] == second["calls"] == [[batch // 3, batch] for batch in range(8) for _ in range(2)]
    assert first["final_weights"] == second["final_weights"]
    assert first["uuids"] == second["uuids"]


@pytest.mark.parametrize("stage", STAGES)
def test_weights__of_two_processes_are_those_of_the_joined_batch(two, stage):
    for told in two(f"zero{stage}"):
        assert told["final_weights"] == pytest.approx(joined(two("zero1")), abs=1e-4)


def joined(processes):
    """The weights that one process computes from the records that both saw, joined."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)  # DeepSpeed's Adam is this
    records = torch.rand(program.RECORDS, 3, generator=torch.Generator().manual_seed(0))
    micro_batches = [a + b for a, b in zip(*(told["seen"] for told in processes))]
    for i in range(0, len(micro_batches), program.ACCUMULATION):
        batch = records[micro_batches[i] + micro_batches[i + 1]]
        optimizer.zero_grad()
        ((model(batch) - batch.sum(dim=1, keepdim=True)) ** 2).mean().backward()
        optimizer.step()
    return [float(x) for p in model.parameters() for x in p.detach().flatten()]


@pytest.mark.parametrize("stage", STAGES)
def test_two_processes__that_were_paused_go_on_as_if_they_had_not_been(two, stage):
    for whole, resumed in zip(two(f"noisy{stage}"), two(f"paused{stage}")):
        for what in ("final_weights", "seen", "rates"):
            assert resumed[what] == whole[what], what


def test_validation__of_two_processes_is_that_of_all_records(two):
    for told in two("zero1"):
        assert told["metrics"] == [{"accuracy": 5.5}]
        assert len(told["validations"]) == 3


def test_validation__calls_equally_often_where_shares_differ(two):
    """With seven batches in all, the first process has one more, which a model in parts could not evaluate alone."""
    assert [len(told["validations"]) for told in two("uneven1")] == [3, 3]


def test_full_dataset__is_evaluated_by_the_chief_or_by_all_that_have_a_part(two):
    assert [len(told["validations"]) for told in two("at_once1")] == [6, 0]
    assert [len(told["validations"]) for told in two("at_once3")] == [6, 6]
    assert [told["metrics"][-1]["accuracy"] for told in two("at_once1") + two("at_once3")] == [66.0] * 4


# A model in stages


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    return run_scenarios(tmp_path_factory, 1, "unstaged", program="deepspeed_program.py", python=sys.executable)


def test_a_pipeline__learns_in_two_stages_what_it_learns_in_one(two, one):
    [whole] = one("unstaged")
    stages = two("pipeline")
    assert all(stage["final_weights"] for stage in stages)
    weights = [weight for stage in stages for weight in stage["final_weights"]]
    assert weights == pytest.approx(whole["final_weights"], abs=1e-4)
    for stage in stages:
        assert stage["calls"] == [[batch // 6, batch] for batch in range(8)], "a call is a whole batch"
        assert stage["metrics"][-1]["accuracy"] == pytest.approx(whole["metrics"][-1]["accuracy"], rel=1e-3)
        assert len(stage["validations"]) == 4


def test_a_pipeline__that_was_paused_goes_on_as_if_it_had_not_been(two):
    for whole, resumed in zip(two("pipeline"), two("paused_pipeline")):
        assert resumed["final_weights"] == whole["final_weights"]
