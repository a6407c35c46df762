"""Recognise all digits with the weights of a checkpoint, in all slots of the trial; each writes what it has found."""

import json
import logging
from typing import Any, Dict

import torch
from sklearn.datasets import load_digits
from torch.utils.data import TensorDataset

import determined as det
from determined import pytorch
from determined.experimental import client
from determined.pytorch.experimental import TorchBatchProcessor, TorchBatchProcessorContext, torch_batch_process


def load_data() -> TensorDataset:
    """Index, image and true digit of all 1,797 records."""
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    return TensorDataset(torch.arange(len(images)), images, torch.tensor(digits.target))


class Predict(TorchBatchProcessor):
    """Keeps predictions until progress is stored, and uploads them then: interrupted, it loses and repeats none."""

    def __init__(self, context: TorchBatchProcessorContext) -> None:
        self.context = context
        checkpoint = client.get_checkpoint(context.get_hparams()["checkpoint"])
        context.report_task_using_checkpoint(checkpoint)
        path = checkpoint.download(f"checkpoint-of-rank-{context.get_distributed_rank()}")
        trial: Any = pytorch.load_trial_from_checkpoint_path(path)
        self.model = context.prepare_model_for_inference(trial.model)
        self.right = context.wrap_reducer(lambda values: sum(values) / max(len(values), 1), name="accuracy")
        self.predicted: Dict[int, int] = {}

    @torch.no_grad()
    def process_batch(self, batch: Any, batch_idx: int) -> None:
        index, images, labels = self.context.to_device(batch)
        digits = self.model(images).argmax(dim=1)
        self.predicted.update(zip(index.tolist(), digits.tolist()))
        for right in (digits == labels).tolist():
            self.right.update(right)

    def on_checkpoint_start(self) -> None:
        if self.predicted:
            with self.context.upload_path() as path:
                (path / f"from_{min(self.predicted)}.json").write_text(json.dumps(self.predicted))
        self.predicted = {}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    torch_batch_process(Predict, load_data(), batch_size=64, checkpoint_interval=4)
