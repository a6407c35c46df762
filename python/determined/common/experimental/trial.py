"""Another place of names that :mod:`determined.experimental.client` has: trials."""

from determined.experimental._api import OrderBy
from determined.experimental._trial import LogLevel, Trial, TrialOrderBy, TrialReference, TrialSortBy, TrialState

__all__ = ["LogLevel", "OrderBy", "Trial", "TrialOrderBy", "TrialReference", "TrialSortBy", "TrialState"]
