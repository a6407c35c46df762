"""What each process of test_pytorch_distributed.py runs: scenarios, one after the other; results go to files.

``torchrun … distributed_program.py OUT SCENARIO...`` writes ``OUT/SCENARIO.RANK.json``.
"""

import json
import logging
import os
import pathlib
import sys
import time

import torch
from torch.utils.data import BatchSampler, RandomSampler
from trials import BATCH_SIZE, NoisyTrial

from determined import pytorch

RANK = int(os.environ["RANK"])
SIZE = int(os.environ["WORLD_SIZE"])


class Counter(pytorch.PyTorchCallback):
    """Keeps what the loop says."""

    def __init__(self):
        self.training, self.validation, self.uuids = [], [], []

    def on_training_workload_end(self, avg_metrics, batch_metrics):
        self.training.append({**avg_metrics, "losses": [float(b["loss"]) for b in batch_metrics]})

    def on_validation_end(self, metrics):
        self.validation.append({name: float(value) for name, value in metrics.items()})

    def on_checkpoint_upload_end(self, uuid):
        self.uuids.append(uuid)


class Plain(pytorch.PyTorchTrial):
    """No randomness: what several processes compute together, one can compute alone."""

    count, batch_size, stop_at, norm = 48, 4, None, False

    def __init__(self, context):
        self.context = context
        torch.manual_seed(3)
        layers = [torch.nn.Linear(3, 8), *([torch.nn.BatchNorm1d(8)] if self.norm else []), torch.nn.Linear(8, 1)]
        model = torch.nn.Sequential(*layers)
        model.of_the_user = "an attribute"
        self.model = context.wrap_model(self.prepare(model))
        assert self.model.of_the_user == "an attribute"
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9))
        self.counter = Counter()
        self.exchanges = []
        self.reducer = context.wrap_reducer(sum, name="seen")
        self.records = torch.rand(self.count, 3, generator=torch.Generator().manual_seed(0))

    def prepare(self, model):
        return model

    def build_training_data_loader(self):
        return pytorch.DataLoader(self.records, batch_size=self.batch_size)

    def build_validation_data_loader(self):
        return pytorch.DataLoader(torch.arange(20.0).reshape(10, 2).repeat(1, 2)[:, :3], batch_size=2)

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = ((self.model(batch) - batch.sum(dim=1, keepdim=True)) ** 2).mean()
        self.context.backward(loss)
        self.reducer.update(len(batch))
        self.context.step_optimizer(self.optimizer)
        if batch_idx + 1 == self.stop_at and self.context.distributed.rank == self.context.distributed.size - 1:
            self.context.set_stop_requested(True)
        return {"loss": loss}

    def evaluate_batch(self, batch, batch_idx):
        self.model(batch)
        return {"mean": batch[:, 0].mean(), "most": batch.max(), "count": torch.tensor(1.0)}

    def evaluation_reducer(self):
        return {"mean": pytorch.Reducer.AVG, "most": pytorch.Reducer.MAX, "count": pytorch.Reducer.SUM}

    def build_callbacks(self):
        return {"counter": self.counter}

    def weights(self):
        return [float(x) for p in self.model.parameters() for x in p.detach().flatten()]


class Counting(Plain):
    """Counts what is exchanged, and sees it."""

    def __init__(self, context):
        super().__init__(context)
        self.model.register_comm_hook(None, self._exchange)

    def _exchange(self, _, bucket):
        self.exchanges.append(self.context.current_train_batch())
        future = torch.distributed.all_reduce(bucket.buffer(), async_op=True).get_future()
        return future.then(lambda f: f.value()[0].div_(SIZE))


class Busy(Plain):
    """Takes its time outside of forward and backward passes; ``slow`` says in which processes."""

    slow = range(SIZE)

    def train_batch(self, batch, epoch_idx, batch_idx):
        if RANK in self.slow:
            time.sleep(0.25)
        return super().train_batch(batch, epoch_idx, batch_idx)


class BusyLast(Busy):
    slow = (SIZE - 1,)


class Normed(Plain):
    norm = True


class AllAtOnce(Plain):
    evaluate_batch = pytorch.PyTorchTrial.evaluate_batch
    evaluated = 0

    def evaluate_full_dataset(self, data_loader):
        self.evaluated += sum(len(batch) for batch in data_loader)
        return {"mean": 1.0}


class Sharded(Plain):
    def prepare(self, model):
        from torch.distributed.fsdp import fully_shard

        return fully_shard(model)

    def weights(self):
        return [float(x) for p in self.model.parameters() for x in p.full_tensor().detach().flatten()]


class Noisy(NoisyTrial):
    def __init__(self, context):
        super().__init__(context)
        self.counter = Counter()
        # Processes draw differently from here on, as they do where data decide what is drawn.
        torch.rand(context.distributed.rank)

    def build_callbacks(self):
        return {**super().build_callbacks(), "counter": self.counter}

    def train_batch(self, batch, epoch_idx, batch_idx):
        result = super().train_batch(batch, epoch_idx, batch_idx)
        self.drawn = float(torch.rand(()))
        return result


