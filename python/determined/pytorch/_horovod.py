"""Training in several processes that ``horovodrun`` has started: gradients are exchanged by Horovod's optimizer.

Models stay as they are; every optimizer becomes one that averages gradients over all processes, as soon as a backward
pass has computed the last that a step needs. This module never imports Horovod where it is not in use.
"""

import contextlib
import sys
from typing import Any, ContextManager, Dict, List, Optional

import torch

from determined import core, errors


def initialized() -> Any:
    """Horovod's module for PyTorch, in a process that ``horovodrun`` has started.

    Raises
    ------
    errors.InvalidExperimentException
        If it was not built for PyTorch.
    """
    try:
        import horovod.torch as hvd
    except ImportError as e:
        raise errors.InvalidExperimentException(
            f"the launcher is Horovod's, but horovod.torch does not load: {e}"
        ) from e
    hvd.init()
    return hvd


def in_use(distributed: core.DistributedContext) -> Optional[Any]:
    """The module, if it is what connects the processes of this trial."""
    hvd = sys.modules.get("horovod.torch")
    if hvd is None or distributed.size == 1 or torch.distributed.is_initialized() or not hvd.is_initialized():
        return None
    return hvd


def take_chiefs_weights(hvd: Any, model: torch.nn.Module) -> None:
    """Let all processes begin with the weights of rank 0."""
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)


def _names(optimizer: torch.optim.Optimizer, models: List[torch.nn.Module]) -> Dict[torch.nn.Parameter, str]:
    known = {p: f"{i}.{name}" for i, model in enumerate(models) for name, p in model.named_parameters()}
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    return {p: known.get(p, f"unwrapped.{i}") for i, p in enumerate(parameters)}


def wrap_optimizer(
    hvd: Any,
    optimizer: torch.optim.Optimizer,
    models: List[torch.nn.Module],
    *,
    index: int,
    passes: int,
    dtype: Optional[torch.dtype],
) -> torch.optim.Optimizer:
    """An optimizer that exchanges gradients.

    Parameters
    ----------
    hvd : module
    optimizer : torch.optim.Optimizer
    models : list of torch.nn.Module
        Where its parameters have their names from.
    index : int
        Which of the trial's optimizers it is: names must not come twice.
    passes : int
        Backward passes whose gradients add up before they are exchanged.
    dtype : torch.dtype, optional
        What gradients travel as: ``torch.float16``; None leaves them as they are.

    Raises
    ------
    errors.InvalidExperimentException
        If Horovod cannot exchange gradients of that type.
    """
    if dtype not in (None, torch.float16):
        raise errors.InvalidExperimentException(f"with Horovod gradients cannot travel as {dtype}: use torch.float16")
    wrapped: torch.optim.Optimizer = hvd.DistributedOptimizer(
        optimizer,
        named_parameters=[(f"{index}.{name}", p) for p, name in _names(optimizer, models).items()],
        compression=hvd.Compression.none if dtype is None else hvd.Compression.fp16,
        backward_passes_per_step=passes,
    )
    return wrapped


def exchanges(optimizer: torch.optim.Optimizer) -> bool:
    """Whether the optimizer is one of :func:`wrap_optimizer`."""
    return hasattr(optimizer, "skip_synchronize")


def wait_for_gradients(optimizer: Any) -> None:
    """Afterwards the gradients of all parameters are the average of all processes."""
    if exchanges(optimizer):
        optimizer.synchronize()


def stepping(optimizer: Any) -> ContextManager[None]:
    """Within, a step exchanges nothing: that is done already."""
    return optimizer.skip_synchronize() if exchanges(optimizer) else contextlib.nullcontext()
