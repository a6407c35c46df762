"""Setting up training with PyTorch, and running it."""

import contextlib
import os
from typing import Any, Dict, Iterator, Optional

import torch

import determined as det
from determined import _info, _network, core
from determined._training._trainer import TrialTrainer, connected
from determined.pytorch import _horovod
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._controller import PyTorchTrialController
from determined.pytorch._trial import PyTorchTrial


class Trainer(TrialTrainer):
    """Runs a :class:`PyTorchTrial`.

    Parameters
    ----------
    trial : PyTorchTrial
    context : PyTorchTrialContext
        The one that ``trial`` was built with.
    """

    _controller_class = PyTorchTrialController

    def __init__(self, trial: PyTorchTrial, context: PyTorchTrialContext):
        super().__init__(trial, context)


@contextlib.contextmanager
def launched(info: Optional[det.ClusterInfo]) -> Iterator[Optional[core.DistributedContext]]:
    """What the launcher of this process prepared: its process group, and the context that goes with it."""
    if os.environ.get("USE_HOROVOD") and not os.environ.get("USE_TORCH_DISTRIBUTED"):
        hvd = _horovod.initialized()
        if torch.cuda.is_available():
            torch.cuda.set_device(hvd.local_rank())
        # Horovod ends itself with the program; it cannot be begun anew before that, so a second trial finds it running.
        yield core.DistributedContext.from_horovod(hvd)
        return
    if not os.environ.get("USE_TORCH_DISTRIBUTED"):
        yield None
        return
    _network.tell_libraries(info)
    context = core.DistributedContext.from_torch_distributed()
    ours = context.size > 1 and not torch.distributed.is_initialized()
    if ours:
        if torch.cuda.is_available():
            torch.cuda.set_device(context.local_rank)
        torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    yield context
    # Only after a proper end: with a process missing, this would wait for it.
    if ours:
        torch.distributed.destroy_process_group()


@contextlib.contextmanager
def init(
    *,
    hparams: Optional[Dict[str, Any]] = None,
    exp_conf: Optional[Dict[str, Any]] = None,
    distributed: Optional[core.DistributedContext] = None,
    aggregation_frequency: int = 1,
    enable_tensorboard_logging: bool = True,
) -> Iterator[PyTorchTrialContext]:
    """Connect with the platform, if there is one, and make the context that a :class:`PyTorchTrial` is built with.

    On the cluster everything random is seeded with the trial's seed.

    Parameters
    ----------
    hparams : dict, optional
        Hyperparameters. On the cluster, the trial's own stand in for them.
    exp_conf : dict, optional
        Experiment configuration, off the cluster.
    distributed : core.DistributedContext, optional
        Processes that train together, where the launcher is not one of ours.
    aggregation_frequency : int
        Number of batches over which gradients are added up before the optimizer steps.
    enable_tensorboard_logging : bool
        Whether to upload TensorBoard's files while training.

    Yields
    ------
    PyTorchTrialContext

    Examples
    --------
    >>> with pytorch.init(hparams={"lr": 0.1}) as train_context:  # doctest: +SKIP
    ...     trial = MyTrial(train_context)
    ...     pytorch.Trainer(trial, train_context).fit(max_length=pytorch.Epoch(10))
    """
    with connected(hparams, exp_conf, distributed, launched, torch.random.manual_seed) as known:
        info = known["core_context"].info
        yield PyTorchTrialContext(
            **known,
            num_gpus=len(info.gpu_uuids) if info is not None else torch.cuda.device_count(),
            aggregation_frequency=aggregation_frequency,
            managed_training=True,
            debug_enabled=info is not None and info.task_type == "TRIAL" and _info.is_debugged(info.trial),
            enable_tensorboard_logging=enable_tensorboard_logging,
        )
