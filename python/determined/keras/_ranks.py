"""A Keras model in several processes: gradients averaged as the optimizer asks for them, metrics summed up.

Processes that compute with torch exchange tensors by torch.distributed, or by Horovod where that has started them;
those that compute with TensorFlow by its collective operations.
"""

import itertools
import json
import math
import os
from typing import Any, Dict, List, Optional, Sequence, Tuple

import keras

import determined as det
from determined import core, errors
from determined.core import _distributed

# By optimizer, and by types and shapes of the gradients it is given: what TensorFlow knows their exchange by.
_keys: Dict[Tuple[Any, ...], int] = {}
_numbers = itertools.count()


class _Horovodrun:
    """What horovodrun tells each process, in the form that ``DistributedContext.from_horovod()`` reads."""

    def __getattr__(self, name: str) -> Any:
        return lambda: int(os.environ[f"HOROVOD_{name.upper()}"])


def of_launcher(info: Optional[det.ClusterInfo]) -> Optional[core.DistributedContext]:
    """Which of several processes that compute with TensorFlow this is; None if there is only one.

    Raises
    ------
    errors.InvalidExperimentException
        If there is one for each machine, although these have several slots.
    """
    if int(os.environ.get("HOROVOD_SIZE") or 1) > 1:
        return core.DistributedContext.from_horovod(_Horovodrun())
    if int(os.environ.get("WORLD_SIZE") or 1) > 1:
        return core.DistributedContext.from_torch_distributed()
    workers = (json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster") or {}).get("worker") or []
    if len(workers) < 2:
        return None
    if info is not None and max(info.container_slot_counts) > 1:
        raise errors.InvalidExperimentException(
            f"this trial has {sum(info.container_slot_counts)} slots, but its program was started once for each of "
            f"{len(workers)} machines: make module:Class the entrypoint, or "
            "python3 -m determined.launch.tensorflow --trial module:Class"
        )
    return _distributed.from_tf_config()


def connect(distributed: core.DistributedContext) -> None:
    """Let TensorFlow exchange tensors with the other processes; torch's launcher has seen to that already."""
    if keras.backend.backend() == "tensorflow":
        from determined.keras import _collectives

        _collectives.join(distributed)


def share_gradients(
    model: keras.Model, optimizers: Sequence[keras.optimizers.Optimizer], distributed: core.DistributedContext
) -> None:
    """Have the optimizers step by the mean of all processes' gradients."""
    for optimizer in optimizers:
        _share(optimizer, distributed)
    if keras.backend.backend() == "tensorflow":
        # XLA would have to know the other processes, too.
        model.jit_compile = False


def _share(optimizer: keras.optimizers.Optimizer, distributed: core.DistributedContext) -> None:
    apply, number = optimizer.apply, next(_numbers)

    def apply_mean(grads: Sequence[Any], trainable_variables: Any = None) -> None:
        apply(_means(grads, number, distributed), trainable_variables)

    optimizer.apply = apply_mean


def _means(gradients: Sequence[Any], optimizer: int, distributed: core.DistributedContext) -> List[Any]:
    """Gradients averaged over processes; those of one type travel together."""
    if keras.backend.backend() == "tensorflow":
        from determined.keras import _collectives

        gradients = [_collectives.dense(g) if g is not None else None for g in gradients]
    means = list(gradients)
    for dtype in sorted({g.dtype for g in gradients if g is not None}, key=str):
        places = [place for place, g in enumerate(gradients) if g is not None and g.dtype == dtype]
        flat = keras.ops.concatenate([keras.ops.reshape(gradients[place], (-1,)) for place in places])
        # A graph that is made anew, for batches of another size, must not have another key: others keep theirs.
        what = (optimizer, str(dtype), *(tuple(gradients[place].shape) for place in places))
        mean, start = _mean(flat, _keys.setdefault(what, len(_keys)), distributed), 0
        for place in places:
            shape = tuple(gradients[place].shape)
            end = start + math.prod(shape)
            means[place], start = keras.ops.reshape(mean[start:end], shape), end
    return means


def _mean(flat: Any, key: int, distributed: core.DistributedContext) -> Any:
    if keras.backend.backend() == "tensorflow":
        from determined.keras import _collectives

        return _collectives.mean(flat, distributed.size, key)
    import torch.distributed

    from determined.pytorch import _horovod

    hvd = _horovod.in_use(distributed)
    if hvd is not None:
        return hvd.allreduce(flat, name=f"gradients.{key}", op=hvd.Average)
    torch.distributed.all_reduce(flat)
    return flat / distributed.size


def agree(variables: Sequence[Any], distributed: core.DistributedContext) -> None:
    """Give variables the chief's values in all processes."""
    values = [keras.ops.convert_to_numpy(v) for v in variables] if distributed.rank == 0 else None
    for variable, value in zip(variables, distributed.broadcast(values)):
        variable.assign(value)


def summed_metrics(model: keras.Model, distributed: core.DistributedContext) -> Dict[str, Any]:
    """The model's metrics of what all processes have looked at; afterwards each process holds the sums."""
    variables = [v for metric in model.metrics for v in metric.variables]
    of_ranks = distributed.allgather([keras.ops.convert_to_numpy(v) for v in variables])
    for variable, values in zip(variables, zip(*of_ranks)):
        variable.assign(sum(values))
    return dict(model.get_metrics_result())
