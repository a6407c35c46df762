"""Logistic regression in several processes, in plain Python: each has its share of the data, gradients are averaged.

``launcher.py`` starts it. The processes talk to each other through the Core API, as any framework's would through its
own means.
"""

import json
import logging
import math
import os
import random
from typing import List, NamedTuple, Optional, Tuple

import determined as det
from determined import core

Point = Tuple[float, float, int]


class State(NamedTuple):
    """All that training needs to go on, and whose it is."""

    trial_id: int
    steps: int
    weights: List[float]


def make_data(seed: int, count: int) -> List[Point]:
    """Points of the plane, labelled by the side of a line that they lie on."""
    rng = random.Random(seed)
    points = [(rng.uniform(-1, 1), rng.uniform(-1, 1)) for _ in range(count)]
    return [(x, y, int(2 * x - y > 0.2)) for x, y in points]


def predict(weights: List[float], x: float, y: float) -> float:
    """Probability of label 1."""
    return 1 / (1 + math.exp(-(weights[0] * x + weights[1] * y + weights[2])))


def gradient(weights: List[float], points: List[Point]) -> List[float]:
    """Of the mean loss of these points."""
    sums = [0.0, 0.0, 0.0]
    for x, y, label in points:
        error = predict(weights, x, y) - label
        sums = [s + error * value for s, value in zip(sums, (x, y, 1.0))]
    return [s / len(points) for s in sums]


def from_launcher() -> core.DistributedContext:
    """Who this process is, as ``launcher.py`` has told it."""
    names = ("rank", "size", "local_rank", "local_size", "cross_rank", "cross_size")
    return core.DistributedContext(
        **{name: int(os.environ[name.upper()]) for name in names}, chief_ip=os.environ["CHIEF_IP"]
    )


def restore(core_context: core.Context, checkpoint: Optional[str], trial_id: int) -> State:
    """What the checkpoint holds; each process reads it."""
    if checkpoint is None:
        return State(trial_id, 0, [0.0, 0.0, 0.0])
    with core_context.checkpoint.restore_path(checkpoint) as path:
        state = State(**json.loads((path / "state.json").read_text()))
    return state if state.trial_id == trial_id else State(trial_id, 0, state.weights)


def train(core_context: core.Context, hparams: dict, state: State) -> None:
    """Train until the end, or until the platform wants the slots back."""
    distributed = core_context.distributed
    mine = make_data(seed=1, count=400)[distributed.rank :: distributed.size]
    validation = make_data(seed=2, count=200)
    while state.steps < hparams["steps"]:
        gradients = distributed.allgather(gradient(state.weights, mine))
        mean = [sum(column) / distributed.size for column in zip(*gradients)]
        weights = [w - hparams["lr"] * g for w, g in zip(state.weights, mean)]
        state = state._replace(steps=state.steps + 1, weights=weights)
        if state.steps % hparams["validate_every"] == 0:
            right = sum((predict(weights, x, y) > 0.5) == bool(label) for x, y, label in validation)
            print(f"after step {state.steps} the weights are {[round(w, 6) for w in weights]}", flush=True)
            if distributed.rank == 0:
                core_context.train.report_validation_metrics(state.steps, {"accuracy": right / len(validation)})
                with core_context.checkpoint.store_path({"steps_completed": state.steps}) as (path, _):
                    (path / "state.json").write_text(json.dumps(state._asdict()))
            if core_context.preempt.should_preempt():
                return


def main() -> None:
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    if info is None:
        raise SystemExit("train.py is started by launcher.py, in a trial on a cluster")
    with core.init(distributed=from_launcher()) as core_context:
        train(core_context, info.trial.hparams, restore(core_context, info.latest_checkpoint, info.trial.trial_id))


if __name__ == "__main__":
    main()
