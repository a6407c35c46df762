"""Started by torchrun: trains a TFKerasTrial in several processes; each writes what it has learnt and measured.

``torchrun … keras_program.py OUT`` writes ``OUT/RANK.json``.
"""

import json
import pathlib
import sys

import keras
import keras_trials

from determined import core
from determined import keras as det_keras
from determined._training._units import Batch


def main(out):
    keras.utils.set_random_seed(3)  # off the cluster nobody else does
    measured = []
    # Off the cluster reports go to the log.
    core.DummyTrainContext._report = lambda self, group, steps, metrics, *_: measured.append([group, steps, metrics])
    with det_keras.init(hparams={"global_batch_size": 8}) as context:
        trial = keras_trials.PlainTrial(context)
        det_keras.Trainer(trial, context).fit(max_length=Batch(8), reporting_period=Batch(4))
        rank, size = context.distributed.rank, context.distributed.size
        weights = [array.tolist() for array in context.model.get_weights()]
    told = {"size": size, "weights": weights, "measured": measured, "batch": context.get_per_slot_batch_size()}
    (pathlib.Path(out) / f"{rank}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1])
