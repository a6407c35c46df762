"""Signals as something a loop over file descriptors can wait for."""

import os
import signal
from typing import Any, List

from determined import _process


class Signals:
    """A context in which the signals that we pass on, and SIGCHLD, are collected instead of acted upon.

    Its descriptor (``fileno()``) can be read when some have come; :meth:`take` says which.
    """

    def __init__(self) -> None:
        self._came: List[int] = []

    def __enter__(self) -> "Signals":
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._fd_before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        numbers = (*_process.FORWARDED, signal.SIGCHLD)
        self._before = {number: signal.signal(number, self._note) for number in numbers}
        return self

    def __exit__(self, *_: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._fd_before)
        os.close(self._read)
        os.close(self._write)

    def _note(self, number: int, _: Any) -> None:
        self._came.append(number)

    def fileno(self) -> int:
        """For a selector."""
        return self._read

    def take(self) -> List[int]:
        """What is to be passed on, in the order in which it came."""
        try:
            while os.read(self._read, 4096):
                pass
        except BlockingIOError:
            pass
        came, self._came = self._came, []
        return [number for number in came if number != signal.SIGCHLD]
