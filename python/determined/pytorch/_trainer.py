"""Setting up training, and running it."""

import contextlib
import logging
import os
import random
from typing import Any, Callable, Dict, Iterator, Optional

import numpy as np
import torch

import determined as det
from determined import core
from determined.core._searcher import asks_master, configured_unit
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._controller import CheckpointPolicy, Plan, PyTorchTrialController
from determined.pytorch._trial import PyTorchTrial
from determined.pytorch._units import NEVER, Batch, Epoch, TrainUnit, unit_from_config

logger = logging.getLogger("determined.pytorch")


class Trainer:
    """Runs a :class:`PyTorchTrial`.

    Parameters
    ----------
    trial : PyTorchTrial
    context : PyTorchTrialContext
        The one that ``trial`` was built with.
    """

    def __init__(self, trial: PyTorchTrial, context: PyTorchTrialContext):
        self._trial = trial
        self._context = context
        self._by_trainer = True

    def configure_profiler(
        self,
        sync_timings: bool = True,
        enabled: bool = False,
        begin_on_batch: int = 0,
        end_after_batch: Optional[int] = None,
    ) -> None:
        """Superseded by ``fit(profiling_enabled=True)``; does nothing but say so."""
        logger.warning("Trainer.configure_profiler() does nothing: use fit(profiling_enabled=True)")

    def fit(
        self,
        checkpoint_period: Optional[TrainUnit] = None,
        validation_period: Optional[TrainUnit] = None,
        max_length: Optional[TrainUnit] = None,
        reporting_period: TrainUnit = Batch(100),  # noqa: B008 (never changed)
        checkpoint_policy: str = "best",
        latest_checkpoint: Optional[str] = None,
        step_zero_validation: bool = False,
        test_mode: bool = False,
        profiling_enabled: bool = False,
    ) -> None:
        """Train.

        At the end there is always a validation and a checkpoint. When the platform preempts the trial, a checkpoint is
        saved and this returns; leave the program then.

        Parameters
        ----------
        checkpoint_period, validation_period : Batch or Epoch, optional
            When to save and validate besides.
        max_length : Batch or Epoch
            When to end, counted from the trial's very beginning. On the cluster ``searcher.max_length`` stands in for
            it.
        reporting_period : Batch or Epoch
            How often to report training metrics and progress.
        checkpoint_policy : {"best", "all", "none"}
            After which validations to save a checkpoint: if the searcher's metric is the best of the experiment so far,
            always, never. Off the cluster, "best" means "all".
        latest_checkpoint : str, optional
            Id of the checkpoint to go on from; usually ``det.get_cluster_info().latest_checkpoint``.
        step_zero_validation : bool
            Whether to validate before the first batch.
        test_mode : bool
            Train and validate one batch only; off the cluster.
        profiling_enabled : bool
            Whether to report system metrics; on the cluster.

        Raises
        ------
        ValueError
            If ``max_length`` is missing, ``checkpoint_policy`` unknown, or ``test_mode`` set on the cluster.
        TypeError
            If ``max_length`` is not a Batch or an Epoch of an int.
        errors.InvalidExperimentException
            If the trial lacks something.

        Examples
        --------
        >>> trainer.fit(  # doctest: +SKIP
        ...     max_length=pytorch.Epoch(10),
        ...     validation_period=pytorch.Epoch(1),
        ...     latest_checkpoint=det.get_cluster_info().latest_checkpoint,
        ... )
        """
        policy = CheckpointPolicy(checkpoint_policy)
        trial = self._context._core.info.trial if self._context._core.info is not None else None
        searcher: Dict[str, Any] = {}
        if trial is not None:
            searcher = trial._config["searcher"]
            self._warn_of_unused_checkpoint(latest_checkpoint)
            max_length = max_length or self._configured_length(searcher)
            if test_mode:
                raise ValueError("test_mode is for training off the cluster")
        elif policy == CheckpointPolicy.BEST:
            logger.info("off the cluster there is no best validation so far: a checkpoint follows each validation")
            policy = CheckpointPolicy.ALL
        plan = Plan(
            max_length=_checked_length(max_length),
            operation_length=self._operation_length(trial),
            checkpoint_period=checkpoint_period or Batch(NEVER),
            validation_period=validation_period or Batch(NEVER),
            reporting_period=reporting_period,
            checkpoint_policy=policy,
            searcher_metric=searcher.get("metric"),
            smaller_is_better=bool(searcher.get("smaller_is_better", True)),
            step_zero_validation=step_zero_validation,
            test_mode=test_mode,
            profiling_enabled=profiling_enabled,
            by_trainer=self._by_trainer,
        )
        _warn_of_other_length(searcher, plan.max_length)
        PyTorchTrialController(self._trial, self._context, plan, latest_checkpoint).run()

    def _warn_of_unused_checkpoint(self, latest_checkpoint: Optional[str]) -> None:
        info = self._context._core.info
        if info is not None and info.latest_checkpoint is not None and latest_checkpoint is None:
            logger.warning(
                "this run starts from checkpoint %s, but fit() was not given latest_checkpoint: training begins anew",
                info.latest_checkpoint,
            )

    def _configured_length(self, searcher: Dict[str, Any]) -> Optional[TrainUnit]:
        length = searcher.get("max_length")
        if not length:
            return None
        return self._length_of(length if isinstance(length, dict) else {"batches": length})

    def _length_of(self, length: Dict[str, Any]) -> Optional[TrainUnit]:
        hparams = self._context._hparams or {}
        return unit_from_config(length, hparams.get("global_batch_size"))

    def _operation_length(self, trial: Optional[det.TrialInfo]) -> Optional[Callable[[int], TrainUnit]]:
        if trial is None or not asks_master(trial._config):
            return None
        unit = configured_unit(trial._config) or core.Unit.BATCHES
        return lambda length: _checked_length(self._length_of({unit.value.lower(): length}))


