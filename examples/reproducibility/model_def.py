"""A training in which everything is random, and which comes out the same bit by bit: see README.md."""

import hashlib
import random
from typing import Any, Dict, Tuple

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import Dataset

from determined import pytorch


class ShiftedDigits(Dataset):
    """Digits that are shifted by a pixel and made noisy, at random, each time one is looked at."""

    def __init__(self) -> None:
        digits = load_digits()
        self._images, self._labels = digits.images.astype(np.float32) / 16, digits.target

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, index: int) -> Tuple[torch.Tensor, int]:
        image = np.roll(self._images[index], random.choice([-1, 0, 1]), axis=int(np.random.randint(2)))
        return torch.from_numpy(image).flatten() + 0.1 * torch.randn(64), int(self._labels[index])


class ReproducibleTrial(pytorch.PyTorchTrial):
    """Reports a fingerprint of its weights: equal fingerprints are equal weights, to the last bit."""

    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        torch.use_deterministic_algorithms(True)
        torch.set_num_threads(1)  # sums in the same order, however many cores there are
        model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 10))
        self.model = context.wrap_model(model)
        self.optimizer = context.wrap_optimizer(torch.optim.Adam(self.model.parameters(), lr=context.get_hparam("lr")))
        self.loss = nn.CrossEntropyLoss()

    def build_training_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(
            ShiftedDigits(), batch_size=self.context.get_per_slot_batch_size(), shuffle=True, num_workers=2
        )

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(ShiftedDigits(), batch_size=256)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, torch.Tensor]:
        images, labels = batch
        loss = self.loss(self.model(images), labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_full_dataset(self, data_loader: torch.utils.data.DataLoader) -> Dict[str, float]:
        right = sum(int((self.model(images).argmax(dim=1) == labels).sum()) for images, labels in data_loader)
        weights = b"".join(p.detach().numpy().tobytes() for p in self.model.parameters())
        fingerprint = int.from_bytes(hashlib.sha256(weights).digest()[:6], "big")
        return {"accuracy": right / len(data_loader.dataset), "fingerprint": float(fingerprint)}
