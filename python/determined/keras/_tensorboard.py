import logging
import warnings
from typing import Any

import keras

from determined import core
from determined.keras import callbacks

logger = logging.getLogger("determined.keras")


class TensorBoard(keras.callbacks.TensorBoard):
    """Keras's own callback of that name, writing where the platform collects the files of a trial.

    Parameters
    ----------
    core_context : core.Context
        From ``core.init()``.
    *args, **kwargs
        As for ``keras.callbacks.TensorBoard``. On the cluster ``log_dir`` is ignored, with a warning.
    """

    def __init__(self, core_context: core.Context, *args: Any, **kwargs: Any) -> None:
        path = core_context.train.get_tensorboard_path()
        if path:
            given = args[0] if args else kwargs.pop("log_dir", None)
            if given is not None:
                logger.warning("log_dir=%s is ignored: the platform collects files in %s", given, path)
            args = (str(path), *args[1:])
        super().__init__(*args, **kwargs)


class TFKerasTensorBoard(callbacks.TensorBoard):
    """Former name of :class:`determined.keras.callbacks.TensorBoard`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn("use determined.keras.callbacks.TensorBoard", FutureWarning, stacklevel=2)
        super().__init__(*args, **kwargs)