def _checked_length(max_length: Optional[TrainUnit]) -> TrainUnit:
    if max_length is None:
        raise ValueError("fit() needs max_length: how long to train, such as pytorch.Epoch(10)")
    if not isinstance(max_length, (Batch, Epoch)) or not isinstance(max_length.value, int):
        raise TypeError(f"max_length must be pytorch.Batch(n) or pytorch.Epoch(n), not {max_length!r}")
    return max_length


def _warn_of_other_length(searcher: Dict[str, Any], max_length: TrainUnit) -> None:
    """A searcher that stops trials early reckons with the length that the configuration tells it."""
    metric, time = searcher.get("time_metric"), searcher.get("max_time")
    if metric is None:
        return
    expected = {"batches": Batch, "epochs": Epoch}.get(metric)
    if expected is None:
        logger.warning("searcher.time_metric is %r; PyTorchTrial reports batches and epochs", metric)
    elif type(max_length) is not expected or max_length.value != time:
        logger.warning("searcher.max_time is %s %s, but training is set to last %r", time, metric, max_length)


def _seed_everything(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.random.manual_seed(seed)


def _distributed_context() -> Optional[core.DistributedContext]:
    """From the environment that the launcher made, if there was one."""
    if os.environ.get("USE_TORCH_DISTRIBUTED"):
        return core.DistributedContext.from_torch_distributed()
    return None


@contextlib.contextmanager
def init(
    *,
    hparams: Optional[Dict] = None,
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
    info = det.get_cluster_info()
    trial = info.trial if info is not None and info.task_type == "TRIAL" else None
    if trial is not None:
        exp_conf = trial._config
        hparams = hparams if hparams is not None else trial.hparams
        distributed = distributed or _distributed_context()
        _seed_everything(trial.trial_seed)
    with core.init(
        distributed=distributed,
        preempt_mode=core.PreemptMode.WorkersAskChief,
        tensorboard_mode=core.TensorboardMode.MANUAL,
    ) as core_context:
        yield PyTorchTrialContext(
            core_context=core_context,
            trial_seed=trial.trial_seed if trial is not None else None,
            hparams=hparams,
            slots_per_trial=core_context.distributed.size,
            num_gpus=len(info.gpu_uuids) if info is not None else torch.cuda.device_count(),
            exp_conf=exp_conf,
            aggregation_frequency=aggregation_frequency,
            steps_completed=trial._steps_completed if trial is not None else 0,
            managed_training=True,
            debug_enabled=trial._debug if trial is not None else False,
            enable_tensorboard_logging=enable_tensorboard_logging,
        )
