"""One machine's workers, supervised: the first that fails ends the others, and none outlives us.

The rules are in docs/spec/launchers.md#supervision.

A launcher starts the framework's own launcher (torchrun, horovodrun …), the *main* process, through
:func:`supervise`; that starts the workers, each as ``determined.exec.pid_client ADDRESS -- …`` (see ``_worker`` for
what they say). Main may hang, or may say 1 whatever happened; so we look at the workers ourselves:

=========================================  =========================================================================
what happens                               what we do
=========================================  =========================================================================
a worker ends with a status other than 0,  after half a second, in which the others may still say what went wrong with
is killed, or is stopped (SIGSTOP)         them, SIGTERM to every other worker; to main a second after they are gone, or
                                           after the grace period; SIGKILL to all that are left 10 s later. Our status
                                           is that worker's
main ends                                  SIGTERM to what it has left behind, SIGKILL 10 s later; main's status, or 77
                                           if that is 0 although workers have not ended
all workers end with status 0              we wait for main or, where it never ends by itself (sshd), signal it; where
                                           it has nothing left to do, it is killed when they are gone
we get a signal                            we pass it on to main
we are killed                              main is killed with us; workers notice that we hung up, and end
=========================================  =========================================================================

Whatever these processes start and leave alone becomes a child of ours (PR_SET_CHILD_SUBREAPER), so that nothing gets
away.
"""

import contextlib
import heapq
import logging
import os
import selectors
import signal
import socket
import subprocess
import time
import uuid
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from determined import _linux, _process
from determined.launch._signals import Signals

logger = logging.getLogger("determined")

LOOK_EVERY_S = 1.0
PAUSE_S = 0.5
AFTER_WORKERS_S = 1.0
KILL_AFTER_S = 10.0
# Processes that do not go although they are killed wait for a device; nothing ends them.
GIVE_UP_AFTER_S = 5.0

MAIN_ENDED_FIRST = 77
STOPPED = 128 + signal.SIGSTOP
KILLED = 128 + signal.SIGKILL


class Plan(NamedTuple):
    """How main is ended.

    Attributes
    ----------
    on_fail : int or None
        Signal to send when a worker failed; None just waits.
    on_exit : int or None
        Signal to send when all workers have ended with status 0; None waits.
    grace_s : float
        Seconds before either.
    whole_tree : bool
        Whether to send it to everything below main, too.
    done_s : float or None
        Main has nothing left to do when all workers have ended with status 0, as where it has no processes on other
        machines: it is killed this many seconds after they are gone. Taking itself apart would keep the slots for
        another one to five. None waits for it.
    """

    on_fail: Optional[int] = signal.SIGTERM
    on_exit: Optional[int] = None
    grace_s: float = 3.0
    whole_tree: bool = False
    done_s: Optional[float] = None


class _Failure(NamedTuple):
    """A worker's end; the earliest counts."""

    when_ns: int
    status: int
    why: str


class _Client:
    """A worker's connection."""

    def __init__(self, s: socket.socket) -> None:
        self.socket = s
        self.pid: Optional[int] = None
        self.rank: Optional[str] = None
        self.finished = False
        self._text = ""

    def hear(self, data: bytes) -> Optional[_Failure]:
        """More of what it says; returns its failure, if it tells one."""
        self._text += data.decode("ascii", "replace")
        while self._text:
            if self.pid is not None and self._text[0] in "kq":
                self.finished = self.finished or self._text[0] == "q"
                self._text = self._text[1:]
                continue
            line, found, rest = self._text.partition("\n")
            if not found:
                return None
            self._text = rest
            if self.pid is None:
                self.pid = int(line)
            elif line.startswith("r"):
                self.rank = line[1:]
            elif line.startswith("x"):
                status, when_ns = (int(word) for word in line[1:].split())
                return _Failure(when_ns, status, f"{self} {_how(status)}")
            else:
                raise ValueError(f"{line!r} is nothing that a worker says")
        return None

    def is_alive(self) -> bool:
        """Whether its process runs, and is not stopped."""
        if self.pid is None:
            return True
        p = _linux.process(self.pid)
        return p is not None and p.state not in "ZXT"

    def __str__(self) -> str:
        return f"worker {self.rank} (process {self.pid})" if self.rank is not None else f"worker process {self.pid}"


