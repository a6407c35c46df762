"""How long to train, where ``searcher.max_length`` says so.

A search that stops its trials early, and that knows their length by ``searcher.max_length``, hands out several
operations, one for each rung that a trial climbs: the master is asked for the next one when one is completed, and a
trial that has none for now leaves its slots to others. Everywhere else there is exactly one: train for this long.
"""

import enum
import logging
import warnings
from typing import Any, Dict, Iterator, Optional

from determined import _http, _json, _routes
from determined.core._distributed import DistributedContext
from determined.core._reports import Reporter

logger = logging.getLogger("determined.core")


class Unit(enum.Enum):
    """What a length counts."""

    EPOCHS = "EPOCHS"
    RECORDS = "RECORDS"
    BATCHES = "BATCHES"


class SearcherMode(enum.Enum):
    """Which processes call ``operations()``.

    ``WorkersAskChief``: all, in step. ``ChiefOnly``: rank 0.
    """

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    # The value is misspelt in the published library; it is what callers that pass the value have.
    ChiefOnly = "CHEIF_ONLY"


def configured_length(config: Dict[str, Any]) -> Optional[int]:
    """The number in ``searcher.max_length`` of an experiment configuration, or None."""
    length = config["searcher"].get("max_length")
    if isinstance(length, dict):
        return next((int(n) for n in length.values() if n is not None), None)
    return int(length) if length is not None else None


def configured_unit(config: Dict[str, Any]) -> Optional[Unit]:
    """What ``searcher.max_length`` counts, or None if it does not say."""
    length = config["searcher"].get("max_length")
    if not isinstance(length, dict):
        return None
    return next((Unit(name.upper()) for name, n in length.items() if n is not None), None)


class SearcherOperation:
    """One piece of work: train until ``length`` in total, then report the metric.

    Attributes
    ----------
    length : int
        Absolute, in the units of ``searcher.max_length``.
    """

    def __init__(self, reporter: Optional[Reporter], length: int, is_chief: bool) -> None:
        self._reporter = reporter
        self._length = length
        self._is_chief = is_chief
        self._completed = False

    @property
    def length(self) -> int:
        """Train until this much is done in all, in the units of ``searcher.max_length``."""
        return self._length

    def report_progress(self, length: float) -> None:
        """Report how far training is, in the units of :attr:`length`. Rank 0 only."""
        self._check_chief("report_progress")
        if self._completed and length != self._length:
            raise RuntimeError("op.report_progress() was called after op.report_completed()")
        self._send_progress(min(max(float(length) / self._length, 0.0), 1.0))

    def report_completed(self, searcher_metric: Any) -> None:
        """Report that :attr:`length` is reached, and the validation metric there. Rank 0 only, once."""
        self._check_chief("report_completed")
        if self._completed:
            raise RuntimeError("op.report_completed() was called twice for one operation")
        metric = _json.to_plain(searcher_metric, "searcher_metric")
        self._completed = True
        logger.info("trained for %s, searcher metric %s", self._length, metric)

    def _check_chief(self, what: str) -> None:
        if not self._is_chief:
            raise RuntimeError(f"op.{what}() is for the chief (rank 0) only")

    def _send_progress(self, progress: float) -> None:
        assert self._reporter is not None
        self._reporter.progress(progress)


class SearcherContext:
    """The length of training that the configuration asks for. Reached as ``core_context.searcher``.

    Deprecated, as in the published library: put the length into the training code instead.
    """

    def __init__(
        self,
        reporter: Optional[Reporter],
        dist: DistributedContext,
        max_length: int,
        units: Optional[Unit] = None,
    ) -> None:
        self._reporter = reporter
        self._dist = dist
        self._length = max_length
        self._units = units

    def operations(
        self, searcher_mode: SearcherMode = SearcherMode.WorkersAskChief, auto_ack: bool = True
    ) -> Iterator[SearcherOperation]:
        """Iterate over the operations: one, of the configured length.

        Parameters
        ----------
        searcher_mode : SearcherMode
            Which processes call this.
        auto_ack : bool
            Of no consequence where there is one operation only.

        Raises
        ------
        RuntimeError
            When the loop comes back without ``op.report_completed()``.

        Examples
        --------
        >>> batches_trained = 0
        >>> for op in core_context.searcher.operations():  # doctest: +SKIP
        ...     while batches_trained < op.length:
        ...         train_a_batch()
        ...         batches_trained += 1
        ...     op.report_completed(validate()["loss"])
        """
        warnings.warn(
            "SearcherContext.operations() is deprecated: put the length of training into the training code",
            FutureWarning,
            stacklevel=2,
        )
        if SearcherMode(searcher_mode) == SearcherMode.ChiefOnly and self._dist.rank != 0:
            raise RuntimeError(f"operations() was called by rank {self._dist.rank} in SearcherMode.ChiefOnly")
        operation = self._operation()
        yield operation
        if operation._is_chief and not operation._completed:
            raise RuntimeError("call op.report_completed() for each operation")

    def _operation(self) -> SearcherOperation:
        return SearcherOperation(self._reporter, self._length, self._dist.rank == 0)

    def acknowledge_out_of_ops(self) -> None:
        """Does nothing any more."""

    def get_configured_units(self) -> Optional[Unit]:
        """What ``searcher.max_length`` counts; None if it is a bare number."""
        return self._units


