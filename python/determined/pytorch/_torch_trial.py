"""What trials of any kind have in common for their users."""

import abc
from typing import Any, Dict, Union

import torch
import torch.utils.data

from determined import _trial
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._data import DataLoader, data_length
from determined.pytorch._reducer import Reducer


class TorchTrial(_trial.LegacyTrial):
    """A training run; see :class:`PyTorchTrial` and :class:`determined.pytorch.deepspeed.DeepSpeedTrial`."""

    context: Any

    @abc.abstractmethod
    def build_training_data_loader(self) -> Union[DataLoader, torch.utils.data.DataLoader[Any]]:
        """The training data."""

    @abc.abstractmethod
    def build_validation_data_loader(self) -> Union[DataLoader, torch.utils.data.DataLoader[Any]]:
        """The validation data."""

    def build_callbacks(self) -> Dict[str, PyTorchCallback]:
        """Callbacks, by a name under which their state is kept in checkpoints."""
        return {}

    @abc.abstractmethod
    def train_batch(self, *args: Any, **kwargs: Any) -> Union[torch.Tensor, Dict[str, Any]]:
        """Train on one batch; each kind of trial has its arguments."""

    def evaluate_batch(self, *args: Any, **kwargs: Any) -> Dict[str, Any]:
        """Metrics of one batch of validation data; each kind of trial has its arguments."""
        raise NotImplementedError

    def evaluate_full_dataset(self, data_loader: torch.utils.data.DataLoader[Any]) -> Dict[str, Any]:
        """Metrics of the validation data as a whole, in place of :meth:`evaluate_batch`."""
        raise NotImplementedError

    def evaluation_reducer(self) -> Union[Reducer, Dict[str, Reducer]]:
        """How metrics of :meth:`evaluate_batch` are combined: all in one way, or each in its own."""
        return Reducer.AVG

    def get_batch_length(self, batch: Any) -> int:
        """Number of records in a batch; override it for batches of a form of your own."""
        return data_length(batch)
