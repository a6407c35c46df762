"""Trials."""

import datetime
import enum
import functools
import inspect
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Union

from determined import _http, _routes
from determined.experimental import _api, _checkpoint, _metrics
from determined.experimental._api import OrderBy
from determined.experimental._checkpoint import Checkpoint, CheckpointSortBy, checkpoint_from_answer

if TYPE_CHECKING:
    from determined import _messages
    from determined._request import Stream
    from determined.experimental._experiment import Experiment


class LogLevel(enum.Enum):
    """The severity of a line of a log, from the least severe to the most severe."""

    TRACE = "LOG_LEVEL_TRACE"
    DEBUG = "LOG_LEVEL_DEBUG"
    INFO = "LOG_LEVEL_INFO"
    WARNING = "LOG_LEVEL_WARNING"
    ERROR = "LOG_LEVEL_ERROR"
    CRITICAL = "LOG_LEVEL_CRITICAL"


class TrialState(enum.Enum):
    """The state of a trial, as the master names it."""

    ACTIVE = "STATE_ACTIVE"
    PAUSED = "STATE_PAUSED"
    STOPPING_CANCELED = "STATE_STOPPING_CANCELED"
    STOPPING_KILLED = "STATE_STOPPING_KILLED"
    STOPPING_COMPLETED = "STATE_STOPPING_COMPLETED"
    STOPPING_ERROR = "STATE_STOPPING_ERROR"
    CANCELED = "STATE_CANCELED"
    COMPLETED = "STATE_COMPLETED"
    ERROR = "STATE_ERROR"
    QUEUED = "STATE_QUEUED"
    PULLING = "STATE_PULLING"
    STARTING = "STATE_STARTING"
    RUNNING = "STATE_RUNNING"


class TrialSortBy(enum.Enum):
    """The order of a list of trials."""

    ID = "SORT_BY_ID"
    START_TIME = "SORT_BY_START_TIME"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    BEST_VALIDATION_METRIC = "SORT_BY_BEST_VALIDATION_METRIC"
    LATEST_VALIDATION_METRIC = "SORT_BY_LATEST_VALIDATION_METRIC"
    BATCHES_PROCESSED = "SORT_BY_BATCHES_PROCESSED"
    DURATION = "SORT_BY_DURATION"
    RESTARTS = "SORT_BY_RESTARTS"
    CHECKPOINT_SIZE = "SORT_BY_CHECKPOINT_SIZE"
    LOG_RETENTION_DAYS = "SORT_BY_LOG_RETENTION_DAYS"


class TrialOrderBy(enum.Enum):
    """Older form of :class:`OrderBy`."""

    ASCENDING = "ORDER_BY_ASC"
    ASC = ASCENDING
    DESCENDING = "ORDER_BY_DESC"
    DESC = DESCENDING


def _levels_from(level: Optional[LogLevel]) -> Optional[List[LogLevel]]:
    """The level and all levels above it. Lines without a level count as INFO."""
    if level is None:
        return None
    levels = list(LogLevel)
    return levels[levels.index(LogLevel(level)) :]


