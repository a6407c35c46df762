"""Setting up training, and running it, whatever the framework."""

import contextlib
import logging
import random
from typing import Any, Callable, ContextManager, Dict, Iterator, Optional, Type

import numpy as np

import determined as det
from determined import _info, _trial_context, core
from determined._training._loop import TrainingLoop
from determined._training._plan import CheckpointPolicy, Plan, Profiling
from determined._training._units import NEVER, Batch, Epoch, TrainUnit, unit_from_config
from determined._trial import LegacyTrial
from determined._trial_context import TrialContext
from determined.core._searcher import asks_master, configured_unit

logger = logging.getLogger("determined")


class TrialTrainer:
    """Runs a trial of one kind, which derived classes tell."""

    _controller_class: Type[TrainingLoop]
    # Whether an epoch is what ``records_per_epoch`` says to the training loop itself, callbacks included.
    _loop_goes_by_records = False

    def __init__(self, trial: LegacyTrial, context: TrialContext):
        self._trial = trial
        self._context = context
        self._by_trainer = True
        self._profiling = Profiling()

    def configure_profiler(
        self,
        sync_timings: bool = True,
        enabled: bool = False,
        begin_on_batch: int = 0,
        end_after_batch: Optional[int] = None,
    ) -> None:
        """Say what to profile; ``fit(profiling_enabled=True)`` does so, too, for all of training.

        Parameters
        ----------
        sync_timings : bool
            Whether the device's work is waited for at the end of each timing.
        enabled : bool
        begin_on_batch : int
            First batch to be profiled, from 0.
        end_after_batch : int, optional
            Last one; timings end after five minutes in any case.

        Raises
        ------
        ValueError
            If the range of batches makes no sense.
        """
        if begin_on_batch < 0 or (end_after_batch is not None and end_after_batch < begin_on_batch):
            raise ValueError(f"begin_on_batch={begin_on_batch}, end_after_batch={end_after_batch}: not a range")
        self._profiling = Profiling(enabled, begin_on_batch, end_after_batch, sync_timings)

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
            Whether to report system metrics, on the cluster, and timings; :meth:`configure_profiler` says more.

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
        info = _trial_context.core_of(self._context).info
        trial = info.trial if info is not None else None
        searcher: Dict[str, Any] = {}
        if trial is not None:
            searcher = _info.config_of(trial)["searcher"]
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
            profiling=self._profiling._replace(enabled=self._profiling.enabled or profiling_enabled),
            by_trainer=self._by_trainer,
        )
        _warn_of_other_length(searcher, plan.max_length)
        self._controller_class(self._trial, self._context, plan, latest_checkpoint).run()

    def _warn_of_unused_checkpoint(self, latest_checkpoint: Optional[str]) -> None:
        info = _trial_context.core_of(self._context).info
        if info is not None and info.latest_checkpoint is not None and latest_checkpoint is None:
            logger.warning(
                "this run starts from checkpoint %s, but fit() was not given latest_checkpoint: training begins anew",
                info.latest_checkpoint,
            )

    def _configured_length(self, searcher: Dict[str, Any]) -> Optional[TrainUnit]:
        length = searcher.get("max_length")
        if not length:
            return None
        return self._unit_of(length if isinstance(length, dict) else {"batches": length})

    def _unit_of(self, length: Dict[str, Any]) -> TrainUnit:
        """What a length or period in the experiment configuration means."""
        size = _trial_context.given_hparams(self._context).get("global_batch_size")
        records = (
            None if self._loop_goes_by_records else _trial_context.given_config(self._context).get("records_per_epoch")
        )
        if records and not size and (length or {}).get("epochs"):
            logger.warning(
                "records_per_epoch is %d, but the hyperparameter global_batch_size is missing: "
                "an epoch is a pass through the training data",
                records,
            )
        return unit_from_config(length, size, records)

    def _operation_length(self, trial: Optional[det.TrialInfo]) -> Optional[Callable[[int], TrainUnit]]:
        if trial is None or not asks_master(_info.config_of(trial)):
            return None
        unit = configured_unit(_info.config_of(trial)) or core.Unit.BATCHES
        return lambda length: _checked_length(self._unit_of({unit.value.lower(): length}))


def unit_of(trainer: TrialTrainer, length: Dict[str, Any]) -> TrainUnit:
    """What a length or a period in the experiment configuration means for this trainer's trial."""
    return trainer._unit_of(length)


def be_configured(trainer: TrialTrainer) -> None:
    """Have checkpoints say that the experiment configuration governs training, rather than a script's ``fit()``."""
    trainer._by_trainer = False


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
        logger.warning("searcher.time_metric is %r; trials report batches and epochs", metric)
    elif type(max_length) is not expected or max_length.value != time:
        logger.warning("searcher.max_time is %s %s, but training is set to last %r", time, metric, max_length)


def check_launched(info: Optional[det.ClusterInfo], distributed: Optional[core.DistributedContext]) -> None:
    """Refuse to be one process alone in a trial of several slots."""
    if info is not None and distributed is None and sum(info.container_slot_counts) > 1:
        raise ValueError(
            f"this trial has {sum(info.container_slot_counts)} slots, but its program was started only once: start it "
            "with a launch layer, such as python3 -m determined.launch.torch_distributed"
        )


def _core_context(distributed: Optional[core.DistributedContext]) -> core.Context:
    return core.init(
        distributed=distributed,
        preempt_mode=core.PreemptMode.WorkersAskChief,
        tensorboard_mode=core.TensorboardMode.MANUAL,
    )


# Seed of a trial off the cluster, as determined.exec.harness is told; None: nothing is seeded.
seed_off_cluster: Optional[int] = None


@contextlib.contextmanager
def connected(
    hparams: Optional[Dict[str, Any]],
    exp_conf: Optional[Dict[str, Any]],
    distributed: Optional[core.DistributedContext],
    launched: Callable[[Optional[det.ClusterInfo]], ContextManager[Optional[core.DistributedContext]]],
    seed: Callable[[int], Any],
) -> Iterator[Dict[str, Any]]:
    """Connect with the platform, if there is one; what it knows, as arguments for the context of any kind of trial.

    Parameters
    ----------
    hparams : dict, optional
        Hyperparameters. On the cluster, the trial's own stand in for them.
    exp_conf : dict, optional
        Experiment configuration, off the cluster.
    distributed : core.DistributedContext, optional
        Processes that train together, where the launcher is not one of ours.
    launched : callable
        A context manager for what the launcher of this process has prepared, if anything.
    seed : callable
        Seeds the framework's own random numbers.
    """
    info = det.get_cluster_info()
    trial = info.trial if info is not None and info.task_type == "TRIAL" else None
    if trial is not None:
        exp_conf = _info.config_of(trial)
        hparams = hparams if hparams is not None else trial.hparams
    trial_seed = trial.trial_seed if trial is not None else seed_off_cluster
    if trial_seed is not None:
        random.seed(trial_seed)
        np.random.seed(trial_seed)
        seed(trial_seed)
    with contextlib.ExitStack() as stack:
        distributed = distributed or stack.enter_context(launched(info if trial is not None else None))
        if trial is not None:
            check_launched(info, distributed)
        core_context = stack.enter_context(_core_context(distributed))
        yield {
            "core_context": core_context,
            "trial_seed": trial_seed,
            "hparams": hparams,
            "slots_per_trial": core_context.distributed.size,
            "exp_conf": exp_conf,
            "steps_completed": _info.steps_completed_of(trial) if trial is not None else 0,
        }
