"""The Core API for runs wherever they are: on the cluster as ``core``, elsewhere as *unmanaged* trials.

>>> from determined.experimental import core_v2
>>> core_v2.init(config=core_v2.Config(name="on my laptop", hparams={"lr": 0.1}))  # doctest: +SKIP
>>> core_v2.train.report_training_metrics(steps_completed=1, metrics={"loss": 0.5})  # doctest: +SKIP
>>> core_v2.close()  # doctest: +SKIP

An unmanaged run needs no master while it runs: what it reports is kept on disk until a master knows it (see
``_journal``).
"""

from typing import Optional

from determined import ClusterInfo, core
from determined.core import DistributedContext, PreemptMode, TensorboardMode
from determined.experimental.core_v2._core_v2 import (
    Config,
    DefaultConfig,
    UnmanagedConfig,
    close,
    init,
    init_context,
    url_reverse_webui_exp_view,
)

# The parts of the context that init() has made.
train: Optional[core.TrainContext] = None
distributed: Optional[core.DistributedContext] = None
preempt: Optional[core.PreemptContext] = None
checkpoint: Optional[core.CheckpointContext] = None
searcher: Optional[core.SearcherContext] = None
info: Optional[ClusterInfo] = None

__all__ = [
    "Config",
    "DefaultConfig",
    "DistributedContext",
    "PreemptMode",
    "TensorboardMode",
    "UnmanagedConfig",
    "checkpoint",
    "close",
    "distributed",
    "info",
    "init",
    "init_context",
    "preempt",
    "searcher",
    "train",
    "url_reverse_webui_exp_view",
]
