"""Measuring how good a model is."""

import inspect
from typing import Any, Dict, Iterator, List, Tuple

import torch
import torch.utils.data

from determined import errors
from determined.pytorch import _backend, _reducer
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._torch_trial import TorchTrial
from determined.pytorch._trial_context import TorchTrialContext, moves_batches


def overrides(trial: TorchTrial, method: str) -> bool:
    """Whether the trial's class has a method of its own in place of the library's."""
    library = next(c for c in type(trial).__mro__ if c.__module__.startswith("determined.pytorch."))
    return getattr(type(trial), method) is not getattr(library, method)


def evaluates_batches(trial: TorchTrial) -> bool:
    """Whether the trial evaluates batch after batch, rather than all at once."""
    return overrides(trial, "evaluate_batch")


def checked_metrics(metrics: Any, method: str) -> Dict[str, Any]:
    """``metrics``, provided that the trial's method returned a dictionary."""
    if not isinstance(metrics, dict):
        raise TypeError(f"{method}() must return a dictionary of metrics, not a {type(metrics).__name__}")
    return metrics


def training_metrics(metrics: Any) -> Dict[str, Any]:
    """What ``train_batch()`` returned, as a dictionary; a bare tensor is the loss."""
    return {"loss": metrics} if isinstance(metrics, torch.Tensor) else checked_metrics(metrics, "train_batch")


class Validation:
    """Validates a trial's models, in all processes together.

    Parameters
    ----------
    trial : TorchTrial
    context : TorchTrialContext
    callbacks : dict
    loader : torch.utils.data.DataLoader
        This process's share of the validation data, or all of it where the trial evaluates it as a whole.
    one_batch : bool
        Whether to stop after the first batch.
    """

    def __init__(
        self,
        trial: TorchTrial,
        context: TorchTrialContext,
        callbacks: Dict[str, PyTorchCallback],
        loader: torch.utils.data.DataLoader[Any],
        *,
        one_batch: bool,
    ) -> None:
        self._trial = trial
        self._context = context
        self._callbacks = callbacks
        self._loader = loader
        self._one_batch = one_batch

    @torch.no_grad()
    def measure(self) -> Dict[str, Any]:
        """The metrics of all validation data, the same in all processes.

        Raises
        ------
        errors.InvalidExperimentException
            If there are no validation data.
        TypeError, ValueError
            If the trial returns something else than the same metrics for each batch.
        """
        self._context.reset_reducers()
        for model in self._context.models:
            model.eval()
        self._call("on_validation_start")
        metrics = self._evaluate_batches() if evaluates_batches(self._trial) else self._evaluate_at_once()
        metrics.update(_reducer.to_numpy(self._context.reduce_metrics(for_training=False)))
        self._call("on_validation_end", metrics)
        return metrics

    def _call(self, moment: str, *args: Any) -> None:
        for callback in self._callbacks.values():
            getattr(callback, moment)(*args)

    def _evaluate_at_once(self) -> Dict[str, Any]:
        # The chief evaluates for all, unless it has only a part of the model.
        distributed = self._context.distributed
        sharded = self._sharded()
        metrics: Dict[str, Any] = {}
        if sharded or distributed.rank == 0:
            metrics = self._trial.evaluate_full_dataset(data_loader=self._loader)
            metrics = _reducer.to_numpy(checked_metrics(metrics, "evaluate_full_dataset"))
        if not sharded:
            metrics = distributed.broadcast(metrics)
        return metrics

    def _evaluate_batches(self) -> Dict[str, Any]:
        self._call("on_validation_epoch_start")
        outputs: List[Dict[str, Any]] = []
        for metrics in self._evaluated():
            outputs.append(_reducer.to_numpy(checked_metrics(metrics, "evaluate_batch")))
            if self._one_batch:
                break
        reducer = self._trial.evaluation_reducer()
        share = (len(outputs), _reducer.reduce_validation(outputs, reducer) if outputs else {})
        shares: List[Tuple[int, Dict[str, Any]]] = self._context.distributed.allgather(share)
        if not any(count for count, _ in shares):
            raise errors.InvalidExperimentException("the validation data loader is empty")
        self._call("on_validation_epoch_end", outputs)
        return _reducer.combine_validation(shares, reducer)

    def _evaluated(self) -> Iterator[Any]:
        """What the trial makes of each batch."""
        for batch_idx, batch in enumerate(self._loader):
            if moves_batches(self._context):
                batch = self._context.to_device(batch)
            yield self._trial.evaluate_batch(**self._arguments(batch, batch_idx))

    def _sharded(self) -> bool:
        """Whether a forward pass takes all processes."""
        return any(_backend.is_sharded(model) for model in self._context.models)

    def _arguments(self, batch: Any, batch_idx: int) -> Dict[str, Any]:
        """Trials of old define ``evaluate_batch(self, batch)``."""
        parameters = inspect.signature(self._trial.evaluate_batch).parameters
        takes_index = "batch_idx" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        return {"batch": batch, "batch_idx": batch_idx} if takes_index else {"batch": batch}
