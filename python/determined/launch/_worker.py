"""One worker: runs a script, marks the lines that it prints with its rank, and tells the supervisor how it goes.

What the supervisor hears, over a socket of ours alone, in ASCII: ``PID\\n`` first; ``rRANK\\n`` if there is a rank;
``k`` every minute; at the end ``q`` if the script ended with status 0, else ``xSTATUS WHEN\\n`` (WHEN on the
machine's monotonic clock, in nanoseconds). The latter also says that the script was stopped (SIGSTOP): a worker that
stands still keeps all the others waiting. The supervisor never answers; that it hangs up means that it is gone, and
the worker follows.
"""

import contextlib
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import time
from typing import Dict, List, NamedTuple, Optional

from determined import _linux, _process
from determined.launch._signals import Signals

LINE_MAX_BYTES = 8191
READ_BYTES = 65536
KEEP_ALIVE_S = 60.0
# What the script has left running in the background may keep its output open; nobody waits for that for long.
DRAIN_S = 1.0
KILL_AFTER_S = 10.0
CONNECT_PATIENCE_S = 60.0

_LINE_END = re.compile(rb"[\n\r]")


class RankedLines:
    """Writes lines with ``[rank=R] `` before each, every one at once.

    A line ends at a newline or a carriage return, which progress bars print; longer ones than 8,191 bytes are cut.
    """

    def __init__(self, rank: str, fd: int) -> None:
        self._prefix = f"[rank={rank}] ".encode()
        self._fd = fd
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """More of the output."""
        *lines, self._rest = _LINE_END.split(self._rest + data)
        for line in lines:
            self._write(line)
        while len(self._rest) >= LINE_MAX_BYTES:
            self._write(self._rest[:LINE_MAX_BYTES])
            self._rest = self._rest[LINE_MAX_BYTES:]

    def end(self) -> None:
        """The last line may lack its end."""
        if self._rest:
            self._write(self._rest)
            self._rest = b""

    def _write(self, line: bytes) -> None:
        for i in range(0, len(line) or 1, LINE_MAX_BYTES):
            whole = memoryview(self._prefix + line[i : i + LINE_MAX_BYTES] + b"\n")
            # A reader that is gone is no reason to stop the script.
            with contextlib.suppress(OSError):
                while whole:
                    whole = whole[os.write(self._fd, whole) :]


class Wrapping(NamedTuple):
    """How the output of a worker is marked, and where it goes."""

    rank: str
    out: int = 1
    err: int = 2


def connect(address: str) -> socket.socket:
    """Reach the supervisor: the path of a Unix socket, ``host:port``, or a port on this machine.

    Raises
    ------
    OSError
        If nobody listens there, after a minute.
    """
    host, colon, port = address.rpartition(":")
    unix = not port.isdigit()
    deadline = time.monotonic() + CONNECT_PATIENCE_S
    while True:
        s = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
        try:
            s.connect(address if unix else (host if colon else "127.0.0.1", int(port)))
            return s
        except OSError:
            s.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


class _Supervised:
    """Our end of the socket to the supervisor. One that is gone is found out by reading, not by writing."""

    def __init__(self, s: Optional[socket.socket], rank: Optional[str]) -> None:
        self.socket = s
        self._next_s = time.monotonic() + KEEP_ALIVE_S
        self.say(f"{os.getpid()}\n" + (f"r{rank}\n" if rank is not None else ""))

    def say(self, text: str) -> None:
        if self.socket is not None:
            with contextlib.suppress(OSError):
                self.socket.sendall(text.encode())

    def say_failed(self, status: int) -> None:
        # When others have failed for want of this one, and the supervisor hears of all at once, the first is the cause.
        self.say(f"x{status} {time.monotonic_ns()}\n")

    def keep_alive(self) -> None:
        if time.monotonic() >= self._next_s:
            self.say("k")
            self._next_s = time.monotonic() + KEEP_ALIVE_S

    def is_gone(self) -> bool:
        try:
            return self.socket is not None and not self.socket.recv(64)
        except OSError:
            return True


