"""Handwritten digits with DeepSpeed: ZeRO-1, two micro batches to a step."""

import pathlib
from typing import Any, Dict, Iterator, Optional

import deepspeed
import torch
from sklearn.datasets import load_digits
from torch.utils.data import TensorDataset

from determined import pytorch
from determined.pytorch.deepspeed import DeepSpeedTrial, DeepSpeedTrialContext, overwrite_deepspeed_config

TRAINING = 1400
DS_CONFIG = pathlib.Path(__file__).parent / "ds_config.json"


class DigitsTrial(DeepSpeedTrial):
    """Hyperparameters: width; ds, which changes DeepSpeed's configuration."""

    def __init__(self, context: DeepSpeedTrialContext) -> None:
        self.context = context
        x, y = load_digits(return_X_y=True)
        self.x, self.y = torch.tensor(x / 16, dtype=torch.float32), torch.tensor(y)
        width = context.get_hparam("width")
        model = torch.nn.Sequential(
            torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(width, 10)
        )
        config = overwrite_deepspeed_config(str(DS_CONFIG), context.get_hparams().get("ds", {}))
        engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
        self.engine = context.wrap_model_engine(engine)

    def build_training_data_loader(self) -> pytorch.DataLoader:
        data = TensorDataset(self.x[:TRAINING], self.y[:TRAINING])
        return pytorch.DataLoader(data, self.context.get_train_micro_batch_size_per_gpu(), shuffle=True)

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(TensorDataset(self.x[TRAINING:], self.y[TRAINING:]), batch_size=64)

    def train_batch(self, dataloader_iter: Optional[Iterator], epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        assert dataloader_iter is not None
        x, y = self.context.to_device(next(dataloader_iter))
        loss = torch.nn.functional.cross_entropy(self.engine(x), y)
        self.engine.backward(loss)
        self.engine.step()
        return {"loss": loss}

    def evaluate_batch(self, dataloader_iter: Optional[Iterator], batch_idx: int) -> Dict[str, Any]:
        assert dataloader_iter is not None
        x, y = self.context.to_device(next(dataloader_iter))
        return {"accuracy": (self.engine(x).argmax(1) == y).float().mean()}
