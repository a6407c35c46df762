"""Inference for test_batch_process.py: writes down which records it has seen, and may be killed on the way."""

import json
import pathlib
import sys
import uuid

import torch

from determined.pytorch.experimental import TorchBatchProcessor, torch_batch_process

RECORDS = 22


class Writing(TorchBatchProcessor):
    """Keeps what it saw in memory until progress is stored, as a program would that writes in large pieces."""

    fail_at = -1

    def __init__(self, context):
        self.context = context
        self.seen = []
        self.model = context.prepare_model_for_inference(torch.nn.Dropout(0.5))
        self.total = context.wrap_reducer(sum, name="records")

    def process_batch(self, batch, batch_idx):
        if (batch_idx, self.context.get_distributed_rank()) == (self.fail_at, self.context.get_distributed_size() - 1):
            raise RuntimeError("as the test wishes")
        batch = self.model(self.context.to_device(batch))
        self.seen += batch.tolist()
        self.total.update(len(batch))

    def on_checkpoint_start(self):
        with self.context.upload_path() as path:
            (path / f"{uuid.uuid4()}.json").write_text(json.dumps(self.seen))
        self.seen = []


class Failing(Writing):
    fail_at = 5


def main(kind, batch_size, interval):
    dataset = torch.arange(float(RECORDS))
    torch_batch_process({"write": Writing, "fail": Failing}[kind], dataset, int(batch_size), None, int(interval))


if __name__ == "__main__":
    main(*sys.argv[1:])
    pathlib.Path("done").touch()
