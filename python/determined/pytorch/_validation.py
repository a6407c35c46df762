"""Measuring how good a model is."""

import inspect
from typing import Any, Dict, List, Tuple

import torch
import torch.utils.data

from determined import errors
from determined.pytorch import _backend, _reducer
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._trial import PyTorchTrial


def overrides(trial: PyTorchTrial, method: str) -> bool:
    """Whether the trial's class has a method of its own in place of PyTorchTrial's."""
    return getattr(type(trial), method) is not getattr(PyTorchTrial, method)


def evaluates_batches(trial: PyTorchTrial) -> bool:
    """Whether the trial evaluates batch after batch, rather than all at once."""
    return overrides(trial, "evaluate_batch")


def checked_metrics(metrics: Any, method: str) -> Dict[str, Any]:
    """``metrics``, provided that the trial's method returned a dictionary."""
    if not isinstance(metrics, dict):
        raise TypeError(f"{method}() must return a dictionary of metrics, not a {type(metrics).__name__}")
    return metrics


class Validation:
    """Validates a trial's models, in all processes together.

    Parameters
    ----------
    trial : PyTorchTrial
    context : PyTorchTrialContext
    callbacks : dict
    loader : torch.utils.data.DataLoader
        This process's share of the validation data, or all of it where the trial evaluates it as a whole.
    one_batch : bool
        Whether to stop after the first batch.
    """

    def __init__(
        self,
        trial: PyTorchTrial,
        context: PyTorchTrialContext,
        callbacks: Dict[str, PyTorchCallback],
        loader: torch.utils.data.DataLoader,
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
        sharded = any(_backend.is_sharded(model) for model in self._context.models)
        metrics: Any = None
        if sharded or distributed.rank == 0:
            metrics = self._trial.evaluate_full_dataset(data_loader=self._loader)
            metrics = _reducer.to_numpy(checked_metrics(metrics, "evaluate_full_dataset"))
        return metrics if sharded else distributed.broadcast(metrics)

    def _evaluate_batches(self) -> Dict[str, Any]:
        self._call("on_validation_epoch_start")
        outputs: List[Dict[str, Any]] = []
        for batch_idx, batch in enumerate(self._loader):
            if self._context.experimental._auto_to_device:
                batch = self._context.to_device(batch)
            metrics = self._trial.evaluate_batch(**self._arguments(batch, batch_idx))
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

    def _arguments(self, batch: Any, batch_idx: int) -> Dict[str, Any]:
        """Trials of old define ``evaluate_batch(self, batch)``."""
        parameters = inspect.signature(self._trial.evaluate_batch).parameters
        takes_index = "batch_idx" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        return {"batch": batch, "batch_idx": batch_idx} if takes_index else {"batch": batch}
