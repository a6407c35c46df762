"""Determined's training library: what a task needs to talk to the platform that runs it.

``import determined as det`` is cheap: it loads neither a framework nor the network. ``det.core`` is loaded when first
used; everything for PyTorch lives in ``determined.pytorch`` and is imported explicitly.

>>> import determined as det
>>> det.get_cluster_info() is None  # off the cluster
True
"""

import importlib
from typing import TYPE_CHECKING, Any, List

from determined import errors
from determined._config import ExperimentConfig
from determined._import import import_from_path
from determined._info import ClusterInfo, RendezvousInfo, ResourcesInfo, TrialInfo, get_cluster_info
from determined._trial import LegacyTrial
from determined._version import __version__
from determined.errors import InvalidHP

if TYPE_CHECKING:
    from determined import core as core
    from determined import util as util
    from determined._trial_context import TrialContext as TrialContext

LOG_FORMAT = "%(levelname)s: [%(process)s] %(name)s: %(message)s"

__all__ = [
    "ClusterInfo",
    "ExperimentConfig",
    "InvalidHP",
    "LOG_FORMAT",
    "LegacyTrial",
    "RendezvousInfo",
    "ResourcesInfo",
    "TrialContext",
    "TrialInfo",
    "__version__",
    "core",
    "errors",
    "get_cluster_info",
    "import_from_path",
    "util",
]


def __getattr__(name: str) -> Any:
    """Load what is more than the root on first use, so that importing the root costs next to nothing."""
    if name in ("core", "util"):
        return importlib.import_module(f"determined.{name}")
    if name == "TrialContext":
        return importlib.import_module("determined._trial_context").TrialContext
    raise AttributeError(f"module 'determined' has no attribute {name!r}")


def __dir__() -> List[str]:
    return sorted(__all__)
