"""Running a child process as if it were us."""

import atexit
import contextlib
import ctypes
import gc
import opcode
import os
import signal
import subprocess
import sys
import threading
import types
from typing import Any, Dict, Iterator, List, NoReturn, Optional

FORWARDED = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGBREAK")
    if hasattr(signal, name)
)
NOT_FOUND = 127
NOT_EXECUTABLE = 126


@contextlib.contextmanager
def _forwarding(early: List[int], children: "List[subprocess.Popen[Any]]") -> Iterator[None]:
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


def shell_status(returncode: int) -> int:
    """Python's word on how a process ended, in a shell's: 128 + n if signal n ended it.

    >>> shell_status(3), shell_status(-9)
    (3, 137)
    """
    return 128 - returncode if returncode < 0 else returncode


def environment() -> Dict[str, str]:
    """Our own, made fit for Python programs.

    ``python3`` means the interpreter that runs us, since a task without a container may be in a venv; and what they
    print is logged at once, as in the images that tasks used to run in.
    """
    env = {"PYTHONUNBUFFERED": "1", **os.environ}
    if sys.prefix != sys.base_prefix:
        place, path = os.path.dirname(sys.executable), env.get("PATH", os.defpath)
        if path.split(os.pathsep)[0] != place:
            env["PATH"] = os.pathsep.join([place, path])
    return env


def module(name: str, *arguments: str) -> List[str]:
    """How to run a module of our interpreter, whatever files of the same name the user has in the working directory.

    >>> module("json.tool", "--help")[-3:]
    ['-m', 'json.tool', '--help']
    """
    # Older interpreters look into the working directory first.
    apart = ["-P"] if sys.version_info >= (3, 11) else []
    return [sys.executable, *apart, "-m", name, *arguments]


def run(argv: List[str], env: Optional[Dict[str, str]] = None) -> int:
    """Run ``argv`` to its end, passing on the signals we get.

    Returns
    -------
    int
        Its exit status as a shell reports it: 128 + n if signal n ended it, 127 if there is no such program, 126 if it
        cannot be run.
    """
    early: List[int] = []
    children: List[subprocess.Popen[Any]] = []
    with _forwarding(early, children):
        try:
            child = subprocess.Popen(argv, env=env)
        except FileNotFoundError:
            return NOT_FOUND
        except PermissionError:
            return NOT_EXECUTABLE
        children.append(child)
        for number in early:
            child.send_signal(number)
        return shell_status(child.wait())


# What is loaded into a process from outside, such as a profiler, may write its findings at the very end.
_INJECTIONS = ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")


def leave(status: int) -> NoReturn:
    """End this process, whose work is done, without taking the interpreter and its libraries apart piece by piece.

    That takes a program with PyTorch seconds, for which its slots would be held for nothing. What has a say in a
    proper end has it: handlers of :mod:`atexit`, among them those of logging and multiprocessing, and buffers of
    Python's and C's streams. A program with threads that it must wait for ends as any other.
    """
    waited_for = [t for t in threading.enumerate() if not t.daemon and t is not threading.current_thread()]
    if waited_for or _something_is_injected():
        sys.exit(status)
    _end(status)


def _something_is_injected() -> bool:
    return any(os.environ.get(name) for name in _INJECTIONS)


def _say_all() -> None:
    """Run what was registered for the end, and write out what waits in buffers."""
    with contextlib.suppress(Exception):
        # _run_exitfuncs() prints the traceback of a handler that fails.
        atexit._run_exitfuncs()  # not ours: nothing public runs the handlers
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).fflush(None)


def _end(status: int) -> NoReturn:
    _say_all()
    os._exit(status)


def _keep_whole() -> None:
    """Let Python go on to its end, whose status only Python knows, with nothing to be taken apart on the way.

    Python takes apart what :data:`sys.modules` leads to, unless somebody else holds it. Then it calls the C library's
    ``exit(status)``; of the functions that this calls, the one that was registered last is called first, and it is
    ``_exit(status)``.
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "on_exit"):
        return  # Only glibc has it.
    _say_all()
    libc.on_exit(ctypes.cast(libc._exit, ctypes.c_void_p), None)
    kept = list(sys.modules.values())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    gc.freeze()  # Or Python looks at every object once more.
    for name in set(sys.modules) - {"sys", "builtins"}:
        del sys.modules[name]
    # Everything has been said, and extension modules that count their objects would complain of what is left.
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _has_returned(frame: types.FrameType) -> bool:
    """Whether a frame has ended by a return, rather than by an exception or not at all."""
    code, last = frame.f_code.co_code, frame.f_lasti
    return 0 <= last < len(code) and opcode.opname[code[last]] in ("RETURN_VALUE", "RETURN_CONST")


def _is_plain_program() -> bool:
    """Whether this process is Python's own, which ends when the program does: in another one, more may follow."""
    try:
        return os.path.samefile("/proc/self/exe", sys.executable) and not sys.flags.interactive
    except OSError:
        return False


def leave_when_program_ends() -> None:
    """Let this program end like :func:`leave`, if it comes to its end by itself.

    Nobody can tell the exit status of a program that is about to end, but for one: it is 0 when the outermost code has
    returned. All others, which end by an exception or ``sys.exit()``, go on to their end with :func:`_keep_whole`. The
    moment is when Python has waited for the program's threads.
    """
    shut_down: Any = getattr(threading, "_shutdown", None)
    if shut_down is None or hasattr(shut_down, "leaves") or not _is_plain_program():
        return
    if threading.current_thread() is not threading.main_thread():
        return
    frame, pid = sys._getframe(), os.getpid()  # not ours: documented, in spite of its name
    while frame.f_back is not None:
        frame = frame.f_back
    outermost = [frame]

    def shutdown() -> None:
        shut_down()
        # The frame must be let go of: it holds what the program holds, which Python takes apart in an order of its own.
        has_returned = bool(outermost) and _has_returned(outermost.pop())
        # Children of multiprocessing come by here, too.
        if os.getpid() != pid or _something_is_injected():
            return
        if has_returned:
            _end(0)
        _keep_whole()

    shutdown.leaves = True  # type: ignore[attr-defined]
    threading._shutdown = shutdown  # type: ignore[attr-defined]  # not ours: the last call of a program
