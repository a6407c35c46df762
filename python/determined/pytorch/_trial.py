"""What a user writes."""

import abc
from typing import Any, Dict, Union

import torch

from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._data import TorchData
from determined.pytorch._torch_trial import TorchTrial


class PyTorchTrial(TorchTrial):
    """A training run: a model, its data, what to do with a batch. Derive your own, let :class:`Trainer` run it.

    Build models and optimizers in the constructor, through ``context.wrap_model()`` and ``context.wrap_optimizer()``.
    Besides the abstract methods, exactly one of :meth:`evaluate_batch` and :meth:`evaluate_full_dataset` is needed.

    Examples
    --------
    >>> class MyTrial(PyTorchTrial):
    ...     def __init__(self, context):
    ...         self.context = context
    ...         self.model = context.wrap_model(torch.nn.Linear(2, 1))
    ...         self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))
    ...     def build_training_data_loader(self):
    ...         return DataLoader(torch.rand(64, 2), batch_size=8)
    ...     def build_validation_data_loader(self):
    ...         return DataLoader(torch.rand(16, 2), batch_size=8)
    ...     def train_batch(self, batch, epoch_idx, batch_idx):
    ...         loss = (self.model(batch) ** 2).mean()
    ...         self.context.backward(loss)
    ...         self.context.step_optimizer(self.optimizer)
    ...         return {"loss": loss}
    ...     def evaluate_batch(self, batch, batch_idx):
    ...         return {"validation_loss": (self.model(batch) ** 2).mean()}
    """

    trial_context_class = PyTorchTrialContext
    context: PyTorchTrialContext

    @abc.abstractmethod
    def __init__(self, context: PyTorchTrialContext) -> None:
        """Build models, optimizers, schedulers; ``context`` wraps them and knows hyperparameters and device."""

    @abc.abstractmethod
    def train_batch(self, batch: TorchData, epoch_idx: int, batch_idx: int) -> Union[torch.Tensor, Dict[str, Any]]:
        """Train on one batch: forward, ``context.backward(loss)``, ``context.step_optimizer(optimizer)``.

        Parameters
        ----------
        batch : tensor, or dictionary or sequence of tensors
            As it comes from the training data loader, on the context's device.
        epoch_idx, batch_idx : int
            Counted from 0, from the trial's very beginning.

        Returns
        -------
        dict
            Metrics by name; the same names for each batch. A bare tensor stands for ``{"loss": tensor}``.
        """

    def evaluate_batch(self, batch: TorchData, batch_idx: int) -> Dict[str, Any]:
        """Metrics of one batch of validation data; :meth:`evaluation_reducer` tells how they are combined.

        The model is in evaluation mode and gradients are off.
        """
        raise NotImplementedError
