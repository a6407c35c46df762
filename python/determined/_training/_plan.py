"""How a training run is to go."""

import enum
from typing import Callable, NamedTuple, Optional

from determined._training._units import TrainUnit


class CheckpointPolicy(enum.Enum):
    """After which validations to save a checkpoint besides those that are due: all, the best so far, none."""

    ALL = "all"
    BEST = "best"
    NONE = "none"


class Profiling(NamedTuple):
    """What to measure of training besides its metrics.

    Attributes
    ----------
    enabled : bool
    begin_on_batch, end_after_batch : int
        First batch, from 0, and last; None for the end of training.
    sync_timings : bool
        Whether the device's work is waited for at the end of each timing.
    """

    enabled: bool = False
    begin_on_batch: int = 0
    end_after_batch: Optional[int] = None
    sync_timings: bool = True


class Plan(NamedTuple):
    """How a training run is to go.

    Attributes
    ----------
    max_length : Batch or Epoch
        When it ends; with operations, the length of the longest.
    operation_length : callable or None
        From the length of a searcher's operation to a Batch or Epoch, where the searcher hands out operations: then
        training goes from one to the next.
    checkpoint_period, validation_period, reporting_period : TrainUnit
        When to save, validate, and report training metrics and progress.
    checkpoint_policy : CheckpointPolicy
    searcher_metric : str or None
        Which metric "best" looks at.
    smaller_is_better : bool
    step_zero_validation : bool
        Whether to validate before the first batch.
    test_mode : bool
        Train and validate one batch only.
    profiling : Profiling
    by_trainer : bool
        Whether the user's own script started it, rather than ``determined.exec.harness``.
    """

    max_length: TrainUnit
    operation_length: Optional[Callable[[int], TrainUnit]]
    checkpoint_period: TrainUnit
    validation_period: TrainUnit
    reporting_period: TrainUnit
    checkpoint_policy: CheckpointPolicy
    searcher_metric: Optional[str]
    smaller_is_better: bool
    step_zero_validation: bool
    test_mode: bool
    profiling: Profiling
    by_trainer: bool