class Sampled(Noisy):
    """The user's own sampler, which draws from the generators that training draws from, too."""

    def build_training_data_loader(self):
        data = super().build_training_data_loader().dataset
        return pytorch.DataLoader(data, batch_sampler=BatchSampler(RandomSampler(data), BATCH_SIZE, drop_last=False))


def fit(trial_class, aggregation_frequency=1, metrics_of_all=True, averages=True, compress=None, **arguments):
    torch.manual_seed(5)
    with pytorch.init(aggregation_frequency=aggregation_frequency) as context:
        context._average_training_metrics = metrics_of_all
        context._average_aggregated_gradients = averages
        if compress is not None:
            context.experimental.compress_gradients(compress)
        calls = []
        if not metrics_of_all:
            everyone = context.distributed.allgather
            context._allgather = lambda stuff: calls.append("reducer") or everyone(stuff)
        trial = trial_class(context)
        trial.calls = calls
        arguments.setdefault("max_length", pytorch.Batch(6))
        arguments.setdefault("checkpoint_policy", "none")
        pytorch.Trainer(trial, context).fit(**arguments)
        trial.final_weights = trial.weights()
    return trial


def told(trial):
    return {
        "weights": trial.final_weights,
        "training": trial.counter.training,
        "validation": trial.counter.validation,
        "uuids": trial.counter.uuids,
        "exchanges": getattr(trial, "exchanges", []),
        "seen": getattr(trial, "seen", []),
        "drawn": getattr(trial, "drawn", 0),
        "evaluated": getattr(trial, "evaluated", 0),
        "calls": trial.calls,
    }


def paused(trial_class, stop_after):
    """Train with a pause; what was seen in both runs, and how it ended."""
    # Processes talk about stopping when something else is due, here after every batch.
    stopping = type("Stopping", (trial_class,), {"stop_at": stop_after, "stop_after": stop_after})
    first = fit(stopping, reporting_period=pytorch.Batch(1), max_length=pytorch.Batch(8))
    assert len(first.counter.training) == stop_after
    (uuid,) = first.counter.uuids
    second = fit(trial_class, latest_checkpoint=uuid, max_length=pytorch.Batch(8))
    return {**told(second), "seen": getattr(first, "seen", []) + getattr(second, "seen", [])}


def extended(trial_class, first_length):
    """Train to an end, with its validation, and then further."""
    first = fit(trial_class, max_length=pytorch.Batch(first_length))
    return told(fit(trial_class, latest_checkpoint=first.counter.uuids[-1], **EIGHT))


def verdict(trial_class):
    """What the log says that training waited for."""
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logger = logging.getLogger("determined")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    fit(trial_class, reporting_period=pytorch.Batch(2))
    logger.removeHandler(handler)
    return [line for line in lines if "of training went into" in line]


EIGHT = {"max_length": pytorch.Batch(8)}
SCENARIOS = {
    "plain": lambda: told(fit(Plain, reporting_period=pytorch.Batch(3))),
    "one_metric_each": lambda: told(fit(Plain, metrics_of_all=False)),
    "summed": lambda: told(fit(Counting, aggregation_frequency=3, averages=False)),
    "averaged": lambda: told(fit(Counting, aggregation_frequency=3)),
    "compressed": lambda: told(fit(Plain, compress=torch.float16)),
    "compressed_bf16": lambda: told(fit(Plain, compress=torch.bfloat16)),
    "busy": lambda: verdict(Busy),
    "busy_last": lambda: verdict(BusyLast),
    "normed": lambda: told(fit(Normed)),
    "at_once": lambda: told(fit(AllAtOnce)),
    "noisy": lambda: told(fit(Noisy, **EIGHT)),
    "noisy_paused": lambda: paused(Noisy, 3),
    "sampled": lambda: told(fit(Sampled, **EIGHT)),
    "sampled_paused": lambda: paused(Sampled, 7),
    "sharded": lambda: told(fit(Sharded, **EIGHT)),
    "sharded_paused": lambda: paused(Sharded, 3),
    "sharded_extended": lambda: extended(Sharded, 3),
    "plain_8": lambda: told(fit(Plain, **EIGHT)),
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    # Once for all scenarios: a second group would find the addresses of the first one in torchrun's store.
    torch.distributed.init_process_group("gloo")
    out, *names = sys.argv[1:]
    for name in names:
        result = SCENARIOS[name]()
        (pathlib.Path(out) / f"{name}.{RANK}.json").write_text(json.dumps(result))
    torch.distributed.destroy_process_group()
    # Threads of gloo may outlive their group; the end of the program would abort for them now and then.
    os._exit(0)