class Worker:
    """See the module.

    Parameters
    ----------
    argv : list of str
        The script.
    wrapping : Wrapping, optional
        If None, the script keeps our output.
    supervisor : socket, optional
        From :func:`connect`.
    """

    def __init__(
        self, argv: List[str], wrapping: Optional[Wrapping] = None, supervisor: Optional[socket.socket] = None
    ) -> None:
        self._argv = argv
        self._wrapping = wrapping
        self._supervisor = _Supervised(supervisor, wrapping.rank if wrapping else None)
        self._selector = selectors.DefaultSelector()
        self._lines: Dict[int, RankedLines] = {}
        self._kill_at_s: Optional[float] = None

    def run(self) -> int:
        """Run the script to its end; returns its exit status, as a shell reports it."""
        with Signals() as signals:
            try:
                self._child = self._start()
            except OSError as e:
                missing = isinstance(e, FileNotFoundError)
                print(f"{self._argv[0]}: cannot be run: {e.strerror}", file=sys.stderr)
                return self._over(_process.NOT_FOUND if missing else _process.NOT_EXECUTABLE)
            self._selector.register(signals, selectors.EVENT_READ)
            if self._supervisor.socket is not None:
                self._selector.register(self._supervisor.socket, selectors.EVENT_READ)
            while self._child.poll() is None:
                self._turn(signals)
            status = self._over(_process.shell_status(self._child.returncode))
            self._selector.unregister(signals)
            self._drain()
            return status

    def _start(self) -> "subprocess.Popen[bytes]":
        pipe = subprocess.PIPE if self._wrapping is not None else None
        # A group of its own, so that a signal reaches what a shell script has started, too.
        child = subprocess.Popen(self._argv, stdout=pipe, stderr=pipe, preexec_fn=_begin_group)
        if self._wrapping is not None:
            for stream, fd in ((child.stdout, self._wrapping.out), (child.stderr, self._wrapping.err)):
                assert stream is not None
                self._lines[stream.fileno()] = RankedLines(self._wrapping.rank, fd)
                self._selector.register(stream.fileno(), selectors.EVENT_READ)
        return child

    def _over(self, status: int) -> int:
        if status == 0:
            self._supervisor.say("q")
        else:
            self._supervisor.say_failed(status)
        return status

    def _turn(self, signals: Signals) -> None:
        for key, _ in self._selector.select(self._patience_s()):
            if key.fd in self._lines:
                self._pump(key.fd)
            elif key.fileobj is self._supervisor.socket and self._supervisor.is_gone():
                self._selector.unregister(key.fileobj)
                self._end_script()
        for number in signals.take():
            self._pass_on(number)
        self._look_for_stop()
        self._supervisor.keep_alive()
        if self._kill_at_s is not None and time.monotonic() >= self._kill_at_s:
            self._pass_on(signal.SIGKILL)

    def _patience_s(self) -> float:
        return 1.0 if self._kill_at_s is not None else KEEP_ALIVE_S

    def _pump(self, fd: int) -> None:
        data = os.read(fd, READ_BYTES)
        if data:
            self._lines[fd].feed(data)
        else:
            self._lines.pop(fd).end()
            self._selector.unregister(fd)

    def _drain(self) -> None:
        deadline = time.monotonic() + DRAIN_S
        while self._lines and time.monotonic() < deadline:
            for key, _ in self._selector.select(max(0.0, deadline - time.monotonic())):
                if key.fd in self._lines:
                    self._pump(key.fd)
                else:
                    self._selector.unregister(key.fileobj)
        for lines in self._lines.values():
            lines.end()

    def _pass_on(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, number)
            if number == signal.SIGTERM:
                # Who is stopped cannot heed it.
                os.killpg(self._child.pid, signal.SIGCONT)

    def _end_script(self) -> None:
        self._pass_on(signal.SIGTERM)
        self._kill_at_s = time.monotonic() + KILL_AFTER_S

    def _look_for_stop(self) -> None:
        if self._supervisor.socket is None:
            return
        with contextlib.suppress(ChildProcessError):
            found = os.waitid(os.P_PID, self._child.pid, os.WSTOPPED | os.WNOHANG)
            if found is not None and found.si_status not in (signal.SIGTTIN, signal.SIGTTOU):
                self._supervisor.say_failed(128 + found.si_status)


def _begin_group() -> None:
    os.setpgid(0, 0)
    _linux.die_with_parent()
