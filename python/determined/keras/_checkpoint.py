"""What goes into a checkpoint of a TFKerasTrial, and back.

=========================================  ==============================================
``determined-keras-model.weights.h5``      the model's weights and its optimizer's state
``determined-keras-optimizers.npz``        states of optimizers beside the compiled one
``rng_state.pkl``                          random numbers of each process
``determined-callbacks.v1.pkl``            states of callbacks
``trial_state.pkl``, ``load_data.json``, ``code/``  as of every trial (``determined._training._description``)
=========================================  ==============================================
"""

import logging
import pathlib
import pickle
from typing import Any, Dict, List, Optional

import keras
import numpy as np

from determined import errors
from determined._training import _description
from determined.core import _context
from determined.keras import _released, _state, _trial_context
from determined.keras._data import first_input
from determined.keras._moments import Moments
from determined.keras._trial_context import TFKerasTrialContext

logger = logging.getLogger("determined.keras")

WEIGHTS_FILE = "determined-keras-model.weights.h5"
OPTIMIZERS_FILE = "determined-keras-optimizers.npz"
RANDOM_FILE = "rng_state.pkl"
CALLBACKS_FILE = "determined-callbacks.v1.pkl"
TRIAL_TYPE = "TFKerasTrial"


def _others(context: TFKerasTrialContext) -> List[keras.optimizers.Optimizer]:
    """Optimizers that the model's weights do not bring along."""
    assert context.model is not None
    return [
        optimizer for optimizer in _trial_context.optimizers_of(context) if optimizer is not context.model.optimizer
    ]


def save(
    path: pathlib.Path,
    context: TFKerasTrialContext,
    moments: Moments,
    state: _description.TrialState,
    random_states: List[Dict[str, Any]],
    trial_class: type,
    *,
    by_trainer: bool,
) -> None:
    """Write a checkpoint into the directory ``path``; ``random_states`` are those of all processes."""
    assert context.model is not None
    _description.save_description(path, context, state, trial_class, trial_type=TRIAL_TYPE, by_trainer=by_trainer)
    context.model.save_weights(str(path / WEIGHTS_FILE))
    others = {
        f"{i}.{j}": keras.ops.convert_to_numpy(variable)
        for i, optimizer in enumerate(_others(context))
        for j, variable in enumerate(optimizer.variables)
    }
    if others:
        np.savez(path / OPTIMIZERS_FILE, **others)
    for name, content in ((RANDOM_FILE, random_states), (CALLBACKS_FILE, moments.states())):
        with open(path / name, "wb") as f:
            pickle.dump(content, f)
    moments.on_checkpoint_written(str(path))


def load_weights(path: pathlib.Path, model: keras.Model) -> None:
    """Take the weights of a checkpoint over, and the state of the optimizer that the model is compiled with.

    Raises
    ------
    errors.InvalidCheckpointException
        If the checkpoint is not one of ours, or of another model.
    """
    file = path / WEIGHTS_FILE
    if not file.is_file():
        raise errors.InvalidCheckpointException(f"{path} has no {WEIGHTS_FILE}: it was not saved by a TFKerasTrial")
    try:
        model.load_weights(str(file))
    except ValueError as e:
        raise errors.InvalidCheckpointException(f"{path} does not fit the model: {e}") from e


def load(path: pathlib.Path, context: TFKerasTrialContext, moments: Moments) -> None:
    """Take everything but the state of the loop over from a checkpoint."""
    assert context.model is not None
    if _released.is_one(path):
        logger.info("the checkpoint is one of the released library: its weights and optimizers are taken over")
        _released.load_weights(path, context.model)
        _released.load_optimizers(path, _trial_context.optimizers_of(context))
        return
    load_weights(path, context.model)
    others = _others(context)
    if others:
        with np.load(path / OPTIMIZERS_FILE) as values:
            for i, optimizer in enumerate(others):
                for j, variable in enumerate(optimizer.variables):
                    variable.assign(values[f"{i}.{j}"])
    with open(path / CALLBACKS_FILE, "rb") as f:
        moments.restore(pickle.load(f))
    with open(path / RANDOM_FILE, "rb") as f:
        of_ranks = pickle.load(f)
    if len(of_ranks) == context.distributed.size:
        _state.set_random_state(context.model, of_ranks[context.distributed.rank])
    else:
        logger.warning(
            "the checkpoint was saved by %d processes, this is one of %d: its random numbers are not continued",
            len(of_ranks),
            context.distributed.size,
        )


def _read_load_data(directory: pathlib.Path) -> Dict[str, Any]:
    if not (directory / _description.LOAD_DATA_FILE).is_file() and _released.is_one(directory):
        return _released.read_metadata(directory)
    return _description.read_load_data(directory, TRIAL_TYPE)


def load_model_from_checkpoint_path(path: str, tags: Optional[List[str]] = None) -> keras.Model:
    """Build the model of a :class:`TFKerasTrial` again, with the weights of a checkpoint.

    Checkpoints of the released library, up to 0.38.1, are understood, too, if Keras 3 understands their code. Load only
    checkpoints that you trust: this runs their code.

    Parameters
    ----------
    path : str
        Directory of the checkpoint, as ``Checkpoint.download()`` returns it.
    tags : list of str, optional
        Without effect.

    Returns
    -------
    keras.Model
        As ``build_model()`` made it.

    Raises
    ------
    errors.InvalidCheckpointException
        If the directory is not the checkpoint of a TFKerasTrial.
    ValueError
        If the trial's class cannot be imported from the checkpoint.

    Examples
    --------
    >>> model = load_model_from_checkpoint_path("checkpoints/1b4e28ba")  # doctest: +SKIP
    >>> model.predict(x)  # doctest: +SKIP
    """
    directory = pathlib.Path(path)
    data = _read_load_data(directory)
    trial_class = _description.import_class(directory / _description.CODE_DIR, data["trial_cls_spec"])
    context = TFKerasTrialContext(
        core_context=_context.dummy_init(),
        trial_seed=0,
        hparams=data["hparams"],
        slots_per_trial=1,
        exp_conf=data["experiment_config"],
        steps_completed=0,
        aggregation_frequency=1,
        managed_training=False,
    )
    trial = trial_class(context)
    model = trial.build_model()
    if not model.built:
        model(first_input(trial.build_training_data_loader()))
    if _released.is_one(directory):
        _released.load_weights(directory, model)
    else:
        load_weights(directory, model)
    return model
