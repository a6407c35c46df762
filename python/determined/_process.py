"""Running a child process as if it were us."""

import contextlib
import signal
import subprocess
from typing import Any, Dict, Iterator, List, Optional

FORWARDED = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGBREAK")
    if hasattr(signal, name)
)


@contextlib.contextmanager
def _forwarding(early: List[int], children: "List[subprocess.Popen]") -> Iterator[None]:
    """Pass signals on to the child; those that come before it is there wait in ``early``."""

    def forward(number: int, _: Any) -> None:
        if not children:
            early.append(number)
        else:
            with contextlib.suppress(ProcessLookupError):
                children[0].send_signal(number)

    before = {number: signal.signal(number, forward) for number in FORWARDED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(argv: List[str], env: Optional[Dict[str, str]] = None) -> int:
    """Run ``argv`` to its end, passing on the signals we get.

    Returns
    -------
    int
        Its exit status as a shell reports it: 128 + n if signal n ended it, 127 if there is no such program, 126 if it
        cannot be run.
    """
    early: List[int] = []
    children: List[subprocess.Popen] = []
    with _forwarding(early, children):
        try:
            child = subprocess.Popen(argv, env=env)
        except FileNotFoundError:
            return 127
        except PermissionError:
            return 126
        children.append(child)
        for number in early:
            child.send_signal(number)
        status = child.wait()
    return 128 - status if status < 0 else status
