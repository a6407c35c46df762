"""Building a trial again from one of its checkpoints."""

import pathlib
from typing import Any, Dict, Optional, Type

from determined._training import _description
from determined.core import _context
from determined.pytorch import _state
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._trial import PyTorchTrial


class CheckpointLoadContext(PyTorchTrialContext):
    """A context to build a trial with, for its weights only: there is no training, and no cluster.

    Parameters
    ----------
    hparams : dict, optional
    exp_conf : dict, optional
    """

    def __init__(self, hparams: Optional[Dict[str, Any]] = None, exp_conf: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(
            core_context=_context.dummy_init(),
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
    **kwargs
        Older form of ``torch_load_kwargs``.

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
    data = _description.read_load_data(directory, "PyTorchTrial")
    if trial_class is None:
        trial_class = _description.import_class(directory / _description.CODE_DIR, data["trial_cls_spec"])
    context = CheckpointLoadContext(data.get("hparams"), data.get("experiment_config"))
    trial = trial_class(context, **(trial_kwargs or {}))
    options = {"map_location": "cpu", **kwargs, **(torch_load_kwargs or {})}
    _state.load_models(context.models, _state.read_checkpoint(directory, **options))
    return trial
