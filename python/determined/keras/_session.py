"""``session_config()``: a configuration of TensorFlow 1's sessions, carried out with TensorFlow 2's settings."""

import logging
from typing import Any

import keras

from determined import errors

logger = logging.getLogger("determined.keras")

# Fields of ConfigProto that are carried out; GPUs' memory always grows as it is needed, also unasked.
_UNDERSTOOD = {
    "intra_op_parallelism_threads",
    "inter_op_parallelism_threads",
    "allow_soft_placement",
    "log_device_placement",
    "gpu_options",
}


def default() -> Any:
    """What a trial wants that says nothing: None where nothing is computed by TensorFlow."""
    if keras.backend.backend() != "tensorflow":
        return None
    import tensorflow as tf

    return tf.compat.v1.ConfigProto(allow_soft_placement=True)


def configure(config: Any) -> None:
    """Set TensorFlow up as a trial's ``session_config()`` says.

    Parameters
    ----------
    config : tf.compat.v1.ConfigProto or None
        Numbers of threads that are 0 are left to TensorFlow.

    Raises
    ------
    errors.InvalidExperimentException
        If it is something else, or comes too late: threads can only be set before TensorFlow computes anything.
    """
    if config is None:
        return
    if keras.backend.backend() != "tensorflow":
        logger.warning("session_config() is for TensorFlow; Keras computes with %s here", keras.backend.backend())
        return
    import tensorflow as tf

    if not isinstance(config, tf.compat.v1.ConfigProto):
        raise errors.InvalidExperimentException(
            f"session_config() must return a tf.compat.v1.ConfigProto, not a {type(config).__name__}"
        )
    for field, _ in config.ListFields():
        if field.name not in _UNDERSTOOD:
            logger.warning("session_config(): %s has no counterpart in TensorFlow 2 and is ignored", field.name)
    try:
        if config.intra_op_parallelism_threads:
            tf.config.threading.set_intra_op_parallelism_threads(config.intra_op_parallelism_threads)
        if config.inter_op_parallelism_threads:
            tf.config.threading.set_inter_op_parallelism_threads(config.inter_op_parallelism_threads)
    except RuntimeError as e:
        raise errors.InvalidExperimentException(
            f"session_config() cannot set TensorFlow's threads any more: {e} Compute nothing with TensorFlow in the "
            "trial's constructor or while its module is imported."
        ) from e
    tf.config.set_soft_device_placement(config.allow_soft_placement)
    tf.debugging.set_log_device_placement(config.log_device_placement)
    _let_memory_grow(tf)


def _let_memory_grow(tf: Any) -> None:
    try:
        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
    except RuntimeError as e:
        logger.warning("TensorFlow takes all memory of the GPUs at once: %s", e)
