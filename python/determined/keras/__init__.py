"""Training with Keras 3 on the platform: add :class:`DeterminedCallback` to the callbacks of ``model.fit()``.

Works on every backend of Keras (tested on torch and TensorFlow).
"""

from determined.keras._callback import DeterminedCallback
from determined.keras._tensorboard import TensorBoard

__all__ = ["DeterminedCallback", "TensorBoard"]
