"""What goes into a checkpoint of a trial, and back: ``state_dict.pth``, which holds models, optimizers, schedulers,
scaler, callbacks and random numbers, beside what every trial has there (``_description.py``).

Names and contents are those of the published library, so either can read the other's.
"""

import logging
import pathlib
import random
from typing import Any, Dict, List

import numpy as np
import torch

from determined import errors
from determined._training import _description
from determined._training._description import TrialState
from determined.pytorch import _backend
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext, scaler_of
from determined.pytorch._trial_context import TorchTrialContext

logger = logging.getLogger("determined.pytorch")

STATE_FILE = "state_dict.pth"

Callbacks = Dict[str, PyTorchCallback]


def random_state(context: TorchTrialContext) -> Dict[str, Any]:
    """Where the generators of ``random``, NumPy and PyTorch stand in this process."""
    state = {
        "cpu_rng_state": torch.random.get_rng_state(),
        "np_rng_state": np.random.get_state(),
        "random_rng_state": random.getstate(),
    }
    if context.device.type == "cuda":
        state["gpu_rng_state"] = torch.cuda.get_rng_state(context.device)
    return state


def set_random_state(context: TorchTrialContext, state: Dict[str, Any]) -> None:
    """Take up the random numbers where :func:`random_state` found them."""
    np.random.set_state(state["np_rng_state"])
    random.setstate(state["random_rng_state"])
    torch.random.set_rng_state(state["cpu_rng_state"])
    if context.device.type == "cuda" and "gpu_rng_state" in state:
        torch.cuda.set_rng_state(state["gpu_rng_state"], context.device)
    elif (context.device.type == "cuda") != ("gpu_rng_state" in state):
        logger.warning("the checkpoint was saved on another kind of device: its random numbers are not continued there")


def _check_count(kind: str, targets: List[Any], states: List[Any]) -> None:
    if len(targets) != len(states):
        raise errors.InvalidCheckpointException(
            f"the checkpoint holds {len(states)} {kind}, but the trial wraps {len(targets)}"
        )


def load_models(models: List[torch.nn.Module], checkpoint: Dict[str, Any]) -> None:
    """Take over the weights; those saved by several processes (``DistributedDataParallel``) fit, too."""
    _check_count("models", models, checkpoint["models_state_dict"])
    for model, state in zip(models, checkpoint["models_state_dict"]):
        _backend.load_model_state(model, state)


def _load_optimizers(context: PyTorchTrialContext, checkpoint: Dict[str, Any]) -> None:
    _check_count("optimizers", context.optimizers, checkpoint["optimizers_state_dict"])
    for optimizer, state in zip(context.optimizers, checkpoint["optimizers_state_dict"]):
        _backend.load_optimizer_state(optimizer, context.models, state)
    _check_count("schedulers", context.lr_schedulers, checkpoint["lr_schedulers_state_dict"])
    for scheduler, state in zip(context.lr_schedulers, checkpoint["lr_schedulers_state_dict"]):
        scheduler.load_state_dict(state)


def read_checkpoint(path: pathlib.Path, **torch_load_kwargs: Any) -> Dict[str, Any]:
    """The contents of ``state_dict.pth``.

    Notes
    -----
    This unpickles, and so runs whatever the file says: callbacks may put objects of any type into it.
    """
    torch_load_kwargs.setdefault("weights_only", False)
    file = path / STATE_FILE
    if not file.is_file():
        raise errors.InvalidCheckpointException(f"{path} has no {STATE_FILE}: it was not saved by a PyTorchTrial")
    state: Dict[str, Any] = torch.load(str(file), **torch_load_kwargs)
    return state


def load(path: pathlib.Path, context: PyTorchTrialContext, callbacks: Callbacks) -> None:
    """Take everything but :class:`TrialState` over from a checkpoint."""
    checkpoint = read_checkpoint(path, map_location="cpu")
    for callback in callbacks.values():
        callback.on_checkpoint_load_start(checkpoint)
    load_models(context.models, checkpoint)
    _load_optimizers(context, checkpoint)
    if scaler_of(context) is not None:
        if "scaler_state_dict" in checkpoint:
            scaler_of(context).load_state_dict(checkpoint["scaler_state_dict"])
        else:
            logger.warning("the checkpoint holds no state of a gradient scaler: scaling begins anew")
    load_callbacks(callbacks, checkpoint)
    _load_random(context, checkpoint)


def load_callbacks(callbacks: Callbacks, checkpoint: Dict[str, Any]) -> None:
    """Give each callback its state back, if the checkpoint has it."""
    for name, callback in callbacks.items():
        if name in checkpoint.get("callbacks", {}):
            callback.load_state_dict(checkpoint["callbacks"][name])
        elif type(callback).load_state_dict is not PyTorchCallback.load_state_dict:
            logger.warning("the checkpoint holds no state of the callback %r: it begins anew", name)


def _load_random(context: PyTorchTrialContext, checkpoint: Dict[str, Any]) -> None:
    """Each process takes up its own random numbers; those of other numbers of processes are the chief's."""
    of_ranks = checkpoint.get("rng_states") or []
    if len(of_ranks) == context.distributed.size:
        set_random_state(context, of_ranks[context.distributed.rank])
    elif "rng_state" in checkpoint:
        if of_ranks:
            logger.warning(
                "the checkpoint was saved by %d processes, this is one of %d: training goes on, but not with the same "
                "random numbers",
                len(of_ranks),
                context.distributed.size,
            )
        set_random_state(context, checkpoint["rng_state"])


def collect(context: PyTorchTrialContext) -> Dict[str, Any]:
    """What all processes have to contribute to a checkpoint, and so must call; complete at rank 0."""
    random_states = context.distributed.gather(random_state(context)) or []
    return {
        "models_state_dict": [_backend.model_state(model) for model in context.models],
        "optimizers_state_dict": [_backend.optimizer_state(o, context.models) for o in context.optimizers],
        "lr_schedulers_state_dict": [scheduler.state_dict() for scheduler in context.lr_schedulers],
        "rng_state": random_states[0] if random_states else None,
        "rng_states": random_states,
    }


def tell_written(callbacks: Callbacks, path: pathlib.Path) -> None:
    """Tell callbacks that everything is in the directory."""
    for callback in callbacks.values():
        callback.on_checkpoint_end(str(path))
        callback.on_checkpoint_write_end(str(path))


def save(
    path: pathlib.Path,
    collected: Dict[str, Any],
    context: PyTorchTrialContext,
    callbacks: Callbacks,
    state: TrialState,
    trial_class: type,
    *,
    by_trainer: bool,
) -> None:
    """Write a checkpoint into the directory ``path``: what :func:`collect` returned, and what rank 0 knows."""
    _description.save_description(path, context, state, trial_class, trial_type="PyTorchTrial", by_trainer=by_trainer)
    checkpoint = {**collected, "callbacks": {name: callback.state_dict() for name, callback in callbacks.items()}}
    if scaler_of(context) is not None:
        checkpoint["scaler_state_dict"] = scaler_of(context).state_dict()
    for callback in callbacks.values():
        callback.on_checkpoint_save_start(checkpoint)
    torch.save(checkpoint, str(path / STATE_FILE))
    tell_written(callbacks, path)
