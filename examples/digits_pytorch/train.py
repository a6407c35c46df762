"""Train on this very machine, without a cluster: ``python3 train.py``."""

import argparse
import logging

from model_def import DigitsTrial

import determined as det
from determined import pytorch

HPARAMS = {"global_batch_size": 64, "lr": 0.003, "channels": 16, "dropout": 0.25}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    with pytorch.init(hparams=HPARAMS, exp_conf={"data": {"split_seed": 0}}) as context:
        pytorch.Trainer(DigitsTrial(context), context).fit(
            max_length=pytorch.Epoch(options.epochs),
            validation_period=pytorch.Epoch(2),
            checkpoint_policy="none",
        )


if __name__ == "__main__":
    main()
