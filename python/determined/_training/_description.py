"""What each checkpoint of a trial holds beside weights: how far training had come, code, how to build the trial again.

====================  =============================================================
``trial_state.pkl``   how far training had come
``load_data.json``    how to build the trial again: class, hyperparameters, configuration
``code/``             the user's code
====================  =============================================================
"""

import dataclasses
import importlib
import inspect
import json
import pathlib
import pickle
import shutil
from typing import Any, Callable, Dict, Optional, Type

from determined import _json, _trial, errors
from determined._import import import_from_path
from determined._info import run_dir
from determined._trial_context import TrialContext

TRIAL_STATE_FILE = "trial_state.pkl"
LOAD_DATA_FILE = "load_data.json"
CODE_DIR = "code"
NOT_CODE = shutil.ignore_patterns("__pycache__", "*.pyc")


@dataclasses.dataclass
class TrialState:
    """How far training has come.

    Attributes
    ----------
    trial_id : int
        Whose state it is; another trial that starts from the checkpoint begins to count anew.
    batches_trained, epochs_trained : int
    last_ckpt, last_val : int
        Batches trained at the last checkpoint, and at the last validation.
    step_id : int
        Kept for the published library, which wants it there.
    """

    trial_id: int = 0
    last_ckpt: int = 0
    step_id: int = 0
    last_val: int = 0
    batches_trained: int = 0
    epochs_trained: int = 0


def read_trial_state(path: pathlib.Path, trial_id: int) -> TrialState:
    """How far the trial ``trial_id`` had come when it saved this checkpoint; a fresh state if another one did."""
    try:
        with open(path / TRIAL_STATE_FILE, "rb") as f:
            state = TrialState(**pickle.load(f))
    except FileNotFoundError:
        return TrialState(trial_id=trial_id)
    return state if state.trial_id == trial_id else TrialState(trial_id=trial_id)


def _optional(get: Callable[[], Dict[str, Any]]) -> Optional[Dict[str, Any]]:
    try:
        return get()
    except ValueError:
        return None


def read_load_data(path: pathlib.Path, trial_type: str) -> Dict[str, Any]:
    """How to build the trial again whose checkpoint lies in the directory ``path``.

    Raises
    ------
    errors.InvalidCheckpointException
        If it holds none, or one of another type.
    """
    try:
        data: Dict[str, Any] = json.loads((path / LOAD_DATA_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError as e:
        raise errors.InvalidCheckpointException(f"{path} has no {LOAD_DATA_FILE}") from e
    if data.get("trial_type") != trial_type:
        raise errors.InvalidCheckpointException(f"{path} holds a {data.get('trial_type')}, not a {trial_type}")
    return data


def _write_load_data(
    path: pathlib.Path, context: TrialContext, trial_class: type, trial_type: str, by_trainer: bool
) -> None:
    data: Dict[str, Any] = {
        "trial_type": trial_type,
        "experiment_config": _optional(context.get_experiment_config),
        "hparams": _optional(context.get_hparams),
        "trial_cls_spec": f"{_importable_module(trial_class)}:{trial_class.__qualname__}",
    }
    if by_trainer:
        data["is_trainer"] = True
        if trial_class.__module__ == "__main__":
            data["trial_in_main"] = True
    (path / LOAD_DATA_FILE).write_text(json.dumps(_json.to_plain(data)), encoding="utf-8")


def _importable_module(trial_class: type) -> str:
    """The module to import the class from later, also if today it is the script that was started."""
    if trial_class.__module__ != "__main__":
        return trial_class.__module__
    import __main__

    spec = getattr(__main__, "__spec__", None)
    if spec is not None:
        return str(spec.name)
    return pathlib.Path(getattr(__main__, "__file__", "")).stem


def save_submitted_code(path: pathlib.Path) -> bool:
    """Copy the model definition as it was submitted; False off the cluster, where nobody submitted any."""
    submitted = run_dir() / "train" / "model"
    if not submitted.is_dir():
        return False
    shutil.copytree(submitted, path / CODE_DIR, ignore=NOT_CODE)
    return True


def _save_code(path: pathlib.Path, trial_class: type) -> None:
    """Copy the user's code, which is needed to build the trial again.

    Off the cluster nobody knows where code ends and data begin, so it is the Python files beside that of the trial's
    class. One that was typed, into a notebook for instance, has none: whoever loads it passes the class.
    """
    if save_submitted_code(path):
        return
    target = path / CODE_DIR
    target.mkdir()
    try:
        source = pathlib.Path(inspect.getfile(trial_class))
    except (OSError, TypeError):
        return
    for file in source.parent.glob("*.py"):
        shutil.copyfile(file, target / file.name)


def save_description(
    path: pathlib.Path,
    context: TrialContext,
    state: TrialState,
    trial_class: type,
    *,
    trial_type: str,
    by_trainer: bool,
) -> None:
    """Write what is no weights: code, how far training has come, how to build the trial again.

    ``by_trainer`` tells whether the user's own script built the trial, rather than ``determined.exec.harness``.
    """
    _save_code(path, trial_class)
    with open(path / TRIAL_STATE_FILE, "wb") as f:
        pickle.dump(dataclasses.asdict(state), f)
    _write_load_data(path, context, trial_class, trial_type, by_trainer)


def trial_class_from_entrypoint(entrypoint: str) -> Type[Any]:
    """Import what ``package.module:Class`` names, from ``sys.path``.

    Raises
    ------
    errors.InvalidExperimentException
        If it does not exist, or is not a trial.
    """
    module, _, qualname = entrypoint.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in qualname.split("."):
            found = getattr(found, name)
    except ModuleNotFoundError as e:
        if e.name is None or not (module + ".").startswith(e.name + "."):
            raise  # the module is there, but something that it imports is not
        raise errors.InvalidExperimentException(f"entrypoint {entrypoint}: there is no module {e.name}") from e
    except AttributeError as e:
        raise errors.InvalidExperimentException(f"entrypoint {entrypoint}: {e}") from e
    if not isinstance(found, type) or not issubclass(found, _trial.LegacyTrial):
        raise errors.InvalidExperimentException(
            f"entrypoint {entrypoint}: this is not a subclass of PyTorchTrial, DeepSpeedTrial or TFKerasTrial"
        )
    return found


def import_class(code: pathlib.Path, spec: str) -> Type[Any]:
    try:
        with import_from_path(code):
            return trial_class_from_entrypoint(spec)
    except (Exception, errors.InvalidExperimentException) as e:
        raise ValueError(f"the trial's class {spec} cannot be imported from {code}: pass it as trial_class") from e
