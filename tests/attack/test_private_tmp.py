"""Tests what tasks can leave in /tmp for each other, and which processes they can see."""
import os
import pathlib
import shutil
import sys
import uuid

import pytest
from on_an_agent import ALICE, BOB, ROOT, needs_root, site
from support import namespaces
from support.processes import outside

REFUSE = pathlib.Path(__file__).resolve().parents[1] / "support/refuse.py"


@pytest.fixture
def place():
    namespaces.need("root" if ROOT else "nobody")
    with site() as s:
        yield s


@pytest.fixture
def of_the_machine():
    """Makes a directory in the machine's /tmp to which everybody may write."""
    path = pathlib.Path("/tmp") / f"det-attack-{uuid.uuid4().hex[:8]}"
    path.mkdir()
    path.chmod(0o777)
    (path / "file").write_text("of the machine")
    yield path
    shutil.rmtree(path)


def test_a_task_finds_or_leaves_files_in_anothers_tmp(place, of_the_machine):
    one = place.start("echo trap > /tmp/data-rank0; echo made; sleep 1000", uid=ALICE)
    place.master.wait(lambda: "made" in place.master.text(one))
    assert place.run("ls -A /tmp; touch /tmp/data-rank0 && echo mine; echo TMPDIR=$TMPDIR", uid=BOB) == "mine\nTMPDIR=\n"
    assert not pathlib.Path("/tmp/data-rank0").exists()
    place.master.signal(one, 9)
    place.master.finish(one)
    place.gone(one)


def test_what_the_order_names_shows_and_what_lies_beside_it_does_not(place, of_the_machine):
    beside = pathlib.Path(f"{of_the_machine}-beside")
    beside.mkdir()
    try:
        out = place.run(f"cat {of_the_machine}/file /mnt/file; ls -A /tmp; echo x > {of_the_machine}/new",
                        bindMounts=[{"hostPath": str(of_the_machine), "containerPath": "/mnt"}])
    finally:
        beside.rmdir()
    assert out == f"of the machineof the machine{of_the_machine.name}\n"
    assert (of_the_machine / "new").read_text() == "x\n"


def test_who_mounts_the_machines_tmp_has_it(place, of_the_machine):
    out = place.run(f"cat {of_the_machine}/file; ls /shared_tmp", bindMounts=[
        {"hostPath": "/tmp", "containerPath": "/tmp"}, {"hostPath": "/tmp", "containerPath": "/shared_tmp"}])
    assert out.startswith("of the machine") and of_the_machine.name in out


def test_a_mount_within_tmp(place):
    data = place.directory_of(ALICE, "data")
    (data / "x").write_text("here")
    assert place.run("cat /tmp/a/b/x; ls /tmp", bindMounts=[{"hostPath": str(data), "containerPath": "/tmp/a/b"}]) == "herea\n"


def without_mounts(place, directory):
    container = place.start("echo $TMPDIR; /usr/bin/python3 -c 'import tempfile; print(tempfile.mkdtemp())'; echo end")
    place.master.finish(container)
    lines = [line for line in place.master.text(container).splitlines() if "WARNING" not in line]
    assert lines[0] == f"{directory}/{container}/tmp" and lines[1].startswith(lines[0]) and lines[2] == "end"
    place.gone(container)


def test_without_mount_namespaces_tmpdir_is_the_tasks_own():
    with site(mount_namespaces=False) as place:
        without_mounts(place, place.path / "agent/tasks")


def test_a_task_finds_or_leaves_files_in_anothers_dev_shm(place):
    one = place.start("echo trap > /dev/shm/sem.rank0; echo made; sleep 1000", uid=ALICE)
    place.master.wait(lambda: "made" in place.master.text(one))
    assert place.run("ls -A /dev/shm; touch /dev/shm/sem.rank0 && echo mine", uid=BOB) == "mine\n"
    assert not pathlib.Path("/dev/shm/sem.rank0").exists()
    place.master.signal(one, 9)
    place.master.finish(one)
    place.gone(one)


@needs_root
def test_the_processes_of_others(place):
    secret = f"DET_SECRET={uuid.uuid4().hex}"
    one = place.start("echo pid $$; exec sleep 1000", uid=ALICE, more_env=[secret])
    place.master.wait(lambda: "pid" in place.master.text(one))
    pid = outside(int(place.master.text(one).split()[1]), ALICE)
    out = place.run(f"ls -d /proc/{pid} /proc/1; cat /proc/{pid}/environ /proc/{pid}/cmdline; ls -d /proc/$$; kill -9 {pid}; "
                    "grep -l sleep /proc/[0-9]*/cmdline; echo ran", uid=BOB)
    assert secret not in out and f"/proc/{pid}\n" not in out and "/proc/1\n" not in out
    assert "/proc/" in out and "ran\n" in out
    assert os.path.exists(f"/proc/{pid}")


@needs_root
def test_ones_own_processes_show(place):
    """A task sees its own processes: profilers and launchers look at them."""
    out = place.run("sleep 1000 & ls -d /proc/$! /proc/self/fd >/dev/null && cat /proc/$!/cmdline | tr '\\0' ' '; kill $!")
    assert out == "sleep 1000 "


def restart_refused(place, call):
    """Restarts the agent so that the kernel refuses this system call to it and to its tasks."""
    place.agent.kill(15)
    place.agent.prefix = [sys.executable, str(REFUSE), call]
    place.agent.start()
    place.master.wait_agent(2)


@needs_root
def test_a_kernel_that_gives_a_task_no_view_of_its_own_is_told_in_its_log():
    namespaces.need("root")
    with site() as place:
        restart_refused(place, "unshare")
        out = place.run("echo ran in $TMPDIR", isolated=False)
        assert "this machine refuses" in out and "Operation not permitted" in out and f"ran in {place.path}/agent/tasks/" in out


@needs_root
@pytest.mark.parametrize("uid, mode", [(ALICE, "700"), (0, "1777")])
def test_the_tasks_tmp_is_closed_to_others_unless_the_task_is_roots(uid, mode):
    namespaces.need("root")
    with site(allow_root_tasks=True) as place:
        container = place.start("stat -c '%a %u' /tmp; sleep 1000", uid=uid)
        place.master.wait(lambda: place.master.text(container))
        assert place.master.text(container) == f"{mode} {uid}\n"


@needs_root
def test_a_kernel_that_gives_a_task_no_view_of_its_own_runs_it_where_isolation_is_required():
    namespaces.need("root")
    with site() as place:
        restart_refused(place, "fsopen")
        container = place.start("echo ran", isolated=True)
        end = place.master.finish(container)
        assert end["kind"] == "EXIT_KIND_START_FAILED" and "security.task_isolation" in end["text"], end
        assert "ran\n" not in place.master.text(container) and "CONTAINER_STATE_RUNNING" not in str(place.master.states_of(container))
