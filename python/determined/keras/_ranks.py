"""A Keras model in several processes: gradients averaged by torch.distributed, metrics summed up.

Only where Keras computes with torch: there a gradient is at hand as a tensor when the optimizer asks for it.
"""

from typing import Any, Dict, List, Sequence

import keras

from determined import core


def possible() -> bool:
    """Whether the backend of Keras is one that several processes can train with."""
    return bool(keras.backend.backend() == "torch")


def share_gradients(optimizer: keras.optimizers.Optimizer) -> None:
    """Have the optimizer step by the mean of all processes' gradients."""
    apply = optimizer.apply

    def apply_mean(grads: Sequence[Any], trainable_variables: Any = None) -> None:
        apply(_means(grads), trainable_variables)

    optimizer.apply = apply_mean


def _means(gradients: Sequence[Any]) -> List[Any]:
    """Gradients averaged over processes; those of one type travel together."""
    import torch.distributed

    size = torch.distributed.get_world_size()
    means = list(gradients)
    for dtype in sorted({g.dtype for g in gradients if g is not None}, key=str):
        places = [i for i, g in enumerate(gradients) if g is not None and g.dtype == dtype]
        flat = torch.cat([gradients[i].reshape(-1) for i in places])
        torch.distributed.all_reduce(flat)
        flat /= size
        for i, mean in zip(places, flat.split([gradients[i].numel() for i in places])):
            means[i] = mean.view_as(gradients[i])
    return means


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
