"""When to ask whether training is to stop, if that costs several processes a conversation."""

import time
from typing import Callable

from determined import core

# Several processes talk about it about this often; one process asks itself after every batch.
EVERY_S = 0.5
MOST_BATCHES = 100


class StopWatch:
    """Tells whether training is to stop: on a callback's request, or because the platform wants the slots.

    All processes get the same answer at the same batch. The user's request counts whichever process makes it.

    Parameters
    ----------
    core_context : core.Context
    requested : callable
        Whether the user has requested it, in this process.
    """

    def __init__(self, core_context: core.Context, requested: Callable[[], bool]) -> None:
        self._distributed = core_context.distributed
        self._preempt = core_context.preempt
        self._requested = requested
        self._next_batch = 0
        self._last_batch = 0
        self._last_s = time.monotonic()
        self.stop = False

    def ask(self, batches_trained: int, *, now: bool) -> bool:
        """Find out, after this many batches. ``now`` says not to put it off: something else is due here anyway."""
        if self._distributed.size == 1:
            self.stop = self._requested() or self._preempt.should_preempt()
        elif now or batches_trained >= self._next_batch:
            self.stop = any(self._distributed.allgather(self._requested())) | self._preempt.should_preempt()
            self._next_batch = self._distributed.broadcast(batches_trained + self._pause(batches_trained))
        return self.stop

    def _pause(self, batches_trained: int) -> int:
        """Batches until the next conversation, at the present speed."""
        now_s, batches = time.monotonic(), batches_trained - self._last_batch
        speed = batches / max(now_s - self._last_s, 1e-9)
        self._last_batch, self._last_s = batches_trained, now_s
        return max(1, min(int(EVERY_S * speed), MOST_BATCHES))
