"""What trials of any framework have at hand: hyperparameters, the state of training, TensorBoard's directory."""

import logging
import pathlib
from typing import Any, Dict, Optional

from determined import _info, core, errors
from determined.core import _tensorboard

logger = logging.getLogger("determined")


def split_batch_size(hparams: Dict[str, Any], slots: int) -> "tuple[int, int]":
    """Share ``global_batch_size`` out among slots.

    Returns
    -------
    (int, int)
        Batch size of each slot, and of all together (rounded down to a multiple).

    >>> split_batch_size({"global_batch_size": 9}, slots=2)
    (4, 8)
    """
    slots = max(slots, 1)
    size = hparams.get("global_batch_size")
    if not isinstance(size, int) or isinstance(size, bool):
        raise errors.InvalidExperimentException(
            f"the hyperparameter global_batch_size must be an integer, not {size!r}"
        )
    if size < slots:
        raise errors.InvalidExperimentException(
            f"global_batch_size={size} is less than one record for each of {slots} slots"
        )
    if size % slots:
        logger.warning("global_batch_size %d becomes %d, to be divisible by %d slots", size, size - size % slots, slots)
    return size // slots, size - size % slots


class TrialContext:
    """What every trial gets; frameworks derive their own, such as :class:`determined.pytorch.PyTorchTrialContext`.

    Attributes
    ----------
    distributed : core.DistributedContext
    profiler : object or None
        A context manager to train within, with a method ``step()`` for each batch.
    """

    def __init__(
        self,
        core_context: core.Context,
        trial_seed: Optional[int],
        hparams: Optional[Dict[str, Any]],
        slots_per_trial: int,
        exp_conf: Optional[Dict[str, Any]],
        steps_completed: int,
        enable_tensorboard_logging: bool,
    ) -> None:
        self._core = core_context
        self.distributed = core_context.distributed
        self._trial_seed = trial_seed
        self._hparams = hparams
        self._slots_per_trial = slots_per_trial
        self._exp_conf = exp_conf
        self._steps_completed = steps_completed
        self._enable_tensorboard_logging = enable_tensorboard_logging
        self._tensorboard_writer: Any = None
        self.profiler: Any = None
        # Set by the training loop.
        self._epoch_len: Optional[int] = None
        self._current_batch_idx: Optional[int] = None
        self._stop_requested = False
        # Whether training metrics are those of all processes, or each has its own.
        self._average_training_metrics = True

    def _apply_optimizations(self, optimizations: Dict[str, Any]) -> None:
        """Take over what the section ``optimizations`` of the experiment configuration says of this kind of trial."""

    def current_train_batch(self) -> int:
        """Index of the batch in training, from 0 at the trial's beginning."""
        if self._current_batch_idx is None:
            raise RuntimeError("training has not begun")
        return self._current_batch_idx

    def _position(self) -> "tuple[int, int, int]":
        """(epoch, batch within it, batches in an epoch), the first two counted from 0."""
        batch = self.current_train_batch()
        assert self._epoch_len is not None
        return (*divmod(batch, self._epoch_len), self._epoch_len)

    def current_train_epoch(self) -> int:
        """Index of the epoch in training, from 0 at the trial's beginning."""
        return self._position()[0]

    def is_epoch_start(self) -> bool:
        """Whether the batch in training is the first of its epoch."""
        return self._position()[1] == 0

    def is_epoch_end(self) -> bool:
        """Whether the batch in training is the last of its epoch."""
        _, batch, length = self._position()
        return batch == length - 1

    def set_stop_requested(self, stop_requested: bool) -> None:
        """Ask the training loop to stop after this batch, with a checkpoint."""
        if not isinstance(stop_requested, bool):
            raise TypeError(f"stop_requested must be a bool, not {type(stop_requested).__name__}")
        self._stop_requested = stop_requested

    def get_stop_requested(self) -> bool:
        """Whether the training loop was asked to stop."""
        return self._stop_requested

    # Who we are

    def get_hparams(self) -> Dict[str, Any]:
        """All hyperparameters.

        Raises
        ------
        ValueError
            If none were given: pass ``hparams`` to ``pytorch.init()``.
        """
        if self._hparams is None:
            raise ValueError("there are no hyperparameters: pass hparams to pytorch.init()")
        return self._hparams

    def get_hparam(self, name: str) -> Any:
        """One hyperparameter.

        Raises
        ------
        ValueError
            If there is none of that name.
        """
        hparams = self.get_hparams()
        if name not in hparams:
            raise ValueError(f"there is no hyperparameter {name!r}, only {', '.join(sorted(hparams)) or 'none'}")
        return hparams[name]

    def get_experiment_config(self) -> Dict[str, Any]:
        """The experiment configuration.

        Raises
        ------
        ValueError
            If there is none: pass ``exp_conf`` to ``pytorch.init()``.
        """
        if self._exp_conf is None:
            raise ValueError("there is no experiment configuration: pass exp_conf to pytorch.init()")
        return self._exp_conf

    def get_data_config(self) -> Dict[str, Any]:
        """The field ``data`` of the experiment configuration."""
        return self.get_experiment_config().get("data") or {}

    def get_per_slot_batch_size(self) -> int:
        """Records in a batch of this process: ``global_batch_size`` divided by the number of slots."""
        return split_batch_size(self.get_hparams(), self._slots_per_trial)[0]

    def get_global_batch_size(self) -> int:
        """Records in a batch of all processes together."""
        return split_batch_size(self.get_hparams(), self._slots_per_trial)[1]

    def _info(self) -> _info.TrialInfo:
        if self._core.info is None:
            raise ValueError("off the cluster there is no experiment and no trial")
        return self._core.info.trial

    def get_experiment_id(self) -> int:
        """Number of the experiment."""
        return self._info().experiment_id

    def get_trial_id(self) -> int:
        """Number of the trial."""
        return self._info().trial_id

    def get_trial_seed(self) -> int:
        """Seed for everything random in this trial."""
        if self._trial_seed is None:
            raise ValueError("off the cluster there is no trial seed")
        return self._trial_seed

    def get_initial_batch(self) -> int:
        """Index of the batch that training began or resumes with."""
        return self._steps_completed

    # TensorBoard

    def get_tensorboard_path(self) -> pathlib.Path:
        """Directory to write TensorBoard's event files to; they go to checkpoint storage."""
        return self._core.train.get_tensorboard_path()

    def get_tensorboard_writer(self) -> Any:
        """What writes TensorBoard's files to that directory: an object with ``add_scalar(name, value, step)``."""
        raise NotImplementedError

    def set_enable_tensorboard_logging(self, enable_tensorboard_logging: bool) -> None:
        """Say whether TensorBoard's files are to be uploaded while training."""
        if not isinstance(enable_tensorboard_logging, bool):
            raise TypeError(f"must be a bool, not {type(enable_tensorboard_logging).__name__}")
        self._enable_tensorboard_logging = enable_tensorboard_logging

    def get_enable_tensorboard_logging(self) -> bool:
        """Whether TensorBoard's files are uploaded while training."""
        return self._enable_tensorboard_logging

    def upload_tensorboard(self) -> None:
        """Bring what was written for TensorBoard so far to checkpoint storage, if wanted."""
        if self._enable_tensorboard_logging and self._tensorboard_writer is not None:
            self._tensorboard_writer.flush()
        if self._enable_tensorboard_logging and self._core.info is not None:
            self._core.train.upload_tensorboard_files(mangler=_tensorboard.with_rank)


