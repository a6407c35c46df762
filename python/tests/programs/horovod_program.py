"""What each process of frameworks/test_horovod.py runs: scenarios of distributed_program.py, started by horovodrun.

``horovodrun … python3 horovod_program.py OUT SCENARIO...`` writes ``OUT/SCENARIO.RANK.json``.
"""

import json
import os
import pathlib
import sys

RANK, SIZE = os.environ["HOROVOD_RANK"], os.environ["HOROVOD_SIZE"]
os.environ.update(RANK=RANK, WORLD_SIZE=SIZE, USE_HOROVOD="1")

import horovod.torch as hvd  # noqa: E402
import torch  # noqa: E402
from distributed_program import EIGHT, Noisy, Normed, Plain, fit, paused, told  # noqa: E402
from horovod.torch import optimizer as horovod_optimizer  # noqa: E402

from determined import core, errors, pytorch  # noqa: E402


class Counting(Plain):
    """Notes the batches in which a gradient leaves the process."""

    def __init__(self, context):
        super().__init__(context)
        exchange = horovod_optimizer.allreduce_async_

        def noting(*args, **kwargs):
            self.exchanges.append(context.current_train_batch())
            return exchange(*args, **kwargs)

        horovod_optimizer.allreduce_async_ = noting
        self.restore = lambda: setattr(horovod_optimizer, "allreduce_async_", exchange)


class Clipped(Plain):
    """Gradients are clipped after they were averaged, and a part of the model gets none."""

    def prepare(self, model):
        model.idle = torch.nn.Parameter(torch.ones(2))
        return model

    def train_batch(self, batch, epoch_idx, batch_idx):
        model = torch.nn.Sequential(*list(self.model.children()))
        loss = ((model(batch) - batch.sum(dim=1, keepdim=True)) ** 2).mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer, lambda params: torch.nn.utils.clip_grad_norm_(params, 0.05))
        return {"loss": loss}

    def weights(self):
        return [float(x) for p in list(self.model.parameters())[1:] for x in p.detach().flatten()]


class DifferentAtFirst(Plain):
    """Each process draws weights of its own; what the chief has drawn counts."""

    def prepare(self, model):
        with torch.no_grad():
            for p in model.parameters():
                p.add_(int(RANK))
        return model


def counting(**arguments):
    trial = fit(Counting, **arguments)
    trial.restore()
    trial.exchanges = sorted(set(trial.exchanges))
    return told(trial)


def refused():
    """What cannot be had with Horovod is said so."""
    with pytorch.init() as context:
        context.experimental.compress_gradients(torch.bfloat16)
        try:
            context.wrap_optimizer(torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=0.1))
        except errors.InvalidExperimentException as e:
            return str(e)


def places():
    """The context that is made of Horovod."""
    distributed = core.DistributedContext.from_horovod(hvd, chief_ip="127.0.0.1")
    try:
        return {"ranks": distributed.allgather(distributed.rank), "size": distributed.size}
    finally:
        distributed.close()


SCENARIOS = {
    "plain": lambda: told(fit(Plain, reporting_period=pytorch.Batch(3))),
    "one_metric_each": lambda: told(fit(Plain, metrics_of_all=False)),
    "summed": lambda: counting(aggregation_frequency=3, averages=False),
    "averaged": lambda: counting(aggregation_frequency=3),
    "compressed": lambda: told(fit(Plain, compress=torch.float16)),
    "clipped": lambda: told(fit(Clipped)),
    "different_at_first": lambda: told(fit(DifferentAtFirst)),
    "normed": lambda: told(fit(Normed)),
    "noisy": lambda: told(fit(Noisy, **EIGHT)),
    "noisy_paused": lambda: paused(Noisy, 3),
    "plain_8": lambda: told(fit(Plain, **EIGHT)),
    "refused": refused,
    "places": places,
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    hvd.init()
    out, *names = sys.argv[1:]
    for name in names:
        result = SCENARIOS[name]()
        (pathlib.Path(out) / f"{name}.{RANK}.json").write_text(json.dumps(result))
