"""Things for programs about the cluster, rather than for training: ``client``, the SDK, and ``core_v2``."""

import importlib
from typing import Any

from determined.experimental import client
from determined.experimental._api import OrderBy
from determined.experimental._checkpoint import Checkpoint
from determined.experimental._determined import Determined
from determined.experimental._experiment import Experiment, ExperimentReference
from determined.experimental._model import Model, ModelOrderBy, ModelSortBy, ModelVersion
from determined.experimental._one_batch import test_one_batch
from determined.experimental._trial import Trial, TrialOrderBy, TrialReference, TrialSortBy
from determined.experimental._workspace import Project

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
    "Trial",
    "TrialOrderBy",
    "TrialReference",
    "TrialSortBy",
    "checkpoint",
    "client",
    "metrics",
    "model",
    "test_one_batch",
]


def __getattr__(name: str) -> Any:
    """Modules of another place that programs know from here."""
    if name in ("checkpoint", "metrics", "model"):
        return importlib.import_module(f"determined.common.experimental.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
