"""Moments of training at which a trial can step in."""

from typing import Any, Dict, List, Optional


class PyTorchCallback:
    """Override what you need, and return an instance from ``PyTorchTrial.build_callbacks()``. All methods are optional.

    A callback with state of its own implements :meth:`state_dict` and :meth:`load_state_dict`; it then goes into
    checkpoints and comes back.

    Examples
    --------
    >>> class StopWhenGood(PyTorchCallback):
    ...     def __init__(self, context):
    ...         self.context = context
    ...     def on_validation_end(self, metrics):
    ...         if metrics["accuracy"] > 0.99:
    ...             self.context.set_stop_requested(True)
    """

    def on_trial_startup(self, first_batch_idx: int, checkpoint_uuid: Optional[str]) -> None:
        """Before anything else.

        Parameters
        ----------
        first_batch_idx : int
            Where training is about to begin; 0 for a trial that begins.
        checkpoint_uuid : str or None
            What it goes on from.
        """

    def on_trial_shutdown(self) -> None:
        """After everything else, whatever happened."""

    def on_training_start(self) -> None:
        """Data and checkpoint are loaded; the first batch is next."""

    def on_training_epoch_start(self, epoch_idx: int) -> None:
        """Before the first batch of epoch ``epoch_idx``, from 0."""

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        """After the last batch of epoch ``epoch_idx``."""

    def on_training_workload_end(self, avg_metrics: Dict[str, Any], batch_metrics: Dict[str, Any]) -> None:
        """Training metrics were reported.

        Parameters
        ----------
        avg_metrics : dict
            Their averages since the last time, over all processes.
        batch_metrics : list of dict
            Those of each batch, as numbers and NumPy arrays.
        """

    def on_validation_start(self) -> None:
        """Before validation."""

    def on_validation_epoch_start(self) -> None:
        """Before the first batch of validation, where ``evaluate_batch()`` is used."""

    def on_validation_epoch_end(self, outputs: List[Any]) -> None:
        """After the last batch of validation; ``outputs`` are what ``evaluate_batch()`` returned."""

    def on_validation_end(self, metrics: Dict[str, Any]) -> None:
        """Validation is over, ``metrics`` are about to be reported."""

    def on_checkpoint_load_start(self, checkpoint: Dict[str, Any]) -> None:
        """A checkpoint was read and is about to be applied; it may be changed in place."""

    def on_checkpoint_save_start(self, checkpoint: Dict[str, Any]) -> None:
        """A checkpoint is about to be written; more may be put in."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """Like :meth:`on_checkpoint_write_end`, its name of today."""

    def on_checkpoint_write_end(self, checkpoint_dir: str) -> None:
        """The checkpoint's files are written to the directory ``checkpoint_dir``; more may be put there."""

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        """The checkpoint is stored and reported; ``uuid`` is its id in the storage."""

    def state_dict(self) -> Dict[str, Any]:
        """What to put into checkpoints."""
        return {}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` returned when the checkpoint was saved."""
