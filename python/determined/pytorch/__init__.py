"""Training PyTorch models: describe the training as a :class:`PyTorchTrial`, let :class:`Trainer` run it.

>>> from determined import pytorch
>>> with pytorch.init() as train_context:  # doctest: +SKIP
...     trainer = pytorch.Trainer(MyTrial(train_context), train_context)
...     trainer.fit(max_length=pytorch.Epoch(10))
"""

from determined._training._units import Batch, Epoch, TrainUnit
from determined.pytorch import samplers
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._data import DataLoader, TorchData, adapt_batch_sampler, data_length, to_device
from determined.pytorch._experimental import PyTorchExperimentalContext
from determined.pytorch._load import CheckpointLoadContext, load_trial_from_checkpoint_path
from determined.pytorch._lr_scheduler import LRScheduler
from determined.pytorch._reducer import MetricReducer, Reducer
from determined.pytorch._trainer import Trainer, init
from determined.pytorch._trial import PyTorchTrial

__all__ = [
    "Batch",
    "CheckpointLoadContext",
    "DataLoader",
    "Epoch",
    "LRScheduler",
    "MetricReducer",
    "PyTorchCallback",
    "PyTorchExperimentalContext",
    "PyTorchTrial",
    "PyTorchTrialContext",
    "Reducer",
    "TorchData",
    "TrainUnit",
    "Trainer",
    "adapt_batch_sampler",
    "data_length",
    "init",
    "load_trial_from_checkpoint_path",
    "samplers",
    "to_device",
]
