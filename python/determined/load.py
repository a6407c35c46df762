"""Importing trial classes."""

from typing import Type

from determined import LegacyTrial
from determined._training import _description


def trial_class_from_entrypoint(entrypoint_spec: str) -> Type[LegacyTrial]:
    """Import what ``package.module:Class`` names, from ``sys.path``.

    Raises
    ------
    errors.InvalidExperimentException
        If it does not exist, or is not a trial.
    """
    return _description.trial_class_from_entrypoint(entrypoint_spec)