class Trial:
    """A trial. Get it from ``client.get_trial()`` or ``experiment.list_trials()``.

    Attributes
    ----------
    id : int
    experiment_id : int or None
    hparams : dict or None
    summary_metrics : dict or None
        For each group and each metric in it: ``count``, ``sum``, ``min``, ``max``, ``mean`` and ``last``.
    state : TrialState or None
    """

    def __init__(self, trial_id: int, session: _http.Session) -> None:
        self.id = trial_id
        self._session = session
        self.experiment_id: Optional[int] = None
        self.hparams: Optional[Dict[str, Any]] = None
        self.summary_metrics: Optional[Dict[str, Any]] = None
        self.state: Optional[TrialState] = None

    def __repr__(self) -> str:
        return f"Trial(id={self.id})"

    def _take(self, answer: "_messages.Trial") -> None:
        self.experiment_id = answer["experimentId"]
        self.hparams = answer["hparams"]
        self.state = TrialState(answer["state"])
        self.summary_metrics = answer.get("summaryMetrics")

    def reload(self) -> None:
        """Fetch the trial from the master again, and replace the values of all attributes."""
        self._take(self._session.send(_routes.get_trial(self.id))["trial"])

    def get_experiment(self) -> "Experiment":
        """Return the experiment that the trial belongs to."""
        from determined.experimental._experiment import Experiment

        if self.experiment_id is None:
            self.reload()
        assert self.experiment_id is not None
        experiment = Experiment(self.experiment_id, self._session)
        experiment.reload()
        return experiment

    def kill(self) -> None:
        """End the trial without waiting for a checkpoint."""
        self._session.send(_routes.kill_trial(self.id))

    # ---- logs ----

    def iter_logs(
        self,
        follow: bool = False,
        *,
        head: Optional[int] = None,
        tail: Optional[int] = None,
        container_ids: Optional[List[str]] = None,
        rank_ids: Optional[List[int]] = None,
        stdtypes: Optional[List[str]] = None,
        min_level: Optional[LogLevel] = None,
        timestamp_before: Optional[Union[str, int]] = None,
        timestamp_after: Optional[Union[str, int]] = None,
        sources: Optional[List[str]] = None,
        search_text: Optional[str] = None,
    ) -> Iterable[str]:
        """Yield the lines of the trial's log, each with its newline at the end.

        Parameters
        ----------
        follow : bool
            Whether to wait for further lines until the trial ends; by default the lines that exist are all.
        head, tail : int, optional
            Yield only this many lines, from the beginning or from the end. Give at most one of ``head``, ``tail`` and
            ``follow``.
        container_ids, rank_ids, stdtypes, sources : list, optional
            Yield only lines of these containers, ranks, streams (``"stdout"``, ``"stderr"``) and sources.
        min_level : LogLevel, optional
            Yield only lines of this level and above.
        timestamp_before, timestamp_after : str or int, optional
            Yield only lines before or after this time: a text in ISO 8601, or seconds since 1970 in UTC.
        search_text : str, optional
            Yield only lines that contain this text.

        Raises
        ------
        ValueError
            If ``head``, ``tail`` and ``follow`` contradict each other.
        """
        if sum((head is not None, tail is not None, bool(follow))) > 1:
            raise ValueError("of head, tail and follow only one can be given")
        for name, count in (("head", head), ("tail", tail)):
            if count is not None and count < 0:
                raise ValueError(f"{name}={count}: must not be negative")
        stream = _routes.trial_logs(
            self.id,
            follow=follow or None,
            limit=head if head is not None else tail,
            order_by=OrderBy.DESC if tail is not None else None,
            container_ids=container_ids,
            rank_ids=rank_ids,
            stdtypes=stdtypes,
            levels=_levels_from(min_level),
            timestamp_before=_time(timestamp_before),
            timestamp_after=_time(timestamp_after),
            sources=sources,
            search_text=search_text,
        )
        return self._lines(stream, backwards=tail is not None)

    def _lines(self, stream: "Stream[_messages.TrialLogsResponse]", *, backwards: bool) -> Iterable[str]:
        lines = (line["message"] for line in self._session.follow(stream))
        return reversed(list(lines)) if backwards else lines

    def logs(self, *args: Any, **kwargs: Any) -> Iterable[str]:
        """Yield lines of the log: an older name of :meth:`iter_logs`."""
        _api.deprecated("Trial.logs()", "Trial.iter_logs()")
        return self.iter_logs(*args, **kwargs)

    logs.__signature__ = inspect.signature(iter_logs)  # type: ignore[attr-defined]

    # ---- checkpoints ----

    def list_checkpoints(
        self,
        sort_by: Optional[Union[str, CheckpointSortBy]] = None,
        order_by: Optional[OrderBy] = None,
        max_results: Optional[int] = None,
    ) -> List[Checkpoint]:
        """Return the complete checkpoints of the trial.

        Parameters
        ----------
        sort_by : str or CheckpointSortBy, optional
            A string is the name of a validation metric. Give it together with ``order_by``, or neither: then the best
            checkpoint by the searcher's metric comes first.
        order_by : OrderBy, optional
        max_results : int, optional
        """
        page = functools.partial(_routes.get_trial_checkpoints, self.id, **_checkpoint.choice(sort_by, order_by))
        found = _api.pages(self._session, page, lambda answer: answer.get("checkpoints"), max_results)
        return [checkpoint_from_answer(c, self._session) for c in found]

    def top_checkpoint(self, sort_by: Optional[str] = None, smaller_is_better: Optional[bool] = None) -> Checkpoint:
        """Return the best checkpoint. Deprecated: :meth:`list_checkpoints` with ``max_results=1``."""
        _api.deprecated("Trial.top_checkpoint()", "Trial.list_checkpoints(max_results=1)")
        order = None if sort_by is None else OrderBy.ASC if smaller_is_better else OrderBy.DESC
        return _checkpoint.best(self.list_checkpoints(sort_by, order, 1), f"trial {self.id}")

    def select_checkpoint(
        self,
        latest: bool = False,
        best: bool = False,
        uuid: Optional[str] = None,
        sort_by: Optional[str] = None,
        smaller_is_better: Optional[bool] = None,
    ) -> Checkpoint:
        """Return one checkpoint of the trial. Deprecated: :meth:`list_checkpoints`.

        Parameters
        ----------
        latest, best : bool
        uuid : str, optional
            Give exactly one of these three.
        sort_by : str, optional
            The metric that decides which is best. Give it together with ``smaller_is_better``.
        smaller_is_better : bool, optional
        """
        _api.deprecated("Trial.select_checkpoint()", "Trial.list_checkpoints()")
        if sum((latest, best, uuid is not None)) != 1:
            raise AssertionError("exactly one of latest, best and uuid must be given")
        if (sort_by is None) != (smaller_is_better is None):
            raise AssertionError("sort_by and smaller_is_better must be given together, or neither")
        if sort_by is not None and not best:
            raise AssertionError("sort_by and smaller_is_better go with best only")
        if uuid is not None:
            checkpoint = Checkpoint(self._session, uuid)
            checkpoint.reload()
            return checkpoint
        if latest:
            found = self.list_checkpoints(CheckpointSortBy.BATCH_NUMBER, OrderBy.DESC, 1)
        else:
            order = None if sort_by is None else OrderBy.ASC if smaller_is_better else OrderBy.DESC
            found = self.list_checkpoints(sort_by, order, 1)
        return _checkpoint.best(found, f"trial {self.id}")

    def get_checkpoints(
        self, sort_by: Optional[Union[str, CheckpointSortBy]] = None, order_by: Optional[OrderBy] = None
    ) -> List[Checkpoint]:
        """Return checkpoints: an older name of :meth:`list_checkpoints`."""
        _api.deprecated("Trial.get_checkpoints()", "Trial.list_checkpoints()")
        return self.list_checkpoints(sort_by, order_by)

    # ---- metrics ----

    def iter_metrics(self, group: str) -> Iterable[_metrics.TrialMetrics]:
        """Yield the trial's reports of one group of metrics, in the order of their steps."""
        return _metrics.iterate(self._session, [self.id], group)

    def stream_metrics(self, group: str) -> Iterable[_metrics.TrialMetrics]:
        """Yield reports: an older name of :meth:`iter_metrics`."""
        _api.deprecated("Trial.stream_metrics()", "Trial.iter_metrics()")
        return self.iter_metrics(group)

    def stream_training_metrics(self) -> Iterable[_metrics.TrialMetrics]:
        """Older form of ``iter_metrics("training")``."""
        _api.deprecated("Trial.stream_training_metrics()", 'Trial.iter_metrics("training")')
        return _metrics.iterate_training(self._session, [self.id])

    def stream_validation_metrics(self) -> Iterable[_metrics.TrialMetrics]:
        """Older form of ``iter_metrics("validation")``."""
        _api.deprecated("Trial.stream_validation_metrics()", 'Trial.iter_metrics("validation")')
        return _metrics.iterate_validation(self._session, [self.id])


def trial_from_answer(answer: "_messages.Trial", session: _http.Session) -> Trial:
    """The trial that an answer of the master describes."""
    trial = Trial(answer["id"], session)
    trial._take(answer)
    return trial


class TrialReference(Trial):
    """Older name of :class:`Trial`."""

    def __init__(self, trial_id: int, session: _http.Session) -> None:
        _api.deprecated("TrialReference", "Trial")
        super().__init__(trial_id, session)


def _time(given: Optional[Union[str, int]]) -> Optional[str]:
    if given is None or isinstance(given, str):
        return given
    return datetime.datetime.fromtimestamp(given, datetime.timezone.utc).isoformat()
