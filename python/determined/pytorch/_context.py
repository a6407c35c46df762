"""What a trial has at hand: wrapping models and optimizers, the device, hyperparameters, the state of training."""

import logging
import pathlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Type, Union

import numpy as np
import torch

from determined import core, errors
from determined.core import _tensorboard
from determined.pytorch import _backend
from determined.pytorch._data import TorchData, to_device
from determined.pytorch._experimental import PyTorchExperimentalContext
from determined.pytorch._lr_scheduler import LRScheduler
from determined.pytorch._reducer import ReducerContext

logger = logging.getLogger("determined.pytorch")


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


def _device(num_gpus: int, local_rank: int) -> torch.device:
    if num_gpus > 0 and torch.cuda.is_available():
        device = torch.device("cuda", local_rank)
        torch.cuda.set_device(device)
        return device
    return torch.device("cpu")


def _parameters(optimizer: torch.optim.Optimizer) -> List[torch.nn.Parameter]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _to_float(output: Any) -> Any:
    """Losses want full precision, wherever in the output half of it hides."""
    if isinstance(output, torch.Tensor):
        return output.float() if output.dtype in (torch.float16, torch.bfloat16) else output
    if isinstance(output, dict):
        return {name: _to_float(item) for name, item in output.items()}
    if isinstance(output, tuple) and hasattr(output, "_fields"):
        return type(output)(*(_to_float(item) for item in output))
    if isinstance(output, (list, tuple)):
        return type(output)(_to_float(item) for item in output)
    return output


