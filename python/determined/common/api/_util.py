"""Lists page by page, addresses, and waiting for tasks."""

import enum
import os
import time
from typing import Any, Callable, Iterator, Optional

from determined.common.api import _session, bindings
from determined.experimental import _login

POLL_S = 0.2


class PageOpts(str, enum.Enum):
    """How much of a list is wanted: ``single`` is its first page."""

    single = "1"
    all = "all"


def canonicalize_master_url(url: str) -> str:
    """A master's address in one form, ``scheme://host:port[/path]``; ValueError if it is none."""
    return _login.canonical_address(url)


def get_default_master_url() -> str:
    """The address in ``DET_MASTER``, or that of a master on this machine."""
    return os.environ.get("DET_MASTER") or os.environ.get("DET_MASTER_ADDR") or _login.DEFAULT_MASTER


def read_paginated(
    get_with_offset: Callable[[int], Any], offset: int = 0, pages: PageOpts = PageOpts.all
) -> Iterator[Any]:
    """The answers of a list's pages, one after the other.

    Parameters
    ----------
    get_with_offset : callable
        Fetches the page that begins at a place in the list; the answer has a ``pagination``.
    offset : int
        Where to begin.
    pages : PageOpts
    """
    while True:
        answer = get_with_offset(offset)
        yield answer
        page = answer.pagination
        if pages == PageOpts.single or page is None or page.endIndex is None or page.endIndex >= page.total:
            return
        offset = page.endIndex


class NTSC_Kind(enum.Enum):  # noqa: N801 (the released library's name)
    """Kinds of interactive tasks."""

    notebook = "notebook"
    tensorboard = "tensorboard"
    shell = "shell"
    command = "command"


AnyNTSC = Any  # one of the four messages


def get_ntsc_details(session: _session.Session, typ: NTSC_Kind, ntsc_id: str) -> Any:
    """The notebook, TensorBoard, shell or command of an id."""
    get = getattr(bindings, f"get_Get{typ.value.capitalize()}")
    return getattr(get(session, **{f"{typ.value}Id": ntsc_id}), typ.value)


def _wait_for(what: str, condition: Callable[[], Any], timeout_s: float) -> Any:
    end = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value is not None:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"waited {timeout_s} s for {what}")
        time.sleep(POLL_S)


def wait_for_ntsc_state(
    session: _session.Session, typ: NTSC_Kind, ntsc_id: str, predicate: Callable[[Any], bool], timeout: int = 10
) -> Any:
    """Wait, for at most ``timeout`` seconds, until ``predicate`` is true of the task's state; returns that state.

    Raises
    ------
    TimeoutError
    """

    def reached() -> Optional[Any]:
        state = get_ntsc_details(session, typ, ntsc_id).state
        return state if predicate(state) else None

    return _wait_for(f"the state of {typ.value} {ntsc_id}", reached, timeout)


def wait_for_task_ready(
    session: _session.Session, task_id: str, progress_report: Optional[Callable[[], Any]] = None, timeout: int = 300
) -> Optional[str]:
    """Wait until a task's service answers. Returns None then, or why the task ended before it did.

    Raises
    ------
    TimeoutError
    """

    def outcome() -> Optional[str]:
        if progress_report is not None:
            progress_report()
        task = bindings.get_GetTask(session, taskId=task_id).task
        last = task.allocations[0] if task.allocations else None
        if last is not None and last.isReady:
            return ""
        if last is not None and last.state == bindings.taskv1State.TERMINATED:
            return last.exitReason or "the task has ended"
        return None

    return _wait_for(f"task {task_id} to be ready", outcome, timeout) or None


_LAUNCH_WARNING: Any = bindings.v1LaunchWarning
WARNING_MESSAGE_MAP = {
    _LAUNCH_WARNING.CURRENT_SLOTS_EXCEEDED: (
        "Warning: The requested job requires more slots than currently available. "
        "You may need to increase cluster resources in order for the job to run."
    )
}
