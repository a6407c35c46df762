"""The trial of model_def.py, driven by this script."""
import logging

import model_def

import determined as det
from determined import pytorch

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    with pytorch.init(hparams=info.trial.hparams) as train_context:
        trainer = pytorch.Trainer(model_def.DigitsTrial(train_context), train_context)
        trainer.fit(
            max_length=pytorch.Batch(24),
            validation_period=pytorch.Batch(12),
            checkpoint_period=pytorch.Batch(12),
            reporting_period=pytorch.Batch(6),
            latest_checkpoint=info.latest_checkpoint,
        )
