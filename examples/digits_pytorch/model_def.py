"""Handwritten digits: 1,797 images of 8 by 8 pixels that come with scikit-learn, and a small convolutional network."""

from typing import Any, Dict, Tuple

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import Dataset, Subset, TensorDataset, random_split

from determined import pytorch

VALIDATION_PART = 0.2


def load_data(seed: int) -> Tuple[Subset, Subset]:
    """The digits, split at random into training and validation data."""
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target)
    generator = torch.Generator().manual_seed(seed)
    training, validation = random_split(
        TensorDataset(images, labels), [1 - VALIDATION_PART, VALIDATION_PART], generator=generator
    )
    return training, validation


def build_model(channels: int, dropout: float) -> nn.Module:
    """Two convolutions, then a linear layer that tells ten digits apart."""
    return nn.Sequential(
        nn.Conv2d(1, channels, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(channels, 2 * channels, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(dropout),
        nn.Linear(2 * channels * 4 * 4, 10),
    )


class DigitsTrial(pytorch.PyTorchTrial):
    """Trains the network; hyperparameters: lr, channels, dropout, global_batch_size."""

    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        self.context = context
        # The split must not change from run to run of a trial, nor between trials that are compared.
        seed = context.get_data_config().get("split_seed", 0)
        self.training: Dataset
        self.training, self.validation = load_data(seed)
        model = build_model(context.get_hparam("channels"), context.get_hparam("dropout"))
        self.model = context.wrap_model(model)
        self.optimizer = context.wrap_optimizer(torch.optim.Adam(self.model.parameters(), lr=context.get_hparam("lr")))
        self.loss = nn.CrossEntropyLoss()

    def build_training_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(self.training, batch_size=self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(self.validation, batch_size=256)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, torch.Tensor]:
        images, labels = batch
        loss = self.loss(self.model(images), labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_full_dataset(self, data_loader: torch.utils.data.DataLoader) -> Dict[str, float]:
        loss = correct = count = 0.0
        for batch in data_loader:
            images, labels = self.context.to_device(batch)
            scores = self.model(images)
            loss += self.loss(scores, labels).item() * len(labels)
            correct += (scores.argmax(dim=1) == labels).sum().item()
            count += len(labels)
        return {"validation_loss": loss / count, "accuracy": correct / count}
