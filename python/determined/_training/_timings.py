"""Where the time of training goes.

====================== =====================================================
dataloader_next        waiting for the next batch of data
to_device              copying it to the device
train_batch            the trial's own ``train_batch()``
step_lr_schedulers     learning rate schedulers
from_device            copying metrics back
reduce_metrics         averaging them over batches and processes
====================== =====================================================

Seconds per batch, reported as the metric group ``timings`` beside ``samples_per_second``.
"""

import contextlib
import statistics
import time
from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional, Sequence

from determined._training._plan import Profiling

GROUP = "timings"
NAMES = ("dataloader_next", "to_device", "train_batch", "step_lr_schedulers", "from_device", "reduce_metrics")
# Long enough to see, short enough for charts; the published promise.
LONGEST_S = 300.0
# From this share of the time on, waiting is called by its name.
BOUND_SHARE = 0.25

_DATA_BOUND = "training is data-bound; more num_workers or a cheaper dataset would make it faster"
_COMMUNICATION_BOUND = (
    "training is communication-bound; larger batches, aggregation_frequency or gradient_compression would help"
)
_COMPUTATIONS = "training is bound by its computations"


class Spent(NamedTuple):
    """What the time of a process went into while it trained: parts of it, from 0 to 1."""

    trained_s: float
    data: float
    # None where nobody measures it.
    exchange: Optional[float]


class _Watch:
    """Adds up the time of the ``with`` blocks that use it."""

    __slots__ = ("_started_s", "_sync", "total_s")

    def __init__(self, sync: Optional[Callable[[], None]]) -> None:
        self.total_s = 0.0
        self._started_s = 0.0
        self._sync = sync

    def __enter__(self) -> None:
        self._started_s = time.perf_counter()

    def __exit__(self, *_: Any) -> None:
        if self._sync is not None:
            self._sync()
        self.total_s += time.perf_counter() - self._started_s

    def take(self) -> float:
        total_s, self.total_s = self.total_s, 0.0
        return total_s


class _Nothing:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        pass


_NOTHING = _Nothing()


class Timings:
    """Measures a training run, in detail where the plan says so.

    Waiting for data is measured always: it costs two looks at the clock, and tells the most common trouble.

    Parameters
    ----------
    profiling : Profiling
    wait_for_device : callable, optional
        Waits until the device has done all its work, where work is done behind Python's back.
    """

    def __init__(self, profiling: Profiling, wait_for_device: Optional[Callable[[], None]] = None) -> None:
        self._profiling = profiling
        self.active = False
        self._began_s: Optional[float] = None
        self._batches = self._records = 0
        self._waited_s = self._trained_s = 0.0
        self._trained_batches = 0
        # By number, so that one that is looked at twice counts once.
        self._exchanges_s: Dict[int, float] = {}
        sync = wait_for_device if profiling.enabled and profiling.sync_timings else None
        self._watches = {name: _Watch(sync) for name in NAMES}
        self._data = _Watch(None)
        self._resumed_s: Optional[float] = None

    def within(self, batch_idx: int) -> bool:
        """Whether batch ``batch_idx``, from 0, is among those to be profiled."""
        end = self._profiling.end_after_batch
        return (
            self._profiling.enabled
            and batch_idx >= self._profiling.begin_on_batch
            and (end is None or batch_idx <= end)
        )

    def batch_begins(self, batch_idx: int) -> None:
        """Before anything is done for a batch, also before waiting for it."""
        self._trained_batches += 1
        self.active = self.within(batch_idx)
        if self.active:
            self._began_s = self._began_s or time.monotonic()
            self.active = time.monotonic() - self._began_s <= LONGEST_S

    def batch_ends(self, records: Optional[int]) -> None:
        """A batch of so many records, if anybody knows, is over."""
        if self.active:
            self._batches += 1
            self._records += records or 0

    def measure(self, name: str) -> Any:
        """A context manager; what happens within is added to the timing ``name``."""
        return self._watches[name] if self.active else _NOTHING

    def waiting_for_data(self) -> Any:
        """A context manager for the wait for the next batch."""
        return self._data

    @contextlib.contextmanager
    def measure_but_waiting(self, name: str) -> Iterator[None]:
        """Like :meth:`measure`, of what itself waits for data: that time is not counted twice."""
        watch, waited_s = self._watches[name], self._data.total_s
        with self.measure(name):
            yield
        if self.active:
            watch.total_s -= self._data.total_s - waited_s

    def training(self, on: bool) -> None:
        """Training goes on, or pauses for something else: only its time counts for :meth:`spent`."""
        now_s = time.perf_counter()
        if not on and self._resumed_s is not None:
            self._trained_s += now_s - self._resumed_s
        self._resumed_s = now_s if on else None

    def take(self) -> Dict[str, float]:
        """Seconds per batch since the last time; empty if no batch was measured."""
        waited_s = self._data.take()
        self._waited_s += waited_s
        batches, records = self._batches, self._records
        self._batches = self._records = 0
        totals = {name: watch.take() for name, watch in self._watches.items()}
        if not batches:
            return {}
        totals["dataloader_next"] = waited_s
        means = {name: total_s / batches for name, total_s in totals.items()}
        spent_s = sum(totals.values())
        if records and spent_s > 0:
            means["samples_per_second"] = records / spent_s
        return means

    def exchanged(self, number: int, seconds_per_batch: float) -> None:
        """What the exchange of gradients number ``number`` took beyond what went on meanwhile.

        The first one is none to go by: processes do not begin at the same moment.
        """
        if number > 1:
            self._exchanges_s[number] = seconds_per_batch

    def spent(self) -> Optional[Spent]:
        """What the time went into; None if nothing was trained."""
        self._waited_s += self._data.take()
        if self._trained_s <= 0:
            return None
        data = min(self._waited_s / self._trained_s, 1.0)
        exchange = None
        if self._exchanges_s:
            exchange_s = statistics.median(self._exchanges_s.values()) * self._trained_batches
            exchange = min(exchange_s / self._trained_s, 1.0 - data)
        return Spent(self._trained_s, data, exchange)


def verdict(of_all: Sequence[Optional[Spent]]) -> Optional[str]:
    """One line on what training waited for; None if there was none.

    Parameters
    ----------
    of_all : sequence of Spent
        What the time of each process went into.
    """
    known = [spent for spent in of_all if spent is not None]
    if not known or len(known) < len(of_all):
        return None
    data = max(spent.data for spent in known)
    line = f"{data:.0%} of {known[0].trained_s:.1f} s of training went into waiting for data"
    exchanges = [spent.exchange for spent in known if spent.exchange is not None]
    if len(known) == 1 or len(exchanges) == len(known):
        return _judged(line, data, exchanges)
    if data >= BOUND_SHARE:
        return f"{line}: {_DATA_BOUND}"
    return f"{line}; what the processes' exchange took is not measured"


def _judged(line: str, data: float, exchanges: Sequence[float]) -> str:
    if not exchanges:
        return f"{line}: {_DATA_BOUND if data >= BOUND_SHARE else _COMPUTATIONS}"
    # The process that is last waits for nobody: what an exchange takes there is the exchange itself.
    exchange = min(exchanges)
    others = max(exchanges) - exchange
    line += f", {exchange:.0%} into the exchange of gradients"
    if max(data, exchange) >= BOUND_SHARE:
        return f"{line}: {_DATA_BOUND if data >= exchange else _COMMUNICATION_BOUND}"
    if others >= BOUND_SHARE:
        return f"{line}: {others:.0%} of a process's time is waiting for slower ones; give all of them the same work"
    return f"{line}: {_COMPUTATIONS}"
