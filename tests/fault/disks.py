"""Small disks of a test's own, and system calls that fail on demand."""
import contextlib
import os
import pathlib
import subprocess

import pytest


@contextlib.contextmanager
def small_disk(path, mib):
    """A file system of so many MiB at `path`."""
    path = pathlib.Path(path)
    path.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=0700", "tmpfs", path], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill(path):
    """Takes all the room that is left, by a file whose removal gives it back."""
    filler = pathlib.Path(path) / "filler"
    with open(filler, "wb", buffering=0) as f, contextlib.suppress(OSError):
        for size in (1 << 20, 1 << 12):
            with contextlib.suppress(OSError):
                while f.write(b"x" * size) == size:
                    pass
    return filler


@contextlib.contextmanager
def failing(pid, inject):
    """System calls of a running process fail as strace's -e inject= says, from the n-th on if it says so."""
    tracer = subprocess.Popen(["strace", "-f", "-p", str(pid), "-o", os.devnull, "-e", f"trace={inject.split(':')[0]}",
                               "-e", f"inject={inject}"], stderr=subprocess.PIPE, text=True)
    first = tracer.stderr.readline()
    if "attached" not in first:
        tracer.wait()
        pytest.skip(f"strace cannot attach: {first}")
    try:
        yield tracer
    finally:
        if tracer.poll() is None:
            tracer.terminate()
        tracer.communicate()


def run_killed(command, inject):
    """Runs a command that is killed at the system call that `inject` names; whether it was."""
    done = subprocess.run(["strace", "-f", "-o", os.devnull, "-e", f"trace={inject.split(':')[0]}", "-e", f"inject={inject}:signal=KILL",
                           *map(str, command)], capture_output=True, text=True, timeout=120, check=False)
    if "ptrace" in done.stderr and "Operation not permitted" in done.stderr:
        pytest.skip("strace may not trace")
    return done.returncode != 0
