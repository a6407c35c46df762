"""Event files of ``determined.tensorboard``'s writers, read back with TensorBoard's own loader."""

import numpy as np
import pytest
import torch
import trials
from event_files import points_of

from determined import core, experimental, pytorch, tensorboard
from determined.tensorboard.metric_writers.pytorch import TorchWriter
from determined.tensorboard.metric_writers.tensorflow import TFWriter

WRITERS = [TFWriter, TorchWriter]


@pytest.mark.parametrize("writer_class", WRITERS)
def test_a_writer__draws_where_the_platform_collects_and_stores(cluster, writer_class):
    with core.init():
        writer = writer_class()
        writer.add_scalar("lr", np.float32(0.5), 3)
        writer.reset()
        writer.add_scalar("lr", 0.25, 4)
        writer.flush()
    stored = cluster.storage / "the-cluster" / tensorboard.get_sync_path("x", "7", "11").relative_to("x")
    assert sorted(value for _, value in points_of(stored)["lr"]) == [0.25, 0.5]


@pytest.mark.parametrize("writer_class", WRITERS)
def test_metrics_of_batches__become_curves(tmp_path, writer_class):
    writer = tensorboard.BatchMetricWriter(writer_class())
    batches = [{"loss": 4.0, "note": "x"}, {"loss": np.float32(2.0)}]
    writer.on_train_step_end(10, {"loss": 3.0, "f1": 0.5}, batches)
    writer.on_validation_step_end(10, {"loss": 1.0, "val_f1": 0.25, "confusion": [[1, 2]]})
    assert points_of(tensorboard.get_base_path({})) == {
        "Determined/loss": [(8, 4.0), (9, 2.0)],
        "Determined/f1": [(10, 0.5)],
        "Determined/val_loss": [(10, 1.0)],
        "Determined/val_f1": [(10, 0.25)],
    }


STORED = "the-cluster/tensorboard/experiment/7/trial/11"


def test_reports__are_drawn_and_stored_by_themselves(cluster):
    batches = [{"loss": 4.0, "note": "x"}, {"loss": np.float32(2.0)}]
    with core.init() as core_context:
        core_context.train.report_training_metrics(10, {"loss": 3.0, "f1": torch.tensor(0.5), "done": True}, batches)
        core_context.train.report_validation_metrics(np.int64(10), {"loss": 1.0, "val_f1": 0.25, "confusion": [[1, 2]]})
        core_context.train.report_metrics("training", 20, {"loss": 1e300})
        core_context.train.report_metrics("inference", 20, {"loss": 7.0})
    assert points_of(cluster.storage / STORED) == {
        "Determined/loss": [(8, 4.0), (9, 2.0), (20, float("inf"))],
        "Determined/f1": [(10, 0.5)],
        "Determined/val_loss": [(10, 1.0)],
        "Determined/val_f1": [(10, 0.25)],
    }


def test_reports__are_drawn_into_several_files_if_they_are_many(cluster, monkeypatch):
    monkeypatch.setattr("determined.core._events.FILE_BYTES", 200)
    with core.init() as core_context:
        for step in range(20):
            core_context.train.report_training_metrics(step, {"loss": float(step)})
    assert len(list((cluster.storage / STORED).glob("events.out.tfevents.*"))) > 2
    assert points_of(cluster.storage / STORED)["Determined/loss"] == [(step, step) for step in range(20)]


def test_reports__in_manual_mode_are_not_drawn(cluster):
    with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as core_context:
        core_context.train.report_training_metrics(1, {"loss": 3.0})
        assert list(core_context.train.get_tensorboard_path().iterdir()) == []


def test_reports__go_on_when_they_cannot_be_drawn(cluster, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("determined.core._events.MetricEvents._write", full)
    with core.init() as core_context:
        core_context.train.report_training_metrics(1, {"loss": 3.0})
        core_context.train.report_training_metrics(2, {"loss": 3.0})
    assert len(cluster.master.reports("training")) == 2 and caplog.text.count("not drawn in TensorBoard any more") == 1


def test_what_a_metric_writer_must_have():
    with pytest.raises(TypeError, match="abstract"):
        tensorboard.MetricWriter()


def test_the_writer_of_a_context__is_brought_to_storage_with_the_last_validation(cluster):
    with pytorch.init(hparams={"lr": 1}) as context:
        trial = trials.NoisyTrial(context)
        context.get_tensorboard_writer().add_scalar("mine", 1.5, 7)
        pytorch.Trainer(trial, context).fit(max_length=pytorch.Batch(5), reporting_period=pytorch.Batch(2))
    points = points_of(cluster.storage / "the-cluster/tensorboard/experiment/7/trial/11")
    assert points["mine"] == [(7, 1.5)]
    validated = [tag for tag in points if tag.startswith("Determined/val")]
    assert validated and all([step for step, _ in points[tag]] == [5] for tag in validated)


def test_one_batch__is_trained_validated_and_saved(tmp_path):
    experimental.test_one_batch(trials.NoisyTrial, {"hyperparameters": {"lr": {"type": "const", "val": 1}}})
    [checkpoint] = (tmp_path / "home" / "determined").iterdir()
    assert (checkpoint / "state_dict.pth").exists()


def test_one_batch__of_no_trial_is_refused():
    from determined import errors

    with pytest.raises(errors.InvalidExperimentException, match="subclass of none"):
        experimental.test_one_batch(int)
