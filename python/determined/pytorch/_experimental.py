"""Features of a trial's context whose form may still change."""

from typing import Any, Callable, Optional, Union

import torch

from determined import errors
from determined.pytorch._reducer import MetricReducer


class PyTorchExperimentalContext:
    """Features whose form may still change. Reached as ``context.experimental``."""

    def __init__(self, parent: Any) -> None:
        self._parent = parent
        self._auto_amp = False
        self._data_repro_checks_disabled = False
        self._auto_to_device = True
        self._gradient_dtype: Optional[torch.dtype] = None

    def use_amp(self) -> None:
        """Train in mixed precision without further ado: forward passes autocast, losses are scaled.

        Call it before ``wrap_model()``.
        """
        if self._parent.models:
            raise errors.InvalidExperimentException("experimental.use_amp() must be called before wrap_model()")
        from determined.pytorch._context import scaler_of

        if scaler_of(self._parent) is not None:
            raise errors.InvalidExperimentException("experimental.use_amp() brings its own scaler: no wrap_scaler()")
        self._parent.wrap_scaler(torch.amp.GradScaler(self._parent.device.type))
        self._auto_amp = True

    def disable_dataset_reproducibility_checks(self) -> None:
        """Accept loaders other than ``det.pytorch.DataLoader``, which cannot go on in the middle of an epoch."""
        self._data_repro_checks_disabled = True

    def disable_auto_to_device(self) -> None:
        """Hand batches over as they come from the loader; ``context.to_device()`` is up to you."""
        self._auto_to_device = False

    def wrap_reducer(
        self,
        reducer: Union[Callable[..., Any], MetricReducer],
        name: Optional[str] = None,
        for_training: bool = True,
        for_validation: bool = True,
    ) -> MetricReducer:
        """Where the older releases had :meth:`PyTorchTrialContext.wrap_reducer`, whose parameters these are."""
        wrapped: MetricReducer = self._parent.wrap_reducer(reducer, name, for_training, for_validation)
        return wrapped

    def reset_reducers(self) -> None:
        """Where the older releases had :meth:`PyTorchTrialContext.reset_reducers`."""
        self._parent.reset_reducers()

    def compress_gradients(self, dtype: torch.dtype = torch.float16) -> None:
        """Let gradients travel between processes in half of their bytes, whatever the configuration says.

        Call it before ``wrap_optimizer()``.

        Parameters
        ----------
        dtype : torch.dtype
            ``torch.float16``, or ``torch.bfloat16`` for gradients beyond 65504.
        """
        self._gradient_dtype = dtype


def uses_amp(experimental: PyTorchExperimentalContext) -> bool:
    """Whether :meth:`PyTorchExperimentalContext.use_amp` was called."""
    return experimental._auto_amp


def checks_reproducibility(experimental: PyTorchExperimentalContext) -> bool:
    """Whether only loaders are accepted that can go on in the middle of an epoch."""
    return not experimental._data_repro_checks_disabled


def moves_batches_to_device(experimental: PyTorchExperimentalContext) -> bool:
    """Whether the training loop copies batches to the device."""
    return experimental._auto_to_device


def gradient_dtype_of(experimental: PyTorchExperimentalContext) -> Optional[torch.dtype]:
    """The type as which gradients travel between processes; None leaves them as they are."""
    return experimental._gradient_dtype
