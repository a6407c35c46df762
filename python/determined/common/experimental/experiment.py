"""Another place of names that :mod:`determined.experimental.client` has: experiments."""

from determined.experimental._api import OrderBy
from determined.experimental._experiment import (
    TERMINAL_STATES,
    Experiment,
    ExperimentOrderBy,
    ExperimentReference,
    ExperimentSortBy,
    ExperimentState,
)

__all__ = [
    "Experiment",
    "ExperimentOrderBy",
    "ExperimentReference",
    "ExperimentSortBy",
    "ExperimentState",
    "OrderBy",
    "TERMINAL_STATES",
]
