"""Reports of metrics, as the SDK shows them."""

import dataclasses
import datetime
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional

from determined import _http, _routes
from determined.experimental import _api

if TYPE_CHECKING:
    from determined import _messages


@dataclasses.dataclass
class TrialMetrics:
    """One report of a trial.

    Attributes
    ----------
    trial_id, trial_run_id : int
    steps_completed : int
        Batches trained when it was made.
    end_time : datetime.datetime
        When it was made.
    metrics : dict
        By name.
    group : str
        Such as "training" or "validation".
    batch_metrics : list of dict, optional
        One for each batch, where they were reported.
    """

    trial_id: int
    trial_run_id: int
    steps_completed: int
    end_time: datetime.datetime
    metrics: Dict[str, Any]
    group: str
    batch_metrics: Optional[List[Dict[str, Any]]] = None

    @property
    def total_batches(self) -> int:
        """Older name of ``steps_completed``."""
        _api.deprecated("TrialMetrics.total_batches", "TrialMetrics.steps_completed")
        return self.steps_completed

    @total_batches.setter
    def total_batches(self, value: int) -> None:
        self.steps_completed = value


class TrainingMetrics(TrialMetrics):
    """A report of the group "training"."""

    def __init__(self, total_batches: Optional[int] = None, **kwargs: Any) -> None:
        if total_batches is not None:
            kwargs["steps_completed"] = total_batches
        super().__init__(group="training", **kwargs)


class ValidationMetrics(TrialMetrics):
    """A report of the group "validation"."""

    def __init__(self, total_batches: Optional[int] = None, **kwargs: Any) -> None:
        if total_batches is not None:
            kwargs["steps_completed"] = total_batches
        super().__init__(group="validation", **kwargs)


def _members(report: "_messages.MetricsReport") -> Dict[str, Any]:
    """What all kinds of reports have; the group is not part of it."""
    values = report["metrics"]
    return {
        "trial_id": report["trialId"],
        "trial_run_id": report["trialRunId"],
        "steps_completed": report["totalBatches"],
        "end_time": _api.time_of(report["endTime"]),
        "metrics": values.get("avg_metrics") or values.get("validation_metrics") or {},
        "batch_metrics": values.get("batch_metrics"),
    }


def trial_metrics_from_answer(report: "_messages.MetricsReport") -> TrialMetrics:
    """The report that an answer of the master describes."""
    return TrialMetrics(**_members(report), group=report["group"])


def iterate(session: _http.Session, trial_ids: List[int], group: str) -> Iterator[TrialMetrics]:
    """Reports of a group, trial by trial, in the order of their steps."""
    for message in session.follow(_routes.get_metrics(trial_ids=trial_ids, group=group)):
        for report in message.get("metrics") or []:
            yield trial_metrics_from_answer(report)


def iterate_training(session: _http.Session, trial_ids: List[int]) -> Iterator[TrialMetrics]:
    """Reports of the group "training"."""
    for message in session.follow(_routes.get_training_metrics(trial_ids=trial_ids)):
        for report in message.get("metrics") or []:
            yield TrainingMetrics(**_members(report))


def iterate_validation(session: _http.Session, trial_ids: List[int]) -> Iterator[TrialMetrics]:
    """Reports of the group "validation"."""
    for message in session.follow(_routes.get_validation_metrics(trial_ids=trial_ids)):
        for report in message.get("metrics") or []:
            yield ValidationMetrics(**_members(report))
