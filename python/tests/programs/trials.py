"""Trials for tests: small, quick, and every random number in them matters."""

import pathlib
from typing import Any, Dict, List

import torch

from determined import pytorch

RECORDS = 20
BATCH_SIZE = 4
EPOCH = RECORDS // BATCH_SIZE


class Recorder(pytorch.PyTorchCallback):
    """Writes down what happens to it; its count goes through checkpoints."""

    def __init__(self) -> None:
        self.events: List[Any] = []
        self.batches = 0

    def state_dict(self) -> Dict[str, Any]:
        return {"batches": self.batches}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self.batches = state_dict["batches"]
        self.events.append("load_state_dict")


def _record(name: str) -> Any:
    def method(self: Recorder, *args: Any, **kwargs: Any) -> None:
        self.events.append((name, *args) if name.endswith(("epoch_start", "epoch_end", "startup")) else name)

    return method


for _name in dir(pytorch.PyTorchCallback):
    if _name.startswith("on_"):
        setattr(Recorder, _name, _record(_name))


class NoisyTrial(pytorch.PyTorchTrial):
    """Shuffled data, dropout, momentum, a scheduler: to resume it exactly, all of these have to be restored."""

    stop_after: int = 0

    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        self.context = context
        self.model = context.wrap_model(
            torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
        )
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9))
        self.scheduler = context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.9),
            pytorch.LRScheduler.StepMode.STEP_EVERY_BATCH,
        )
        self.recorder = Recorder()
        self.seen: List[List[int]] = []

    def build_training_data_loader(self) -> pytorch.DataLoader:
        generator = torch.Generator().manual_seed(0)
        records = torch.rand(RECORDS, 3, generator=generator)
        return pytorch.DataLoader(list(zip(range(RECORDS), records)), batch_size=BATCH_SIZE, shuffle=True)

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(torch.ones(6, 3), batch_size=4)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        indices, records = batch
        self.seen.append(indices.tolist())
        self.recorder.batches += 1
        loss = ((self.model(records) - records.sum(dim=1, keepdim=True)) ** 2).mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        if batch_idx + 1 == self.stop_after:
            self.context.set_stop_requested(True)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any, batch_idx: int) -> Dict[str, Any]:
        return {"accuracy": 1 / (1 + ((self.model(batch) - 3) ** 2).mean())}

    def build_callbacks(self) -> Dict[str, pytorch.PyTorchCallback]:
        return {"recorder": self.recorder}

    def weights(self) -> List[float]:
        return [float(x) for p in self.model.parameters() for x in p.detach().flatten()]


class PlainTrial(NoisyTrial):
    """Where it was trained to is told in the working directory, for tests that run it in a process of its own."""

    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        super().__init__(context)
        pathlib.Path("hparams.txt").write_text(repr(context.get_hparams()))
