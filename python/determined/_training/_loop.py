"""The training loop of every kind of trial: batches, and what has to happen between them."""

import contextlib
import logging
import math
import pathlib
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

import numpy as np

from determined import _trial_context, errors
from determined._training import _curves, _description, _timings
from determined._training._description import TrialState
from determined._training._plan import CheckpointPolicy, Plan
from determined._training._stopping import StopWatch
from determined._training._units import Batch, Epoch, TrainUnit
from determined._trial import LegacyTrial
from determined._trial_context import TrialContext
from determined.core._train import last_validation

logger = logging.getLogger("determined")

# Batches in an epoch of data without an end.
ENDLESS = sys.maxsize


class _Stop(Exception):
    """Training is to end here: preempted, or on the user's request."""


class TrainingLoop:
    """Runs a trial to its end, or until it has to stop; goes on where a checkpoint left off.

    What a batch is, and what a checkpoint holds, are the matter of derived classes: one for each kind of trial.

    Parameters
    ----------
    trial : LegacyTrial
    context : TrialContext
        The one that ``trial`` was built with.
    plan : Plan
    latest_checkpoint : str, optional
        Id of the checkpoint to go on from.

    Raises
    ------
    errors.InvalidExperimentException
        If the trial lacks something.
    """

    def __init__(self, trial: LegacyTrial, context: TrialContext, plan: Plan, latest_checkpoint: Optional[str]) -> None:
        self._trial = trial
        self._context = context
        self._core = _trial_context.core_of(context)
        self._plan = plan
        self._latest_checkpoint = latest_checkpoint
        self._is_chief = context.distributed.rank == 0
        self._curves = _curves.Curves(context.get_tensorboard_writer)
        self._trial_id = self._core.info.trial.trial_id if self._core.info is not None else 0
        self._state = TrialState(trial_id=self._trial_id)
        self._callbacks: Dict[str, Any] = self._build_callbacks()
        self._pending: List[Dict[str, Any]] = []
        self._length = plan.max_length
        self._searcher_value: Optional[float] = None
        self._stop_watch = StopWatch(self._core, context.get_stop_requested)
        self._timings = _timings.Timings(plan.profiling, self._wait_for_device())
        self._sampling = False
        self._told_of: Set[Any] = set()
        self._epoch_len = 0
        self._training_loader: Any = None
        self._check_trial()

    # What derived classes do in their way

    def _build_callbacks(self) -> Dict[str, Any]:
        """What to call at the moments that :class:`determined.pytorch.PyTorchCallback` names."""
        raise NotImplementedError

    def _check_trial(self) -> None:
        """Refuse a trial that lacks something."""
        raise NotImplementedError

    def _wait_for_device(self) -> Optional[Callable[[], None]]:
        """What waits for the device's work, where work is done behind Python's back."""
        return None

    def _load(self, checkpoint: pathlib.Path) -> None:
        """Take everything but the state of the loop over from a checkpoint."""
        raise NotImplementedError

    def _store(self) -> str:
        """Store a checkpoint, in all processes together; its id, where it is known."""
        raise NotImplementedError

    def _build_data_loaders(self) -> None:
        """Set ``_training_loader`` and ``_epoch_len``, the latter also in the context."""
        raise NotImplementedError

    def _begin_training(self) -> None:
        """Batches are trained from here on until something else has to be done."""
        raise NotImplementedError

    def _train_next(self, batches: Iterator[Any]) -> List[Dict[str, Any]]:
        """Train on what comes next; metrics of each step of it, to be looked at later."""
        raise NotImplementedError

    def _training_metrics(self, pending: List[Dict[str, Any]]) -> Tuple[Dict[str, Any], List[Dict[str, Any]]]:
        """Metrics of all that was trained since :meth:`_begin_training`, and of its batches."""
        raise NotImplementedError

    def _measured(self) -> Dict[str, Any]:
        """Metrics of the validation data, the same in all processes."""
        raise NotImplementedError

    def _random_state(self) -> Any:
        """Where this process's random numbers stand."""
        raise NotImplementedError

    def _set_random_state(self, state: Any) -> None:
        """Take up random numbers where :meth:`_random_state` found them."""
        raise NotImplementedError

    def _latest_exchange(self) -> Optional[Tuple[int, float]]:
        """Number of an exchange of gradients with other processes, and its seconds per batch, where they are known."""
        return None

    def _metadata(self) -> Dict[str, Any]:
        """What the master is told of a checkpoint."""
        raise NotImplementedError

    def _trained(self) -> None:
        """Training is over, or stops for now; everything is saved."""

    def run(self) -> None:
        """Train."""
        with contextlib.ExitStack() as stack:
            checkpoint = self._open_checkpoint(stack)
            if checkpoint is not None:
                self._state = _description.read_trial_state(checkpoint, self._trial_id)
            for callback in self._callbacks.values():
                callback.on_trial_startup(self._state.batches_trained, self._latest_checkpoint)
                stack.callback(callback.on_trial_shutdown)
            self._build_data_loaders()
            # Iterating draws random numbers, also at its beginning, so it begins before theirs are restored.
            batches = self._training_batches(stack)
            if checkpoint is not None:
                self._restore(checkpoint)
            self._call("on_training_start")
            if self._context.profiler is not None:
                stack.enter_context(self._context.profiler)
            stack.callback(self._core.profiler.off)
            self._train_and_save(batches)
            self._trained()
            # The last validation is in no file that was uploaded on the way.
            self._context.upload_tensorboard()
            self._say_what_training_waited_for()

    def _train_and_save(self, batches: Iterator[Any]) -> None:
        try:
            self._train(batches)
        except _Stop:
            self._checkpoint_unless_current()
        except errors.InvalidHP:
            # One process alone cannot save what others have a part in; they may not even be here.
            if self._context.distributed.size == 1:
                self._checkpoint_unless_current()
            raise

    def _from_chief(self, ask: Callable[[], Any]) -> Any:
        """What the chief's call of ``ask`` returns, in all processes: the master is asked once."""
        return self._context.distributed.broadcast(ask() if self._is_chief else None)

    # Before training

    def _open_checkpoint(self, stack: contextlib.ExitStack) -> Optional[pathlib.Path]:
        if self._latest_checkpoint is None:
            return None
        logger.info("training goes on from checkpoint %s", self._latest_checkpoint)
        return stack.enter_context(self._core.checkpoint.restore_path(self._latest_checkpoint))

    def _restore(self, checkpoint: pathlib.Path) -> None:
        self._load(checkpoint)
        # The validation at this very point may have come after the checkpoint; the master knows.
        if self._last_validation() == self._state.batches_trained:
            self._state.last_val = self._state.batches_trained

    def _last_validation(self) -> Optional[int]:
        steps: Optional[int] = self._from_chief(lambda: last_validation(self._core.train))
        return steps

    def _training_batches(self, stack: contextlib.ExitStack) -> Iterator[Any]:
        """The training data as one endless iterator, its workers started already."""
        iterator = iter(self._training_loader)
        # Without this, worker processes of the loader may outlive the last batch and keep the program from ending.
        shutdown = getattr(iterator, "_shutdown_workers", None)
        if shutdown is not None:
            stack.callback(shutdown)
        return self._endless(iterator)

    def _endless(self, iterator: Iterator[Any]) -> Iterator[Any]:
        while True:
            empty = True
            for batch in iterator:
                empty = False
                yield batch
            if empty:
                raise errors.InvalidExperimentException("the training data loader is empty")
            # Only a loader that is not ours ends at all.
            iterator = iter(self._training_loader)

    # Training

    def _train(self, batches: Iterator[Any]) -> None:
        if self._plan.step_zero_validation and self._state.batches_trained == 0:
            if self._last_validation() is None:
                self._validate()
        for length in self._lengths():
            self._length = length
            while not self._finished():
                self._train_until_due(batches)
                self._do_what_is_due()
                self._stop_if_asked()
            if self._state.last_val != self._state.batches_trained:
                self._validate()
            self._checkpoint_unless_current()

    def _lengths(self) -> Iterator[TrainUnit]:
        """How far to train, again and again. What is done is saved before the searcher hears of it."""
        if self._plan.operation_length is None:
            yield self._plan.max_length
            return
        for operation in self._core.searcher.operations():
            yield self._plan.operation_length(operation.length)
            value = self._value_for_searcher()
            if self._is_chief:
                operation.report_completed(value)

    def _value_for_searcher(self) -> float:
        """The searcher's metric here, measured again if an earlier run did not come to report its validation."""
        if self._searcher_value is None:
            # An undisturbed run measured here once, so this time must leave no trace in the random numbers.
            before = self._random_state()
            self._searcher_value = self._metric_for_searcher(self._measure())
            self._set_random_state(before)
        return self._searcher_value

    def _finished(self) -> bool:
        if self._plan.test_mode:
            return self._state.batches_trained >= 1
        assert isinstance(self._length.value, int)
        return self._done(self._length) >= self._length.value

    def _done(self, unit: TrainUnit) -> int:
        return self._state.epochs_trained if isinstance(unit, Epoch) else self._state.batches_trained

    def _due(self, unit: TrainUnit) -> bool:
        """Whether something of this period happens after the batch just trained."""
        if isinstance(unit, Batch):
            return unit.should_stop(self._state.batches_trained)
        return self._at_epoch_end() and unit.should_stop(self._state.epochs_trained)

    def _at_epoch_end(self) -> bool:
        return self._state.batches_trained % self._epoch_len == 0

    def _train_until_due(self, batches: Iterator[Any]) -> None:
        """Train batch after batch until something else has to be done."""
        self._set_status("training")
        self._begin_training()
        self._timings.training(True)
        while True:
            self._profile(self._state.batches_trained)
            self._train_batch(batches)
            if self._something_is_due() or self._stop_watch.stop:
                break
        self._timings.training(False)
        self._report_training()

    def _something_is_due(self) -> bool:
        periods = (self._plan.reporting_period, self._plan.validation_period, self._plan.checkpoint_period)
        due = self._finished() or any(self._due(period) for period in periods)
        self._stop_watch.ask(self._state.batches_trained, now=due)
        return due

    def _profile(self, batch_idx: int) -> None:
        """Switch system metrics and timings on and off as the plan says."""
        self._timings.batch_begins(batch_idx)
        if self._timings.within(batch_idx) != self._sampling:
            self._sampling = not self._sampling
            (self._core.profiler.on if self._sampling else self._core.profiler.off)()

    def _train_batch(self, batches: Iterator[Any]) -> None:
        batch_idx = self._state.batches_trained
        epoch_idx, batch_in_epoch = divmod(batch_idx, self._epoch_len)
        _trial_context.begin_batch(self._context, batch_idx)
        if batch_in_epoch == 0:
            self._call("on_training_epoch_start", epoch_idx)
        self._pending.extend(self._train_next(batches))
        if self._context.profiler is not None:
            self._context.profiler.step()
        self._state.batches_trained += 1
        self._searcher_value = None
        if self._at_epoch_end():
            self._state.epochs_trained += 1
            self._call("on_training_epoch_end", epoch_idx)

    def _report_training(self) -> None:
        pending, self._pending = self._pending, []
        metrics, batch_metrics = self._training_metrics(pending)
        self._warn_of_odd_numbers(metrics, "training")
        self._draw(_curves.training_points(self._state.batches_trained, metrics))
        self._add_position(metrics)
        if self._is_chief:
            self._core.train.report_training_metrics(self._state.batches_trained, metrics, batch_metrics)
        self._report_timings()
        self._call("on_training_workload_end", avg_metrics=metrics, batch_metrics=batch_metrics)

    def _report_timings(self) -> None:
        exchange = self._latest_exchange()
        if exchange is not None:
            self._timings.exchanged(*exchange)
        timings = self._timings.take()
        if timings and self._is_chief:
            self._core.train.report_metrics(_timings.GROUP, self._state.batches_trained, timings)

    def _say_what_training_waited_for(self) -> None:
        line = _timings.verdict(self._context.distributed.allgather(self._timings.spent()))
        if line is not None and self._is_chief:
            logger.info("%s", line)

    def _warn_of_odd_numbers(self, metrics: Dict[str, Any], of: str) -> None:
        """Say once of each metric that it is not finite: training goes on, but seldom to any good."""
        for name, value in metrics.items():
            if isinstance(value, (float, np.floating)) and not math.isfinite(value):
                message = f"{of} metric {name!r} is {value} after {self._state.batches_trained} batches"
                self._warn_once((of, name), message)

    def _warn_once(self, what: Any, message: str) -> None:
        if what not in self._told_of:
            self._told_of.add(what)
            logger.warning("%s", message)

    def _add_position(self, metrics: Dict[str, Any]) -> None:
        """Searchers count in these; a trial that reports its own keeps them."""
        metrics.setdefault("batches", self._state.batches_trained)
        metrics.setdefault("epochs", self._state.epochs_trained)

    # Between batches

    def _do_what_is_due(self) -> None:
        if self._is_chief and (self._due(self._plan.reporting_period) or self._finished()):
            length = self._plan.max_length  # of the whole, whatever the present operation
            assert isinstance(length.value, int)
            self._core.train.report_progress(min(self._done(length) / max(length.value, 1), 1.0))
        if self._due(self._plan.validation_period) and self._state.last_val != self._state.batches_trained:
            self._validate()
        if self._due(self._plan.checkpoint_period):
            self._checkpoint_unless_current()
        self._context.upload_tensorboard()

    def _stop_if_asked(self) -> None:
        # At the very end there is nothing left to interrupt, but the final validation is due.
        if not self._finished() and self._stop_watch.ask(self._state.batches_trained, now=True):
            raise _Stop()

    def _set_status(self, status: str) -> None:
        if self._is_chief:
            self._core.train.set_status(status)

    def _call(self, moment: str, *args: Any, **kwargs: Any) -> None:
        for callback in self._callbacks.values():
            getattr(callback, moment)(*args, **kwargs)

    # Validation

    def _measure(self) -> Dict[str, Any]:
        self._set_status("validating")
        started_s = time.monotonic()
        metrics = self._measured()
        logger.info("validated in %.1f s", time.monotonic() - started_s)
        return metrics

    def _draw(self, points: Iterator[_curves.Point]) -> None:
        """In TensorBoard, on the cluster, where its files are kept."""
        if self._is_chief and self._core.info is not None and self._context.get_enable_tensorboard_logging():
            self._curves.draw(points)

    def _validate(self) -> None:
        metrics = self._measure()
        self._state.last_val = self._state.batches_trained
        if self._plan.operation_length is not None:
            self._searcher_value = self._metric_for_searcher(metrics)
        best_before = self._best_validation() if self._looks_for_best() else None
        self._warn_of_odd_numbers(metrics, "validation")
        self._draw(_curves.validation_points(self._state.batches_trained, metrics))
        self._add_position(metrics)
        if self._is_chief:
            self._core.train.report_validation_metrics(self._state.batches_trained, metrics)
        if self._deserves_checkpoint(metrics, best_before):
            self._checkpoint_unless_current()

    def _best_validation(self) -> Optional[float]:
        best: Optional[float] = self._from_chief(self._core.train.get_experiment_best_validation)
        return best

    # Checkpoints

    def _looks_for_best(self) -> bool:
        return self._plan.checkpoint_policy == CheckpointPolicy.BEST and self._plan.searcher_metric is not None

    def _deserves_checkpoint(self, metrics: Dict[str, Any], best_before: Optional[float]) -> bool:
        if not self._looks_for_best():
            return self._plan.checkpoint_policy == CheckpointPolicy.ALL
        value = self._metric_for_searcher(metrics)
        if best_before is None:
            return True
        return value < best_before if self._plan.smaller_is_better else value > best_before

    def _metric_for_searcher(self, metrics: Dict[str, Any]) -> float:
        name = self._plan.searcher_metric
        if name not in metrics:
            raise errors.InvalidExperimentException(
                f"searcher.metric is {name!r}, but validation reports only {', '.join(sorted(metrics))}"
            )
        try:
            return float(metrics[name])
        except (TypeError, ValueError) as e:
            raise errors.InvalidExperimentException(
                f"searcher.metric {name!r} is not a number but {metrics[name]!r}"
            ) from e

    def _checkpoint_unless_current(self) -> None:
        if self._state.last_ckpt == self._state.batches_trained:
            return
        self._set_status("checkpointing")
        self._state.last_ckpt = self._state.batches_trained
        self._call("on_checkpoint_upload_end", uuid=self._context.distributed.broadcast(self._store()))
