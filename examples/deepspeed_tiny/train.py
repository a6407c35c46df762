"""The same trial in a script, on this machine; on a cluster, ``python3 -m determined.launch.deepspeed`` starts it."""

import logging

from model_def import DigitsTrial

import determined as det
from determined import pytorch
from determined.pytorch import deepspeed


def main() -> None:
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    hparams = info.trial.hparams if info else {"width": 64}
    with deepspeed.init(hparams=hparams) as context:
        trainer = deepspeed.Trainer(DigitsTrial(context), context)
        trainer.fit(
            max_length=pytorch.Epoch(8),
            validation_period=pytorch.Epoch(2),
            reporting_period=pytorch.Batch(10),
            latest_checkpoint=info.latest_checkpoint if info else None,
        )


if __name__ == "__main__":
    main()
