#!/usr/bin/env python3
"""What PyTorchTrial's loop adds to a bare one: a batch that costs next to nothing, in turns. Prints µs of CPU per batch as JSON,
which a busy machine does not blur.

The trial forwards, goes back, steps its optimizer and returns its loss, as does the bare loop; so the rest is ours.
"""
import json
import logging
import os
import sys
import tempfile
import time

os.environ["DET_RUN_DIR"] = "/nonexistent"
os.environ["XDG_DATA_HOME"] = tempfile.mkdtemp(prefix="det-bench-")

import torch
from determined import pytorch

BATCHES, TURNS = 3000, 5
DATA = torch.rand(4 * BATCHES, 4)


class Trial(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.model = context.wrap_model(torch.nn.Linear(4, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.01))

    def build_training_data_loader(self):
        return pytorch.DataLoader(DATA, batch_size=4)

    build_validation_data_loader = build_training_data_loader

    def train_batch(self, batch, epoch_idx, batch_idx):
        if batch_idx == 0:
            self.began_s = time.thread_time()
        loss = self.model(batch).sum()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        self.ended_s = time.thread_time()
        return {"loss": loss}

    def evaluate_full_dataset(self, data_loader):
        return {"accuracy": 1.0}


def ours_us(profiling):
    with pytorch.init() as context:
        trial = Trial(context)
        pytorch.Trainer(trial, context).fit(max_length=pytorch.Batch(BATCHES), checkpoint_policy="none", profiling_enabled=profiling)
    return (trial.ended_s - trial.began_s) / (BATCHES - 1) * 1e6


def bare_us():
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for i, batch in enumerate(torch.utils.data.DataLoader(DATA, batch_size=4)):
        if i == 0:
            began_s = time.thread_time()
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
        ended_s = time.thread_time()
    return (ended_s - began_s) / (BATCHES - 1) * 1e6


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    turns = [{"bare": bare_us(), "ours": ours_us(False), "timed": ours_us(True)} for _ in range(TURNS + 1)]
    json.dump(turns[1:], sys.stdout)  # the first one warms everything up
