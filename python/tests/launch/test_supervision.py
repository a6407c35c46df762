"""Workers under a launcher: one that fails ends the others, its status is ours, and nobody is left.

DET_SOAK_LAUNCH is how often one of eight workers is killed, stopped or runs out of memory (`make soak-launch`: 1,000).
"""

import concurrent.futures
import contextlib
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import time
import uuid

import pytest
from support.waiting import wait_for

from determined import _linux
from determined.launch import _supervisor
from tests.conftest import PROGRAMS, PYTHON

WORKERS = PROGRAMS / "workers.py"
CYCLES = int(os.environ.get("DET_SOAK_LAUNCH") or 50)
SUPERVISE = """
import os, sys
from determined.launch import _supervisor
import logging
logging.basicConfig()
done_s = os.environ.get("DET_TEST_DONE_S")
plan = _supervisor.Plan(whole_tree=True, done_s=float(done_s) if done_s else None)
main = lambda address: [word.replace("ADDRESS", address) for word in sys.argv[3:]]
sys.exit(_supervisor.supervise(sys.argv[1], int(sys.argv[2]), plan, main))
"""


class Run:
    """A supervised run in a process of its own, whose environment marks all that it starts."""

    def __init__(self, directory, number, *main, **env):
        self.directory = directory
        self.mark = f"DET_TEST_MARK={uuid.uuid4()}"
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
        name, _, value = self.mark.partition("=")
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISE, uuid.uuid4().hex, str(number), *map(str, main)],
            env={**os.environ, "PYTHONPATH": str(PYTHON), "PATH": path, name: value, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @classmethod
    def of(cls, directory, number, *script, how="launch", **env):
        return cls(directory, number, sys.executable, WORKERS, how, number, "ADDRESS", *script, **env)

    def end(self):
        """Wait for the end of the run, and return its status."""
        self.out, self.err = self.process.communicate(timeout=600)
        return self.process.returncode

    def left(self):
        """Living processes that it has started."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                marked = self.mark.encode() in pathlib.Path("/proc", pid, "environ").read_bytes()
            except OSError:
                continue
            process = _linux.process(int(pid))
            if marked and process is not None and process.state not in "ZX":
                found.append(int(pid))
        return found

    def workers(self, number):
        """Pids of all workers' scripts, when they are all there."""
        wait_for("all workers", lambda: all((self.directory / str(rank)).exists() for rank in range(number)))
        return [int((self.directory / str(rank)).read_text().split()[0]) for rank in range(number)]


def waiting(directory):
    return sys.executable, WORKERS, "work", directory


def test_all_workers_end_well__and_so_do_we(tmp_path):
    run = Run.of(tmp_path, 3, "sh", "-c", "echo rank $RANK")
    assert run.end() == 0, run.err
    assert sorted(run.out.splitlines()) == [f"[rank={r}] rank {r}" for r in range(3)]


def test_the_status_of_the_first_that_failed__is_ours(tmp_path):
    run = Run.of(tmp_path, 4, "sh", "-c", "[ $RANK = 2 ] && exit 5; exec sleep 600")
    assert run.end() == 5 and "worker 2 (process" in run.err and "ended with status 5" in run.err
    assert run.left() == []


def test_of_failures_heard_at_once__the_first_counts(tmp_path):
    """As on a busy machine, where the launcher has ended the others before the supervisor looks."""
    script = "[ $RANK = 3 ] && exit 6; exec sleep 600"
    run = Run.of(tmp_path, 4, "sh", "-c", f"echo x > {tmp_path}/$RANK; sleep 1; {script}")
    wait_for("all workers", lambda: all((tmp_path / str(rank)).exists() for rank in range(4)))
    run.process.send_signal(signal.SIGSTOP)
    time.sleep(3)  # all workers end meanwhile; it is no matter if one does not
    run.process.send_signal(signal.SIGCONT)
    assert run.end() == 6 and "worker 3 " in run.err, run.err


def test_what_the_others_say_of_their_own_failure__is_not_lost(tmp_path):
    run = Run.of(tmp_path, 4, "sh", "-c", "[ $RANK = 0 ] || sleep 0.2; echo reason of $RANK; exit 4", how="hang-launch")
    assert run.end() == 4
    assert sorted(run.out.splitlines()) == [f"[rank={r}] reason of {r}" for r in range(4)]


def test_a_worker_that_ends_early_and_well__ends_nobody(tmp_path):
    run = Run.of(tmp_path, 3, "sh", "-c", "[ $RANK = 0 ] || sleep 1; echo done $RANK")
    assert run.end() == 0 and len(run.out.splitlines()) == 3


def test_a_launcher_that_has_nothing_left_to_do__is_not_waited_for(tmp_path):
    """This launcher would stay for ever; what workers print to the last counts all the same."""
    script = "[ $RANK = 0 ] || sleep 0.5; (sleep 0.5; echo later $RANK) & echo done $RANK"
    run = Run.of(tmp_path, 2, "sh", "-c", script, how="linger-launch", DET_TEST_DONE_S="0.0")
    assert run.end() == 0 and run.left() == [], run.err
    assert sorted(run.out.splitlines()) == [f"[rank={r}] {word} {r}" for r in range(2) for word in ("done", "later")]


def test_a_launcher_whose_worker_failed__ends_as_ever(tmp_path):
    script = "[ $RANK = 1 ] && exit 7; exit 0"
    run = Run.of(tmp_path, 2, "sh", "-c", script, DET_TEST_DONE_S="0.0")
    assert run.end() == 7 and run.left() == [], run.err


def test_a_launcher_that_hangs__is_ended(tmp_path):
    run = Run.of(
        tmp_path, 2, "sh", "-c", "[ $RANK = 1 ] && exit 7; trap '' TERM; while :; do sleep 0.1; done", how="hang-launch"
    )
    started = time.monotonic()
    assert run.end() == 7 and run.left() == []
    # The worker that ignores SIGTERM was given its grace, and then it was killed.
    assert time.monotonic() - started >= _supervisor.KILL_AFTER_S


def test_a_launcher_that_ends_too_early__is_a_failure(tmp_path):
    run = Run(tmp_path, 2, "sh", "-c", "exit 0")
    assert run.end() == 77 and "only 0 of 2 workers have" in run.err
    assert Run(tmp_path, 2, "sh", "-c", "exit 4").end() == 4
    assert Run(tmp_path, 1, "no-such-launcher").end() == 127
    assert Run(tmp_path, 1, "/").end() == 126


def test_a_script_that_cannot_run__has_the_shells_status(tmp_path):
    run = Run.of(tmp_path, 2, "no-such-script")
    assert run.end() == 127 and "no-such-script: cannot be run" in run.err


def test_what_a_script_leaves_behind__goes_with_it(tmp_path):
    run = Run.of(
        tmp_path, 1, "sh", "-c", "setsid sleep 600 & setsid sh -c 'trap \"\" TERM; sleep 1; sleep 600' & exit 0"
    )
    assert run.end() == 0 and run.left() == []


def test_signals__reach_the_workers(tmp_path):
    script = "trap 'exit 42' TERM; echo x > $0/$RANK; while :; do sleep 0.05; done"
    run = Run.of(tmp_path, 2, "sh", "-c", script, tmp_path)
    wait_for("both workers", lambda: (tmp_path / "0").exists() and (tmp_path / "1").exists())
    run.process.terminate()
    assert run.end() == 42 and run.left() == []


def test_a_supervisor_that_is_killed__takes_all_along(tmp_path):
    run = Run.of(tmp_path, 3, *waiting(tmp_path))
    run.workers(3)
    run.process.kill()
    wait_for("the end of what is left", lambda: run.left() == [])
    run.end()


def test_a_worker_whose_own_supervision_is_killed__counts_as_killed(tmp_path):
    run = Run.of(tmp_path, 3, *waiting(tmp_path))
    script = run.workers(3)[1]
    os.kill(_linux.process(script).parent, signal.SIGKILL)
    assert run.end() == 137 and run.left() == [] and "worker 1" in run.err


def test_a_launcher_within_a_launcher__has_an_address_of_its_own(tmp_path):
    inner = [sys.executable, "-c", SUPERVISE, "nested", "2", sys.executable, str(WORKERS), "launch", "2", "ADDRESS"]
    run = Run(
        tmp_path,
        1,
        *[sys.executable, "-c", SUPERVISE, "nested", "1", sys.executable, str(WORKERS), "launch", "1", "ADDRESS"],
        *[word.replace("ADDRESS", "INNER") for word in inner[:-1]],
        *["ADDRESS", "sh", "-c", "exit 9"],
    )
    assert run.end() in (1, 9, 77), run.err
    assert run.left() == []


def test_two_launchers_that_start_at_once__have_an_address_each():
    """As on two agents that share a /tmp: the one has bound its socket, and does not listen yet."""
    allocation = f"test-{uuid.uuid4().hex}"
    plain = f"/tmp/pid_server-{allocation}"
    with socket.socket(socket.AF_UNIX) as first:
        first.bind(plain)
        inode = os.stat(plain).st_ino
        second, address = _supervisor.listen(allocation)
        try:
            assert address != plain and os.stat(plain).st_ino == inode
            assert os.stat(address).st_mode & 0o777 == 0o600
        finally:
            second.close()
            os.unlink(address)
            os.unlink(plain)


@pytest.mark.parametrize("text", ["nonsense\n", "-\n", "12\nz\n"])
def test_somebody_who_is_no_worker__changes_nothing(tmp_path, text):
    address = f"/tmp/pid_server-test-{uuid.uuid4().hex}"
    code = f"import socket, time; s = socket.socket(socket.AF_UNIX); s.connect('ADDRESS'); s.send({text!r}.encode())"
    code += "; time.sleep(1)"
    run = Run(tmp_path, 0, sys.executable, "-c", code)
    assert run.end() == 0, run.err
    assert not os.path.exists(address)


# ---- one of eight, again and again ----

NUMBER = 8


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    return 137


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    return 147


def terminate(pid):
    os.kill(pid, signal.SIGTERM)
    return 143


class MemoryLimit:
    """A memory cgroup that kills what is moved into it, as soon as it touches memory: the kernel's own OOM killer."""

    path = pathlib.Path("/sys/fs/cgroup/memory")

    def __init__(self):
        self.group = self.path / f"det-test-{uuid.uuid4().hex}"
        self.group.mkdir()
        (self.group / "memory.limit_in_bytes").write_text("4194304")

    @classmethod
    def works(cls):
        return os.access(cls.path, os.W_OK) and (cls.path / "memory.limit_in_bytes").exists()

    def close(self):
        def removed():
            with contextlib.suppress(OSError):
                self.group.rmdir()
            return not self.group.exists()

        wait_for("an empty control group", removed)


EATER = """
import os, sys, pathlib, signal, time
directory, rank = pathlib.Path(sys.argv[1]), os.environ["RANK"]
eat = directory / "eat"
(directory / f"{rank}.new").write_text(str(os.getpid()))
(directory / f"{rank}.new").rename(directory / rank)
while not eat.exists() or eat.read_text() != rank:
    time.sleep(0.02)
pathlib.Path(os.environ["DET_TEST_CGROUP"], "cgroup.procs").write_text("0")
food = []
while True:
    food.append(bytearray(os.urandom(1 << 20)))
"""


def cycle(directory, seed):
    """Start eight, do something to one, and see that all goes as it should."""
    rng = random.Random(seed)
    rank = rng.randrange(NUMBER)
    if MemoryLimit.works() and seed % 5 == 4:
        limit = MemoryLimit()
        run = Run.of(directory, NUMBER, sys.executable, "-c", EATER, directory, DET_TEST_CGROUP=str(limit.group))
        run.workers(NUMBER)
        (directory / "eat.new").write_text(str(rank))
        (directory / "eat.new").rename(directory / "eat")
        expected, what = 137, "oom"
        status = run.end()
        limit.close()
    else:
        hang = "hang-launch" if rng.random() < 0.5 else "launch"
        run = Run.of(directory, NUMBER, *waiting(directory), how=hang)
        do = [kill, stop, terminate, kill, stop][seed % 5]
        pids, what = run.workers(NUMBER), do.__name__
        time.sleep(rng.random() * 0.1)  # a moment chosen at random
        expected = do(pids[rank])
        status = run.end()
    assert status == expected, f"cycle {seed}, {what} of rank {rank}: status {status}\n{run.err}"
    assert f"worker {rank} " in run.err, f"cycle {seed}, {what} of rank {rank}\n{run.err}"
    assert run.left() == [], f"cycle {seed}, {what} of rank {rank}"


def test_one_of_eight__is_killed_stopped_or_out_of_memory(tmp_path):
    def one(seed):
        directory = tmp_path / str(seed)
        directory.mkdir()
        cycle(directory, seed)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for future in [pool.submit(one, seed) for seed in range(CYCLES)]:
            future.result()


# ---- pid_server, for launchers of users ----

PID_SERVER_CASES = [
    (["-x", "WAIT"], 1, "CLIENT sh -c 'exit 3'; sleep 0.2; exit 0", 79),
    ([], 1, "trap 'exit 0' TERM; CLIENT sh -c 'exit 3'; while :; do sleep 0.1; done", 78),
    (["-x", "WAIT"], 1, "CLIENT sh -c 'exit 3'; exit 3", 3),
    # The first ends when the second has begun: one that ends before would have failed.
    ([], 2, "mkfifo GATE; CLIENT sh -c 'read _ <GATE' & CLIENT sh -c 'echo >GATE' & wait; exit 0", 0),
    ([], 2, "exit 0", 77),
    (["-e", "SIGTERM"], 1, "CLIENT true; exec sleep 600", 241),
    # The shell heeds its signal when the child that it waits for has ended; that child is there before the worker ends.
    (
        ["--on-exit", "SIGTERM", "--signal-children"],
        1,
        "trap 'exit 6' TERM; mkfifo GATE; CLIENT sh -c 'read _ <GATE' & "
        "sh -c 'echo >GATE; exec sleep 600'; while :; do sleep 0.1; done",
        6,
    ),
]


@pytest.mark.parametrize(("options", "number", "script", "status"), PID_SERVER_CASES)
def test_pid_server__tells_how_the_command_has_ended(tmp_path, options, number, script, status):
    address = str(tmp_path / "socket")
    script = script.replace("CLIENT", f"{sys.executable} -m determined.exec.pid_client {address} --")
    script = script.replace("GATE", str(tmp_path / "gate"))
    run = subprocess.run(
        [
            *[sys.executable, "-m", "determined.exec.pid_server", *options, "--grace-period", "0"],
            *[address, str(number), "--", "sh", "-c", script],
        ],
        env={**os.environ, "PYTHONPATH": str(PYTHON)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == status, run.stderr


@pytest.mark.parametrize(
    "options", [["-x", "SIGNONSENSE", "/tmp/x", "1", "true"], ["/tmp/x", "1"], ["/tmp/x", "some", "true"]]
)
def test_pid_server__refuses_nonsense(options):
    run = subprocess.run(
        [sys.executable, "-m", "determined.exec.pid_server", *options],
        env={**os.environ, "PYTHONPATH": str(PYTHON)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2 and "usage:" in run.stderr


def test_pid_client__needs_a_supervisor(monkeypatch, capsys):
    from determined.exec import pid_client
    from determined.launch import _worker

    monkeypatch.setattr(_worker, "CONNECT_PATIENCE_S", 0)
    assert pid_client.main(["/tmp/nobody-listens-here", "--", "true"]) == 1
    assert "nobody supervises at /tmp/nobody-listens-here" in capsys.readouterr().err
    assert pid_client.main(["x"]) == 2
