"""The training loop: batches, and what has to happen between them."""

import contextlib
import enum
import inspect
import logging
import pathlib
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

import torch
import torch.utils.data

from determined import errors
from determined.pytorch import _reducer, _state
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._data import DataLoader
from determined.pytorch._state import TrialState
from determined.pytorch._trial import PyTorchTrial
from determined.pytorch._units import Batch, Epoch, TrainUnit

logger = logging.getLogger("determined.pytorch")


class CheckpointPolicy(enum.Enum):
    """After which validations to save a checkpoint besides those that are due: all, the best so far, none."""

    ALL = "all"
    BEST = "best"
    NONE = "none"


class Plan(NamedTuple):
    """How a training run is to go.

    Attributes
    ----------
    max_length : Batch or Epoch
        When it ends; with operations, the length of the longest.
    operation_length : callable or None
        From the length of a searcher's operation to a Batch or Epoch, where the searcher hands out operations: then
        training goes from one to the next.
    checkpoint_period, validation_period, reporting_period : TrainUnit
        When to save, validate, and report training metrics and progress.
    checkpoint_policy : CheckpointPolicy
    searcher_metric : str or None
        Which metric "best" looks at.
    smaller_is_better : bool
    step_zero_validation : bool
        Whether to validate before the first batch.
    test_mode : bool
        Train and validate one batch only.
    profiling_enabled : bool
    by_trainer : bool
        Whether the user's own script started it, rather than ``determined.exec.harness``.
    """

    max_length: TrainUnit
    operation_length: Optional[Callable[[int], TrainUnit]]
    checkpoint_period: TrainUnit
    validation_period: TrainUnit
    reporting_period: TrainUnit
    checkpoint_policy: CheckpointPolicy
    searcher_metric: Optional[str]
    smaller_is_better: bool
    step_zero_validation: bool
    test_mode: bool
    profiling_enabled: bool
    by_trainer: bool


class _Stop(Exception):
    """Training is to end here: preempted, or on the user's request."""


def _overrides(instance: Any, base: type, method: str) -> bool:
    return getattr(type(instance), method) is not getattr(base, method)


