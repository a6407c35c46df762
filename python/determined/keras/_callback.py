"""The platform, as a callback of ``model.fit()``.

Keras keeps the loop, epoch by epoch; the callback reports what it measures, stores checkpoints where epochs end, and
ends training there when the platform wants the slots. Behaviour as of the published library's class of the same name.
"""

import contextlib
import os
import pathlib
import shutil
import tempfile
from typing import Any, Dict, Optional, Union

import keras

from determined import core
from determined._training import _description
from determined.keras import _state
from determined.keras._progress import Progress

Logs = Optional[Dict[str, Any]]

MODEL_FILE = "model_checkpoint"
# Keras 3 insists on this ending for files of weights alone.
_WEIGHTS = ".weights.h5"


class DeterminedCallback(keras.callbacks.ProgbarLogger):
    """Report metrics, store and restore checkpoints, and stop on request, for ``model.fit()``.

    It takes the place of ``BackupAndRestore`` and ``ModelCheckpoint``, and of the progress bar, which would fill the
    log: ``verbose=1`` gives a line for each ten percent of an epoch instead. ``initial_epoch`` of ``fit()`` is
    overridden when training goes on from a checkpoint.

    Checkpoints hold the states of Python's, NumPy's, Keras's and torch's random numbers, so that a paused training ends
    with the weights of an undisturbed one; but for TensorFlow's shuffling of arrays, whose state nobody can reach.

    Parameters
    ----------
    core_context : core.Context
        From ``core.init()``.
    checkpoint : str or None
        The checkpoint to begin with: on the cluster ``get_cluster_info().latest_checkpoint``.
    continue_id : int or str
        Whose training this is: on the cluster ``get_cluster_info().trial.trial_id``. It is kept in checkpoints. One
        with the same id is a pause: training goes on with the next epoch. One with another gives its weights only.
    train_metrics_report_period : int or "epoch", default "epoch"
        Batches between two reports of training metrics.
    checkpoint_epochs : int, default 1
        Epochs between two checkpoints; 0: none on the way. There is always one at the end, and where training stops.

    Raises
    ------
    ValueError
        If one of the periods is out of range.

    Examples
    --------
    >>> info = det.get_cluster_info()  # doctest: +SKIP
    >>> with core.init() as core_context:  # doctest: +SKIP
    ...     callback = DeterminedCallback(core_context, info.latest_checkpoint, info.trial.trial_id)
    ...     model.fit(x, y, epochs=5, validation_data=(x_val, y_val), callbacks=[callback])
    """

    def __init__(
        self,
        core_context: core.Context,
        checkpoint: Optional[str],
        continue_id: Union[int, str],
        *,
        train_metrics_report_period: Union[int, str] = "epoch",
        checkpoint_epochs: int = 1,
    ) -> None:
        # A progress bar by its class only: Keras adds its own unless it finds one.
        keras.callbacks.Callback.__init__(self)
        period = train_metrics_report_period
        if period != "epoch" and not (isinstance(period, int) and period > 0):
            raise ValueError(f"train_metrics_report_period={period!r}: must be 'epoch' or a number of batches above 0")
        if checkpoint_epochs < 0:
            raise ValueError(f"checkpoint_epochs={checkpoint_epochs}: must be 0 or more")
        self._core = core_context
        self._checkpoint = checkpoint
        self._continue_id = continue_id
        self._period = period
        self._checkpoint_epochs = checkpoint_epochs
        self._is_chief = core_context.distributed.rank == 0
        self._is_verbose = False
        self._batches = 0  # trained, in all
        self._batch = self._batch_tested = -1  # the last one of this epoch
        self._epoch = -1  # the last one that has begun
        self._epoch_ended = self._epoch_saved = -1
        self._training, self._validation = Progress("epoch"), Progress("validation")
        # A checkpoint's files stay until the first batch: a backend may read them only then.
        self._restored = contextlib.ExitStack()

    # ---- what users may want to change ----

    def save_model(self, model: Any, path: str, distributed: core.DistributedContext) -> None:
        """Save the model at ``path``, which is inside the checkpoint. Every rank calls this.

        By default the weights, the optimizer's state included, at ``path`` with ``.weights.h5`` added. Ranks but the
        chief save elsewhere, and throw it away: some strategies want everybody to take part.
        """
        if distributed.rank == 0:
            model.save_weights(path + _WEIGHTS)
            return
        elsewhere = tempfile.mkdtemp("save-worker-model")
        try:
            model.save_weights(os.path.join(elsewhere, MODEL_FILE + _WEIGHTS))
        finally:
            shutil.rmtree(elsewhere)

    def load_model(self, model: Any, path: str, distributed: core.DistributedContext) -> None:
        """Load what :meth:`save_model` has saved. Every rank calls this; the model and its optimizer are built."""
        model.load_weights(path + _WEIGHTS)

    # ---- checkpoints ----

    def _load(self, checkpoint: str) -> None:
        if not self.model.built:
            raise ValueError(
                "the model must be built before it can take up a checkpoint's weights: give it an Input, or call it on "
                "one batch before model.fit()"
            )
        optimizer = self.model.optimizer
        if optimizer is not None and not optimizer.built:
            optimizer.build(self.model.trainable_variables)
        self._set_status("restoring")
        path = pathlib.Path(self._restored.enter_context(self._core.checkpoint.restore_path(checkpoint)))
        self.load_model(self.model, str(path / MODEL_FILE), self._core.distributed)
        progress = _state.load_progress(path)
        if progress is None or progress["continue_id"] != self._continue_id:
            return
        self._batches = progress["steps_completed"]
        self._training.length = progress["training_length"]
        self._validation.length = progress["validation_length"]
        self._epoch = self._epoch_ended = self._epoch_saved = progress["epoch"]
        _state.load_random(path, self.model, self._core.distributed.rank)
        # As keras.callbacks.BackupAndRestore does it: fit() looks at this right after on_train_begin.
        self.model._initial_epoch = progress["epoch"] + 1  # not ours: Keras has no public name for it

    def _save(self, epoch: int) -> None:
        self._set_status("checkpointing")
        distributed = self._core.distributed
        with self._core.checkpoint.store_path({"steps_completed": self._batches}, shard=True) as (path, _):
            self.save_model(self.model, str(path / MODEL_FILE), distributed)
            _state.save_random(path, self.model, distributed.rank)
            if self._is_chief:
                progress = {
                    "epoch": epoch,
                    "steps_completed": self._batches,
                    "continue_id": self._continue_id,
                    "training_length": self._training.length,
                    "validation_length": self._validation.length,
                }
                _state.save_progress(path, progress)
                _description.save_submitted_code(path)
        self._epoch_saved = epoch

    # ---- reports ----

    def _set_status(self, status: str) -> None:
        if self._is_chief:
            self._core.train.set_status(status)

    def _report(self, group: str, epoch: int, logs: Dict[str, Any]) -> None:
        if not self._is_chief:
            return
        metrics = {name: value for name, value in logs.items() if not name.startswith("val_")}
        metrics.setdefault("epochs", epoch + 1)
        metrics.setdefault("batches", self._batches)
        self._core.train.report_metrics(group, self._batches, metrics)

    def _tell(self, progress: Progress, batches: int, logs: Logs) -> None:
        line = progress.advance(batches, logs)
        if line and self._is_chief and self._is_verbose:
            print(f"{self._batches} batches trained; {line}", flush=True)

    # ---- the course of training ----

    def set_params(self, params: Dict[str, Any]) -> None:
        """What ``fit()`` was called with."""
        keras.callbacks.Callback.set_params(self, params)
        self._is_verbose = bool(params.get("verbose", 0))

    def on_train_begin(self, logs: Logs = None) -> None:
        """Take up the checkpoint."""
        if self._checkpoint is not None:
            self._load(self._checkpoint)
            self._checkpoint = None  # of a second fit() with this callback it would be the past

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Count anew."""
        self._epoch, self._batch = epoch, -1
        self._training.begin()
        self._set_status("training")

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Count, and report where the period ends; one call may stand for several batches."""
        before = self._batches
        self._batches += batch - self._batch
        self._batch = batch
        self._restored.close()
        if isinstance(self._period, int) and before // self._period != self._batches // self._period:
            self._report("training", self._epoch, logs or {})
        self._tell(self._training, self._batches - before, logs)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Report, store a checkpoint if it is time, and stop if the platform says so."""
        self._training.end()
        if self._period == "epoch":
            self._report("training", epoch, logs or {})
        if self._is_chief and self.params.get("epochs"):
            self._core.train.report_progress(min((epoch + 1) / self.params["epochs"], 1.0))
        self._epoch_ended = epoch
        if self._checkpoint_epochs > 0 and (epoch + 1) % self._checkpoint_epochs == 0:
            self._save(epoch)
        if self._core.preempt.should_preempt():
            self.model.stop_training = True

    def on_test_begin(self, logs: Logs = None) -> None:
        """Count anew."""
        self._batch_tested = -1
        self._validation.begin()
        self._set_status("validating")

    def on_test_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Count."""
        self._tell(self._validation, batch - self._batch_tested, logs)
        self._batch_tested = batch

    def on_test_end(self, logs: Logs = None) -> None:
        """Report the validation."""
        self._validation.end()
        self._report("validation", self._epoch, logs or {})

    def on_train_end(self, logs: Logs = None) -> None:
        """Store what was trained since the last checkpoint."""
        if self._epoch_ended > self._epoch_saved:
            self._save(self._epoch_ended)
        self._restored.close()
        self._set_status("finishing")

    # The progress bar's, which would print.
    def on_predict_begin(self, logs: Logs = None) -> None:
        """Nothing."""

    def on_predict_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Nothing."""

    def on_predict_end(self, logs: Logs = None) -> None:
        """Nothing."""
