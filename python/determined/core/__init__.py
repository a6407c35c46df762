"""The Core API: the parts of a task, each behind one attribute of the :class:`Context` that :func:`init` gives.

====================  ==========================================================
``train``             metrics, progress and status
``checkpoint``        storing and restoring checkpoints
``preempt``           whether to stop and make room
``searcher``          how long to train, where the configuration says so
``distributed``       the processes of this trial
``profiler``          system metrics
``experimental``      what an inference works with
====================  ==========================================================
"""

from determined.core._checkpoint import CheckpointContext, DownloadMode, DummyCheckpointContext
from determined.core._context import Context, init
from determined.core._distributed import DistributedContext, DummyDistributedContext
from determined.core._experimental import DummyExperimentalCoreContext, ExperimentalCoreContext
from determined.core._preempt import DummyPreemptContext, PreemptContext, PreemptMode
from determined.core._profiler import DummyProfilerContext, ProfilerContext
from determined.core._searcher import (
    DummySearcherContext,
    DummySearcherOperation,
    SearcherContext,
    SearcherContextMissing,
    SearcherMode,
    SearcherOperation,
    Unit,
)
from determined.core._tensorboard import TensorboardMode
from determined.core._train import DummyTrainContext, EarlyExitReason, TrainContext
from determined.core._uploads import PendingUpload

__all__ = [
    "CheckpointContext",
    "Context",
    "DistributedContext",
    "DownloadMode",
    "DummyCheckpointContext",
    "DummyDistributedContext",
    "DummyExperimentalCoreContext",
    "DummyPreemptContext",
    "DummyProfilerContext",
    "DummySearcherContext",
    "DummySearcherOperation",
    "DummyTrainContext",
    "EarlyExitReason",
    "ExperimentalCoreContext",
    "PendingUpload",
    "PreemptContext",
    "PreemptMode",
    "ProfilerContext",
    "SearcherContext",
    "SearcherContextMissing",
    "SearcherMode",
    "SearcherOperation",
    "TensorboardMode",
    "TrainContext",
    "Unit",
    "init",
]
