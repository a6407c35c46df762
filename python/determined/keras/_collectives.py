"""Processes that compute with TensorFlow, connected by its own collective operations: NCCL among GPUs, gRPC among CPUs.

Keras 3 trains under none of TensorFlow's strategies for several machines: of 3.15, ``fit()`` and ``train_on_batch()``
fail where they reduce metrics. So each process has an ordinary model; the strategy is there to connect them, and one
operation in the graph of a training step does the rest.
"""

import contextlib
import socket
from typing import Any, Iterator, Optional

import determined as det
from determined import core, errors

# Of our operations; TensorFlow counts groups of its own from 1.
_GROUP = 0x44455400

# What connects this process with others, for as long as it lives: TensorFlow can do that once.
_strategy: Any = None
_token: Any = None


@contextlib.contextmanager
def _reserved_port() -> Iterator[int]:
    """A free port that nobody else is given meanwhile; whoever sets SO_REUSEADDR, as gRPC does, can listen there."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("", 0))
        yield s.getsockname()[1]


def _address(distributed: core.DistributedContext, info: Optional[det.ClusterInfo]) -> str:
    """Where the others find this process."""
    if distributed.cross_size == 1:
        return "127.0.0.1"
    if info is not None:
        return info.container_addrs[info.container_rank]
    return socket.gethostname()


def join(distributed: core.DistributedContext) -> None:
    """Connect this process with the others of the trial. All of them must call it, before TensorFlow computes anything.

    Raises
    ------
    errors.InvalidExperimentException
        If it comes too late.
    """
    global _strategy, _token
    if _strategy is not None:
        return
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    with _reserved_port() as port:
        workers = distributed.allgather(f"{_address(distributed, det.get_cluster_info())}:{port}")
        resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
            tf.train.ClusterSpec({"worker": workers}), task_type="worker", task_id=distributed.rank, rpc_layer="grpc"
        )
        try:
            if len(gpus) > 1:
                tf.config.set_visible_devices(gpus[distributed.local_rank], "GPU")
            _strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
        except RuntimeError as e:
            raise errors.InvalidExperimentException(
                f"TensorFlow cannot connect the {distributed.size} processes of this trial any more: {e}. Compute "
                "nothing with TensorFlow in the trial's constructor or while its module is imported."
            ) from e
    _token = tf.Variable(0.0, trainable=False)


def mean(flat: Any, size: int, key: int) -> Any:
    """The mean of a vector over all processes, as a part of the graph that is being made.

    Parameters
    ----------
    flat : tf.Tensor
        Of one dimension.
    size : int
        Number of processes.
    key : int
        The same in all processes for what belongs together.
    """
    import tensorflow as tf

    total = tf.raw_ops.CollectiveReduceV2(
        input=flat,
        group_size=size,
        group_key=_GROUP,
        instance_key=key,
        # What uses it runs in the order in which the graph was made: NCCL must not meet two sums in two orders.
        ordering_token=[_token.handle],
        merge_op="Add",
        final_op="Id",
        communication_hint="auto",
    )
    return total / tf.cast(size, total.dtype)


def dense(gradient: Any) -> Any:
    """A gradient as a tensor; one of an embedding names the rows it has."""
    import tensorflow as tf

    return tf.convert_to_tensor(gradient)
