"""What Linux knows about processes and Python does not ask for. Elsewhere these do nothing, or find nothing."""

import contextlib
import ctypes
import os
import signal
import sys
from typing import Dict, List, NamedTuple, Optional

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

# Loaded here, not in the child between fork and exec, where a lock may be held for ever.
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent() -> None:
    """Let SIGKILL end this process when the thread that started it ends. For ``preexec_fn``."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent has ended: none of them can get away."""
    if _libc is not None:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Process(NamedTuple):
    """One process as /proc tells."""

    pid: int
    parent: int
    # R running, S sleeping, D waiting for a device, T stopped, t stopped by a debugger, Z ended, X going
    state: str


def process(pid: int) -> Optional[Process]:
    """What /proc tells of a process; None if there is no such one."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            text = f.read()
    except OSError:
        return None
    # The name, in brackets, may hold anything.
    fields = text[text.rindex(b")") + 1 :].split()
    return Process(pid, int(fields[1]), fields[0].decode())


def descendants(root: int) -> List[int]:
    """Every living process below ``root``, but not itself, parents first."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    found = (process(int(name)) for name in names if name.isdigit())
    children: Dict[int, List[int]] = {}
    living = set()
    for p in found:
        if p is not None:
            children.setdefault(p.parent, []).append(p.pid)
            if p.state not in "ZX":
                living.add(p.pid)
    below, i = list(children.get(root, [])), 0
    while i < len(below):
        below += children.get(below[i], [])
        i += 1
    return [pid for pid in below if pid in living]


def send(pid: int, number: int) -> bool:
    """Send a signal; False if there is no such process (any more)."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
        return True
    return False
