"""``TFKerasTrial`` on whichever backend this environment has: the loop, data of all kinds, checkpoints, mistakes."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

keras = pytest.importorskip("keras")

import keras_trials  # noqa: E402
import numpy as np  # noqa: E402
from event_files import points_of  # noqa: E402
from keras_trials import X, Y  # noqa: E402
from support.ports import free_port  # noqa: E402
from support.waiting import wait_for  # noqa: E402

import determined as det  # noqa: E402
from determined import errors  # noqa: E402
from determined import keras as det_keras  # noqa: E402
from determined._training._units import Batch, Epoch  # noqa: E402
from determined.exec import harness  # noqa: E402
from determined.keras import callbacks  # noqa: E402
from tests.conftest import REPOSITORY  # noqa: E402

TENSORFLOW = keras.backend.backend() == "tensorflow"
needs_tensorflow = pytest.mark.skipif(not TENSORFLOW, reason="needs TensorFlow")
TRIALS = pathlib.Path(keras_trials.__file__)
RELEASED = TRIALS.parents[1] / "data/released_keras"


@pytest.fixture
def trial(cluster):
    cluster.config["searcher"] = {"name": "single", "metric": "val_loss", "smaller_is_better": True}
    cluster.config["hyperparameters"] = {"global_batch_size": 8}
    cluster.write()
    return cluster


TWELVE = Batch(12)


def train(
    cluster, trial_class=keras_trials.LineTrial, *more_callbacks, checkpoint=None, length=TWELVE, init=None, **fit
):
    """Train on the cluster, whose master forgets what it was told before; returns the trial."""
    cluster.master.metrics.clear()
    cluster.master.checkpoints.clear()
    with det_keras.init(**(init or {})) as context:
        context.more_callbacks = more_callbacks
        trial = trial_class(context)
        fit = {"reporting_period": Batch(4), **fit}
        det_keras.Trainer(trial, context).fit(max_length=length, latest_checkpoint=checkpoint, **fit)
    return trial


def weights(trial):
    return trial.context.model.get_weights()


def same(mine, theirs):
    return all(np.array_equal(a, b) for a, b in zip(mine, theirs))


def stored(cluster):
    return [(c["uuid"], c["metadata"]["steps_completed"]) for c in cluster.master.checkpoints.values()]


# The loop


def test_a_trial__reports_workloads_validations_and_progress(trial):
    train(trial, validation_period=Batch(8), checkpoint_period=Batch(4))
    training, validation = trial.master.reports("training"), trial.master.reports("validation")
    assert [steps for steps, _ in training] == [4, 8, 12]
    assert [steps for steps, _ in validation] == [8, 12]
    assert set(training[0][1]) == {"loss", "mae", "batches", "epochs"}
    assert set(validation[0][1]) == {"val_loss", "val_mae", "batches", "epochs"}
    assert training[-1][1]["epochs"] == 2, "five batches make an epoch"
    assert [steps for _, steps in stored(trial)] == [4, 8, 12]
    assert [body["progress"] for body in trial.master.bodies("ReportTrialProgress")] == pytest.approx([1 / 3, 2 / 3, 1])


def test_a_trial__reports_the_mean_of_a_workload_as_fit_does(trial):
    class Frozen(keras_trials.PlainTrial):
        def build_model(self):
            model = super().build_model()
            model.optimizer.learning_rate = 0.0
            return model

    frozen = train(trial, Frozen)
    expected = frozen.context.model.evaluate(X[:32], Y[:32], batch_size=8, verbose=0, return_dict=True)
    for _, metrics in trial.master.reports("training"):
        assert metrics["loss"] == pytest.approx(expected["loss"], rel=1e-5)
    expected = frozen.context.model.evaluate(X[:10], Y[:10], verbose=0, return_dict=True)
    assert trial.master.reports("validation")[0][1]["val_mae"] == pytest.approx(expected["mae"], rel=1e-5)


def test_a_trial__learns(trial):
    train(trial, keras_trials.PlainTrial, length=Epoch(60), validation_period=Epoch(20))
    losses = [metrics["val_loss"] for _, metrics in trial.master.reports("validation")]
    assert losses[-1] < losses[0] / 2


def test_the_trials_seed__decides_about_weights_and_order(trial):
    first, again = train(trial), train(trial)
    trial.write(trial_seed=4712)
    assert same(weights(first), weights(again))
    assert not same(weights(first), weights(train(trial)))


def test_records_per_epoch__say_what_an_epoch_is(trial):
    trial.config["records_per_epoch"] = 24
    trial.write()
    train(trial)
    assert [metrics["epochs"] for _, metrics in trial.master.reports("training")] == [1, 2, 4]


def test_gradients_of_several_batches__are_averaged(trial):
    whole = train(trial, keras_trials.PlainTrial, length=Batch(4))
    trial.config["hyperparameters"]["global_batch_size"] = 4
    trial.write()
    parts = train(trial, keras_trials.PlainTrial, length=Batch(8), init={"aggregation_frequency": 2})
    for mine, theirs in zip(weights(parts), weights(whole)):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)


def test_invalid_hyperparameters__are_reported_and_end_in_order(trial):
    with pytest.raises(SystemExit) as left:
        train(trial, keras_trials.InvalidTrial)
    assert not left.value.code
    assert trial.master.bodies("ReportTrialSearcherEarlyExit") == [{"reason": "EXITED_REASON_INVALID_HP"}]


def test_a_trial_that_is_preempted__saves_and_ends(trial):
    class Preempted(keras_trials.LineTrial):
        def keras_callbacks(self):
            return [keras.callbacks.LambdaCallback(on_train_batch_end=self.preempt_after_five)]

        def preempt_after_five(self, batch, logs):
            if self.context.current_train_batch() == 5 - 1:
                trial.master.ask_to_preempt()
                wait_for("the preemption", self.context._core.preempt.should_preempt)

    train(trial, Preempted)
    assert [steps for _, steps in stored(trial)] == [5] and trial.master.acknowledged
    assert trial.master.reports("validation") == []


def test_operations_of_the_searcher__are_trained_one_after_the_other(trial):
    trial.config["searcher"].update(name="async_halving", max_length={"batches": 8})
    trial.write()
    trial.master.operations = [4, 8]
    train(trial, length=None)
    assert [steps for steps, _ in trial.master.reports("validation")] == [4, 8]
    told = [metrics["val_loss"] for _, metrics in trial.master.reports("validation")]
    assert trial.master.searcher_metrics == told


def test_timings__are_measured(trial):
    train(trial, profiling_enabled=True)
    (_, timings), *_ = trial.master.reports("timings")
    assert timings["train_batch"] > 0 and timings["samples_per_second"] > 0


# Data


KINDS = [
    keras_trials.LineTrial,
    keras_trials.SequenceTrial,
    pytest.param(keras_trials.DatasetTrial, marks=needs_tensorflow),
    keras_trials.WeightedTrial,
]


@pytest.mark.parametrize("trial_class", KINDS)
def test_a_trial_that_stops_in_the_middle__goes_on_to_the_same_weights(trial, trial_class):
    undisturbed = train(trial, trial_class)
    for stop in (3, 7):  # in the middle of the first epoch, and of the second
        train(trial, trial_class, keras_trials.StopAfter(stop))
        [(uuid, steps)] = stored(trial)
        assert steps == stop
        resumed = train(trial, trial_class, checkpoint=uuid)
        assert same(weights(resumed), weights(undisturbed)), f"after {stop} batches"


def test_records_of_arrays__come_once_an_epoch_and_in_another_order_in_each(trial):
    context = det_keras.TFKerasTrialContext.from_config({"hyperparameters": {"global_batch_size": 8}})
    source = det_keras._data.training_source((X, Y), context, seed=1)
    batches = source.batches(0)
    epochs = [np.concatenate([next(batches)[0] for _ in range(source.length)]) for _ in range(2)]
    assert source.length == 5
    for epoch in epochs:
        assert np.array_equal(np.sort(epoch, axis=0), X)
    assert not np.array_equal(epochs[0], epochs[1])
    resumed = source.batches(7)
    assert np.array_equal(next(resumed)[0], epochs[1][16:24])


@pytest.mark.parametrize("size", [2, 3])
def test_processes__take_turns_in_a_sequence_from_epoch_to_epoch(size):
    fit = det_keras._trial_context.FitOptions()
    shares, data = [], [keras_trials.Rows() for _ in range(size)]
    for rank in range(size):
        batches = det_keras._data._SequenceSource(data[rank], fit, 1, size, rank).batches(0)
        [next(batches) for _ in range(10)]
        shares.append(data[rank].asked)
    alone = keras_trials.Rows()
    batches = det_keras._data._SequenceSource(alone, fit, 1, 1, 0).batches(0)
    [next(batches) for _ in range(10 * size)]
    assert [index for turn in zip(*shares) for index in turn] == alone.asked


def test_several_workers__load_ahead_in_the_same_order():
    fit = det_keras._trial_context.FitOptions()
    alone = det_keras._data._SequenceSource(keras_trials.Rows(), fit, 1, 1, 0).batches(0)
    expected = [next(alone)[0] for _ in range(13)]
    fit.workers, fit.max_queue_size = 3, 4
    rows = keras_trials.Rows()
    source = det_keras._data._SequenceSource(rows, fit, 1, 1, 0)
    batches = source.batches(0)
    assert all(np.array_equal(next(batches)[0], one) for one in expected)
    source.close()
    assert len(rows.asked) <= 13 + 5 and rows.epochs_ended == 2


def test_a_sequence_adapter__brings_its_options(trial):
    class Adapted(keras_trials.SequenceTrial):
        def build_training_data_loader(self):
            return det_keras.SequenceAdapter(super().build_training_data_loader(), workers=2, max_queue_size=3)

    adapted = train(trial, Adapted)
    assert adapted.context._fit.workers == 2 and adapted.context._fit.max_queue_size == 3


def test_class_weights__count(trial):
    class Weighted(keras_trials.PlainTrial):
        def __init__(self, context):
            super().__init__(context)
            context.configure_fit(class_weight={0: 0.0, 1: 0.0})

        def build_training_data_loader(self):
            return X[:32], (X[:32] > 0.5).astype("float32")

    train(trial, Weighted)
    assert trial.master.reports("training")[0][1]["loss"] == 0


# Callbacks


class Recorder(callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.told = []

    def on_train_begin(self, logs=None):
        self.told.append("train begins")

    def on_train_end(self, logs=None):
        self.told.append("train ends")

    def on_epoch_begin(self, epoch, logs=None):
        self.told.append(f"epoch {epoch} begins")

    def on_epoch_end(self, epoch, logs=None):
        assert logs == {}
        self.told.append(f"epoch {epoch} ends")

    def on_train_workload_begin(self, total_batches_trained, batches_requested, logs):
        self.told.append(f"{batches_requested} after {total_batches_trained}")

    def on_train_workload_end(self, total_batches_trained, logs):
        assert {"loss", "mae"} <= set(logs)
        self.told.append(f"{total_batches_trained} trained")

    def on_test_end(self, logs=None):
        assert {"val_loss", "val_mae"} <= set(logs)
        self.told.append("validated")

    def on_checkpoint_end(self, checkpoint_dir):
        (pathlib.Path(checkpoint_dir) / "mine.txt").write_text("mine")
        self.told.append("saved")


def test_callbacks__hear_of_everything_in_order(trial):
    recorder = Recorder()
    train(trial, keras_trials.LineTrial, recorder, keras.callbacks.LambdaCallback(), length=Batch(7))
    assert recorder.told == [
        "train begins",
        "4 after 0",
        "epoch 0 begins",
        "4 trained",
        "3 after 4",
        "epoch 0 ends",
        "epoch 1 begins",
        "7 trained",
        "validated",
        "saved",
        "train ends",
    ]
    [(uuid, _)] = stored(trial)
    assert (trial.storage / uuid / "mine.txt").read_text() == "mine"


def test_early_stopping__counts_validations_also_across_a_pause(trial):
    def stopping():
        return callbacks.EarlyStopping("val_loss", patience=2, min_delta=10)  # which nothing after the first one brings

    train(trial, keras_trials.LineTrial, stopping(), validation_period=Batch(2))
    assert [steps for steps, _ in trial.master.reports("validation")] == [2, 4, 6]
    assert stored(trial)[-1][1] == 6, "it has left a checkpoint"
    train(trial, keras_trials.LineTrial, stopping(), keras_trials.StopAfter(3), validation_period=Batch(2))
    uuid = stored(trial)[-1][0]
    resumed = stopping()
    train(
        trial, keras_trials.LineTrial, resumed, keras_trials.StopAfter(99), validation_period=Batch(2), checkpoint=uuid
    )
    assert [steps for steps, _ in trial.master.reports("validation")] == [4, 6]
    assert resumed.wait == 2


def test_the_learning_rate__falls_where_validations_stagnate(trial):
    class Stagnant(keras_trials.PlainTrial):
        def build_model(self):
            model = super().build_model()
            model.optimizer.learning_rate = 1e-9
            return model

    plateau = callbacks.ReduceLROnPlateau("val_loss", patience=1, factor=0.5, min_delta=0.1)
    stagnant = train(trial, Stagnant, plateau, validation_period=Batch(4))
    assert float(stagnant.context.model.optimizer.learning_rate) == pytest.approx(0.25e-9, rel=1e-3)


def test_metrics__are_drawn_and_stored(trial):
    train(trial)
    points = points_of(trial.storage / "the-cluster/tensorboard/experiment/7/trial/11")
    assert [step for step, _ in points["Determined/loss"]] == [4, 8, 12]
    assert [step for step, _ in points["Determined/val_mae"]] == [12]


@needs_tensorflow
def test_keras_own_curves__are_stored_too(trial):
    train(trial, keras_trials.LineTrial, callbacks.TensorBoard(update_freq="batch"))
    stored_at = trial.storage / "the-cluster/tensorboard/experiment/7/trial/11"
    assert list(stored_at.glob("train/*tfevents*")) and list(stored_at.glob("validation/*tfevents*"))


# Checkpoints


def test_a_model__can_be_loaded_from_its_checkpoint(trial, tmp_path, monkeypatch):
    code = trial.run_dir / "train" / "model"
    code.mkdir(parents=True)
    (code / "keras_trials.py").write_text(TRIALS.read_text())
    trained = train(trial, keras_trials.WeightedTrial)
    uuid = stored(trial)[-1][0]
    model = det_keras.load_model_from_checkpoint_path(str(trial.storage / uuid))
    inputs = {"a": X, "b": X}
    assert np.array_equal(model.predict(inputs, verbose=0), trained.context.model.predict(inputs, verbose=0))


def test_optimizers_beside_the_compiled_one__are_in_checkpoints(trial):
    class Two(keras_trials.LineTrial):
        def build_model(self):
            model = super().build_model()
            self.second = self.context.wrap_optimizer(keras.optimizers.Adam(0.5))
            return model

    class Count(callbacks.Callback):
        def on_checkpoint_end(self, checkpoint_dir):
            two.second.iterations.assign(7)

    with det_keras.init() as context:
        context.more_callbacks = []
        two = Two(context)
        trainer = det_keras.Trainer(two, context)
        trainer.fit(max_length=Batch(2))
        uuid = stored(trial)[-1][0]
    resumed = train(trial, Two, checkpoint=uuid, length=Batch(3))
    assert int(resumed.second.iterations) == int(two.second.iterations)
    assert (trial.storage / uuid / "determined-keras-optimizers.npz").exists()


@needs_tensorflow
def test_tensorflows_generator__goes_on_or_is_left_alone_where_there_must_be_none(trial, monkeypatch):
    import tensorflow as tf

    model = train(trial).context.model
    before = det_keras._state.random_state(model)
    drawn = tf.random.get_global_generator().uniform([3]).numpy()
    det_keras._state.set_random_state(model, before)
    assert np.array_equal(tf.random.get_global_generator().uniform([3]).numpy(), drawn)

    def refuse():
        raise RuntimeError("operations have to be deterministic")

    monkeypatch.setattr(tf.random, "get_global_generator", refuse)
    assert "tensorflow" not in det_keras._state.random_state(model)


def test_a_checkpoint_of_something_else__is_refused(trial):
    with det.core.init() as core_context:
        with core_context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
            (path / "state_dict.pth").write_text("")
    with pytest.raises(errors.InvalidCheckpointException, match="not saved by a TFKerasTrial"):
        train(trial, checkpoint=uuid)


@pytest.mark.skipif(TENSORFLOW, reason="TensorFlow reads it")
def test_a_released_checkpoint__needs_tensorflow(trial):
    shutil.copytree(RELEASED / "OwnTrial", trial.storage / "released")
    with pytest.raises(errors.InvalidCheckpointException, match="a format that TensorFlow alone reads"):
        train(trial, checkpoint="released")


def test_a_checkpoint_of_another_model__is_refused(trial):
    train(trial, keras_trials.WeightedTrial, length=Batch(1))
    with pytest.raises(errors.InvalidCheckpointException, match="does not fit the model"):
        train(trial, keras_trials.LineTrial, checkpoint=stored(trial)[-1][0])


# Mistakes


def returning(method, what):
    return type("BadTrial", (keras_trials.LineTrial,), {method: what})


def no_wrap(self):
    return keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])


def no_compile(self):
    return self.context.wrap_model(no_wrap(self))


def named_optimizer(self):
    return self.context.wrap_optimizer("adam")


@pytest.mark.parametrize(
    "method, what, message",
    [
        ("build_model", no_wrap, "wraps no model"),
        ("build_model", no_compile, "call model.compile"),
        ("build_model", named_optimizer, "takes an optimizer of Keras"),
        ("build_training_data_loader", lambda self: None, "not a NoneType"),
        ("build_training_data_loader", lambda self: (X,), "not a tuple of 1"),
        ("build_training_data_loader", lambda self: (X, Y[:3]), "not of one length"),
        ("build_training_data_loader", lambda self: ("x", "y"), "it has str"),
        ("build_training_data_loader", lambda self: (X[:3], Y[:3]), "3 records, which is less than one batch of 8"),
        ("build_validation_data_loader", lambda self: (X[:0], Y[:0]), "0 records"),
        ("build_validation_data_loader", lambda self: [X, Y], "not a list"),
        ("keras_callbacks", lambda self: [print], "must return a list of callbacks"),
        ("keras_callbacks", lambda self: None, "must return a list of callbacks"),
    ],
)
def test_mistakes__are_told_in_a_sentence(trial, method, what, message):
    with pytest.raises(errors.InvalidExperimentException, match=message):
        train(trial, returning(method, what))


@needs_tensorflow
def test_a_dataset_that_is_not_wrapped__is_refused(trial):
    import tensorflow as tf

    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)
    with pytest.raises(errors.InvalidExperimentException, match="wrap it"):
        train(trial, returning("build_training_data_loader", lambda self: dataset))
    with pytest.raises(errors.InvalidExperimentException, match="without any batch"):
        train(trial, returning("build_training_data_loader", lambda self: self.context.wrap_dataset(dataset.take(0))))


def test_a_metric_that_the_searcher_waits_for_in_vain__is_an_error(trial):
    trial.config["searcher"]["metric"] = "val_accuracy"
    trial.write()
    with pytest.raises(errors.InvalidExperimentException, match="'val_accuracy', but validation reports only"):
        train(trial, validation_period=Batch(4))


def test_a_global_batch_size__is_needed_for_arrays(trial):
    trial.config["hyperparameters"].clear()
    trial.write()
    with pytest.raises(errors.InvalidExperimentException, match="global_batch_size must be an integer"):
        train(trial)


def test_removed_features__say_so():
    context = det_keras.TFKerasTrialContext.from_config({})
    for cache in (context.experimental.cache_train_dataset, context.experimental.cache_validation_dataset):
        with pytest.raises(RuntimeError, match="removed in 0.18.0"):
            cache()


# As an entrypoint


def write_model_def(directory, text=""):
    (directory / "model_def.py").write_text(TRIALS.read_text() + text)


def run_harness(directory, *words, **env):
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY / "python"), "TF_CPP_MIN_LOG_LEVEL": "3", **env}
    return subprocess.run(
        [sys.executable, "-m", "determined.exec.harness", *words],
        cwd=directory,
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_an_entrypoint__trains_as_the_configuration_says(trial, tmp_path, monkeypatch):
    trial.config.update(scheduling_unit=3, min_validation_period={"batches": 6}, min_checkpoint_period={})
    trial.config["searcher"]["max_length"] = {"records": 72}
    trial.config["optimizations"] = {"average_training_metrics": True}
    trial.write()
    write_model_def(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert harness.main(["model_def:SequenceTrial"]) == 0
    assert [steps for steps, _ in trial.master.reports("training")] == [3, 6, 9]
    assert [steps for steps, _ in trial.master.reports("validation")] == [6, 9]
    uuid, _ = stored(trial)[-1]
    description = json.loads((trial.storage / uuid / "load_data.json").read_text())
    assert description["trial_type"] == "TFKerasTrial"
    assert description["trial_cls_spec"] == "model_def:SequenceTrial"


def test_local__trains_one_batch_off_the_cluster(tmp_path):
    threads = """
