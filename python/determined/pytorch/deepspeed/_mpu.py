"""Which part of the model and of the data a process has."""

import dataclasses
from typing import Any

from determined import core


@dataclasses.dataclass
class ModelParallelUnit:
    """The place of a process among those that share model and data.

    Attributes
    ----------
    data_parallel_rank, data_parallel_world_size : int
        Which share of the data it gets, and how many there are.
    should_report_metrics : bool
        Whether what its ``train_batch()`` and ``evaluate_batch()`` return are metrics.
    should_build_data_loader : bool
        Whether it needs data at all.
    """

    data_parallel_rank: int
    data_parallel_world_size: int
    should_report_metrics: bool
    should_build_data_loader: bool


def make_data_parallel_mpu(dist_context: core.DistributedContext) -> ModelParallelUnit:
    """Each process has the whole model, and its share of the data."""
    return ModelParallelUnit(
        data_parallel_rank=dist_context.get_rank(),
        data_parallel_world_size=dist_context.get_size(),
        should_report_metrics=True,
        should_build_data_loader=True,
    )


def make_deepspeed_mpu(topology: Any) -> ModelParallelUnit:
    """Each process has a stage of a pipeline; only its first and last stages need data.

    Parameters
    ----------
    topology : deepspeed.runtime.pipe.topology.PipelineParallelGrid
        Attribute ``mpu`` of a ``PipelineEngine``.
    """
    stage, stages = topology.get_pipe_parallel_rank(), topology.get_pipe_parallel_world_size()
    return ModelParallelUnit(
        data_parallel_rank=topology.get_data_parallel_rank(),
        data_parallel_world_size=topology.get_data_parallel_world_size(),
        should_report_metrics=True,
        should_build_data_loader=topology.get_slice_parallel_rank() == 0 and stage in (0, stages - 1),
    )
