"""Handwritten digits with Accelerate, in one process or several, on the platform through the Core API."""

import os
import pathlib
from typing import Optional

import accelerate
import sklearn.datasets
import torch
from torch.utils.data import DataLoader, TensorDataset, random_split

import determined as det


def train(core_context: det.core.Context, info: Optional[det.ClusterInfo]) -> None:
    hparams = info.trial.hparams if info else {"width": 32, "lr": 0.003, "epochs": 2}
    accelerator = accelerate.Accelerator(cpu=not torch.accelerator.is_available())
    accelerate.utils.set_seed(info.trial.trial_seed if info else 0)
    x, y = sklearn.datasets.load_digits(return_X_y=True)
    data = TensorDataset(torch.tensor(x / 16, dtype=torch.float32), torch.tensor(y))
    parts = random_split(data, [1400, len(data) - 1400], torch.Generator().manual_seed(0))
    width = hparams["width"]
    model = torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, 10))
    optimizer = torch.optim.Adam(model.parameters(), hparams["lr"])
    model, optimizer, batches, tests = accelerator.prepare(
        model, optimizer, DataLoader(parts[0], 32, shuffle=True), DataLoader(parts[1], 256)
    )
    first = 0
    if info and info.latest_checkpoint:
        with core_context.checkpoint.restore_path(info.latest_checkpoint) as path:
            accelerator.load_state(str(path))
            first = int((pathlib.Path(path) / "epochs").read_text())
    for epoch in range(first, hparams["epochs"]):
        for inputs, labels in batches:
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        steps = (epoch + 1) * len(batches)
        hits = torch.zeros(2, device=accelerator.device)
        with torch.no_grad():
            for inputs, labels in tests:
                right = model(inputs).argmax(1) == labels
                hits += torch.tensor([right.sum(), len(labels)], device=accelerator.device)
        hits = accelerator.reduce(hits)
        if accelerator.is_main_process:
            core_context.train.report_training_metrics(steps, {"loss": loss.item()})
            core_context.train.report_validation_metrics(steps, {"accuracy": (hits[0] / hits[1]).item()})
            core_context.train.report_progress((epoch + 1) / hparams["epochs"])
        # Each process stores its own part: the states of its random numbers among them.
        with core_context.checkpoint.store_path({"steps_completed": steps}, shard=True) as (path, _):
            accelerator.save_state(str(path))
            if accelerator.is_main_process:
                (path / "epochs").write_text(str(epoch + 1))
        if core_context.preempt.should_preempt():
            return


def main() -> None:
    info = det.get_cluster_info()
    distributed = None
    if "RANK" in os.environ:  # started by torchrun, as our launcher does
        distributed = det.core.DistributedContext.from_torch_distributed()
    with det.core.init(distributed=distributed) as core_context:
        train(core_context, info)


if __name__ == "__main__":
    main()
