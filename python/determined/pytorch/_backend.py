"""Models in several processes: gradients exchanged by DistributedDataParallel, or parameters sharded by FSDP.

Sharded models (``torch.distributed.fsdp``) come sharded from the user; all others are wrapped here. Checkpoints hold
whole models either way, so that they can be loaded in another number of processes.
"""

import contextlib
import sys
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

from determined import errors

_COMPRESSIONS = {
    torch.float16: default_hooks.fp16_compress_hook,
    torch.bfloat16: default_hooks.bf16_compress_hook,
}


class Exchanging(DistributedDataParallel):
    """DistributedDataParallel that has the attributes of the model within, and evaluates without the other processes.

    Evaluation need not take equally many batches everywhere, so nothing may be exchanged in it.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("module"), name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """As the model's own, with whatever DistributedDataParallel does before and after in training."""
        if self.training or torch.is_grad_enabled():
            return super().forward(*args, **kwargs)  # type: ignore[no-untyped-call]
        return self.module(*args, **kwargs)


def _fsdp_parts(model: torch.nn.Module, form: str) -> List[Any]:
    """The modules within that FSDP has split, in its form ``FSDPModule`` or ``FullyShardedDataParallel``."""
    # Where its module was never imported, nothing can be an instance of its classes.
    kind = getattr(sys.modules.get("torch.distributed.fsdp"), form, None)
    return [module for module in model.modules() if isinstance(module, kind)] if kind is not None else []


def is_sharded(model: torch.nn.Module) -> bool:
    """Whether FSDP, in either of its forms, has split the parameters among processes."""
    return bool(_fsdp_parts(model, "FSDPModule") or _fsdp_parts(model, "FullyShardedDataParallel"))


def wrap(model: torch.nn.Module, device: torch.device) -> torch.nn.Module:
    """Let the model's gradients be averaged over all processes."""
    if isinstance(model, DistributedDataParallel) or is_sharded(model):
        return model
    if not any(p.requires_grad for p in model.parameters()):
        return model  # nothing to exchange, which DistributedDataParallel refuses
    return Exchanging(model, device_ids=[device.index] if device.type == "cuda" else None)


def unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """The model as the user made it."""
    return model.module if isinstance(model, DistributedDataParallel) else model


def compress(models: List[torch.nn.Module], dtype: torch.dtype) -> None:
    """Let gradients travel as ``dtype``, float16 or bfloat16; half the bytes, and less precision."""
    if dtype not in _COMPRESSIONS:
        raise errors.InvalidExperimentException(f"gradients cannot travel as {dtype}: use torch.float16 or .bfloat16")
    for model in models:
        if isinstance(model, DistributedDataParallel):
            model.register_comm_hook(None, _COMPRESSIONS[dtype])


@contextlib.contextmanager
def keeping_gradients(models: List[torch.nn.Module]) -> Iterator[None]:
    """Nothing is exchanged meanwhile: gradients add up in each process. Forward passes belong within, too."""
    with contextlib.ExitStack() as stack:
        for model in models:
            if isinstance(model, DistributedDataParallel):
                stack.enter_context(model.no_sync())
            for part in _fsdp_parts(model, "FSDPModule"):
                part.set_requires_gradient_sync(False, recurse=False)
                stack.callback(part.set_requires_gradient_sync, True, recurse=False)
            for part in _fsdp_parts(model, "FullyShardedDataParallel"):
                stack.enter_context(part.no_sync())
        yield


def latest_exchange(models: List[torch.nn.Module]) -> Optional[Tuple[int, float]]:
    """The number of an exchange of gradients, and the seconds for which it held up training; None if none is measured.

    DistributedDataParallel itself measures the first ten, and then one of a hundred. Their average, which it tells as
    well, would make what happens once, at the beginning, count for all.
    """
    exchanging = [model for model in models if isinstance(model, DistributedDataParallel)]
    number, waited_s = 0, 0.0
    for model in exchanging:
        with contextlib.suppress(RuntimeError):
            data = model._get_ddp_logging_data()  # not ours: PyTorch has no public name for it
            number = max(number, int(data.get("iteration", 0)))
            communication_ns = float(data.get("backward_comm_time", 0))
            waited_s += max(communication_ns - float(data.get("backward_compute_comm_overlap_time", 0)), 0.0) / 1e9
    return (number, waited_s) if number > 0 else None


# State, whole wherever it is kept


def _options() -> Any:
    from torch.distributed.checkpoint.state_dict import StateDictOptions

    return StateDictOptions(full_state_dict=True, cpu_offload=True)


def _put_back(model: torch.nn.Module) -> None:
    """Split again what a forward pass without a backward one, as in validation, has left whole."""
    for part in _fsdp_parts(model, "FSDPModule"):
        part.reshard()


def model_state(model: torch.nn.Module) -> Dict[str, Any]:
    """The whole model's state. Of a sharded one, all processes must ask, and rank 0 gets it."""
    if not is_sharded(model):
        return unwrapped(model).state_dict()
    _put_back(model)
    from torch.distributed.checkpoint import state_dict

    return state_dict.get_model_state_dict(model, options=_options())


def load_model_state(model: torch.nn.Module, state: Dict[str, Any]) -> None:
    """Take over a state; one that was saved with DistributedDataParallel's prefix fits, too."""
    torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    if not is_sharded(model):
        unwrapped(model).load_state_dict(state)
        return
    from torch.distributed.checkpoint import state_dict

    state_dict.set_model_state_dict(model, state, options=_options())


def _owner(optimizer: torch.optim.Optimizer, models: List[torch.nn.Module]) -> Optional[torch.nn.Module]:
    """The sharded model whose parameters the optimizer changes, if there is one."""
    mine = {p for group in optimizer.param_groups for p in group["params"]}
    for model in models:
        if is_sharded(model):
            _put_back(model)
            if any(p in mine for p in model.parameters()):
                return model
    return None


def optimizer_state(optimizer: torch.optim.Optimizer, models: List[torch.nn.Module]) -> Dict[str, Any]:
    """The whole optimizer's state; like :func:`model_state`."""
    model = _owner(optimizer, models)
    if model is None:
        return optimizer.state_dict()
    from torch.distributed.checkpoint import state_dict

    return state_dict.get_optimizer_state_dict(model, optimizer, options=_options())


def load_optimizer_state(
    optimizer: torch.optim.Optimizer, models: List[torch.nn.Module], state: Dict[str, Any]
) -> None:
    """Take over an optimizer's state."""
    model = _owner(optimizer, models)
    if model is None:
        optimizer.load_state_dict(state)
        return
    from torch.distributed.checkpoint import state_dict

    state_dict.set_optimizer_state_dict(model, optimizer, state, options=_options())
