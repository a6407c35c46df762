"""A training that waits for its data: profiling tells, and num_workers mends it."""

import time
from typing import Any, Dict, Tuple

import torch
from torch import nn
from torch.utils.data import Dataset

from determined import pytorch

RECORDS = 512


class SlowRecords(Dataset):
    """Records that take a while to read, as from a network."""

    def __len__(self) -> int:
        return RECORDS

    def __getitem__(self, index: int) -> Tuple[torch.Tensor, torch.Tensor]:
        time.sleep(0.001)
        record = torch.full((16,), index / RECORDS)
        return record, record.sum()


class SlowTrial(pytorch.PyTorchTrial):
    """Hyperparameters: num_workers, and whether PyTorch's own profiler leaves a trace for TensorBoard."""

    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        self.model = context.wrap_model(nn.Linear(16, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.01))
        if context.get_hparam("torch_profiler"):
            context.set_profiler(
                activities=[torch.profiler.ProfilerActivity.CPU],
                schedule=torch.profiler.schedule(wait=2, warmup=2, active=4, repeat=1),
            )

    def build_training_data_loader(self) -> pytorch.DataLoader:
        workers = self.context.get_hparam("num_workers")
        batch_size = self.context.get_per_slot_batch_size()
        return pytorch.DataLoader(SlowRecords(), batch_size=batch_size, shuffle=True, num_workers=workers)

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(torch.rand(32, 16), batch_size=32)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, torch.Tensor]:
        records, sums = batch
        loss = ((self.model(records).squeeze(1) - sums) ** 2).mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any, batch_idx: int) -> Dict[str, torch.Tensor]:
        return {"validation_loss": ((self.model(batch).squeeze(1) - batch.sum(dim=1)) ** 2).mean()}
