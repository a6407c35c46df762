"""Trying a Trial class out."""

from typing import Any, Dict, Optional, Type

from determined._config import ExperimentConfig
from determined._trial import LegacyTrial


def test_one_batch(trial_class: Type[LegacyTrial], config: Optional[Dict[str, Any]] = None) -> None:
    """Train a trial on one batch, validate on one, and save a checkpoint, off the cluster.

    ``det experiment create --local --test`` does the same from the command line.

    Parameters
    ----------
    trial_class : type
        A subclass of PyTorchTrial, DeepSpeedTrial or TFKerasTrial.
    config : dict, optional
        An experiment configuration. As there is no search, of a range of a hyperparameter the middle is taken, and of a
        list the first.

    Raises
    ------
    errors.InvalidExperimentException
        If the class or the configuration lacks something; errors of the trial itself come through as they are.

    Examples
    --------
    >>> test_one_batch(MyTrial, {"hyperparameters": {"global_batch_size": 32}})  # doctest: +SKIP
    """
    from determined.exec import harness

    harness.run_local(trial_class, ExperimentConfig(config or {}), test_mode=True)


test_one_batch.__test__ = False  # type: ignore[attr-defined]  # pytest would take it for a test
