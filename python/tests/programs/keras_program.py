"""Started once or by a launcher: trains a TFKerasTrial; each process writes what it has learnt and measured.

``keras_program.py OUT CLASS...`` writes ``OUT/CLASS.RANK.json``; the classes are those of ``more_trials.py``.
"""

import json
import os
import pathlib
import sys

import keras
import more_trials

if keras.backend.backend() == "torch":
    import torch

from determined import core
from determined import keras as det_keras
from determined._training._units import Batch


def train(trial_class):
    keras.utils.set_random_seed(3)  # off the cluster nobody else does
    measured = []
    # Off the cluster reports go to the log.
    core.DummyTrainContext._report = lambda self, group, steps, metrics, *_: measured.append([group, steps, metrics])
    with det_keras.init(hparams={"global_batch_size": 8}) as context:
        trial = trial_class(context)
        det_keras.Trainer(trial, context).fit(max_length=Batch(8), reporting_period=Batch(4))
        rank, size = context.distributed.rank, context.distributed.size
        weights = [array.tolist() for array in context.model.get_weights()]
    return rank, {"size": size, "weights": weights, "measured": measured, "batch": context.get_per_slot_batch_size()}


def main(out, *names):
    if "HOROVOD_RANK" in os.environ:
        os.environ["USE_HOROVOD"] = "1"  # as our launcher says
    elif keras.backend.backend() == "torch" and "WORLD_SIZE" in os.environ:
        # For all of them, since torchrun's processes can meet only once.
        torch.distributed.init_process_group("gloo")
    for name in names:
        rank, told = train(getattr(more_trials, name))
        (pathlib.Path(out) / f"{name}.{rank}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
