"""Logistic regression in plain Python: what the Core API asks of a training loop, with no framework in the way.

Each epoch reports metrics and ends with a checkpoint; a trial that is paused or restarted goes on from there.
Run it as it is, or as an experiment (const.yaml).
"""

import json
import logging
import math
import random
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import determined as det
from determined import core

OFF_CLUSTER_HPARAMS = {"lr": 0.5, "epochs": 20}
Point = Tuple[float, float, int]


class State(NamedTuple):
    """All that training needs to go on, and whose it is."""

    trial_id: int
    epochs_trained: int
    weights: List[float]


def make_data(seed: int, count: int) -> List[Point]:
    """Points of the plane, labelled by the side of a line that they lie on, one in fifty of them wrongly."""
    rng = random.Random(seed)
    points = []
    for _ in range(count):
        x, y = rng.uniform(-1, 1), rng.uniform(-1, 1)
        label = int(2 * x - y > 0.2)
        points.append((x, y, label if rng.random() > 0.02 else 1 - label))
    return points


def predict(weights: List[float], x: float, y: float) -> float:
    """Probability of label 1."""
    return 1 / (1 + math.exp(-(weights[0] * x + weights[1] * y + weights[2])))


def train_epoch(weights: List[float], points: List[Point], lr: float) -> float:
    """One pass of stochastic gradient descent, in place; returns the mean loss."""
    loss = 0.0
    for x, y, label in points:
        p = predict(weights, x, y)
        loss -= math.log(p if label else 1 - p)
        for i, value in enumerate((x, y, 1.0)):
            weights[i] -= lr * (p - label) * value
    return loss / len(points)


def accuracy(weights: List[float], points: List[Point]) -> float:
    """Part of the points that are labelled rightly."""
    return sum((predict(weights, x, y) > 0.5) == bool(label) for x, y, label in points) / len(points)


def save(core_context: core.Context, state: State) -> None:
    """Store a checkpoint; ``steps_completed`` is what the platform counts by."""
    with core_context.checkpoint.store_path({"steps_completed": state.epochs_trained}) as (path, _):
        (path / "state.json").write_text(json.dumps(state._asdict()))


def restore(core_context: core.Context, checkpoint: Optional[str], trial_id: int) -> State:
    """What the checkpoint holds. Another trial's gives its weights, but its epochs are not ours."""
    if checkpoint is None:
        return State(trial_id, 0, [0.0, 0.0, 0.0])
    with core_context.checkpoint.restore_path(checkpoint) as path:
        state = State(**json.loads((path / "state.json").read_text()))
    return state if state.trial_id == trial_id else State(trial_id, 0, state.weights)


def train(core_context: core.Context, hparams: Dict[str, Any], state: State) -> None:
    """Train until the end, or until the platform wants the slot back."""
    training, validation = make_data(seed=1, count=500), make_data(seed=2, count=200)
    while state.epochs_trained < hparams["epochs"]:
        loss = train_epoch(state.weights, training, hparams["lr"])
        state = state._replace(epochs_trained=state.epochs_trained + 1)
        core_context.train.report_training_metrics(state.epochs_trained, {"loss": loss})
        core_context.train.report_validation_metrics(
            state.epochs_trained, {"accuracy": accuracy(state.weights, validation)}
        )
        core_context.train.report_progress(state.epochs_trained / hparams["epochs"])
        save(core_context, state)
        if core_context.preempt.should_preempt():
            logging.info("asked to stop after epoch %d; its checkpoint is stored", state.epochs_trained)
            return


def main() -> None:
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    hparams, checkpoint, trial_id = OFF_CLUSTER_HPARAMS, None, 0
    if info is not None:
        hparams, checkpoint, trial_id = info.trial.hparams, info.latest_checkpoint, info.trial.trial_id
    with core.init() as core_context:
        train(core_context, hparams, restore(core_context, checkpoint, trial_id))


if __name__ == "__main__":
    main()
