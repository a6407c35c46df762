"""The training loop of a :class:`PyTorchTrial`."""

import contextlib
import pathlib
from typing import Any, Dict, Iterator, List, Optional, Tuple

from determined import errors
from determined._training._loop import ENDLESS
from determined._trial_context import given_config, given_hparams, set_epoch_length
from determined.pytorch import _backend, _state
from determined.pytorch._context import (
    PyTorchTrialContext,
    aggregation_frequency_of,
    optimizers_step_now,
    scaler_to_update,
)
from determined.pytorch._loop import TorchTrainingLoop, keep
from determined.pytorch._trial import PyTorchTrial
from determined.pytorch._trial_context import moves_batches
from determined.pytorch._validation import Validation, evaluates_batches, overrides, training_metrics


class PyTorchTrialController(TorchTrainingLoop):
    """Hands batches to the trial one by one; checkpoints are written by the chief alone."""

    _trial: PyTorchTrial
    _context: PyTorchTrialContext

    def _check_trial(self) -> None:
        name = type(self._trial).__name__
        if not self._context.models:
            raise errors.InvalidExperimentException(f"{name} wraps no model: pass it to context.wrap_model()")
        if not self._context.optimizers:
            raise errors.InvalidExperimentException(f"{name} wraps no optimizer: pass it to context.wrap_optimizer()")
        if evaluates_batches(self._trial) == overrides(self._trial, "evaluate_full_dataset"):
            raise errors.InvalidExperimentException(
                f"{name} must implement either evaluate_batch() or evaluate_full_dataset(), not both and not neither"
            )

    def _load(self, checkpoint: pathlib.Path) -> None:
        _state.load(checkpoint, self._context, self._callbacks)

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
            epoch_len = self._configured_epoch_len() or ENDLESS  # data without an end are one long epoch
        if epoch_len == 0:
            raise errors.InvalidExperimentException("build_training_data_loader() returned a loader without any batch")
        self._epoch_len = distributed.broadcast(epoch_len)
        set_epoch_length(self._context, self._epoch_len)
        shares = (distributed.size, distributed.rank) if evaluates_batches(self._trial) else (1, 0)
        validation_loader = self._torch_loader(
            self._trial.build_validation_data_loader(),
            "build_validation_data_loader",
            repeat=False,
            skip=0,
            num_replicas=shares[0],
            rank=shares[1],
        )
        self._validation = Validation(
            self._trial, self._context, self._callbacks, validation_loader, one_batch=self._plan.test_mode
        )

    def _configured_epoch_len(self) -> int:
        """Batches of an epoch by ``records_per_epoch``; 0 if nobody says so."""
        records = int(given_config(self._context).get("records_per_epoch") or 0)
        size = given_hparams(self._context).get("global_batch_size")
        return max(records // size, 1) if records and size else 0

    def _train_next(self, batches: Iterator[Any]) -> List[Dict[str, Any]]:
        batch_idx = self._state.batches_trained
        with self._timings.waiting_for_data():
            batch = next(batches)
        records = self._records_in(batch) if self._timings.active else None
        if moves_batches(self._context):
            with self._timings.measure("to_device"):
                batch = self._context.to_device(batch)
        with self._timings.measure("train_batch"), self._exchange(optimizers_step_now(self._context)):
            metrics = self._trial.train_batch(batch=batch, epoch_idx=batch_idx // self._epoch_len, batch_idx=batch_idx)
        if optimizers_step_now(self._context):
            self._step_what_follows_the_optimizer(batch_idx)
        self._timings.batch_ends(records)
        return [keep(training_metrics(metrics))]

    def _records_in(self, batch: Any) -> Optional[int]:
        try:
            return self._trial.get_batch_length(batch)
        except (TypeError, ValueError) as e:
            self._warn_once("records", f"samples_per_second is not measured: {e}")
            return None

    def _latest_exchange(self) -> Optional[Tuple[int, float]]:
        latest = _backend.latest_exchange(self._context.models)
        return (latest[0], latest[1] / aggregation_frequency_of(self._context)) if latest is not None else None

    def _exchange(self, now: bool) -> Any:
        """Gradients of all processes are averaged when the optimizer steps, and only then."""
        if now or self._context.distributed.size == 1:
            return contextlib.nullcontext()
        return _backend.keeping_gradients(self._context.models)

    def _step_what_follows_the_optimizer(self, batch_idx: int) -> None:
        scaler = scaler_to_update(self._context)
        if scaler is not None:
            scaler.update()
        with self._timings.measure("step_lr_schedulers"):
            for scheduler in self._context.lr_schedulers:
                scheduler.after_batch(batch_idx, aggregation_frequency_of(self._context), self._epoch_len)

    def _store(self) -> str:
        storage_id = ""
        collected = _state.collect(self._context)
        if self._is_chief:
            with self._core.checkpoint.store_path(self._metadata()) as (path, storage_id):
                self._save(path, collected)
        return storage_id

    def _save(self, path: pathlib.Path, collected: Dict[str, Any]) -> None:
        _state.save(
            path,
            collected,
            self._context,
            self._callbacks,
            self._state,
            type(self._trial),
            by_trainer=self._plan.by_trainer,
        )
