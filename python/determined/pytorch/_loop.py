"""The training loop of trials that train with PyTorch."""

import functools
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from determined._training import _loop
from determined._trial_context import averages_training_metrics
from determined._version import __version__
from determined.pytorch import _reducer, _state
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._data import DataLoader
from determined.pytorch._torch_trial import TorchTrial
from determined.pytorch._trial_context import TorchTrialContext, checks_reproducibility
from determined.pytorch._validation import Validation

# Of one training metric in one batch; all are kept until the next report.
MOST_ELEMENTS = 4096


class TorchTrainingLoop(_loop.TrainingLoop):
    """What loops of ``PyTorchTrial`` and ``DeepSpeedTrial`` share; each has its own batches and checkpoints."""

    # How a user allows loaders of any kind.
    _unchecked_call = "context.experimental.disable_dataset_reproducibility_checks()"

    _trial: TorchTrial
    _context: TorchTrialContext
    _validation: Validation

    def _build_callbacks(self) -> Dict[str, PyTorchCallback]:
        return self._trial.build_callbacks()

    def _wait_for_device(self) -> Optional[Callable[[], None]]:
        device = self._context.device
        return functools.partial(torch.cuda.synchronize, device) if device.type == "cuda" else None

    def _torch_loader(self, loader: Any, what: str, **kwargs: Any) -> Any:
        if isinstance(loader, DataLoader):
            return loader.get_data_loader(**kwargs)
        if checks_reproducibility(self._context):
            raise RuntimeError(
                f"{what}() returned a {type(loader).__name__}, which cannot go on in the middle after a pause: return "
                f"a det.pytorch.DataLoader, or call {self._unchecked_call}"
            )
        return loader

    def _begin_training(self) -> None:
        for model in self._context.models:
            model.train()
        self._context.reset_reducers()

    def _training_metrics(self, pending: List[Dict[str, Any]]) -> Tuple[Dict[str, Any], List[Dict[str, Any]]]:
        with self._timings.measure("from_device"):
            batch_metrics = [_reducer.to_numpy(metrics) for metrics in pending]
        with self._timings.measure("reduce_metrics"):
            if averages_training_metrics(self._context):
                # Stages in the middle of a pipeline have none.
                processes = [metrics for metrics in self._context.distributed.allgather(batch_metrics) if metrics]
                batch_metrics = _reducer.average_processes(processes)
            metrics = _reducer.average(batch_metrics)
            metrics.update(_reducer.to_numpy(self._context.reduce_metrics(for_training=True)))
        return metrics, batch_metrics

    def _measured(self) -> Dict[str, Any]:
        return self._validation.measure()

    def _random_state(self) -> Dict[str, Any]:
        return _state.random_state(self._context)

    def _set_random_state(self, state: Dict[str, Any]) -> None:
        _state.set_random_state(self._context, state)

    def _metadata(self) -> Dict[str, Any]:
        return {
            "determined_version": __version__,
            "steps_completed": self._state.batches_trained,
            "framework": f"torch-{torch.__version__}",
            "format": "pickle",
        }


def keep(metrics: Dict[str, Any]) -> Dict[str, Any]:
    """Metrics of a batch to look at later: detached, and not pinning large tensors on the device.

    Scalars stay there, so that training does not wait for the device after each batch.
    """
    return {name: _keep_value(name, value) for name, value in metrics.items()}


def _keep_value(name: str, value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    if value.numel() > MOST_ELEMENTS:
        raise ValueError(
            f"metric {name!r} of train_batch() has {value.numel()} elements, more than {MOST_ELEMENTS}: "
            "return its mean, or collect it with context.wrap_reducer()"
        )
    value = value.detach()
    return value.clone() if value.numel() == 1 else value.cpu()