class ThreadsTrial(LineTrial):
    def session_config(self):
        if keras.backend.backend() != "tensorflow":
            return None
        import tensorflow as tf

        return tf.compat.v1.ConfigProto(intra_op_parallelism_threads=3, inter_op_parallelism_threads=2)

    def build_model(self):
        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            threading = tf.config.threading
            print("threads", threading.get_intra_op_parallelism_threads(), threading.get_inter_op_parallelism_threads())
        return super().build_model()
"""
    write_model_def(tmp_path, threads)
    (tmp_path / "config.json").write_text(json.dumps({"hyperparameters": {"global_batch_size": 8}}))
    done = run_harness(tmp_path, "--local", "config.json", "--test", "model_def:ThreadsTrial")
    assert done.returncode == 0, done.stderr
    assert "validation metrics after 1 steps: val_loss" in done.stderr
    assert "threads 3 2" in done.stdout or not TENSORFLOW


@needs_tensorflow
def test_threads__can_only_be_set_before_tensorflow_computes(tmp_path):
    late = """
class LateTrial(LineTrial):
    def session_config(self):
        import tensorflow as tf

        tf.ones(1) + 1
        return tf.compat.v1.ConfigProto(intra_op_parallelism_threads=3)
"""
    write_model_def(tmp_path, late)
    (tmp_path / "config.json").write_text(json.dumps({"hyperparameters": {"global_batch_size": 8}}))
    done = run_harness(tmp_path, "--local", "config.json", "--test", "model_def:LateTrial")
    assert done.returncode == 1
    assert "session_config() cannot set TensorFlow's threads any more" in done.stderr
    assert "Traceback" not in done.stderr


@needs_tensorflow
def test_several_slots_on_tensorflow__need_a_launcher(trial, monkeypatch):
    rendezvous = {"container_addrs": ["127.0.0.1"], "container_rank": 0, "container_slot_counts": [2]}
    (trial.run_dir / "info/rendezvous.json").write_text(json.dumps(rendezvous))
    with pytest.raises(errors.InvalidExperimentException, match="started only once: make module:Class the entrypoint"):
        train(trial)
    rendezvous.update(container_addrs=["127.0.0.1", "127.0.0.2"], container_slot_counts=[2, 2])
    (trial.run_dir / "info/rendezvous.json").write_text(json.dumps(rendezvous))
    workers = {"cluster": {"worker": ["127.0.0.1:1", "127.0.0.2:1"]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(workers))
    with pytest.raises(errors.InvalidExperimentException, match="4 slots, but .* once for each of 2 machines"):
        train(trial)


HOROVODRUN = {"SIZE": 4, "RANK": 3, "LOCAL_SIZE": 2, "LOCAL_RANK": 1, "CROSS_SIZE": 2, "CROSS_RANK": 1}
TORCHRUN = {"WORLD_SIZE": 4, "RANK": 3, "LOCAL_WORLD_SIZE": 2, "LOCAL_RANK": 1, "GROUP_WORLD_SIZE": 2, "GROUP_RANK": 1}
MACHINES = {"cluster": {"worker": ["10.0.0.1:29400", "10.0.0.2:29400"]}, "task": {"type": "worker", "index": 1}}


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({}, None),
        ({"WORLD_SIZE": 1}, None),
        ({f"HOROVOD_{name}": value for name, value in HOROVODRUN.items()}, (3, 4, 1, 2, 1, 2)),
        (TORCHRUN, (3, 4, 1, 2, 1, 2)),
        ({"TF_CONFIG": json.dumps(MACHINES)}, (1, 2, 0, 1, 1, 2)),
    ],
)
def test_which_process_this_is__is_told_by_whoever_started_it(monkeypatch, variables, place):
    from determined.keras import _ranks

    told = []
    monkeypatch.setattr(det.core.DistributedContext, "__init__", lambda self, **where: told.append(where))
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))
    assert (_ranks.of_launcher(None) is None) == (place is None)
    names = ("rank", "size", "local_rank", "local_size", "cross_rank", "cross_size")
    assert [tuple(where[name] for name in names) for where in told] == [place] * (place is not None)


def test_several_slots_on_another_backend__are_refused(trial, monkeypatch):
    rendezvous = {"container_addrs": ["127.0.0.1"], "container_rank": 0, "container_slot_counts": [2]}
    (trial.run_dir / "info/rendezvous.json").write_text(json.dumps(rendezvous))
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(errors.InvalidExperimentException, match="one where Keras computes with jax"):
        train(trial)


@needs_tensorflow
def test_processes__can_only_be_connected_before_tensorflow_computes(tmp_path):
    late = """
