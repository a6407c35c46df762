"""Training with Keras 3 on the platform, on each of its backends that is tested here: torch and TensorFlow.

Either add :class:`DeterminedCallback` to the callbacks of ``model.fit()``, or describe the training as a
:class:`TFKerasTrial` and let the platform drive it.
"""

from determined.keras import callbacks
from determined.keras._callback import DeterminedCallback
from determined.keras._checkpoint import load_model_from_checkpoint_path
from determined.keras._controller import TFKerasTrialController
from determined.keras._data import ArrayLike, InputData, SequenceAdapter
from determined.keras._tensorboard import TensorBoard, TFKerasTensorBoard
from determined.keras._trainer import Trainer, init
from determined.keras._trial import TFKerasTrial
from determined.keras._trial_context import TFKerasExperimentalContext, TFKerasTrialContext

__all__ = [
    "ArrayLike",
    "DeterminedCallback",
    "InputData",
    "SequenceAdapter",
    "TFKerasExperimentalContext",
    "TFKerasTensorBoard",
    "TFKerasTrial",
    "TFKerasTrialContext",
    "TFKerasTrialController",
    "TensorBoard",
    "Trainer",
    "callbacks",
    "init",
    "load_model_from_checkpoint_path",
]
