"""Callbacks of a :class:`TFKerasTrial`: moments that Keras does not know, and state that comes back after a pause.

Any callback of Keras works in a trial. Those that wait for a validation in ``on_epoch_end`` do not get it there, as the
platform validates when ``min_validation_period`` says: use the ones of this module, which wait for ``on_test_end``.
"""

import logging
from typing import Any, Dict, Optional

import keras

from determined import tensorboard

logger = logging.getLogger("determined.keras")

Logs = Optional[Dict[str, Any]]


class Callback(keras.callbacks.Callback):
    """A callback of Keras with moments of the platform's, and with state in checkpoints. All methods are optional.

    ``on_epoch_end`` gets no logs; ``on_test_end`` gets the metrics of a validation, with ``val_`` before their names.
    """

    def on_train_workload_begin(
        self, total_batches_trained: int, batches_requested: Optional[int], logs: Dict[str, Any]
    ) -> None:
        """Training goes on.

        Parameters
        ----------
        total_batches_trained : int
            Batches trained so far.
        batches_requested : int
            Batches to come before something else is done, if nothing interrupts.
        logs : dict
            Empty.
        """

    def on_train_workload_end(self, total_batches_trained: int, logs: Dict[str, Any]) -> None:
        """Training metrics of a workload are about to be reported.

        Parameters
        ----------
        total_batches_trained : int
        logs : dict
            The metrics.
        """

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """A checkpoint is written; more files may be put into its directory, and are stored with it."""

    def get_state(self) -> Any:
        """What to put into checkpoints: anything that can be pickled."""
        return None

    def load_state(self, state: Any) -> None:
        """Take over what :meth:`get_state` returned when the checkpoint was saved; after ``on_train_begin``."""


class _AfterValidations(Callback):
    """Lets a callback of Keras that decides when an epoch ends do so when a validation ends."""

    _kept: "tuple[str, ...]" = ()
    _decide: Any = None
    test_end_count = 0

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Nothing: an epoch brings no validation."""

    def on_test_end(self, logs: Logs = None) -> None:
        """Decide."""
        type(self)._decide(self, self.test_end_count, dict(logs or {}))
        self.test_end_count += 1

    def get_state(self) -> Any:
        """Everything that was learnt from validations so far."""
        return {name: getattr(self, name) for name in ("test_end_count", *self._kept)}

    def load_state(self, state: Any) -> None:
        """Go on where :meth:`get_state` was called."""
        for name, value in state.items():
            setattr(self, name, value)


class EarlyStopping(_AfterValidations, keras.callbacks.EarlyStopping):
    """``keras.callbacks.EarlyStopping`` that looks at each validation, and whose count survives a pause.

    Its ``patience`` counts validations, which ``min_validation_period`` makes as frequent as they are.
    """

    _kept = ("wait", "stopped_epoch", "best", "best_epoch", "best_weights")
    _decide = keras.callbacks.EarlyStopping.on_epoch_end


class ReduceLROnPlateau(_AfterValidations, keras.callbacks.ReduceLROnPlateau):
    """``keras.callbacks.ReduceLROnPlateau`` that looks at each validation, and whose count survives a pause.

    Its ``patience`` and ``cooldown`` count validations.
    """

    _kept = ("wait", "cooldown_counter", "best")
    _decide = keras.callbacks.ReduceLROnPlateau.on_epoch_end


class TensorBoard(Callback, keras.callbacks.TensorBoard):
    """``keras.callbacks.TensorBoard``, writing where the platform collects the files of a trial, after each workload.

    Parameters
    ----------
    *args, **kwargs
        As for ``keras.callbacks.TensorBoard``; ``log_dir`` is ignored, with a warning. Needs TensorFlow.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = args[0] if args else kwargs.pop("log_dir", None)
        path = tensorboard.get_base_path({})
        if given is not None:
            logger.warning("log_dir=%s is ignored: the platform collects files in %s", given, path)
        self.workload_end_count = 0
        keras.callbacks.TensorBoard.__init__(self, str(path), *args[1:], **kwargs)

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Nothing: workloads count here."""

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Nothing: workloads count here."""

    def on_train_workload_begin(
        self, total_batches_trained: int, batches_requested: Optional[int], logs: Dict[str, Any]
    ) -> None:
        """As an epoch begins."""
        keras.callbacks.TensorBoard.on_epoch_begin(self, self.workload_end_count, logs)

    def on_train_workload_end(self, total_batches_trained: int, logs: Dict[str, Any]) -> None:
        """As an epoch ends."""
        keras.callbacks.TensorBoard.on_epoch_end(self, self.workload_end_count, logs)
        self.workload_end_count += 1

    def get_state(self) -> Any:
        """How many workloads there were."""
        return {"workload_end_count": self.workload_end_count}

    def load_state(self, state: Any) -> None:
        """Go on counting."""
        self.workload_end_count = state["workload_end_count"]