# Trials of these searchers train from rung to rung; trials of other searchers simply train.
_HALVING = ("async_halving", "adaptive_asha", "sync_halving", "adaptive", "adaptive_simple")


def asks_master(config: Dict[str, Any]) -> bool:
    """Whether the search of this experiment configuration hands out operations one by one."""
    searcher = config["searcher"]
    by_time = searcher.get("max_time") and searcher.get("time_metric")
    return searcher.get("name") in _HALVING and bool(configured_length(config)) and not by_time


class _MasterSearcherOperation(SearcherOperation):
    """An operation that the master handed out, and hears of the end of."""

    def __init__(self, reporter: Reporter, session: _http.Session, trial_id: int, length: int, is_chief: bool) -> None:
        super().__init__(reporter, length, is_chief)
        self._session = session
        self._trial_id = trial_id

    def report_completed(self, searcher_metric: Any) -> None:
        super().report_completed(searcher_metric)
        metric = _json.to_plain(searcher_metric, "searcher_metric")
        self._session.send(
            _routes.complete_trial_searcher_validation(
                self._trial_id, completed_operation={"op": {"length": self._length}, "searcherMetric": metric}
            )
        )


class MasterSearcherContext(SearcherContext):
    """Operations one by one, as the search decides who goes on.

    Not for users' own calls: ``core.init()`` makes it where it belongs.
    """

    def __init__(
        self,
        reporter: Reporter,
        dist: DistributedContext,
        session: _http.Session,
        trial_id: int,
        allocation_id: str,
        units: Optional[Unit],
    ) -> None:
        super().__init__(reporter, dist, 0, units)
        self._session = session
        self._trial_id = trial_id
        self._allocation_id = allocation_id

    def operations(
        self, searcher_mode: SearcherMode = SearcherMode.WorkersAskChief, auto_ack: bool = True
    ) -> Iterator[SearcherOperation]:
        """Iterate over the operations until there is none, at least for now.

        Leave the program then, with exit status 0: when the search wants the trial to go on, it is started again, from
        its latest checkpoint. So save one before ``op.report_completed()``.

        Parameters
        ----------
        searcher_mode : SearcherMode
            Which processes call this.
        auto_ack : bool
            Whether to tell the master that the program is about to leave; else call
            :meth:`acknowledge_out_of_ops`.

        Raises
        ------
        RuntimeError
            When the loop comes back without ``op.report_completed()``.

        Examples
        --------
        >>> for op in core_context.searcher.operations():  # doctest: +SKIP
        ...     while batches_trained < op.length:
        ...         train_a_batch()
        ...         batches_trained += 1
        ...     save_checkpoint()
        ...     op.report_completed(validate()["loss"])
        """
        ask_alone = SearcherMode(searcher_mode) == SearcherMode.ChiefOnly
        if ask_alone and self._dist.rank != 0:
            raise RuntimeError(f"operations() was called by rank {self._dist.rank} in SearcherMode.ChiefOnly")
        while True:
            length = self._next_length() if self._dist.rank == 0 else None
            if not ask_alone:
                length = self._dist.broadcast(length)
            if length is None:
                break
            operation = self._make(length)
            yield operation
            if operation._is_chief and not operation._completed:
                raise RuntimeError("call op.report_completed() for each operation")
        if auto_ack and self._dist.rank == 0:
            self.acknowledge_out_of_ops()

    def _next_length(self) -> Optional[int]:
        answer = self._session.send(_routes.get_current_trial_searcher_operation(self._trial_id))
        return None if answer["completed"] else int(answer["op"]["validateAfter"]["length"])

    def _make(self, length: int) -> SearcherOperation:
        assert self._reporter is not None
        return _MasterSearcherOperation(self._reporter, self._session, self._trial_id, length, self._dist.rank == 0)

    def acknowledge_out_of_ops(self) -> None:
        """Tell the master that the program leaves for want of operations."""
        self._session.send(_routes.ack_allocation_preemption_signal(self._allocation_id))


class DummySearcherOperation(SearcherOperation):
    """An operation off the cluster: its reports go to the log."""

    def __init__(self, length: int, is_chief: bool) -> None:
        super().__init__(None, length, is_chief)

    def _send_progress(self, progress: float) -> None:
        logger.info("progress: %.1f %%", 100 * progress)


class DummySearcherContext(SearcherContext):
    """The searcher off the cluster: train for one epoch."""

    def __init__(self, dist: DistributedContext, length: int = 1) -> None:
        super().__init__(None, dist, length, Unit.EPOCHS)

    def _operation(self) -> SearcherOperation:
        return DummySearcherOperation(self._length, self._dist.rank == 0)


class SearcherContextMissing(SearcherContext):
    """Stands where no length is configured, and says so when asked."""

    def __init__(self) -> None:
        pass

    def _missing(self) -> ValueError:
        return ValueError(
            "core_context.searcher needs searcher.max_length in the experiment configuration; "
            "better, put the length of training into the training code and do without both"
        )

    def operations(
        self, searcher_mode: SearcherMode = SearcherMode.WorkersAskChief, auto_ack: bool = True
    ) -> Iterator[SearcherOperation]:
        raise self._missing()

    def acknowledge_out_of_ops(self) -> None:
        raise self._missing()

    def get_configured_units(self) -> Optional[Unit]:
        raise self._missing()