# What the training loops and trainers of this library ask of a context, and a trial does not.


def core_of(context: TrialContext) -> core.Context:
    """The Core API that the context was made with."""
    return context._core


def given_hparams(context: TrialContext) -> Dict[str, Any]:
    """The hyperparameters; none, where :meth:`TrialContext.get_hparams` raises an error."""
    return context._hparams or {}


def given_config(context: TrialContext) -> Dict[str, Any]:
    """The experiment configuration; an empty one, where :meth:`TrialContext.get_experiment_config` raises an error."""
    return context._exp_conf or {}


def given_seed(context: TrialContext) -> int:
    """The trial's seed; 0, where :meth:`TrialContext.get_trial_seed` raises an error."""
    return context._trial_seed or 0


def set_epoch_length(context: TrialContext, batches: int) -> None:
    """Tell the context how many batches an epoch has."""
    context._epoch_len = batches


def begin_batch(context: TrialContext, batch_idx: int) -> None:
    """Tell the context which batch is trained from now on, counted from 0 at the trial's beginning."""
    context._current_batch_idx = batch_idx


def apply_optimizations(context: TrialContext, optimizations: Dict[str, Any]) -> None:
    """Have the context take over the section ``optimizations`` of the experiment configuration."""
    context._apply_optimizations(optimizations)


def averages_training_metrics(context: TrialContext) -> bool:
    """Whether training metrics are averaged over all processes, rather than the chief's."""
    return context.distributed.size > 1 and context._average_training_metrics
