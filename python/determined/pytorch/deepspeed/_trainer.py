"""Setting up training with DeepSpeed, and running it."""

import contextlib
import os
from typing import Any, Dict, Iterator, Optional

import deepspeed
import torch

import determined as det
from determined import _network, core
from determined._training._trainer import TrialTrainer, connected
from determined.pytorch import _trainer
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext
from determined.pytorch.deepspeed._controller import DeepSpeedTrialController
from determined.pytorch.deepspeed._trial import DeepSpeedTrial


class Trainer(TrialTrainer):
    """Runs a :class:`DeepSpeedTrial`; :meth:`fit` is that of :class:`determined.pytorch.Trainer`.

    Parameters
    ----------
    trial : DeepSpeedTrial
    context : DeepSpeedTrialContext
        The one that ``trial`` was built with.
    """

    _controller_class = DeepSpeedTrialController

    def __init__(self, trial: DeepSpeedTrial, context: DeepSpeedTrialContext):
        super().__init__(trial, context)


@contextlib.contextmanager
def launched(info: Optional[det.ClusterInfo]) -> Iterator[Optional[core.DistributedContext]]:
    """What the launcher of this process prepared, be it DeepSpeed's or torchrun."""
    if not os.environ.get("USE_DEEPSPEED"):
        with _trainer.launched(info) as context:
            yield context
        return
    _network.tell_libraries(info)
    if not os.environ.get("DET_MANUAL_INIT_DISTRIBUTED"):
        deepspeed.init_distributed(auto_mpi_discovery=False)
    yield core.DistributedContext.from_deepspeed()


def _be_a_group() -> None:
    """One process that nothing launched makes a group of its own: DeepSpeed would look for MPI."""
    os.environ.setdefault("LOCAL_RANK", "0")
    if not torch.distributed.is_initialized():
        store = torch.distributed.HashStore()  # type: ignore[attr-defined]  # the stubs of its package leave it out
        torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)


@contextlib.contextmanager
def init(
    *,
    hparams: Optional[Dict[str, Any]] = None,
    exp_conf: Optional[Dict[str, Any]] = None,
    distributed: Optional[core.DistributedContext] = None,
    enable_tensorboard_logging: bool = True,
) -> Iterator[DeepSpeedTrialContext]:
    """Connect with the platform, if there is one, and make the context that a :class:`DeepSpeedTrial` is built with.

    On the cluster everything random is seeded with the trial's seed. DeepSpeed's processes are brought together, unless
    the environment has ``DET_MANUAL_INIT_DISTRIBUTED``.

    Parameters
    ----------
    hparams : dict, optional
        Hyperparameters. On the cluster, the trial's own stand in for them.
    exp_conf : dict, optional
        Experiment configuration, off the cluster.
    distributed : core.DistributedContext, optional
        Processes that train together, where the launcher is not one of ours.
    enable_tensorboard_logging : bool
        Whether to upload TensorBoard's files while training.

    Yields
    ------
    DeepSpeedTrialContext

    Examples
    --------
    >>> with deepspeed.init(hparams={"lr": 0.1}) as train_context:  # doctest: +SKIP
    ...     trial = MyTrial(train_context)
    ...     deepspeed.Trainer(trial, train_context).fit(max_length=pytorch.Epoch(10))
    """
    with connected(hparams, exp_conf, distributed, launched, torch.random.manual_seed) as known:
        if not os.environ.get("DET_MANUAL_INIT_DISTRIBUTED"):
            if known["slots_per_trial"] == 1:
                _be_a_group()
            if torch.distributed.is_initialized():
                # DeepSpeed takes the group over; a PipelineModule asks it before there is an engine.
                deepspeed.init_distributed(auto_mpi_discovery=False)
        yield DeepSpeedTrialContext(**known, num_gpus=0, enable_tensorboard_logging=enable_tensorboard_logging)
