"""Checkpoints that the released library's TFKerasTrial has saved, with Keras 2; Keras 3 reads none of their formats.

=============================================  ==============================================
``determined-keras-model-weights.index`` …     weights, in TensorFlow's format; names are places in the model
``determined-keras-model.h5``                  weights and optimizer, before release 0.13.8
``determined-keras-optimizer-weights.h5``      states of optimizers, in the order in which they were wrapped
``load_data.json``                             as today; ``metadata.json`` tells the same before release 0.17.8
=============================================  ==============================================

Weights and optimizers are taken over, as when a trial begins with another trial's checkpoint. How far training had come
is not, nor are random numbers and callbacks: their trial was another cluster's.
"""

import json
import logging
import pathlib
from typing import Any, Dict, List, Sequence

import keras
import numpy as np

from determined import errors

logger = logging.getLogger("determined.keras")

WEIGHTS = "determined-keras-model-weights"
WHOLE_MODEL = "determined-keras-model.h5"
OPTIMIZERS = "determined-keras-optimizer-weights.h5"
METADATA = "metadata.json"
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
# What lies in a checkpoint of TensorFlow beside the weights.
_NO_WEIGHTS = ("optimizer", "keras_api", "save_counter", "_CHECKPOINTABLE_OBJECT_GRAPH")


def is_one(path: pathlib.Path) -> bool:
    """Whether the directory holds such a checkpoint."""
    return (path / f"{WEIGHTS}.index").is_file() or (path / WHOLE_MODEL).is_file()


def read_metadata(path: pathlib.Path) -> Dict[str, Any]:
    """What ``load_data.json`` would say, from the ``metadata.json`` of a checkpoint that has none."""
    data: Dict[str, Any] = json.loads((path / METADATA).read_text(encoding="utf-8"))
    config = data.get("experiment_config")
    if not isinstance(config, dict):
        raise errors.InvalidCheckpointException(
            f"{path / METADATA} does not tell the experiment's configuration: download the checkpoint with "
            "Checkpoint.download(), which adds it"
        )
    return {
        "experiment_config": config,
        "hparams": data.get("hparams") or {},
        "trial_cls_spec": config.get("entrypoint"),
    }


def load_weights(path: pathlib.Path, model: keras.Model) -> None:
    """Take the weights over into a model that is built.

    Raises
    ------
    errors.InvalidCheckpointException
        If they are not those of such a model, or TensorFlow, which reads them, is not installed.
    """
    try:
        if (path / WHOLE_MODEL).is_file():
            model.load_weights(str(path / WHOLE_MODEL))
        else:
            _load_from_places(path, model)
    except (ValueError, AttributeError, IndexError, KeyError, TypeError) as e:
        raise errors.InvalidCheckpointException(f"{path} does not fit the model: {e}") from e


def _load_from_places(path: pathlib.Path, model: keras.Model) -> None:
    try:
        import tensorflow as tf
    except ImportError as e:
        raise errors.InvalidCheckpointException(
            f"{path} was saved by the released library, in a format that TensorFlow alone reads: install tensorflow"
        ) from e
    reader = tf.train.load_checkpoint(str(path / WEIGHTS))
    left = {id(variable): variable.path for variable in model.weights}
    for name in reader.get_variable_to_shape_map():
        place = name.split(_VALUE)[0].split("/")
        if place[0] in _NO_WEIGHTS or not name.endswith(_VALUE):
            continue
        variable, value = _at(model, place), reader.get_tensor(name)
        if not isinstance(variable, keras.Variable) or tuple(variable.shape) != value.shape:
            raise ValueError(f"there is no weight of shape {value.shape} at {'/'.join(place)}")
        variable.assign(value)
        left.pop(id(variable), None)
    if left:
        raise ValueError(f"it has nothing for {', '.join(sorted(left.values()))}")


def _at(node: Any, place: Sequence[str]) -> Any:
    """What Keras 2 has called by a place: attributes, members of lists, or layers that have weights by their number."""
    for word in place:
        name = word.replace(".S", "/").replace("..", ".")
        if name.startswith("layer_with_weights-"):
            node = [layer for layer in node.layers if layer.weights][int(name.rpartition("-")[2])]
        elif isinstance(node, dict):
            node = node[name]
        elif isinstance(node, (list, tuple)):
            node = node[int(name)]
        else:
            node = getattr(node, name)
    return node


def load_optimizers(path: pathlib.Path, optimizers: List[keras.optimizers.Optimizer]) -> None:
    """Take the states of optimizers over, which are built; one that does not fit begins anew, with a warning."""
    import h5py

    file = path / (OPTIMIZERS if (path / OPTIMIZERS).is_file() else WHOLE_MODEL)
    if not file.is_file():
        return
    with h5py.File(file, "r") as content:
        for i, optimizer in enumerate(optimizers):
            group = content.get("optimizer_weights" if i == 0 and file.name == WHOLE_MODEL else f"optimizer-{i}")
            if group is not None and not _take_over(group.get("optimizer_weights", group), optimizer):
                logger.warning("the checkpoint's optimizer %d is not like %s: that begins anew", i, optimizer.name)


def _take_over(group: Any, optimizer: keras.optimizers.Optimizer) -> bool:
    names = [name.decode() if isinstance(name, bytes) else str(name) for name in group.attrs.get("weight_names", [])]
    values = [np.asarray(group[name]) for name in names]
    if not values:
        return False
    others = (optimizer.iterations, optimizer._learning_rate)  # not ours: the public one is a number
    variables = [v for v in optimizer.variables if not any(v is other for other in others)]
    slots = _in_order(names[1:], values[1:])
    if [value.shape for value in slots] != [tuple(v.shape) for v in variables]:
        return False
    optimizer.iterations.assign(values[0])
    for variable, value in zip(variables, slots):
        variable.assign(value)
    return True


def _in_order(names: List[str], values: List[np.ndarray]) -> List[np.ndarray]:
    """As Keras 3 has them, and Keras 2 had; before TensorFlow 2.11 all second moments came behind all first ones."""
    first = [value for name, value in zip(names, values) if name.endswith("/m:0")]
    second = [value for name, value in zip(names, values) if name.endswith("/v:0")]
    if len(first) != len(second) or len(first) + len(second) != len(values):
        return values
    return [value for pair in zip(first, second) for value in pair]
