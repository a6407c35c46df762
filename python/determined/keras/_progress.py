"""Lines about how far training or validation is, for logs: one for each ten percent instead of a bar that moves."""

from typing import Any, Dict, Optional

EVERY_PERCENT = 10


class Progress:
    """One pass over the data, repeated.

    The first pass is silent, since nobody knows its length: a data set need not tell. Each later one is as long as the
    one before it.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self.length: Optional[int] = None
        self._done = 0
        self._told = -EVERY_PERCENT

    def begin(self) -> None:
        self._done = 0
        self._told = -EVERY_PERCENT

    def advance(self, batches: int, logs: Optional[Dict[str, Any]]) -> Optional[str]:
        """Count batches, and return what is to be said now, if anything."""
        self._done += batches
        if not self.length:
            return None
        percent = 100 * self._done // self.length
        if percent < self._told + EVERY_PERCENT:
            return None
        self._told = percent - percent % EVERY_PERCENT
        line = f"{self._what} {percent}% complete ({self._done}/{self.length})"
        metrics = ", ".join(f"{name} {float(value):.6g}" for name, value in (logs or {}).items())
        return f"{line}: {metrics}" if metrics else line

    def end(self) -> None:
        if self._done:
            self.length = self._done
