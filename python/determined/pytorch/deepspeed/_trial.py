"""What a user writes who trains with DeepSpeed."""

import abc
import pathlib
from typing import Any, Dict, Iterator, Optional, Union

import torch

from determined import errors
from determined.pytorch._data import TorchData
from determined.pytorch._torch_trial import TorchTrial
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext


class DeepSpeedTrial(TorchTrial):
    """A training run with DeepSpeed: model engines, their data, what to do with a batch.

    Build engines with ``deepspeed.initialize()`` in the constructor and pass them to ``context.wrap_model_engine()``.
    Besides the abstract methods, one of :meth:`evaluate_batch` and :meth:`evaluate_full_dataset` is needed.

    Examples
    --------
    >>> class MyTrial(DeepSpeedTrial):
    ...     def __init__(self, context):
    ...         self.context = context
    ...         model = torch.nn.Linear(2, 1)
    ...         engine, *_ = deepspeed.initialize(
    ...             model=model, model_parameters=model.parameters(), config="ds_config.json"
    ...         )
    ...         self.engine = context.wrap_model_engine(engine)
    ...     def build_training_data_loader(self):
    ...         return DataLoader(torch.rand(64, 2), batch_size=self.context.get_train_micro_batch_size_per_gpu())
    ...     def build_validation_data_loader(self):
    ...         return DataLoader(torch.rand(16, 2), batch_size=self.context.get_train_micro_batch_size_per_gpu())
    ...     def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
    ...         batch = self.context.to_device(next(dataloader_iter))
    ...         loss = (self.engine(batch) ** 2).mean()
    ...         self.engine.backward(loss)
    ...         self.engine.step()
    ...         return {"loss": loss}
    ...     def evaluate_batch(self, dataloader_iter, batch_idx):
    ...         batch = self.context.to_device(next(dataloader_iter))
    ...         return {"validation_loss": (self.engine(batch) ** 2).mean()}
    """

    trial_context_class = DeepSpeedTrialContext
    context: DeepSpeedTrialContext

    @abc.abstractmethod
    def __init__(self, context: DeepSpeedTrialContext) -> None:
        """Build the model engines; ``context`` wraps them and knows hyperparameters and device."""

    @abc.abstractmethod
    def train_batch(
        self, dataloader_iter: Optional[Iterator[TorchData]], epoch_idx: int, batch_idx: int
    ) -> Union[torch.Tensor, Dict[str, Any]]:
        """Train on the next micro batch: forward, the engine's ``backward(loss)`` and ``step()``.

        It is called once for each of DeepSpeed's ``gradient_accumulation_steps``, which together make a batch; but only
        once for a batch with a ``PipelineEngine``, whose ``train_batch(dataloader_iter)`` does everything, and after
        ``context.disable_auto_grad_accumulation()``.

        Parameters
        ----------
        dataloader_iter : iterator, optional
            Endless, over micro batches as they come from the training data loader, not yet on the device; None in
            processes that need no data.
        epoch_idx, batch_idx : int
            Counted from 0, from the trial's very beginning.

        Returns
        -------
        dict
            Metrics by name; the same names each time. A bare tensor stands for ``{"loss": tensor}``.
        """

    def evaluate_batch(self, dataloader_iter: Optional[Iterator[TorchData]], batch_idx: int) -> Dict[str, Any]:
        """Metrics of the next batch of validation data; :meth:`evaluation_reducer` tells how they are combined.

        It is called equally often in all processes. The model is in evaluation mode and gradients are off.
        """
        raise NotImplementedError

    def save(self, context: DeepSpeedTrialContext, path: pathlib.Path) -> None:
        """Write this process's part of a checkpoint: each engine's, unless you override it.

        Parameters
        ----------
        context : DeepSpeedTrialContext
        path : pathlib.Path
            Directory of the checkpoint; all processes are to use different names.
        """
        for i, engine in enumerate(context.models):
            engine.save_checkpoint(str(path), tag=f"model{i}")

    def load(self, context: DeepSpeedTrialContext, load_path: pathlib.Path) -> None:
        """Take over what :meth:`save` wrote.

        Raises
        ------
        errors.InvalidCheckpointException
            If DeepSpeed finds nothing of an engine's there.
        """
        for i, engine in enumerate(context.models):
            tag = f"model{i}"
            try:
                found, _ = engine.load_checkpoint(str(load_path), tag=tag)
            except AssertionError as e:  # what DeepSpeed raises, mostly without a word
                raise errors.InvalidCheckpointException(
                    f"DeepSpeed cannot load {tag} of {load_path} here: {e or 'parts are missing'}"
                ) from e
            if found is None:
                raise errors.InvalidCheckpointException(f"the checkpoint {load_path} has no {tag} of DeepSpeed")