class LateTrial(PlainTrial):
    def __init__(self, context):
        import tensorflow as tf

        super().__init__(context)
        tf.ones(1) + 1
"""
    done = together(tmp_path, "LateTrial", more=late)
    assert done.returncode == 1
    assert done.stderr.count("cannot connect the 2 processes of this trial any more") == 2, done.stderr


@pytest.mark.parametrize(
    "session_config, message",
    [(lambda self: {"threads": 3}, "must return a tf.compat.v1.ConfigProto, not a dict")],
)
@needs_tensorflow
def test_a_session_config_of_another_type__is_refused(trial, session_config, message):
    with pytest.raises(errors.InvalidExperimentException, match=message):
        train(trial, returning("session_config", session_config))


def program(directory, trial_classes, *launcher, more="", **env):
    """Run keras_program.py, alone or in several processes; it writes into the directory what they have learnt."""
    directory.mkdir(exist_ok=True)
    (directory / "more_trials.py").write_text(f"from keras_trials import *\n{more}")
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "python"), str(TRIALS.parent), str(directory)]),
        "OMP_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        **env,
    }
    argv = [sys.executable, *launcher, str(TRIALS.parent / "keras_program.py"), str(directory), *trial_classes]
    return subprocess.run(argv, env=env, cwd=directory, capture_output=True, text=True, timeout=600)


def together(directory, *trial_classes, more=""):
    """The same in two processes, as our launchers would start them."""
    port = {"INTER_TRAIN_PROCESS_COMM_PORT_1": str(free_port()), "DET_CHIEF_IP": "127.0.0.1"}
    if TENSORFLOW:
        places = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1"}
        launcher = ("-m", "determined.launch._spawn", "0", "2", "--", sys.executable)
        return program(directory, trial_classes, *launcher, more=more, **port, **places)
    launcher = ("-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", str(free_port()))
    gloo = {"USE_TORCH_DISTRIBUTED": "True", "GLOO_SOCKET_IFNAME": "lo"}
    return program(directory, trial_classes, *launcher, more=more, **port, **gloo)


@pytest.fixture(scope="module")
def one_and_two(tmp_path_factory):
    """What trials have learnt in one process, and in each of two."""
    directory = tmp_path_factory.mktemp("processes")
    names = ("PlainTrial", "WordsTrial", "UnevenTrial")
    for done in (program(directory / "alone", names), together(directory, *names)):
        assert done.returncode == 0, done.stderr

    def told(name):
        files = (f"alone/{name}.0.json", f"{name}.0.json", f"{name}.1.json")
        return [json.loads((directory / file).read_text()) for file in files]

    return told


@pytest.mark.parametrize("name", ["PlainTrial", "WordsTrial"])
def test_two_processes__train_as_one_with_batches_twice_as_large(one_and_two, name):
    one, *ranks = one_and_two(name)
    assert [(rank["size"], rank["batch"]) for rank in ranks] == [(2, 4), (2, 4)]
    assert ranks[0]["weights"] == ranks[1]["weights"]
    assert ranks[1]["measured"] == [], "the chief alone reports"
    for mine, theirs in zip(ranks[0]["weights"], one["weights"]):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)
    for (group, steps, mine), (_, _, theirs) in zip(ranks[0]["measured"], one["measured"]):
        for key in theirs:
            if key not in ("batches", "epochs"):
                assert mine[key] == pytest.approx(theirs[key], rel=1e-4), (group, steps, key)


def test_two_processes__may_have_batches_of_any_size(one_and_two):
    _, first, second = one_and_two("UnevenTrial")
    assert first["weights"] == second["weights"]


# Checkpoints of the released library


@pytest.fixture(params=["LayersTrial", "OwnTrial"])
def released(request, monkeypatch):
    """A checkpoint, the class and the data of its trial, and what the released library says about it."""
    if not TENSORFLOW:
        pytest.skip("needs TensorFlow")
    path = RELEASED / request.param
    spec = importlib.util.spec_from_file_location(f"released_{request.param}", path / "code/model_def.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    x = module.NUMBERS if request.param == "OwnTrial" else [module.WORDS, module.NUMBERS]
    expected = json.loads((path / "expected.json").read_text())
    return path, getattr(module, request.param), (x, module.Y), expected


def test_a_model_of_the_released_library__is_loaded_from_its_checkpoint(released):
    path, _, data, expected = released
    model = det_keras.load_model_from_checkpoint_path(str(path))
    assert model.evaluate(*data, verbose=0, return_dict=True)["loss"] == pytest.approx(expected["loss"], rel=1e-5)


def test_a_model_of_the_released_library__is_loaded_by_what_the_master_told_before_0_17_8(released, tmp_path):
    path, _, data, expected = released
    shutil.copytree(path, tmp_path / "old")
    load_data = json.loads((tmp_path / "old/load_data.json").read_text())
    (tmp_path / "old/load_data.json").unlink()
    with pytest.raises(errors.InvalidCheckpointException, match="does not tell the experiment's configuration"):
        det_keras.load_model_from_checkpoint_path(str(tmp_path / "old"))
    config = {**load_data["experiment_config"], "entrypoint": load_data["trial_cls_spec"]}
    metadata = {"format": "saved_weights", "experiment_config": config, "hparams": load_data["hparams"]}
    (tmp_path / "old/metadata.json").write_text(json.dumps(metadata))
    model = det_keras.load_model_from_checkpoint_path(str(tmp_path / "old"))
    assert model.evaluate(*data, verbose=0, return_dict=True)["loss"] == pytest.approx(expected["loss"], rel=1e-5)


def test_a_trial__begins_with_weights_and_optimizer_of_a_released_checkpoint(trial, released):
    path, trial_class, data, expected = released
    shutil.copytree(path, trial.storage / "released")
    trial.config["hyperparameters"]["lr"] = 0.02
    trial.write()

    class OneBatch(trial_class):
        def build_training_data_loader(self):
            class Whole(keras.utils.PyDataset):
                def __len__(self):
                    return 1

                def __getitem__(self, index):
                    return data

            return Whole()

        def build_validation_data_loader(self):
            return data  # whose inputs are a list

    trained = train(trial, OneBatch, length=Batch(1), checkpoint="released")
    model = trained.context.model
    loss = model.evaluate(*data, verbose=0, return_dict=True)["loss"]
    assert loss == pytest.approx(expected["loss_after_another_batch"], rel=1e-4)
    assert int(model.optimizer.iterations) == 10, "the optimizer has counted on"
    assert [steps for steps, _ in trial.master.reports("validation")] == [1], "training counts anew"


def test_a_released_checkpoint_of_another_model__is_refused(trial, released):
    path, _, _, _ = released
    shutil.copytree(path, trial.storage / "released")
    with pytest.raises(errors.InvalidCheckpointException, match="does not fit the model"):
        train(trial, checkpoint="released")


@needs_tensorflow
def test_an_optimizer_from_before_tensorflow_2_11__is_taken_over(tmp_path):
    import h5py

    from determined.keras import _released

    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(2)])
    model.compile(keras.optimizers.Adam(0.1), "mse")
    model.optimizer.build(model.trainable_variables)
    kernel, bias = np.full((1, 2), 1.0), np.full(2, 2.0)
    names = ["iter", "dense/kernel/m", "dense/bias/m", "dense/kernel/v", "dense/bias/v"]
    values = [np.int64(5), kernel, bias, 10 * kernel, 10 * bias]
    with h5py.File(tmp_path / _released.OPTIMIZERS, "w") as file:
        group = file.create_group("optimizer-0/optimizer_weights")
        group.attrs["weight_names"] = [f"Adam/{name}:0".encode() for name in names]
        for name, value in zip(names, values):
            group[f"Adam/{name}:0"] = value
    _released.load_optimizers(tmp_path, [model.optimizer])
    state = [keras.ops.convert_to_numpy(v) for v in model.optimizer.variables[2:]]
    assert int(model.optimizer.iterations) == 5
    assert same(state, [kernel, 10 * kernel, bias, 10 * bias])
    model.optimizer = other = keras.optimizers.SGD(0.1)
    other.build(model.trainable_variables)
    _released.load_optimizers(tmp_path, [other])
    assert int(other.iterations) == 0, "it begins anew"


def test_a_released_checkpoint_of_a_whole_model__is_loaded(trial, tmp_path):
    """As it was before 0.13.8: one file of Keras's, which Keras 3 still reads."""
    saved = train(trial, keras_trials.PlainTrial)
    (trial.storage / "whole").mkdir()
    saved.context.model.save(trial.storage / "whole/determined-keras-model.h5")
    began = train(trial, keras_trials.PlainTrial, length=Batch(1), checkpoint="whole")
    for mine, theirs in zip(weights(began), weights(saved)):
        np.testing.assert_allclose(mine, theirs, atol=0.05)
