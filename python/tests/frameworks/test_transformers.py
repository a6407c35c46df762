"""``DetCallback`` with a Trainer that fits y = 2x, two weights and four batches an epoch."""

import json
import pathlib
from typing import Any, Dict

import pytest

transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")

from determined import core  # noqa: E402
from determined.transformers import DetCallback  # noqa: E402


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def forward(self, x, labels):
        y = self.layer(x)
        return {"loss": torch.nn.functional.mse_loss(y, labels), "logits": y}


def data(n):
    return [{"x": torch.tensor([i / n]), "labels": torch.tensor([2 * i / n])} for i in range(n)]


def arguments(directory: pathlib.Path, **changes: Any):
    settings: Dict[str, Any] = {
        "output_dir": str(directory / "out"),
        "per_device_train_batch_size": 4,
        "max_steps": 8,
        "logging_steps": 2,
        "eval_strategy": "steps",
        "eval_steps": 4,
        "save_steps": 4,
        "learning_rate": 0.1,
        "report_to": [],
        "use_cpu": True,
        "disable_tqdm": True,
        "seed": 1,
    }
    return transformers.TrainingArguments(**{**settings, **changes})


def train(args, *callbacks, compute_metrics=None, **options):
    torch.manual_seed(0)
    with core.init() as core_context:
        callback = DetCallback(core_context, args, **options)
        trainer = transformers.Trainer(
            Line(), args, train_dataset=data(16), eval_dataset=data(4), callbacks=[callback, *callbacks]
        )
        trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)
    return trainer


@pytest.fixture
def trial(cluster):
    cluster.config["searcher"]["metric"] = "eval_loss"
    cluster.write()
    return cluster


def steps(cluster, group):
    return [step for step, _ in cluster.master.reports(group)]


def test_metrics_progress_and_checkpoints_reach_the_platform(trial, tmp_path):
    train(arguments(tmp_path), user_data={"who": "me"})
    assert steps(trial, "training") == [2, 4, 6, 8]
    assert steps(trial, "validation") == [4, 8]
    _, last = trial.master.reports("training")[-1]
    assert last["batches"] == 8 and last["epochs"] == 2.0 and "loss" in last
    assert not any(name.endswith(("_runtime", "_per_second")) for name in last)
    stored = [c for c in trial.master.checkpoints.values() if c["state"] == "STATE_COMPLETED"]
    assert [c["metadata"]["steps_completed"] for c in stored] == [4, 8]
    assert all(c["metadata"]["trial_id"] == 11 for c in stored)
    name = f"{stored[-1]['uuid']}/checkpoint-8/my_data.json"
    assert json.loads((trial.storage / name).read_text()) == {"who": "me"}
    assert trial.master.bodies("ReportTrialProgress")[-1]["progress"] == 1.0


def test_only_wanted_metrics_and_the_searchers_are_reported(trial, tmp_path):
    train(arguments(tmp_path), filter_metrics=["grad_norm"])
    _, training = trial.master.reports("training")[0]
    assert set(training) == {"grad_norm", "batches", "epochs"}
    _, validation = trial.master.reports("validation")[0]
    assert "eval_loss" in validation


def test_training_that_ends_between_evaluations_is_evaluated_and_saved_once_more(trial, tmp_path):
    train(arguments(tmp_path, max_steps=6))
    assert steps(trial, "validation") == [4, 6]
    assert [c["metadata"]["steps_completed"] for c in trial.master.checkpoints.values()] == [4, 6]


class PreemptAt(transformers.TrainerCallback):
    def __init__(self, master, step):
        self.master, self.step = master, step

    def on_step_begin(self, args, state, control, **_):
        if state.global_step == self.step:
            self.master.ask_to_preempt()


def test_a_paused_trial_goes_on_where_it_was_and_ends_with_the_same_weights(trial, tmp_path):
    undisturbed = train(arguments(tmp_path / "a"))
    trial.master.checkpoints.clear()
    stopped = train(arguments(tmp_path / "b"), PreemptAt(trial.master, 4))
    assert 5 <= stopped.state.global_step < 8, "it stops soon, not at its end"
    [*_, latest] = trial.master.checkpoints.values()
    assert latest["metadata"]["steps_completed"] == stopped.state.global_step
    trial.master.preempt = False
    trial.write(latest_checkpoint=latest["uuid"])
    resumed = train(arguments(tmp_path / "c"))
    assert resumed.state.global_step == 8
    for mine, theirs in zip(resumed.model.parameters(), undisturbed.model.parameters()):
        assert torch.equal(mine, theirs)


def test_a_searcher_metric_that_is_not_there_is_named_with_what_is(trial, tmp_path):
    trial.config["searcher"]["metric"] = "accuracy"
    trial.write()
    with pytest.raises(ValueError, match=r"searcher\.metric is 'accuracy'.*eval_loss"):
        train(arguments(tmp_path))


@pytest.mark.parametrize(
    "searcher, message",
    [
        ({"max_length": {"batches": 9}}, r"max_length is 9 \(batches\).*--max_steps is 8"),
        ({"max_length": {"epochs": 8}}, r"max_length is 8 \(epochs\)"),
        ({"max_length": 8}, "without a unit"),
        ({"time_metric": "batches", "max_time": 100}, "max_time is 100 batches"),
    ],
)
def test_a_length_that_the_configuration_has_otherwise_is_refused(trial, tmp_path, searcher, message):
    trial.config["searcher"].update(searcher)
    trial.write()
    with pytest.raises(ValueError, match=message):
        train(arguments(tmp_path))


def test_a_search_by_max_length_hears_of_each_rung(trial, tmp_path):
    trial.config["searcher"].update(name="adaptive_asha", max_length={"batches": 8})
    trial.write()
    trial.master.operations = [3, 8]
    trainer = train(arguments(tmp_path))
    assert len(trial.master.searcher_metrics) == 2 and trial.master.operations == []
    assert trainer.state.global_step == 8
    assert 3 in [c["metadata"]["steps_completed"] for c in trial.master.checkpoints.values()]


def test_a_trial_that_the_search_stops_leaves_with_a_checkpoint(trial, tmp_path):
    trial.config["searcher"].update(name="adaptive_asha", max_length={"batches": 8})
    trial.write()
    trial.master.operations = [3]
    trainer = train(arguments(tmp_path))
    assert trainer.state.global_step == 3
    assert [c["metadata"]["steps_completed"] for c in trial.master.checkpoints.values()] == [3]


def test_off_the_cluster_the_trainer_just_trains(tmp_path):
    assert train(arguments(tmp_path)).state.global_step == 8
