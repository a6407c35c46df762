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
    _loop_goes_by_records = True

    def __init__(self, trial: TFKerasTrial, context: TFKerasTrialContext) -> None:
        super().__init__(trial, context)


@contextlib.contextmanager
def launched(info: Optional[det.ClusterInfo]) -> Iterator[Optional[core.DistributedContext]]:
    """What the launcher of this process has prepared, if there was one."""
    if keras.backend.backend() == "torch":
        from determined.pytorch import _trainer

        with _trainer.launched(info) as context:
            yield context
        return
    slots = sum(info.container_slot_counts) if info is not None else int(os.environ.get("WORLD_SIZE", "1"))
    if keras.backend.backend() != "tensorflow":
        if slots > 1:
            raise errors.InvalidExperimentException(
                f"this trial has {slots} slots, but a TFKerasTrial trains in one where Keras computes with "
                f"{keras.backend.backend()}: set resources.slots_per_trial to 1, or let Keras compute with torch or "
                "tensorflow (KERAS_BACKEND in environment.environment_variables)"
            )
        yield None
        return
    context = _ranks.of_launcher(info)
    if context is None and slots > 1:
        raise errors.InvalidExperimentException(
            f"this trial has {slots} slots, but its program was started only once: make module:Class the entrypoint, "
            "or python3 -m determined.launch.tensorflow --trial module:Class"
        )
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
        Processes that train together, where the launcher is not one of ours. Those that compute with torch share a
        process group of ``torch.distributed``; those that compute with TensorFlow are connected here.
    aggregation_frequency : int
        Number of batches over which gradients are added up before the optimizer steps by their mean.

    Yields
    ------
    TFKerasTrialContext

    Raises
    ------
    errors.InvalidExperimentException
        If the trial has several slots, but was started only once, or Keras computes with neither torch nor TensorFlow.

    Examples
    --------
    >>> with det.keras.init(hparams={"global_batch_size": 32}) as train_context:  # doctest: +SKIP
    ...     trial = MyTrial(train_context)
    ...     det.keras.Trainer(trial, train_context).fit(max_length=det.pytorch.Batch(1000))
    """
    with connected(hparams, exp_conf, distributed, launched, keras.utils.set_random_seed) as known:
        yield TFKerasTrialContext(**known, aggregation_frequency=aggregation_frequency, managed_training=True)