class Supervision:
    """One run of main. See the module.

    Parameters
    ----------
    argv : list of str
        Main.
    listener : socket
        Where workers connect.
    workers : int
        How many there will be.
    plan : Plan
    env : dict, optional
        Main's environment.
    """

    def __init__(
        self,
        argv: List[str],
        listener: socket.socket,
        workers: int,
        plan: Plan,
        env: Optional[Dict[str, str]] = None,
    ) -> None:
        self._argv, self._env = argv, env
        self._listener = listener
        self._workers = workers
        self.plan = plan
        self._selector = selectors.DefaultSelector()
        self._clients: List[_Client] = []
        self._timers: List[Tuple[float, int, Callable[[], None]]] = []
        self._timer_count = 0
        self._pid: int = 0
        self.connected = 0
        self.finished = 0
        self._failures: List[_Failure] = []
        self.failure: Optional[int] = None
        self.main_status: Optional[int] = None
        self.main_signalled = False

    def run(self) -> int:
        """Run main and the workers to their end; returns the exit status for us."""
        _linux.adopt_orphans()
        with Signals() as signals:
            try:
                main = subprocess.Popen(self._argv, env=self._env, preexec_fn=_linux.die_with_parent)
            except OSError as e:
                logger.error("%s: cannot be run: %s", self._argv[0], e.strerror)
                return _process.NOT_FOUND if isinstance(e, FileNotFoundError) else _process.NOT_EXECUTABLE
            self._pid = main.pid
            self._listener.setblocking(False)
            self._selector.register(signals, selectors.EVENT_READ)
            self._selector.register(self._listener, selectors.EVENT_READ)
            self._after(LOOK_EVERY_S, self._look)
            while self.main_status is None:
                self._turn(signals, self._patience_s())
            main.returncode = self.main_status
            # Workers may have spoken just before the main process ended.
            self._turn(signals, 0.0)
            self._end_the_rest()
        return self.status()

    def status(self) -> int:
        """Our exit status, once main has ended."""
        assert self.main_status is not None
        status = _process.shell_status(self.main_status)
        if self.failure is not None:
            return self.failure
        if self.finished >= self._workers and self.main_signalled:
            return 0
        if status == 0 and self.finished < self._workers:
            logger.error(
                "%s has ended with status 0, but only %d of %d workers have",
                self._argv[0],
                self.finished,
                self._workers,
            )
            return MAIN_ENDED_FIRST
        return status

    # ---- the loop ----

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        self._timer_count += 1
        heapq.heappush(self._timers, (time.monotonic() + seconds, self._timer_count, action))

    def _patience_s(self) -> float:
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else LOOK_EVERY_S

    def _turn(self, signals: Signals, patience_s: float) -> None:
        ready = {key.fileobj for key, _ in self._selector.select(patience_s)}
        if self._listener in ready:
            self._accept()
        for client in list(self._clients):
            if client.socket in ready or patience_s == 0.0:
                self._hear(client)
        for number in signals.take():
            self._signal_main(number)
        self._reap()
        while self._timers and self._timers[0][0] <= time.monotonic():
            heapq.heappop(self._timers)[2]()
        if self._failures:
            self._fail_by(min(self._failures))

    def _accept(self) -> None:
        while True:
            try:
                s, _ = self._listener.accept()
            except BlockingIOError:
                return
            s.setblocking(False)
            client = _Client(s)
            self._clients.append(client)
            self._selector.register(s, selectors.EVENT_READ)
            self.connected += 1
            self._hear(client)

    def _hear(self, client: _Client) -> None:
        try:
            while True:
                data = client.socket.recv(4096)
                if not data:
                    return self._hung_up(client)
                had_finished = client.finished
                failure = client.hear(data)
                self.finished += client.finished and not had_finished
                if failure is not None:
                    self._failures.append(failure)
                elif client.finished and self.finished >= self._workers:
                    self._all_finished()
        except BlockingIOError:
            return
        except OSError:
            self._hung_up(client)
        except ValueError as e:
            logger.warning("somebody who is no worker connected: %s", e)
            self._forget(client)

    def _forget(self, client: _Client) -> None:
        self._selector.unregister(client.socket)
        client.socket.close()
        self._clients.remove(client)

    def _hung_up(self, client: _Client) -> None:
        self._forget(client)
        if not client.finished and client.pid is not None and self.failure is None:
            # The worker had no time to say why it ended, and nothing but SIGKILL is as quick.
            self.lost(client)
        all_gone = not self._clients and self.finished >= self._workers
        if all_gone and self.plan.done_s is not None and self.failure is None:
            self._after(self.plan.done_s, self._dispense_with_main)

    def lost(self, client: _Client) -> None:
        """A worker's connection ended without a word."""
        self.fail(KILLED, f"{client} was killed")

    def _look(self) -> None:
        self._after(LOOK_EVERY_S, self._look)
        # What they have said themselves counts, also if we were too busy to hear it yet.
        for client in list(self._clients):
            self._hear(client)
        for client in self._clients:
            if not client.finished and not client.is_alive():
                p = _linux.process(client.pid or 0)
                stopped = p is not None and p.state == "T"
                self.fail(STOPPED if stopped else KILLED, f"{client} was {'stopped' if stopped else 'killed'}")

    def _reap(self) -> None:
        """Main, and the orphans that became ours."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._pid:
                    self.main_status = os.waitstatus_to_exitcode(status)

    # ---- ends ----

    def fail(self, status: int, why: str) -> None:
        """A worker has failed, as we see now. Only the first failure counts."""
        self._failures.append(_Failure(time.monotonic_ns(), status, why))

    def _fail_by(self, failure: _Failure) -> None:
        """What follows for the others."""
        if self.failure is not None:
            return
        self.failure = failure.status
        why = failure.why
        logger.error("%s%s", why, "; ending the others" if self.plan.on_fail is not None and self._workers > 1 else "")
        if self.plan.on_fail is not None:
            self._after(PAUSE_S, self._end_workers)
            self._after(self.plan.grace_s, self._end_main)
            self._after(self.plan.grace_s + KILL_AFTER_S, self._kill)

    def _end_workers(self) -> None:
        for client in self._clients:
            if client.pid is not None:
                _linux.send(client.pid, signal.SIGTERM)
                _linux.send(client.pid, signal.SIGCONT)
        self._end_main_soon()

    def _end_main_soon(self) -> None:
        if any(not c.finished for c in self._clients):
            self._after(PAUSE_S / 5, self._end_main_soon)
        else:
            self._after(AFTER_WORKERS_S, self._end_main)

    def _end_main(self) -> None:
        if not self.main_signalled and self.plan.on_fail is not None:
            self.main_signalled = True
            self._signal_main(self.plan.on_fail)

    def _all_finished(self) -> None:
        if self.plan.on_exit is not None and self.failure is None:
            self._after(self.plan.grace_s, self._leave)
            self._after(self.plan.grace_s + KILL_AFTER_S, self._kill)

    def _leave(self) -> None:
        assert self.plan.on_exit is not None
        self.main_signalled = True
        self._signal_main(self.plan.on_exit)

    def _dispense_with_main(self) -> None:
        if self.main_status is None and not self._clients and self.failure is None:
            self.main_signalled = True
            for pid in [*_linux.descendants(self._pid), self._pid]:
                _linux.send(pid, signal.SIGKILL)

    def _signal_main(self, number: int) -> None:
        if self.main_status is not None:
            return
        for pid in _linux.descendants(self._pid) if self.plan.whole_tree else []:
            _linux.send(pid, number)
        _linux.send(self._pid, number)

    def _kill(self) -> None:
        for pid in _linux.descendants(os.getpid()):
            _linux.send(pid, signal.SIGKILL)
        self._after(LOOK_EVERY_S, self._kill)

    def _end_the_rest(self) -> None:
        """What main has left behind."""
        self._listener.close()
        kill_at = time.monotonic() + KILL_AFTER_S
        told = set()
        while True:
            self._reap()
            left = _linux.descendants(os.getpid())
            if not left:
                return
            if time.monotonic() > kill_at + GIVE_UP_AFTER_S:
                logger.error("these processes cannot be ended: %s", ", ".join(map(str, left)))
                return
            for pid in left:
                if time.monotonic() > kill_at:
                    _linux.send(pid, signal.SIGKILL)
                elif pid not in told:
                    told.add(pid)
                    _linux.send(pid, signal.SIGTERM)
                    _linux.send(pid, signal.SIGCONT)
            time.sleep(0.02)


def _how(status: int) -> str:
    if status == STOPPED:
        return "was stopped (SIGSTOP)"
    if status > 128:
        with contextlib.suppress(ValueError):
            number = signal.Signals(status - 128)
            hint = " (out of memory?)" if number == signal.SIGKILL else ""
            return f"was ended by {number.name}{hint}"
    return f"ended with status {status}"


def listen(allocation_id: str) -> Tuple[socket.socket, str]:
    """A socket for the workers of this allocation, and its address.

    A launcher that runs within a worker of another one, or beside one that shares its ``/tmp`` (two agents on one
    machine), gets an address of its own. Binding decides who has the plain one: to look first and bind then would give
    it to two that start at the same time, and the workers of one would report to the other.
    """
    plain = f"/tmp/pid_server-{allocation_id}"
    with contextlib.suppress(OSError):
        return _bind(plain), plain
    # Process ids are unique within their namespace only.
    own = f"{plain}.{os.getpid()}.{uuid.uuid4().hex[:8]}"
    return _bind(own), own


def bind(path: str) -> socket.socket:
    """Listen at a Unix socket that nobody but this user can reach; one that is left over there goes."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return _bind(path)


def _bind(path: str) -> socket.socket:
    s = socket.socket(socket.AF_UNIX)
    mask = os.umask(0o177)
    try:
        s.bind(path)
    except OSError:
        s.close()
        raise
    finally:
        os.umask(mask)
    s.listen(4096)
    return s


def supervise(
    allocation_id: str,
    workers: int,
    plan: Plan,
    argv_for: Callable[[str], List[str]],
    env: Optional[Dict[str, str]] = None,
) -> int:
    """Run main with its workers.

    Parameters
    ----------
    allocation_id : str
        Names the socket.
    workers : int
        How many workers will connect on this machine.
    plan : Plan
    argv_for : callable
        Gets the address that workers have to be given, returns main's command line.
    env : dict, optional
        Main's environment.

    Returns
    -------
    int
        Exit status for the launcher.
    """
    listener, address = listen(allocation_id)
    try:
        return Supervision(argv_for(address), listener, workers, plan, env).run()
    finally:
        listener.close()
        with contextlib.suppress(OSError):
            os.unlink(address)