class PyTorchTrialController:
    """Runs a trial to its end, or until it has to stop; goes on where a checkpoint left off.

    Parameters
    ----------
    trial : PyTorchTrial
    context : PyTorchTrialContext
        The one that ``trial`` was built with.
    plan : Plan
    latest_checkpoint : str, optional
        Id of the checkpoint to go on from.

    Raises
    ------
    errors.InvalidExperimentException
        If the trial lacks something.
    """

    def __init__(
        self, trial: PyTorchTrial, context: PyTorchTrialContext, plan: Plan, latest_checkpoint: Optional[str]
    ) -> None:
        self._trial = trial
        self._context = context
        self._core = context._core
        self._plan = plan
        self._latest_checkpoint = latest_checkpoint
        self._is_chief = context.distributed.rank == 0
        self._trial_id = self._core.info.trial.trial_id if self._core.info is not None else 0
        self._state = TrialState(trial_id=self._trial_id)
        self._callbacks: Dict[str, PyTorchCallback] = trial.build_callbacks()
        self._evaluates_batches = _overrides(trial, PyTorchTrial, "evaluate_batch")
        self._pending: List[Dict[str, Any]] = []
        self._length = plan.max_length
        self._searcher_value: Optional[float] = None
        self._check_trial()

    def _check_trial(self) -> None:
        name = type(self._trial).__name__
        if not self._context.models:
            raise errors.InvalidExperimentException(f"{name} wraps no model: pass it to context.wrap_model()")
        if not self._context.optimizers:
            raise errors.InvalidExperimentException(f"{name} wraps no optimizer: pass it to context.wrap_optimizer()")
        if self._evaluates_batches == _overrides(self._trial, PyTorchTrial, "evaluate_full_dataset"):
            raise errors.InvalidExperimentException(
                f"{name} must implement either evaluate_batch() or evaluate_full_dataset(), not both and not neither"
            )

    def run(self) -> None:
        """Train."""
        with contextlib.ExitStack() as stack:
            checkpoint = self._open_checkpoint(stack)
            if checkpoint is not None:
                self._state = _state.read_trial_state(checkpoint, self._trial_id)
            for callback in self._callbacks.values():
                callback.on_trial_startup(self._state.batches_trained, self._latest_checkpoint)
                stack.callback(callback.on_trial_shutdown)
            self._build_data_loaders()
            # Iterating draws random numbers, also at its beginning, so it begins before theirs are restored.
            batches = self._training_batches(stack)
            if checkpoint is not None:
                self._restore(checkpoint)
            self._call("on_training_start")
            if self._plan.profiling_enabled:
                self._core.profiler.on()
                stack.callback(self._core.profiler.off)
            self._train_and_save(batches)

    def _train_and_save(self, batches: Iterator[Any]) -> None:
        try:
            self._train(batches)
        except _Stop:
            self._checkpoint_unless_current()
        except errors.InvalidHP:
            self._checkpoint_unless_current()
            raise

    # Before training

    def _open_checkpoint(self, stack: contextlib.ExitStack) -> Optional[pathlib.Path]:
        if self._latest_checkpoint is None:
            return None
        logger.info("training goes on from checkpoint %s", self._latest_checkpoint)
        return stack.enter_context(self._core.checkpoint.restore_path(self._latest_checkpoint))

    def _restore(self, checkpoint: pathlib.Path) -> None:
        _state.load(checkpoint, self._context, self._callbacks)
        # The validation at this very point may have come after the checkpoint; the master knows.
        if self._core.train._get_last_validation() == self._state.batches_trained:
            self._state.last_val = self._state.batches_trained

    def _torch_loader(self, loader: Any, what: str, **kwargs: Any) -> Any:
        if isinstance(loader, DataLoader):
            return loader.get_data_loader(**kwargs)
        if not self._context.experimental._data_repro_checks_disabled:
            raise RuntimeError(
                f"{what}() returned a {type(loader).__name__}, which cannot go on in the middle after a pause: return "
                "a det.pytorch.DataLoader, or call context.experimental.disable_dataset_reproducibility_checks()"
            )
        return loader

    def _build_data_loaders(self) -> None:
        distributed = self._context.distributed
        self._training_loader = self._torch_loader(
            self._trial.build_training_data_loader(),
            "build_training_data_loader",
            repeat=True,
            skip=self._state.batches_trained,
            num_replicas=distributed.size,
            rank=distributed.rank,
        )
        try:
            epoch_len = len(self._training_loader)
        except TypeError:
            epoch_len = sys.maxsize  # data without an end are one long epoch
        if epoch_len == 0:
            raise errors.InvalidExperimentException("build_training_data_loader() returned a loader without any batch")
        self._epoch_len = self._context._epoch_len = distributed.broadcast(epoch_len)
        shares = (distributed.size, distributed.rank) if self._evaluates_batches else (1, 0)
        self._validation_loader = self._torch_loader(
            self._trial.build_validation_data_loader(),
            "build_validation_data_loader",
            repeat=False,
            skip=0,
            num_replicas=shares[0],
            rank=shares[1],
        )

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
            if self._core.train._get_last_validation() is None:
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
            self._searcher_value = self._metric_for_searcher(self._measure())
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
        for model in self._context.models:
            model.train()
        self._context.reset_reducers()
        periods = (self._plan.reporting_period, self._plan.validation_period, self._plan.checkpoint_period)
        while True:
            self._train_batch(next(batches))
            if self._finished() or any(self._due(period) for period in periods) or self._asked_to_stop():
                break
        self._report_training()

    def _train_batch(self, batch: Any) -> None:
        batch_idx = self._state.batches_trained
        epoch_idx, batch_in_epoch = divmod(batch_idx, self._epoch_len)
        self._context._current_batch_idx = batch_idx
        if batch_in_epoch == 0:
            self._call("on_training_epoch_start", epoch_idx)
        if self._context.experimental._auto_to_device:
            batch = self._context.to_device(batch)
        with self._profiled():
            metrics = self._trial.train_batch(batch=batch, epoch_idx=epoch_idx, batch_idx=batch_idx)
        self._pending.append(_keep({"loss": metrics} if isinstance(metrics, torch.Tensor) else metrics))
        if self._context._optimizer_steps_now():
            if self._context._scaler is not None and self._context.experimental._auto_amp:
                self._context._scaler.update()
            for scheduler in self._context.lr_schedulers:
                scheduler.after_batch(batch_idx, self._context._aggregation_frequency, self._epoch_len)
        self._state.batches_trained += 1
        self._searcher_value = None
        if self._at_epoch_end():
            self._state.epochs_trained += 1
            self._call("on_training_epoch_end", epoch_idx)

    @contextlib.contextmanager
    def _profiled(self) -> Iterator[None]:
        profiler = self._context.profiler
        with profiler if profiler is not None else contextlib.nullcontext():
            yield
            if profiler is not None:
                profiler.step()

    def _report_training(self) -> None:
        batch_metrics = [_reducer.to_numpy(metrics) for metrics in self._pending]
        self._pending = []
        metrics = _reducer.average(batch_metrics)
        metrics.update(_reducer.to_numpy(self._context.reduce_metrics(for_training=True)))
        self._add_position(metrics)
        if self._is_chief:
            self._core.train.report_training_metrics(self._state.batches_trained, metrics, batch_metrics)
        self._call("on_training_workload_end", avg_metrics=metrics, batch_metrics=batch_metrics)

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

    def _asked_to_stop(self) -> bool:
        return self._context.get_stop_requested() or self._core.preempt.should_preempt()

    def _stop_if_asked(self) -> None:
        # At the very end there is nothing left to interrupt, but the final validation is due.
        if not self._finished() and self._asked_to_stop():
            raise _Stop()

    def _set_status(self, status: str) -> None:
        if self._is_chief:
            self._core.train.set_status(status)

    def _call(self, moment: str, *args: Any, **kwargs: Any) -> None:
        for callback in self._callbacks.values():
            getattr(callback, moment)(*args, **kwargs)

    # Validation

    @torch.no_grad()
    def _measure(self) -> Dict[str, Any]:
        self._set_status("validating")
        started_s = time.monotonic()
        self._context.reset_reducers()
        for model in self._context.models:
            model.eval()
        self._call("on_validation_start")
        metrics = self._evaluate()
        metrics.update(_reducer.to_numpy(self._context.reduce_metrics(for_training=False)))
        self._call("on_validation_end", metrics)
        logger.info("validated in %.1f s", time.monotonic() - started_s)
        return metrics

    def _validate(self) -> None:
        metrics = self._measure()
        self._state.last_val = self._state.batches_trained
        if self._plan.operation_length is not None:
            self._searcher_value = self._metric_for_searcher(metrics)
        best_before = self._core.train.get_experiment_best_validation() if self._looks_for_best() else None
        self._add_position(metrics)
        if self._is_chief:
            self._core.train.report_validation_metrics(self._state.batches_trained, metrics)
        if self._deserves_checkpoint(metrics, best_before):
            self._checkpoint_unless_current()

    def _evaluate(self) -> Dict[str, Any]:
        if self._evaluates_batches:
            return self._evaluate_batches()
        metrics = self._trial.evaluate_full_dataset(data_loader=self._validation_loader)
        return _reducer.to_numpy(_checked_metrics(metrics, "evaluate_full_dataset"))

    def _evaluate_batches(self) -> Dict[str, Any]:
        self._call("on_validation_epoch_start")
        outputs = []
        for batch_idx, batch in enumerate(self._validation_loader):
            if self._context.experimental._auto_to_device:
                batch = self._context.to_device(batch)
            metrics = self._trial.evaluate_batch(**self._evaluate_arguments(batch, batch_idx))
            outputs.append(_reducer.to_numpy(_checked_metrics(metrics, "evaluate_batch")))
            if self._plan.test_mode:
                break
        if not outputs:
            raise errors.InvalidExperimentException("the validation data loader is empty")
        self._call("on_validation_epoch_end", outputs)
        return _reducer.reduce_validation(outputs, self._trial.evaluation_reducer())

    def _evaluate_arguments(self, batch: Any, batch_idx: int) -> Dict[str, Any]:
        """Trials of old define ``evaluate_batch(self, batch)``."""
        parameters = inspect.signature(self._trial.evaluate_batch).parameters
        takes_index = "batch_idx" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        return {"batch": batch, "batch_idx": batch_idx} if takes_index else {"batch": batch}

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
        storage_id = ""
        if self._is_chief:
            metadata = {
                "steps_completed": self._state.batches_trained,
                "framework": f"torch-{torch.__version__}",
                "format": "pickle",
            }
            with self._core.checkpoint.store_path(metadata) as (path, storage_id):
                self._save(path)
        self._call("on_checkpoint_upload_end", uuid=self._context.distributed.broadcast(storage_id))

    def _save(self, path: pathlib.Path) -> None:
        _state.save(
            path,
            self._context,
            self._callbacks,
            self._state,
            type(self._trial),
            by_trainer=self._plan.by_trainer,
        )


def _keep(metrics: Dict[str, Any]) -> Dict[str, Any]:
    """Metrics of a batch to look at later: detached, and not pinning large tensors on the device.

    Scalars stay there, so that training does not wait for the device after each batch.
    """
    return {name: _keep_value(value) for name, value in metrics.items()}


def _keep_value(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    return value.clone() if value.numel() == 1 else value.cpu()


def _checked_metrics(metrics: Any, method: str) -> Dict[str, Any]:
    if not isinstance(metrics, dict):
        raise TypeError(f"{method}() must return a dictionary of metrics, not a {type(metrics).__name__}")
    return metrics
