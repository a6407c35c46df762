"""Supervise a command and the workers that it starts: for launchers of your own.

``python3 -m determined.exec.pid_server [-x|--on-fail ACT] [-e|--on-exit ACT] [--grace-period S] [--signal-children]
ADDRESS NUM [--] COMMAND...``

Each of the NUM workers is to run under ``python3 -m determined.exec.pid_client ADDRESS -- …``. ACT is the name of a
signal for COMMAND, or WAIT. Unlike our own launchers, which tell how the worker has ended, the status is COMMAND's,
or

====  ================================================================
77    COMMAND has ended with status 0 before all workers had
78    a worker has failed, COMMAND has ended with status 0 when signalled
79    a worker has failed, and COMMAND was not signalled
====  ================================================================
"""

import argparse
import logging
import signal
import socket
import sys
from typing import Any, List, Optional

import determined as det
from determined.launch import _supervisor

FAILED_AND_SIGNALLED = 78
FAILED = 79


class _ForCommand(_supervisor.Supervision):
    """Supervision whose status is the command's."""

    def _hung_up(self, client: Any) -> None:
        graceful = client.finished
        super()._hung_up(client)
        if graceful and self.connected < self._workers:
            self.fail(1, f"{client} has ended before all workers had begun")

    def status(self) -> int:
        assert self.main_status is not None
        if self.main_status != 0:
            return self.main_status & 0xFF
        if self.failure is not None:
            return FAILED_AND_SIGNALLED if self.plan.on_fail is not None else FAILED
        return _supervisor.MAIN_ENDED_FIRST if self.finished < self._workers else 0


def _action(text: str) -> Optional[int]:
    if text == "WAIT":
        return None
    try:
        return signal.Signals[text]
    except KeyError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither WAIT nor the name of a signal") from None


def _listener(address: str) -> socket.socket:
    host, colon, port = address.rpartition(":")
    if not port.isdigit():
        return _supervisor.bind(address)
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((host if colon else "127.0.0.1", int(port)))
    s.listen(4096)
    return s


def main(args: List[str]) -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="determined.exec.pid_server", description="Supervise a command's workers.")
    parser.add_argument("-x", "--on-fail", type=_action, default=signal.SIGTERM, metavar="ACT")
    parser.add_argument("-e", "--on-exit", type=_action, default=None, metavar="ACT")
    parser.add_argument("--grace-period", type=float, default=3.0, metavar="SECONDS")
    parser.add_argument("--signal-children", action="store_true", help="signal all that COMMAND has started, too")
    parser.add_argument("address", metavar="ADDRESS")
    parser.add_argument("workers", type=int, metavar="NUM")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    options = parser.parse_args(args)
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        parser.error("a command is missing")
    plan = _supervisor.Plan(options.on_fail, options.on_exit, options.grace_period, options.signal_children)
    with _listener(options.address) as listener:
        return _ForCommand(command, listener, options.workers, plan).run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    sys.exit(main(sys.argv[1:]))
