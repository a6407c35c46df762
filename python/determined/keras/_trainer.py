"""Setting up the training of a TFKerasTrial, and running it."""

import contextlib
import os
from typing import Any, Dict, Iterator, Optional

import keras

import determined as det
from determined import core, errors
from determined._training._trainer import TrialTrainer, connected
from determined.keras import _ranks
from determined.keras._controller import TFKerasTrialController
from determined.keras._trial import TFKerasTrial
from determined.keras._trial_context import TFKerasTrialContext


class Trainer(TrialTrainer):
    """Runs a :class:`TFKerasTrial`; :meth:`fit` is that of :class:`determined.pytorch.Trainer`.

    Parameters
    ----------
    trial : TFKerasTrial
    context : TFKerasTrialContext
        The one that ``trial`` was built with.
    """

    _controller_class = TFKerasTrialController

    def __init__(self, trial: TFKerasTrial, context: TFKerasTrialContext) -> None:
        super().__init__(trial, context)


@contextlib.contextmanager
def launched(info: Optional[det.ClusterInfo]) -> Iterator[Optional[core.DistributedContext]]:
    """What torchrun prepared, if it has started this process; on TensorFlow a trial is one process."""
    slots = sum(info.container_slot_counts) if info is not None else int(os.environ.get("WORLD_SIZE", "1"))
    if slots > 1 and not _ranks.possible():
        raise errors.InvalidExperimentException(
            f"this trial has {slots} slots, but a TFKerasTrial trains in one where Keras computes with "
            f"{keras.backend.backend()}: set resources.slots_per_trial to 1, or let Keras compute with torch "
            "(KERAS_BACKEND=torch in environment.environment_variables), or train by model.fit() with "
            "determined.keras.DeterminedCallback under python3 -m determined.launch.tensorflow"
        )
    if slots > 1 and os.environ.get("USE_HOROVOD") and not os.environ.get("USE_TORCH_DISTRIBUTED"):
        raise errors.InvalidExperimentException(
            f"this trial has {slots} slots and was started by Horovod, but a TFKerasTrial shares gradients by "
            "torch.distributed: make the entrypoint python3 -m determined.launch.torch_distributed --trial module:Class"
        )
    if not _ranks.possible():
        yield None
        return
    from determined.pytorch import _trainer

    with _trainer.launched(info) as context:
        yield context


@contextlib.contextmanager
def init(
    *,
    hparams: Optional[Dict[str, Any]] = None,
    exp_conf: Optional[Dict[str, Any]] = None,
    distributed: Optional[core.DistributedContext] = None,
    aggregation_frequency: int = 1,
) -> Iterator[TFKerasTrialContext]:
    """Connect with the platform, if there is one, and make the context that a :class:`TFKerasTrial` is built with.

    On the cluster everything random is seeded with the trial's seed, TensorFlow's global seed included.

    Parameters
    ----------
    hparams : dict, optional
        Hyperparameters. On the cluster, the trial's own stand in for them.
    exp_conf : dict, optional
        Experiment configuration, off the cluster.
    distributed : core.DistributedContext, optional
        Processes that train together, where the launcher is not one of ours. They share a process group of
        ``torch.distributed``, which Keras must compute with.
    aggregation_frequency : int
        Number of batches over which gradients are added up before the optimizer steps by their mean.

    Yields
    ------
    TFKerasTrialContext

    Raises
    ------
    errors.InvalidExperimentException
        If the trial has several slots, and Keras does not compute with torch, or Horovod has started it.

    Examples
    --------
    >>> with det.keras.init(hparams={"global_batch_size": 32}) as train_context:  # doctest: +SKIP
    ...     trial = MyTrial(train_context)
    ...     det.keras.Trainer(trial, train_context).fit(max_length=det.pytorch.Batch(1000))
    """
    with connected(hparams, exp_conf, distributed, launched, keras.utils.set_random_seed) as known:
        yield TFKerasTrialContext(**known, aggregation_frequency=aggregation_frequency, managed_training=True)
