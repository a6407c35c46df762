"""Former place of the names that :mod:`determined.experimental` has; its modules have those of the client.

Programs that were written for the released library import them from here.
"""

from determined.experimental import (
    Checkpoint,
    Determined,
    Experiment,
    ExperimentReference,
    Model,
    ModelOrderBy,
    ModelSortBy,
    ModelVersion,
    OrderBy,
    Project,
    Trial,
    TrialOrderBy,
    TrialReference,
    TrialSortBy,
)
from determined.experimental.client import TrainingMetrics, TrialMetrics, ValidationMetrics

__all__ = [
    "Checkpoint",
    "Determined",
    "Experiment",
    "ExperimentReference",
    "Model",
    "ModelOrderBy",
    "ModelSortBy",
    "ModelVersion",
    "OrderBy",
    "Project",
    "TrainingMetrics",
    "Trial",
    "TrialMetrics",
    "TrialOrderBy",
    "TrialReference",
    "TrialSortBy",
    "ValidationMetrics",
]
