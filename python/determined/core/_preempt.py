"""Whether to stop, because the scheduler needs our slots or the user paused the experiment."""

import enum
import logging
import threading
from typing import Any, Callable, Optional

from determined import _http, _routes, errors
from determined.core._distributed import DistributedContext

logger = logging.getLogger("determined.core")

LONG_POLL_S = 60
# The answer to a long poll may come a little after its time.
GRACE_S = 10
PAUSE_AFTER_FAILURE_S = 10
# How long training waits for what the search makes of a validation, if the master does not answer.
DECISION_TIMEOUT_S = 5.0


class PreemptMode(enum.Enum):
    """Which processes call ``should_preempt()``.

    ``WorkersAskChief``: all of them, in step, and get the chief's answer. ``ChiefOnly``: rank 0, which tells the others
    in its own way. ``WorkersAskMaster``: each on its own; they may get different answers at the same moment.
    """

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    ChiefOnly = "CHIEF_ONLY"
    WorkersAskMaster = "WORKERS_ASK_MASTER"


class _Watcher:
    """A thread that keeps a long poll open at the master and remembers its answer."""

    def __init__(self, session: _http.Session, allocation_id: str) -> None:
        self._session = session.clone(_http.ONCE)
        self._allocation_id = allocation_id
        self._asked_once = threading.Event()
        self._preempt = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="determined-preemption", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def should_preempt(self) -> bool:
        # Only the very first question has to wait: a task may start when it should stop already.
        self._asked_once.wait()
        return self._preempt.is_set()

    def look_now(self) -> None:
        """Ask the master at this moment, besides the long poll, whose answer may still be on its way."""
        if self._preempt.is_set():
            return
        try:
            answer = self._session.send(
                _routes.allocation_preemption_signal(self._allocation_id, timeout_seconds=0),
                timeout_s=DECISION_TIMEOUT_S,
            )
        except Exception as e:
            logger.warning("cannot ask the master about preemption after a validation: %s", e)
            return
        if answer.get("preempt"):
            self._preempt.set()

    def close(self) -> None:
        self._closing.set()
        self._session.close()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _run(self) -> None:
        timeout_s = 0
        while not self._closing.is_set():
            try:
                answer = self._session.send(
                    _routes.allocation_preemption_signal(self._allocation_id, timeout_seconds=timeout_s),
                    timeout_s=timeout_s + GRACE_S,
                )
            except Exception as e:
                # A trial goes on without its master: whatever fails here is logged and tried again.
                self._asked_once.set()
                if not self._closing.is_set():
                    logger.warning(
                        "cannot ask the master about preemption, next try in %d s: %s", PAUSE_AFTER_FAILURE_S, e
                    )
                    self._closing.wait(PAUSE_AFTER_FAILURE_S)
                continue
            if answer.get("preempt"):
                self._preempt.set()
            self._asked_once.set()
            if self._preempt.is_set():
                return
            timeout_s = LONG_POLL_S


class PreemptContext:
    """Tells when to stop. Reached as ``core_context.preempt``.

    A trial that is asked to stop should save a checkpoint and exit with status 0; it is started again from there when
    there is room.

    Examples
    --------
    >>> for batch in batches:  # doctest: +SKIP
    ...     train(batch)
    ...     if core_context.preempt.should_preempt():
    ...         save_checkpoint()
    ...         break
    """

    def __init__(
        self,
        session: _http.Session,
        allocation_id: str,
        dist: DistributedContext,
        preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    ) -> None:
        self._session = session
        self._allocation_id = allocation_id
        self._dist = dist
        self._preempt_mode = PreemptMode(preempt_mode)
        self._watcher: Optional[_Watcher] = None
        if dist.rank == 0 or self._preempt_mode == PreemptMode.WorkersAskMaster:
            self._watcher = _Watcher(session, allocation_id)
        self._started = False
        self._acknowledged = False
        self._validation_arrived: Callable[[float], bool] = lambda _: False

    def start(self) -> "PreemptContext":
        """Begin to listen to the master."""
        if self._started:
            raise RuntimeError("PreemptContext.start() was called twice")
        self._started = True
        if self._watcher is not None:
            self._watcher.start()
        return self

    def close(self) -> None:
        """Stop listening."""
        if self._watcher is not None:
            self._watcher.close()

    def __enter__(self) -> "PreemptContext":
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.close()

    def should_preempt(self, auto_ack: bool = True) -> bool:
        """Whether to save a checkpoint and exit.

        Costs next to nothing (a thread in the background asks the master), so call it after each batch. The first call
        after a validation was reported waits until the search has decided on it: a trial that is to end ends there.

        Parameters
        ----------
        auto_ack : bool
            Whether "yes" counts as understood, so that the exit that follows is taken for a pause, not for the end of
            training. If not, call :meth:`acknowledge_preemption_signal` yourself before exiting.

        Raises
        ------
        RuntimeError
            If called before :meth:`start`, or by another process than ``preempt_mode`` says.
        """
        if not self._started:
            raise RuntimeError("PreemptContext.should_preempt() was called before PreemptContext.start()")
        if self._preempt_mode == PreemptMode.ChiefOnly and self._dist.rank != 0:
            raise RuntimeError(f"should_preempt() was called by rank {self._dist.rank} in PreemptMode.ChiefOnly")
        answer = self._ask()
        if self._preempt_mode == PreemptMode.WorkersAskChief:
            answer = self._dist.broadcast(answer)
        if answer and auto_ack and self._dist.rank == 0:
            self._acknowledge_if_possible()
        return answer

    def _ask(self) -> bool:
        if self._watcher is None:
            return False
        if self._validation_arrived(DECISION_TIMEOUT_S):
            self._watcher.look_now()
        return self._watcher.should_preempt()

    def _acknowledge_if_possible(self) -> None:
        # should_preempt() must not throw a trial out of its loop before it has saved its checkpoint.
        try:
            self.acknowledge_preemption_signal()
        except (errors.ApiError, errors.MasterUnreachable) as e:
            logger.warning("the preemption could not be acknowledged: %s", e)

    def acknowledge_preemption_signal(self) -> None:
        """Tell the master that the exit to come is because it asked for it. More than once does no harm."""
        if not self._acknowledged:
            self._session.send(_routes.ack_allocation_preemption_signal(self._allocation_id))
            self._acknowledged = True


def decide_after_validations(preempt: PreemptContext, arrived: Callable[[float], bool]) -> None:
    """Have ``should_preempt()`` reckon with what the search decides on a validation that was reported before.

    Without this a trial that the search stops would train on while the report and the answer are under way, and would
    save a checkpoint of a point at which it did not validate.

    Parameters
    ----------
    preempt : PreemptContext
    arrived : callable
        :meth:`Reporter.validation_arrived` of this trial's reports.
    """
    preempt._validation_arrived = arrived


class DummyPreemptContext(PreemptContext):
    """Off the cluster nobody wants our slots."""

    def __init__(self, dist: DistributedContext, preempt_mode: PreemptMode = PreemptMode.WorkersAskChief) -> None:
        self._dist = dist
        self._preempt_mode = PreemptMode(preempt_mode)
        self._watcher = None
        self._started = False

    def acknowledge_preemption_signal(self) -> None:
        pass
