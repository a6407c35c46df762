"""How long to train, where ``searcher.max_length`` says so.

The search methods of today stop trials by preemption, so there is exactly one operation: train for this long. It is
kept for code written in the time when searchers handed out several.
"""

import enum
import logging
import warnings
from typing import Any, Dict, Iterator, Optional

from determined import _json
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
