"""``DeterminedCallback`` with a model of two layers; the backend of Keras is whichever this environment has."""

import sys

import pytest

keras = pytest.importorskip("keras")

import numpy as np  # noqa: E402

from determined import core  # noqa: E402
from determined.keras import DeterminedCallback  # noqa: E402

X = np.linspace(0, 1, 32, dtype="float32").reshape(32, 1)
Y = 2 * X


@pytest.fixture
def trial(cluster):
    cluster.config["searcher"]["metric"] = "loss"
    cluster.write()
    return cluster


def make_model(built=True):
    keras.utils.set_random_seed(7)
    layers = [keras.layers.Dense(4, activation="tanh"), keras.layers.Dropout(0.2), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((1,)), *layers] if built else layers)
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    return model


def fit(*more, model=None, checkpoint=None, continue_id=11, epochs=4, verbose=0, **options):
    model = model or make_model()
    with core.init() as core_context:
        callback = DeterminedCallback(core_context, checkpoint, continue_id, **options)
        validation = (X[:8], Y[:8])
        callbacks = [callback, *more]
        shuffle = keras.backend.backend() != "tensorflow"  # which draws from a state that nobody can keep
        data = {"x": X, "y": Y, "batch_size": 8, "shuffle": shuffle, "validation_data": validation}
        model.fit(**data, epochs=epochs, verbose=verbose, callbacks=callbacks)
    return model


def stored(cluster):
    return [(c["uuid"], c["metadata"]["steps_completed"]) for c in cluster.master.checkpoints.values()]


class PreemptIn(keras.callbacks.Callback):
    def __init__(self, master, epoch):
        super().__init__()
        self.master, self.epoch = master, epoch

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == self.epoch:
            self.master.ask_to_preempt()


def test_metrics_progress_and_checkpoints_reach_the_platform(trial):
    fit()
    training, validation = trial.master.reports("training"), trial.master.reports("validation")
    assert [steps for steps, _ in training] == [steps for steps, _ in validation] == [4, 8, 12, 16]
    assert set(training[0][1]) == set(validation[0][1]) == {"loss", "mae", "epochs", "batches"}
    assert training[-1][1]["epochs"] == 4 and training[-1][1]["batches"] == 16
    assert training[0][1]["loss"] != validation[0][1]["loss"]
    assert [body["progress"] for body in trial.master.bodies("ReportTrialProgress")] == [0.25, 0.5, 0.75, 1.0]
    assert [steps for _, steps in stored(trial)] == [4, 8, 12, 16]


def test_reports_every_so_many_batches(trial):
    fit(train_metrics_report_period=3, epochs=2)
    assert [steps for steps, _ in trial.master.reports("training")] == [3, 6]


@pytest.mark.parametrize("checkpoint_epochs, steps", [(0, [12]), (2, [8, 12]), (3, [12])])
def test_the_last_epoch_is_always_in_a_checkpoint(trial, checkpoint_epochs, steps):
    fit(epochs=3, checkpoint_epochs=checkpoint_epochs)
    assert [s for _, s in stored(trial)] == steps


def test_a_paused_trial_goes_on_with_the_next_epoch_to_the_same_weights(trial):
    undisturbed = fit(epochs=4)
    trial.master.checkpoints.clear()
    trial.master.metrics.clear()
    fit(PreemptIn(trial.master, 1), epochs=4, checkpoint_epochs=0)
    [(uuid, steps)] = stored(trial)
    assert steps == 8, "it stops at the end of its second epoch"
    trial.master.preempt = False
    resumed = fit(checkpoint=uuid, epochs=4)
    assert [s for s, _ in trial.master.reports("training")] == [4, 8, 12, 16]
    for mine, theirs in zip(resumed.get_weights(), undisturbed.get_weights()):
        assert np.array_equal(mine, theirs)


def test_a_checkpoint_of_somebody_else_gives_its_weights_only(trial):
    trained = fit(epochs=2)
    uuid, _ = stored(trial)[-1]
    trial.master.metrics.clear()
    model = fit(checkpoint=uuid, continue_id="another", epochs=1)
    assert [s for s, _ in trial.master.reports("training")] == [4], "it begins with its first epoch"
    assert not np.array_equal(model.get_weights()[0], make_model().get_weights()[0])
    assert np.allclose(model.get_weights()[0], trained.get_weights()[0], atol=0.1)


def test_a_model_that_is_not_built_cannot_take_up_a_checkpoint(trial):
    with core.init() as core_context:
        callback = DeterminedCallback(core_context, "a-checkpoint", 11)
        callback.set_model(make_model(built=False))
        with pytest.raises(ValueError, match="must be built"):
            callback.on_train_begin()


def test_progress_is_lines_not_a_bar(trial, capsys):
    fit(epochs=2, verbose=1)
    out = capsys.readouterr().out
    assert "8 batches trained; epoch 100% complete (4/4): loss" in out
    assert "\b" not in out and "━" not in out


@pytest.mark.parametrize(
    "options, message",
    [
        ({"train_metrics_report_period": 0}, "'epoch' or a number"),
        ({"train_metrics_report_period": "batch"}, "'epoch' or a number"),
        ({"checkpoint_epochs": -1}, "must be 0 or more"),
    ],
)
def test_periods_that_make_no_sense_are_refused(trial, options, message):
    with pytest.raises(ValueError, match=message):
        fit(**options)


def test_the_users_code_lies_in_the_checkpoint(trial):
    model_def = trial.run_dir / "train" / "model"
    (model_def / "__pycache__").mkdir(parents=True)
    (model_def / "train.py").write_text("x = 1\n")
    fit(epochs=1)
    [(uuid, _)] = stored(trial)
    assert (trial.storage / uuid / "code" / "train.py").read_text() == "x = 1\n"
    assert not (trial.storage / uuid / "code" / "__pycache__").exists()


def test_off_the_cluster_it_just_trains():
    assert fit(epochs=1).built


@pytest.mark.skipif("tensorflow" not in sys.modules, reason="TensorBoard's files are written by TensorFlow")
def test_tensorboard_files_go_to_the_trial(trial, caplog):
    from determined.keras import TensorBoard

    with core.init() as core_context:
        make_model().fit(X, Y, verbose=0, callbacks=[TensorBoard(core_context, log_dir="elsewhere")])
        path = core_context.train.get_tensorboard_path()
        assert list(path.rglob("*tfevents*"))
    assert "log_dir=elsewhere is ignored" in caplog.text
