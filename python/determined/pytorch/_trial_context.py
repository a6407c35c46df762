"""What trials have at hand that train with PyTorch: the device, reducers, TensorBoard, PyTorch's own profiler."""

from typing import Any, Dict, List, Optional, Sequence, Set, Type, Union

import numpy as np
import torch

from determined import _trial_context, core
from determined.pytorch._data import TorchData, to_device
from determined.pytorch._reducer import ReducerContext


class TorchTrialContext(_trial_context.TrialContext, ReducerContext):
    """What every trial gets that trains with PyTorch, whatever wraps its models.

    Attributes
    ----------
    device : torch.device
        Where models and batches are.
    models : list
        Everything wrapped so far.
    distributed : core.DistributedContext
    """

    def __init__(
        self,
        core_context: core.Context,
        trial_seed: Optional[int],
        hparams: Optional[Dict[str, Any]],
        slots_per_trial: int,
        device: torch.device,
        exp_conf: Optional[Dict[str, Any]],
        steps_completed: int,
        enable_tensorboard_logging: bool,
    ) -> None:
        _trial_context.TrialContext.__init__(
            self,
            core_context,
            trial_seed,
            hparams,
            slots_per_trial,
            exp_conf,
            steps_completed,
            enable_tensorboard_logging,
        )
        ReducerContext.__init__(self, self.distributed.allgather)
        self._warned_types: Set[Type[Any]] = set()
        self.device = device
        self.models: List[Any] = []

    @property
    def _reproducibility_checked(self) -> bool:
        """Whether only loaders will do that can go on in the middle."""
        raise NotImplementedError

    @property
    def _moves_batches(self) -> bool:
        """Whether the loop copies batches to the device, rather than the trial."""
        return False

    def to_device(self, data: Union[Dict[str, Any], Sequence[Any], np.ndarray, torch.Tensor]) -> TorchData:
        """Copy a batch to the device; see :func:`determined.pytorch.to_device`."""
        return to_device(data, self.device, self._warned_types)

    def get_tensorboard_writer(self) -> Any:
        """A ``torch.utils.tensorboard.SummaryWriter`` for that directory. Needs the package ``tensorboard``."""
        if self._tensorboard_writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self._tensorboard_writer = SummaryWriter(log_dir=str(self.get_tensorboard_path()))
        return self._tensorboard_writer

    def set_profiler(self, *args: List[str], **kwargs: Any) -> None:
        """Run ``torch.profiler.profile(*args, **kwargs)`` around training; traces go to TensorBoard's directory."""
        kwargs.setdefault("on_trace_ready", torch.profiler.tensorboard_trace_handler(str(self.get_tensorboard_path())))
        self.profiler = torch.profiler.profile(*args, **kwargs)


def checks_reproducibility(context: TorchTrialContext) -> bool:
    """Whether only data loaders are accepted that can go on in the middle of an epoch."""
    return context._reproducibility_checked


def moves_batches(context: TorchTrialContext) -> bool:
    """Whether the training loop, rather than the trial, copies batches to the device."""
    return context._moves_batches
