"""Tests a task's own process ids and its own /dev/shm: what it sees, that signals and exits are as without them, and that nothing is left."""

import os
import pathlib
import shutil
import signal
import sys
import tempfile

import pytest
import supervisor as sv

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from support import namespaces  # noqa: E402
from support.waiting import wait_for  # noqa: E402

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make process id namespaces")
REFUSE = pathlib.Path(__file__).resolve().parents[1] / "support/refuse.py"


def running(mark):
    """Pids, of the machine, of processes whose command line has this word."""
    found = []
    for p in pathlib.Path("/proc").iterdir():
        try:
            if p.name.isdigit() and mark.encode() in (p / "cmdline").read_bytes().split(b"\0"):
                found.append(int(p.name))
        except OSError:
            pass
    return found


@pytest.fixture
def task():
    namespaces.need("root")
    path = pathlib.Path(tempfile.gettempdir()).resolve() / f"det-processes-{os.getpid()}"
    (path / "run").mkdir(parents=True, mode=0o755)
    task = sv.Task(path / "supervisor")

    def write(argv, **options):
        options = {"mounts": [(path / "run", "/run/determined")], "own_processes": True, **options}
        return sv.Task.write(task, argv, **options)
    task.write = write
    yield task
    try:
        task.connect(0).signal(signal.SIGKILL)
        task.finish()
    except OSError:
        pass
    shutil.rmtree(path)


def run(task, script, **options):
    task.write(["sh", "-c", script], **options).start().connect().finish(30)
    return task.text(1)


def test_a_task_sees_its_own_processes_only(task):
    out = run(task, "echo $$; tr '\\0' ' ' < /proc/$$/cmdline | cut -c-5; ls /proc | grep -c '^[0-9]'; kill -0 1 && echo first")
    own, command, count, first = out.splitlines()
    assert own == "2" and command == "sh -c" and first == "first"
    assert int(count) <= 5  # the first process, the shell, and those of the pipeline
    assert task.text(2) == "" and task.exit[:2] == (sv.EXITED, 0)


def test_a_user_sees_its_own_processes_and_not_the_first(task):
    out = run(task, "ls /proc | grep '^[0-9]' | head -1; id -u", uid=2000001, gid=2000001)
    assert out.splitlines() == ["2", "2000001"]


@pytest.mark.parametrize("argv, kind, code", [
    (["sh", "-c", "exit 7"], sv.EXITED, 7), (["sh", "-c", "kill -9 $$"], sv.SIGNALED, 137), (["sh", "-c", "kill -TERM $$"], sv.SIGNALED, 143),
    (["/no/such/program"], sv.REFUSED, 127),
])
def test_exit_is_told_as_without_them(task, argv, kind, code):
    task.write(argv).start().connect().finish(30)
    assert task.exit[:2] == (kind, code)


def test_a_signal_reaches_the_entrypoint(task):
    task.write(["sh", "-c", "trap 'echo got it; exit 3' TERM; echo ready; while :; do sleep 0.05; done"]).start().connect()
    task.pump(lambda t: "ready" in t.text(1))
    task.signal(signal.SIGTERM)
    task.finish(30)
    assert "got it" in task.text(1) and task.exit[:2] == (sv.EXITED, 3)


def test_an_orphan_may_finish_a_sentence(task):
    assert "late" in run(task, "(sleep 0.2; echo late) & echo early")


ORPHAN = "env -i setsid sh -c 'exec sleep 27182.8' </dev/null >/dev/null 2>&1 & echo started; exec sleep 600"


def test_nothing_outlives_a_supervisor_that_was_killed(task):
    """The orphan has neither the task's environment nor its output: nothing but the kernel connects it with the task."""
    task.write(["sh", "-c", ORPHAN]).start().connect()
    wait_for("the orphan", lambda: running("27182.8"))
    supervisor = pathlib.Path(f"/proc/{task.pid}/stat").read_text().rpartition(")")[2].split()[1]
    os.kill(int(supervisor), signal.SIGKILL)
    wait_for("the end of the orphan", lambda: not running("27182.8"))
    task.adopt().connect().finish(30)
    assert task.exit[0] in (sv.LOST, sv.SIGNALED)


def test_a_killed_task_takes_its_orphans_along(task):
    task.write(["sh", "-c", ORPHAN]).start().connect()
    wait_for("the orphan", lambda: running("27182.8"))
    task.signal(signal.SIGKILL)
    task.finish(30)
    assert not running("27182.8") and task.exit[:2] == (sv.SIGNALED, 137)


@pytest.mark.parametrize("refused", ["setns", "clone3"])
def test_where_the_machine_refuses_the_task_runs_without(task, refused):
    task.prefix = [sys.executable, str(REFUSE), refused]
    assert int(run(task, "echo $$")) > 2
    assert task.exit[:2] == (sv.EXITED, 0)


def test_a_task_has_a_dev_shm_of_its_own_and_of_its_size(task):
    name = f"det-other-{os.getpid()}"
    other = pathlib.Path("/dev/shm") / name
    other.write_text("")
    try:
        out = run(task, f"ls /dev/shm; df -k /dev/shm | tail -1 | tr -s ' ' | cut -d' ' -f2; echo mine > /dev/shm/{name}-2; stat -c %a /dev/shm",
                  shm=4 << 20, uid=2000001, gid=2000001)
    finally:
        other.unlink()
    assert out.split() == ["4096", "1777"]
    assert not (other.parent / f"{name}-2").exists()
    assert task.text(2) == ""
