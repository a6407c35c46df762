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
import time
from typing import Any, Callable, Dict, Iterator, Optional

from determined._training._plan import Profiling

GROUP = "timings"
NAMES = ("dataloader_next", "to_device", "train_batch", "step_lr_schedulers", "from_device", "reduce_metrics")
# Long enough to see, short enough for charts; the published promise.
LONGEST_S = 300.0
# From this share of the time on, waiting is called by its name.
BOUND_SHARE = 0.25


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
        """Training goes on, or pauses for something else: only its time counts for :meth:`verdict`."""
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

    def verdict(self, exchange_share: Optional[float]) -> Optional[str]:
        """One line on what training waited for; None if there was none.

        Parameters
        ----------
        exchange_share : float or None
            Which part of the trained batches waited for gradients of other processes.
        """
        self._waited_s += self._data.take()
        if self._trained_s <= 0:
            return None
        data = min(self._waited_s / self._trained_s, 1.0)
        exchange = (exchange_share or 0.0) * (1 - data)
        parts = [f"{data:.0%} of {self._trained_s:.1f} s of training went into waiting for data"]
        if exchange_share is not None:
            parts.append(f"{exchange:.0%} into waiting for other processes' gradients")
        return f"{', '.join(parts)}: {_bound(data, exchange)}"


def _bound(data: float, exchange: float) -> str:
    if max(data, exchange) < BOUND_SHARE:
        return "training is bound by its computations"
    if data >= exchange:
        return "training is data-bound; more num_workers or a cheaper dataset would make it faster"
    return "training is communication-bound; larger batches, aggregation_frequency or gradient_compression would help"
