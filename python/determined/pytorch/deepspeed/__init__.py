"""Training with DeepSpeed: describe the training as a :class:`DeepSpeedTrial`, let :class:`Trainer` run it.

>>> from determined.pytorch import deepspeed  # doctest: +SKIP
>>> with deepspeed.init() as train_context:  # doctest: +SKIP
...     trainer = deepspeed.Trainer(MyTrial(train_context), train_context)
...     trainer.fit(max_length=pytorch.Epoch(10))
"""

from determined.pytorch.deepspeed._config import overwrite_deepspeed_config
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext
from determined.pytorch.deepspeed._controller import DeepSpeedTrialController
from determined.pytorch.deepspeed._mpu import ModelParallelUnit, make_data_parallel_mpu, make_deepspeed_mpu
from determined.pytorch.deepspeed._trainer import Trainer, init
from determined.pytorch.deepspeed._trial import DeepSpeedTrial

__all__ = [
    "DeepSpeedTrial",
    "DeepSpeedTrialContext",
    "DeepSpeedTrialController",
    "ModelParallelUnit",
    "Trainer",
    "init",
    "make_data_parallel_mpu",
    "make_deepspeed_mpu",
    "overwrite_deepspeed_config",
]
