"""Telling callbacks of Keras how the training of a trial goes."""

from typing import Any, Dict, List, Optional, Sequence

import keras

from determined.keras._progress import Progress
from determined.keras.callbacks import Callback

Logs = Optional[Dict[str, Any]]


class ProgressLines(Callback):
    """Prints a line for each ten percent of a workload or a validation."""

    _chief_worker_only = True

    def __init__(self) -> None:
        super().__init__()
        self._training, self._validation = Progress("workload"), Progress("validation")
        self._trained = 0

    def _print(self, progress: Progress, logs: Logs) -> None:
        line = progress.advance(1, logs)
        if line:
            print(f"{self._trained} batches trained; {line}", flush=True)

    def on_train_workload_begin(
        self, total_batches_trained: int, batches_requested: Optional[int], logs: Dict[str, Any]
    ) -> None:
        """Count anew."""
        self._trained = total_batches_trained
        self._training.begin()
        self._training.length = batches_requested

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Count."""
        self._trained += 1
        self._print(self._training, logs)

    def on_test_begin(self, logs: Logs = None) -> None:
        """Count anew."""
        self._validation.begin()

    def on_test_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Count."""
        self._print(self._validation, logs)

    def on_test_end(self, logs: Logs = None) -> None:
        """The next validation is as long as this one."""
        self._validation.end()

    def get_state(self) -> Any:
        """The length of a validation."""
        return self._validation.length

    def load_state(self, state: Any) -> None:
        """The length of a validation."""
        self._validation.length = state


class Moments(keras.callbacks.Callback):
    """Calls a trial's callbacks, at the moments of the training loop, and within ``model.evaluate()`` as one of them.

    Parameters
    ----------
    callbacks : sequence of keras.callbacks.Callback
    is_chief : bool
        Whether this process is rank 0; some callbacks are for it alone.
    """

    def __init__(self, callbacks: Sequence[keras.callbacks.Callback], is_chief: bool) -> None:
        super().__init__()
        self._all = list(callbacks)
        self._called = [c for c in self._all if is_chief or not getattr(c, "_chief_worker_only", False)]
        self._restored: Optional[List[Any]] = None

    def _call(self, moment: str, *arguments: Any) -> None:
        for callback in self._called:
            getattr(callback, moment)(*arguments)

    def _call_ours(self, moment: str, *arguments: Any) -> None:
        for callback in self._called:
            if isinstance(callback, Callback):
                getattr(callback, moment)(*arguments)

    def introduce(self, model: keras.Model, params: Dict[str, Any]) -> None:
        """Let callbacks know what they work with."""
        for callback in self._all:
            callback.set_params(params)
            callback.set_model(model)

    # State

    def states(self) -> List[Any]:
        """The state of each callback; None of those that have none."""
        return [callback.get_state() if isinstance(callback, Callback) else None for callback in self._all]

    def restore(self, states: List[Any]) -> None:
        """Remember states for when training begins: callbacks forget all they know at that moment."""
        self._restored = states

    # Moments of the training loop

    def on_trial_startup(self, first_batch_idx: int, checkpoint_uuid: Optional[str]) -> None:
        """Nothing."""

    def on_trial_shutdown(self) -> None:
        """Nothing."""

    def on_training_start(self) -> None:
        """Training begins, or goes on from a checkpoint."""
        self._call("on_train_begin", {})
        for callback, state in zip(self._all, self._restored or []):
            if isinstance(callback, Callback) and state is not None:
                callback.load_state(state)

    def on_training_workload_begin(self, total_batches_trained: int, batches_requested: int) -> None:
        """Batches are trained from here on."""
        self._call_ours("on_train_workload_begin", total_batches_trained, batches_requested, {})

    def on_training_epoch_start(self, epoch_idx: int) -> None:
        """The first batch of an epoch is next."""
        self._call("on_epoch_begin", epoch_idx, {})

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        """The last batch of an epoch is trained."""
        self._call("on_epoch_end", epoch_idx, {})

    def on_training_workload_end(self, avg_metrics: Dict[str, Any], batch_metrics: List[Dict[str, Any]]) -> None:
        """Training metrics are known."""
        self._call_ours("on_train_workload_end", avg_metrics["batches"], avg_metrics)

    def on_validation_end(self, metrics: Dict[str, Any]) -> None:
        """Validation metrics of all processes are known."""
        self._call("on_test_end", metrics)

    def on_checkpoint_written(self, checkpoint_dir: str) -> None:
        """A checkpoint's files are written."""
        self._call_ours("on_checkpoint_end", checkpoint_dir)

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        """Nothing."""

    def on_training_end(self) -> None:
        """Training is over, or stops for now."""
        self._call("on_train_end", {})

    # Moments of single batches; those of validation come from model.evaluate(), whose last word is only this process's

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """A batch is about to be trained."""
        self._call("on_train_batch_begin", batch, {} if logs is None else logs)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """A batch is trained."""
        self._call("on_train_batch_end", batch, {} if logs is None else logs)

    def on_test_begin(self, logs: Logs = None) -> None:
        """Validation begins."""
        self._call("on_test_begin", {} if logs is None else logs)

    def on_test_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """A batch of validation data is about to be looked at."""
        self._call("on_test_batch_begin", batch, {} if logs is None else logs)

    def on_test_batch_end(self, batch: int, logs: Logs = None) -> None:
        """A batch of validation data was looked at."""
        self._call("on_test_batch_end", batch, {} if logs is None else logs)
