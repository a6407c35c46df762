"""The same with a PyTorchTrial: its "training" data are what is to be predicted, and one epoch goes through them."""

from typing import Any, Dict

import torch
from predict import load_data
from torch import nn

from determined import pytorch
from determined.experimental import client


class PredictTrial(pytorch.PyTorchTrial):
    """Trains nothing: weights come from a checkpoint, and its optimizer never steps."""

    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        path = client.get_checkpoint(context.get_hparam("checkpoint")).download(
            f"checkpoint-of-rank-{context.distributed.get_rank()}"
        )
        trial: Any = pytorch.load_trial_from_checkpoint_path(path)
        self.model = context.wrap_model(trial.model.requires_grad_(False))
        context.wrap_optimizer(torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.0))
        self.right = context.wrap_reducer(lambda values: sum(values) / max(len(values), 1), name="accuracy")

    def build_training_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(load_data(), batch_size=self.context.get_per_slot_batch_size())

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(torch.zeros(1))  # what is to be known comes out of train_batch()

    @torch.no_grad()
    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        _, images, labels = batch
        self.model.eval()
        right = (self.model(images).argmax(dim=1) == labels).tolist()
        for one in right:
            self.right.update(one)
        return {"right": sum(right)}

    def evaluate_full_dataset(self, data_loader: torch.utils.data.DataLoader) -> Dict[str, float]:
        return {}
