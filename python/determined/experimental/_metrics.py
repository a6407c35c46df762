"""Reports of metrics, as the SDK shows them."""

import dataclasses
import datetime
from typing import Any, Dict, Iterator, List, Optional

from determined import _http
from determined.experimental import _api


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

    @classmethod
    def _from_answer(cls, report: Dict[str, Any], group: Optional[str] = None) -> "TrialMetrics":
        values = report["metrics"]
        averages = values.get("avg_metrics") or values.get("validation_metrics") or {}
        made = {
            "trial_id": report["trialId"],
            "trial_run_id": report["trialRunId"],
            "steps_completed": report["totalBatches"],
            "end_time": _api.time_of(report["endTime"]),
            "metrics": averages,
            "batch_metrics": values.get("batch_metrics"),
        }
        return cls(**made, **({} if group is not None else {"group": report["group"]}))


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


def iterate(session: _http.Session, trial_ids: List[int], group: str) -> Iterator[TrialMetrics]:
    """Reports of a group, trial by trial, in the order of their steps."""
    params = {"trialIds": trial_ids, "group": group}
    for message in session.stream("/api/v1/trials/metrics/trial_metrics", params=params):
        for report in message.get("metrics") or []:
            yield TrialMetrics._from_answer(report)


def iterate_training(session: _http.Session, trial_ids: List[int]) -> Iterator[TrialMetrics]:
    """Reports of the group "training"."""
    for message in session.stream("/api/v1/trials/metrics/training_metrics", params={"trialIds": trial_ids}):
        for report in message.get("metrics") or []:
            yield TrainingMetrics._from_answer(report, "training")


def iterate_validation(session: _http.Session, trial_ids: List[int]) -> Iterator[TrialMetrics]:
    """Reports of the group "validation"."""
    for message in session.stream("/api/v1/trials/metrics/validation_metrics", params={"trialIds": trial_ids}):
        for report in message.get("metrics") or []:
            yield ValidationMetrics._from_answer(report, "validation")
