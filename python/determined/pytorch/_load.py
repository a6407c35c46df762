"""Building a trial again from one of its checkpoints."""

import importlib
import json
import pathlib
from typing import Any, Dict, Optional, Type

from determined import core, errors
from determined._import import import_from_path
from determined.pytorch import _state
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._torch_trial import TorchTrial
from determined.pytorch._trial import PyTorchTrial


class CheckpointLoadContext(PyTorchTrialContext):
    """A context to build a trial with, for its weights only: there is no training, and no cluster.

    Parameters
    ----------
    hparams : dict, optional
    exp_conf : dict, optional
    """

    def __init__(self, hparams: Optional[Dict] = None, exp_conf: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(
            core_context=core._context._dummy_init(),
            trial_seed=((exp_conf or {}).get("reproducibility") or {}).get("experiment_seed", 0),
            hparams=hparams,
            slots_per_trial=1,
            num_gpus=0,
            exp_conf=exp_conf,
            aggregation_frequency=1,
            steps_completed=0,
            managed_training=False,
            debug_enabled=False,
        )


def trial_class_from_entrypoint(entrypoint: str) -> Type[TorchTrial]:
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
    if not isinstance(found, type) or not issubclass(found, TorchTrial):
        raise errors.InvalidExperimentException(
            f"entrypoint {entrypoint}: this is not a subclass of PyTorchTrial or DeepSpeedTrial"
        )
    return found


def _import_class(code: pathlib.Path, spec: str) -> Type[Any]:
    try:
        with import_from_path(code):
            return trial_class_from_entrypoint(spec)
    except (Exception, errors.InvalidExperimentException) as e:
        raise ValueError(f"the trial's class {spec} cannot be imported from {code}: pass it as trial_class") from e


def load_trial_from_checkpoint_path(
    path: str,
    trial_class: Optional[Type[PyTorchTrial]] = None,
    trial_kwargs: Optional[Dict[str, Any]] = None,
    torch_load_kwargs: Optional[Dict[str, Any]] = None,
    **kwargs: Dict[str, Any],
) -> PyTorchTrial:
    """Build a trial again, with the weights of a checkpoint.

    Load only checkpoints that you trust: this runs their code.

    Parameters
    ----------
    path : str
        Directory of the checkpoint.
    trial_class : type, optional
        Class of the trial; otherwise it is imported from the code in the checkpoint.
    trial_kwargs : dict, optional
        Arguments of its constructor besides the context.
    torch_load_kwargs : dict, optional
        Arguments of ``torch.load()``; ``map_location="cpu"`` unless told otherwise.

    Returns
    -------
    PyTorchTrial

    Raises
    ------
    errors.InvalidCheckpointException
        If the directory is not the checkpoint of a PyTorchTrial.
    ValueError
        If the class cannot be imported.

    Examples
    --------
    >>> trial = load_trial_from_checkpoint_path("checkpoints/1b4e28ba")  # doctest: +SKIP
    >>> trial.model.eval()  # doctest: +SKIP
    """
    directory = pathlib.Path(path)
    try:
        data = json.loads((directory / _state.LOAD_DATA_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError as e:
        raise errors.InvalidCheckpointException(f"{path} has no {_state.LOAD_DATA_FILE}") from e
    if data.get("trial_type") != "PyTorchTrial":
        raise errors.InvalidCheckpointException(f"{path} holds a {data.get('trial_type')}, not a PyTorchTrial")
    if trial_class is None:
        trial_class = _import_class(directory / _state.CODE_DIR, data["trial_cls_spec"])
    context = CheckpointLoadContext(data.get("hparams"), data.get("experiment_config"))
    trial = trial_class(context, **(trial_kwargs or {}))
    options = {"map_location": "cpu", **kwargs, **(torch_load_kwargs or {})}
    _state.load_models(context.models, _state.read_checkpoint(directory, **options))
    return trial
