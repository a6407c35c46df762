"""What goes into a checkpoint beside the weights: how far training is, the random numbers."""

import contextlib
import json
import pathlib
import pickle
import random
import sys
from typing import Any, Dict, List, Optional

import keras
import numpy as np

STATE_FILE = "callback_state.json"


def _generators(model: Any) -> List[Any]:
    """The states of the model's own generators, which are variables of it, but no weights."""
    weights = {id(variable) for variable in model.weights}
    return [variable for variable in model.variables if id(variable) not in weights]


def random_state(model: Any) -> Dict[str, Any]:
    """The states of all generators that training draws from, in this process."""
    state: Dict[str, Any] = {
        "model": [keras.ops.convert_to_numpy(variable) for variable in _generators(model)],
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        # Layers that were made without a seed share it.
        "keras": np.asarray(keras.ops.convert_to_numpy(keras.src.random.seed_generator.global_seed_generator().state)),
    }
    if "torch" in sys.modules:
        state["torch"] = sys.modules["torch"].get_rng_state().numpy()
    if keras.backend.backend() == "tensorflow":
        # TensorFlow refuses to make one unasked where operations have to be deterministic.
        with contextlib.suppress(RuntimeError):
            state["tensorflow"] = sys.modules["tensorflow"].random.get_global_generator().state.numpy()
    return state


def set_random_state(model: Any, state: Dict[str, Any]) -> None:
    """Take up where :func:`random_state` was called."""
    for variable, value in zip(_generators(model), state["model"]):
        variable.assign(value)
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    keras.src.random.seed_generator.global_seed_generator().state.assign(state["keras"])
    if "torch" in state and "torch" in sys.modules:
        torch = sys.modules["torch"]
        torch.set_rng_state(torch.from_numpy(state["torch"]))
    if "tensorflow" in state and keras.backend.backend() == "tensorflow":
        # In place: functions that TensorFlow has traced hold on to the generator they have seen.
        sys.modules["tensorflow"].random.get_global_generator().reset(state["tensorflow"])


def _random_file(rank: int) -> str:
    return f"rng_state.rank{rank}.pkl"


def save_random(path: pathlib.Path, model: Any, rank: int) -> None:
    with open(path / _random_file(rank), "wb") as f:
        pickle.dump(random_state(model), f)


def load_random(path: pathlib.Path, model: Any, rank: int) -> None:
    """Nothing happens where this rank has left none, as when there are more processes than before."""
    name = path / _random_file(rank)
    if name.exists():
        with open(name, "rb") as f:
            set_random_state(model, pickle.load(f))


def save_progress(path: pathlib.Path, progress: Dict[str, Any]) -> None:
    (path / STATE_FILE).write_text(json.dumps(progress), encoding="utf-8")


def load_progress(path: pathlib.Path) -> Optional[Dict[str, Any]]:
    name = path / STATE_FILE
    return json.loads(name.read_text(encoding="utf-8")) if name.exists() else None
