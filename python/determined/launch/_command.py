"""What the launchers have in common: their command lines, the task they are in, and the marking of output."""

import errno
import logging
import os
import random
import socket
import sys
import warnings
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import determined as det
from determined import _info
from determined.launch import _links

logger = logging.getLogger("determined")

# Where the processes of a trial meet, unless the platform has given the trial another port (C10D_PORT).
C10D_PORT = 29400
OTHER_PORTS = range(16000, 29000)


class UsageError(Exception):
    """The command line makes no sense."""


class Refusal(Exception):
    """This launcher cannot do what is asked here."""


def overrides_and_rest(args: List[str]) -> Tuple[List[str], List[str]]:
    """Split at the first ``--``; without one there are no overrides.

    >>> overrides_and_rest(["--max_restarts", "2", "--", "python3", "train.py", "--", "x"])
    (['--max_restarts', '2'], ['python3', 'train.py', '--', 'x'])
    """
    if "--" not in args:
        return [], args
    i = args.index("--")
    return args[:i], args[i + 1 :]


def script_of(args: List[str]) -> List[str]:
    """The script to run: the words as they are, or for ``--trial CLASS`` the program that trains a Trial class.

    >>> script_of(["--trial", "model_def:T"])
    ['python3', '-m', 'determined.exec.harness', 'model_def:T']

    Raises
    ------
    UsageError
        If there is none, or both.
    """
    if args[:1] == ["--trial"]:
        if len(args) < 2:
            raise UsageError("argument --trial: expected one argument")
        if len(args) > 2:
            raise UsageError(f"extra arguments to --trial: {args[2:]}")
        return ["python3", "-m", "determined.exec.harness", args[1]]
    if not args:
        raise UsageError("empty script is not allowed")
    return args


def wrapped(rank: str, script: List[str]) -> List[str]:
    """``script`` with its output marked; ``rank`` as for ``wrap_rank``."""
    return ["python3", "-m", "determined.launch.wrap_rank", rank, "--", *script]


def worker(address: str, rank: str, script: List[str]) -> List[str]:
    """One worker, as the framework's launcher starts it: supervised and marked."""
    return ["determined.exec.pid_client", address, "--", *wrapped(rank, script)]


def given_port() -> int:
    """The port at which the trial's processes are to meet."""
    return int(os.environ.get("C10D_PORT") or C10D_PORT)


def free_port(address: str, wanted: int) -> int:
    """The port that is wanted, or another one if some program on this machine has it already.

    The other one lies below the ports that the system gives to whoever connects: a process that connects to one of
    those while nobody listens there yet may be given that very port, meet itself, and keep the others from listening.

    Parameters
    ----------
    address : str
        Of this machine, at which somebody is going to listen.
    wanted : int
    """
    family, _, _, _, at = socket.getaddrinfo(address, wanted, type=socket.SOCK_STREAM)[0]
    for port in (wanted, *random.sample(OTHER_PORTS, 20), 0):
        with socket.socket(family, socket.SOCK_STREAM) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind((at[0], port, *at[2:]))
            except OSError as e:
                if e.errno == errno.EADDRINUSE:
                    logger.warning("port %d of this machine is taken: the trial's processes meet at another one", port)
                    continue
                return wanted  # an address that is translated on the way here, say: nobody can look
            return int(s.getsockname()[1])
    return wanted


class Task(NamedTuple):
    """The task that a launcher is in.

    Attributes
    ----------
    info : ClusterInfo
    config : ExperimentConfig
    slots : int
        Of this container.
    debug : bool
    interface : str or None
        Network interface between machines, if the cluster names one.
    """

    info: det.ClusterInfo
    config: det.ExperimentConfig
    slots: int
    debug: bool
    interface: Optional[str]

    @property
    def is_chief(self) -> bool:
        return self.info.container_rank == 0

    @property
    def nodes(self) -> int:
        return len(self.info.container_addrs)

    @property
    def chief_ip(self) -> str:
        return self.info.container_addrs[0]

    @property
    def peers(self) -> List[str]:
        """Addresses of the others."""
        addresses = self.info.container_addrs
        return [a for rank, a in enumerate(addresses) if rank != self.info.container_rank]


def this_task(launcher: str) -> Task:
    """Find out where we are, and set up the log.

    Raises
    ------
    Refusal
        If this is no trial on a cluster.
    """
    info = det.get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        raise Refusal(f"{launcher} runs in trials on a cluster only")
    config = det.ExperimentConfig(_info.config_of(info.trial))
    debug = config.debug_enabled()
    logging.basicConfig(format=det.LOG_FORMAT)
    logging.getLogger().setLevel(logging.DEBUG if debug else logging.INFO)
    entrypoint: Any = config.get("entrypoint")
    words = entrypoint.split() if isinstance(entrypoint, str) else entrypoint or []
    if "--trial" in words:
        warnings.warn(
            "--trial is deprecated: let the entrypoint name a script that uses pytorch.Trainer",
            FutureWarning,
            stacklevel=2,
        )
    return Task(info, config, len(info.slot_ids), debug, _info.network_interface_of(info.trial))


def among_others(task: Task) -> Task:
    """Replace the task's addresses by addresses at which its containers reach each other.

    Every container of the task must call this: each waits for the others.

    Raises
    ------
    Refusal
        If they do not reach each other.
    """
    if os.environ.get(_info.TRIAL_KEY_VARIABLE):
        return task  # The launcher that has started this one has called it already.
    try:
        return task._replace(info=_links.settle(task.info))
    except _links.Unreachable as e:
        raise Refusal(str(e)) from e


def run(main: Callable[[List[str]], int], usage: str, explanation: Optional[str]) -> int:
    """The launcher as a program: ``-h`` as its first word asks for help, on and off the cluster."""
    words = sys.argv[1:]
    if words[:1] in (["-h"], ["--help"]):
        print(usage)
        print("\n" + (explanation or "").strip().replace("``", ""))
        return 0
    return main(words)


def refuse(usage: str, e: Exception) -> int:
    """Say why not; returns the exit status."""
    if isinstance(e, UsageError):
        print(usage, file=sys.stderr)
    print(f"error: {e}", file=sys.stderr)
    return 1
