"""What goes wrong in users' trials: one readable cause in the log, and the exit status of a failure."""

import shutil
import textwrap

import pytest
import torch
from trials import NoisyTrial

from determined import errors, pytorch
from determined.exec import harness


@pytest.fixture
def model_def(cluster, tmp_path, monkeypatch):
    """Writes a module beside which the harness runs; returns what ``run(body)`` exits with."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    cluster.config["searcher"]["max_length"] = {"batches": 12}
    count = iter(range(100))

    def run(body, entrypoint="MyTrial", **trial):
        name = f"model_def_{next(count)}_{abs(hash(body))}"
        (tmp_path / f"{name}.py").write_text(f"from determined import pytorch\nimport trials\n{textwrap.dedent(body)}")
        cluster.write(**trial)
        return harness.main([f"{name}:{entrypoint}"])

    return run


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "has no attribute 'MyTrial'"),
        ("class MyTrial: pass", "this is not a subclass of PyTorchTrial"),
        ("MyTrial = 5", "this is not a subclass of PyTorchTrial"),
        (
            """
            class MyTrial(trials.NoisyTrial):
                def build_training_data_loader(self):
                    return pytorch.DataLoader([])
            """,
            "build_training_data_loader() returned a loader without any batch",
        ),
        (
            """
            class MyTrial(trials.NoisyTrial):
                def build_validation_data_loader(self):
                    return pytorch.DataLoader([])
            """,
            "the validation data loader is empty",
        ),
        (
            """
            class MyTrial(trials.NoisyTrial):
                def evaluate_batch(self, batch, batch_idx):
                    return {"accuracy": "good"} if False else {"other": 1.0}
            """,
            "searcher.metric is 'accuracy', but validation reports only batches, epochs, other",
        ),
        (
            """
            class MyTrial(trials.NoisyTrial):
                def __init__(self, context):
                    super().__init__(context)
                    context.get_per_slot_batch_size()
            """,
            "the hyperparameter global_batch_size must be an integer, not None",
        ),
    ],
)
def test_a_mistake__is_one_line_and_status_1(model_def, caplog, body, message):
    assert model_def(body) == 1
    (line,) = [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]
    assert message in line and "\n" not in line


def test_batch_smaller_than_the_slots__is_told():
    from determined._trial_context import split_batch_size

    with pytest.raises(errors.InvalidExperimentException, match="global_batch_size=3 is less than one record for each"):
        split_batch_size({"global_batch_size": 3}, 4)


def test_a_module_that_does_not_exist__is_named(model_def, caplog, cluster):
    cluster.write()
    assert harness.main(["nowhere_to_be_found:MyTrial"]) == 1
    assert "there is no module nowhere_to_be_found" in caplog.text


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("class MyTrial(trials.NoisyTrial):\n    def __init__(self, context): 1 / 0", ZeroDivisionError, "division"),
        ("import there_is_no_such_module", ModuleNotFoundError, "there_is_no_such_module"),
        ("def broken(:", SyntaxError, "invalid syntax"),
    ],
)
def test_an_exception_of_the_users_own__keeps_its_traceback(model_def, body, error, message):
    with pytest.raises(error, match=message):
        model_def(body)


def trial_that(train=None, evaluate=None):
    """A trial whose batches return something else."""

    class Odd(NoisyTrial):
        def train_batch(self, batch, epoch_idx, batch_idx):
            metrics = super().train_batch(batch, epoch_idx, batch_idx)
            return train(metrics) if train else metrics

        def evaluate_batch(self, batch, batch_idx):
            metrics = super().evaluate_batch(batch, batch_idx)
            return evaluate(metrics) if evaluate else metrics

    return Odd


def fit(trial_class, **arguments):
    with pytorch.init() as context:
        trial = trial_class(context)
        pytorch.Trainer(trial, context).fit(**{"max_length": pytorch.Batch(3), **arguments})
    return trial


@pytest.mark.parametrize(
    ("trial_class", "error", "message"),
    [
        (
            trial_that(train=lambda m: None),
            TypeError,
            r"train_batch\(\) must return a dictionary of metrics, not a None",
        ),
        (trial_that(train=lambda m: {**m, "all": torch.zeros(5000)}), ValueError, "'all' of train_batch.. has 5000"),
        (trial_that(train=lambda m: {**m, "it": object()}), TypeError, "batch_metrics.*it"),
        (trial_that(evaluate=lambda m: [1]), TypeError, r"evaluate_batch\(\) must return a dictionary"),
        (
            trial_that(evaluate=lambda m: {**m, "x": "good"}),
            TypeError,
            "'x' of evaluate_batch.. is not a number but 'g",
        ),
        (
            trial_that(evaluate=lambda m: {**m, "x": None}),
            TypeError,
            "'x' of evaluate_batch.. is not a number but None",
        ),
    ],
)
def test_values_that_are_no_metrics__are_named(cluster, trial_class, error, message):
    with pytest.raises(error, match=message):
        fit(trial_class)


def test_metrics_on_a_device__are_brought_back(cluster):
    fit(trial_that(train=lambda m: {"loss": torch.tensor(2.0, requires_grad=True), "half": torch.ones(3).bfloat16()}))
    assert cluster.master.reports("training")[0][1]["loss"] == 2.0
    assert cluster.master.reports("training")[0][1]["half"] == 1.0


def test_nan_loss__is_told_once_and_training_goes_on(cluster, caplog):
    trial = fit(trial_that(train=lambda m: {"loss": m["loss"] * float("nan")}), reporting_period=pytorch.Batch(1))
    assert len(trial.seen) == 3
    assert [r.getMessage() for r in caplog.records if "is nan" in r.getMessage()] == [
        "training metric 'loss' is nan after 1 batches"
    ]
    assert cluster.master.reports("training")[0][1]["loss"] == "NaN"


def test_checkpoint_storage_that_vanishes__is_named(cluster):
    class Vanishing(NoisyTrial):
        def train_batch(self, batch, epoch_idx, batch_idx):
            shutil.rmtree(cluster.storage, ignore_errors=True)
            cluster.storage.write_text("a file now stands where the directory was")
            return super().train_batch(batch, epoch_idx, batch_idx)

    with pytest.raises(OSError, match=str(cluster.storage)):
        fit(Vanishing, max_length=pytorch.Batch(1))
    assert cluster.master.checkpoints == {}


def test_checkpoint_directory_that_vanishes__while_it_is_written_is_named(cluster):
    class Gone(pytorch.PyTorchCallback):
        def on_checkpoint_write_end(self, checkpoint_dir):
            shutil.rmtree(checkpoint_dir)

    class Vanishing(NoisyTrial):
        def build_callbacks(self):
            return {"gone": Gone()}

    with pytest.raises(OSError, match=str(cluster.storage)):
        fit(Vanishing, max_length=pytorch.Batch(1))
    assert cluster.master.checkpoints == {}


def test_checkpoint_that_vanished__is_named(cluster):
    with pytest.raises(errors.CheckpointNotFound, match="no-such-checkpoint"):
        fit(NoisyTrial, latest_checkpoint="no-such-checkpoint")


def test_slots_without_a_launcher__are_told(cluster):
    cluster.write(slot_ids=[0, 1])
    (cluster.run_dir / "info" / "rendezvous.json").unlink()
    with pytest.raises(ValueError, match=r"2 slots.*launch layer, such as python3 -m determined\.launch\.torch_distri"):
        fit(NoisyTrial)


def test_context__is_known_by_both_names_before_the_constructor():
    class Early(pytorch.PyTorchTrial):
        def __init__(self, context):
            assert self.context is self.ctx is context

        train_batch = build_training_data_loader = build_validation_data_loader = None

    context = pytorch.CheckpointLoadContext()
    Early(context)
    assert Early(context=context).ctx is context
