"""What a trial has at hand: wrapping models and optimizers, the device, hyperparameters, the state of training."""

import logging
from typing import Any, Callable, Dict, Iterator, List, Optional, Set

import torch

from determined import core, errors
from determined.pytorch import _backend, _horovod
from determined.pytorch._experimental import (
    PyTorchExperimentalContext,
    checks_reproducibility,
    gradient_dtype_of,
    moves_batches_to_device,
    uses_amp,
)
from determined.pytorch._lr_scheduler import LRScheduler
from determined.pytorch._trial_context import TorchTrialContext

logger = logging.getLogger("determined.pytorch")


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


class PyTorchTrialContext(TorchTrialContext):
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
        hparams: Optional[Dict[str, Any]],
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
        super().__init__(
            core_context,
            trial_seed,
            hparams,
            slots_per_trial,
            _device(num_gpus, core_context.distributed.local_rank),
            exp_conf,
            steps_completed,
            enable_tensorboard_logging,
        )
        self._aggregation_frequency = aggregation_frequency
        self._average_aggregated_gradients = True
        self._averages_of: Dict[torch.optim.Optimizer, bool] = {}
        self._compressed: Set[torch.nn.Module] = set()
        self._horovod: Any = _horovod.in_use(self.distributed)
        self._managed_training = managed_training
        self._debug_enabled = debug_enabled
        self.optimizers: List[torch.optim.Optimizer] = []
        self.lr_schedulers: List[LRScheduler] = []
        self.experimental = PyTorchExperimentalContext(self)
        self._scaler: Any = None

    def _apply_optimizations(self, optimizations: Dict[str, Any]) -> None:
        self._average_aggregated_gradients = bool(optimizations.get("average_aggregated_gradients", True))
        self._average_training_metrics = bool(optimizations.get("average_training_metrics", True))
        if optimizations.get("gradient_compression"):
            self.experimental.compress_gradients()

    @property
    def _reproducibility_checked(self) -> bool:
        return checks_reproducibility(self.experimental)

    @property
    def _moves_batches(self) -> bool:
        return moves_batches_to_device(self.experimental)

    # What to train

    def wrap_model(self, model: torch.nn.Module) -> torch.nn.Module:
        """Register a model: it moves to the device, and into checkpoints; of several processes, gradients are averaged.

        A model that FSDP has sharded is left as it is.

        Returns
        -------
        torch.nn.Module
            The one to use from now on. With several processes it is a ``DistributedDataParallel`` that has all
            attributes of the model; under Horovod, whose optimizers exchange gradients, it is the model itself.

        Raises
        ------
        errors.InvalidExperimentException
            If the model is one of FSDP, and the processes are Horovod's.
        """
        if not _backend.is_sharded(model):
            model = model.to(self.device)
        elif self._horovod is not None:
            raise errors.InvalidExperimentException(
                "FSDP needs torch.distributed: start the trial with determined.launch.torch_distributed, not Horovod"
            )
        if self._horovod is not None:
            _horovod.take_chiefs_weights(self._horovod, model)
        elif self._managed_training and self.distributed.size > 1:
            model = _backend.wrap(model, self.device)
        if uses_amp(self.experimental):
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
            The one to use from now on: under Horovod it is another one.

        Raises
        ------
        errors.InvalidExperimentException
            If ``backward_passes_per_step`` is less than 1, or gradients cannot travel as asked.
        """
        if backward_passes_per_step < 1:
            raise errors.InvalidExperimentException(
                f"wrap_optimizer(backward_passes_per_step={backward_passes_per_step}): must be at least 1"
            )
        dtype = (
            gradient_dtype_of(self.experimental)
            if fp16_compression is None
            else (torch.float16 if fp16_compression else None)
        )
        if self._horovod is not None:
            passes = backward_passes_per_step * self._aggregation_frequency
            optimizer = _horovod.wrap_optimizer(
                self._horovod, optimizer, self.models, index=len(self.optimizers), passes=passes, dtype=dtype
            )
        elif dtype is not None:
            self._compress(optimizer, dtype)
        if average_aggregated_gradients is not None:
            self._averages_of[optimizer] = average_aggregated_gradients
        self.optimizers.append(optimizer)
        return optimizer

    def _compress(self, optimizer: torch.optim.Optimizer, dtype: torch.dtype) -> None:
        """Compress the gradients of the models that the optimizer changes, once each."""
        mine = set(_parameters(optimizer))
        models = [m for m in self.models if any(p in mine for p in m.parameters()) and m not in self._compressed]
        _backend.compress(models, dtype)
        self._compressed.update(models)

    def wrap_lr_scheduler(
        self,
        lr_scheduler: torch.optim.lr_scheduler.LRScheduler,
        step_mode: LRScheduler.StepMode,
        frequency: int = 1,
    ) -> torch.optim.lr_scheduler.LRScheduler:
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

    def backward(
        self,
        loss: torch.Tensor,
        gradient: Optional[torch.Tensor] = None,
        retain_graph: bool = False,
        create_graph: bool = False,
    ) -> None:
        """Compute gradients, as ``loss.backward()`` does; the loss is scaled first if there is a scaler."""
        if self._scaler is not None and uses_amp(self.experimental):
            loss = self._scaler.scale(loss)
        loss.backward(gradient=gradient, retain_graph=retain_graph, create_graph=create_graph)

    def step_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        clip_grads: Optional[Callable[[Iterator[Any]], None]] = None,
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
        if uses_amp(self.experimental):
            scaler = scaler or self._scaler
        _horovod.wait_for_gradients(optimizer)
        parameters = _parameters(optimizer)
        averages = self._averages_of.get(optimizer, self._average_aggregated_gradients)
        if self._aggregation_frequency > 1 and averages:
            for parameter in parameters:
                if parameter.grad is not None:
                    parameter.grad.div_(self._aggregation_frequency)
        if clip_grads is not None:
            # Whoever brings a scaler of his own has it unscale in clip_grads, if he wants; twice would be an error.
            if uses_amp(self.experimental) and scaler is not None:
                scaler.unscale_(optimizer)
            clip_grads(iter(parameters))
        with _horovod.stepping(optimizer):
            if scaler is not None:
                scaler.step(optimizer)
            else:
                optimizer.step()
        if auto_zero_grads:
            optimizer.zero_grad()

    def _optimizer_steps_now(self) -> bool:
        return (self.current_train_batch() + 1) % self._aggregation_frequency == 0


def scaler_of(context: PyTorchTrialContext) -> Any:
    """The gradient scaler that was wrapped; None if there is none."""
    return context._scaler


def scaler_to_update(context: PyTorchTrialContext) -> Any:
    """The gradient scaler if the training loop, rather than the trial, has to update it; else None."""
    return context._scaler if uses_amp(context.experimental) else None


def aggregation_frequency_of(context: PyTorchTrialContext) -> int:
    """The batches whose gradients add up before an optimizer steps."""
    return context._aggregation_frequency


def optimizers_step_now(context: PyTorchTrialContext) -> bool:
    """Whether optimizers step at the end of the batch in training."""
    return context._optimizer_steps_now()