class PyTorchTrialContext(ReducerContext):
    """What a :class:`PyTorchTrial` gets. Made by :func:`determined.pytorch.init`.

    Attributes
    ----------
    device : torch.device
        Where models and batches are.
    models, optimizers, lr_schedulers : list
        Everything wrapped so far.
    distributed : core.DistributedContext
    experimental : PyTorchExperimentalContext
    """

    def __init__(
        self,
        core_context: core.Context,
        trial_seed: Optional[int],
        hparams: Optional[Dict],
        slots_per_trial: int,
        num_gpus: int,
        exp_conf: Optional[Dict[str, Any]],
        aggregation_frequency: int,
        steps_completed: int,
        managed_training: bool,
        debug_enabled: bool,
        enable_tensorboard_logging: bool = True,
    ) -> None:
        if aggregation_frequency < 1:
            raise ValueError(f"aggregation_frequency={aggregation_frequency}: must be at least 1")
        self._core = core_context
        self.distributed = core_context.distributed
        super().__init__(self.distributed.allgather)
        self._trial_seed = trial_seed
        self._hparams = hparams
        self._slots_per_trial = slots_per_trial
        self._exp_conf = exp_conf
        self._aggregation_frequency = aggregation_frequency
        self._average_aggregated_gradients = True
        self._averages_of: Dict[torch.optim.Optimizer, bool] = {}
        self._gradient_dtype: Optional[torch.dtype] = None
        self._compressed: Set[torch.nn.Module] = set()
        self._steps_completed = steps_completed
        self._managed_training = managed_training
        self._debug_enabled = debug_enabled
        self._enable_tensorboard_logging = enable_tensorboard_logging
        self._tensorboard_writer: Any = None

        self.device = _device(num_gpus, self.distributed.local_rank)
        self.models: List[torch.nn.Module] = []
        self.optimizers: List[torch.optim.Optimizer] = []
        self.lr_schedulers: List[LRScheduler] = []
        self.profiler: Any = None
        self.experimental = PyTorchExperimentalContext(self)
        self._scaler: Any = None
        self._warned_types: Set[Type] = set()

        # Set by the training loop.
        self._epoch_len: Optional[int] = None
        self._current_batch_idx: Optional[int] = None
        self._stop_requested = False

    # What to train

    def wrap_model(self, model: torch.nn.Module) -> torch.nn.Module:
        """Register a model: it moves to the device, and into checkpoints; of several processes, gradients are averaged.

        A model that FSDP has sharded is left as it is.

        Returns
        -------
        torch.nn.Module
            The one to use from now on. With several processes it is a ``DistributedDataParallel`` that has all
            attributes of the model.
        """
        if not _backend.is_sharded(model):
            model = model.to(self.device)
        if self._managed_training and self.distributed.size > 1:
            model = _backend.wrap(model, self.device)
        if self.experimental._auto_amp:
            model = self.autocast_forward_pass(model)
        self.models.append(model)
        return model

    def wrap_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        backward_passes_per_step: int = 1,
        fp16_compression: Optional[bool] = None,
        average_aggregated_gradients: Optional[bool] = None,
    ) -> torch.optim.Optimizer:
        """Register an optimizer: it goes into checkpoints.

        Parameters
        ----------
        optimizer : torch.optim.Optimizer
            Of parameters of wrapped models.
        backward_passes_per_step : int
            Calls of :meth:`backward` for each of :meth:`step_optimizer`; their gradients add up.
        fp16_compression : bool, optional
            Whether gradients travel between processes as float16; else ``optimizations.gradient_compression`` decides.
        average_aggregated_gradients : bool, optional
            Whether gradients added up over ``aggregation_frequency`` batches are divided by their number.

        Returns
        -------
        torch.optim.Optimizer
            The one to use from now on.
        """
        if backward_passes_per_step < 1:
            raise errors.InvalidExperimentException(
                f"wrap_optimizer(backward_passes_per_step={backward_passes_per_step}): must be at least 1"
            )
        if average_aggregated_gradients is not None:
            self._averages_of[optimizer] = average_aggregated_gradients
        self._compress(optimizer, fp16_compression)
        self.optimizers.append(optimizer)
        return optimizer

    def _compress(self, optimizer: torch.optim.Optimizer, fp16: Optional[bool]) -> None:
        """Compress the gradients of the models that the optimizer changes, once each."""
        dtype = self._gradient_dtype if fp16 is None else (torch.float16 if fp16 else None)
        if dtype is None:
            return
        mine = set(_parameters(optimizer))
        models = [m for m in self.models if any(p in mine for p in m.parameters()) and m not in self._compressed]
        _backend.compress(models, dtype)
        self._compressed.update(models)

    def wrap_lr_scheduler(
        self,
        lr_scheduler: torch.optim.lr_scheduler._LRScheduler,
        step_mode: LRScheduler.StepMode,
        frequency: int = 1,
    ) -> torch.optim.lr_scheduler._LRScheduler:
        """Register a learning rate scheduler: it goes into checkpoints, and is stepped as ``step_mode`` says.

        Parameters
        ----------
        lr_scheduler : torch.optim.lr_scheduler.LRScheduler
            Of a wrapped optimizer.
        step_mode : LRScheduler.StepMode
        frequency : int
            Step only every so many batches, optimizer steps or epochs.
        """
        if isinstance(lr_scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            if step_mode != LRScheduler.StepMode.MANUAL_STEP:
                raise ValueError("ReduceLROnPlateau needs a metric at each step: use StepMode.MANUAL_STEP")
        if lr_scheduler.optimizer not in self.optimizers:
            raise ValueError("wrap_lr_scheduler() needs a scheduler of an optimizer that wrap_optimizer() returned")
        self.lr_schedulers.append(LRScheduler(lr_scheduler, step_mode, frequency))
        return lr_scheduler

    def wrap_scaler(self, scaler: Any) -> Any:
        """Register a ``torch.amp.GradScaler``: it scales losses in :meth:`backward`, and goes into checkpoints.

        Call its ``update()`` after each batch, unless ``experimental.use_amp()`` does everything.
        """
        self._scaler = scaler
        return scaler

    def autocast_forward_pass(self, to_wrap: torch.nn.Module) -> torch.nn.Module:
        """Let a model compute its forward passes in mixed precision; what it returns is float32 again."""
        to_wrap.forward = torch.autocast(self.device.type)(to_wrap.forward)
        to_wrap.register_forward_hook(lambda _, __, output: _to_float(output))
        return to_wrap

    def configure_apex_amp(self, models: Any, optimizers: Any, *args: Any, **kwargs: Any) -> Any:
        """NVIDIA's Apex is no longer maintained, and not supported.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("Apex is not supported: use context.wrap_scaler() or context.experimental.use_amp()")

    # Within train_batch()

    def to_device(self, data: Union[Dict[str, Any], Sequence[Any], np.ndarray, torch.Tensor]) -> TorchData:
        """Copy a batch to the device; see :func:`determined.pytorch.to_device`."""
        return to_device(data, self.device, self._warned_types)

    def backward(
        self,
        loss: torch.Tensor,
        gradient: Optional[torch.Tensor] = None,
        retain_graph: bool = False,
        create_graph: bool = False,
    ) -> None:
        """Compute gradients, as ``loss.backward()`` does; the loss is scaled first if there is a scaler."""
        if self._scaler is not None and self.experimental._auto_amp:
            loss = self._scaler.scale(loss)
        loss.backward(gradient=gradient, retain_graph=retain_graph, create_graph=create_graph)

    def step_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        clip_grads: Optional[Callable[[Iterator], None]] = None,
        auto_zero_grads: bool = True,
        scaler: Optional[Any] = None,
    ) -> None:
        """Let an optimizer step, once every ``aggregation_frequency`` batches.

        Parameters
        ----------
        optimizer : torch.optim.Optimizer
        clip_grads : callable, optional
            Gets an iterator of the parameters, just before the step.
        auto_zero_grads : bool
            Whether gradients are zeroed after the step.
        scaler : torch.amp.GradScaler, optional
            One that scaled the loss, other than that of ``experimental.use_amp()``.

        Examples
        --------
        >>> context.step_optimizer(  # doctest: +SKIP
        ...     optimizer, clip_grads=lambda params: torch.nn.utils.clip_grad_norm_(params, 1.0)
        ... )
        """
        if self._aggregation_frequency > 1 and not auto_zero_grads:
            raise errors.InvalidExperimentException(
                f"aggregation_frequency={self._aggregation_frequency} needs step_optimizer(auto_zero_grads=True)"
            )
        if not self._optimizer_steps_now():
            return
        if self.experimental._auto_amp:
            scaler = scaler or self._scaler
        parameters = _parameters(optimizer)
        averages = self._averages_of.get(optimizer, self._average_aggregated_gradients)
        if self._aggregation_frequency > 1 and averages:
            for parameter in parameters:
                if parameter.grad is not None:
                    parameter.grad.div_(self._aggregation_frequency)
        if clip_grads is not None:
            # Whoever brings a scaler of his own has it unscale in clip_grads, if he wants; twice would be an error.
            if self.experimental._auto_amp and scaler is not None:
                scaler.unscale_(optimizer)
            clip_grads(iter(parameters))
        if scaler is not None:
            scaler.step(optimizer)
        else:
            optimizer.step()
        if auto_zero_grads:
            optimizer.zero_grad()

    def _optimizer_steps_now(self) -> bool:
        return (self.current_train_batch() + 1) % self._aggregation_frequency == 0

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

    def _info(self) -> Any:
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

    # TensorBoard and PyTorch's own profiler

    def get_tensorboard_path(self) -> pathlib.Path:
        """Directory to write TensorBoard's event files to; they go to checkpoint storage."""
        return self._core.train.get_tensorboard_path()

    def get_tensorboard_writer(self) -> Any:
        """A ``torch.utils.tensorboard.SummaryWriter`` for that directory. Needs the package ``tensorboard``."""
        if self._tensorboard_writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self._tensorboard_writer = SummaryWriter(log_dir=str(self.get_tensorboard_path()))
        return self._tensorboard_writer

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

    def set_profiler(self, *args: List[str], **kwargs: Any) -> None:
        """Run ``torch.profiler.profile(*args, **kwargs)`` around training; traces go to TensorBoard's directory."""
        kwargs.setdefault("on_trace_ready", torch.profiler.tensorboard_trace_handler(str(self.get_tensorboard_path())))
        self.profiler = torch.profiler.profile(*args, **kwargs)
