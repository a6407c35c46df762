"""Event files of ``determined.tensorboard``'s writers, read back with TensorBoard's own loader."""

import numpy as np
import pytest
import trials

from determined import core, experimental, pytorch, tensorboard
from determined.tensorboard.metric_writers.pytorch import TorchWriter
from determined.tensorboard.metric_writers.tensorflow import TFWriter

WRITERS = [TFWriter, TorchWriter]


def points_of(directory):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(directory))
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


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
