"""Tests the task's own view of the file system: its directory at /run/determined, mounts, that nothing is left behind, and refusals."""

import grp
import os
import pathlib
import pwd
import re
import shutil
import signal
import sys
import tempfile

import pytest
import supervisor as sv

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from support import namespaces  # noqa: E402
from support.processes import alive  # noqa: E402
from support.waiting import wait_for  # noqa: E402

ROOT = os.geteuid() == 0
REFUSE = pathlib.Path(__file__).resolve().parents[1] / "support/refuse.py"
NOBODY = pwd.getpwnam("nobody")
READ_ONLY, MAKE_SOURCE = 1, 2


class Place:
    """A directory for a supervisor and one for a task. The supervisor runs as root, or as nobody."""

    def __init__(self, path, who):
        self.path, self.who = path, who
        self.task = sv.Task(path / "supervisor")
        self.run = path / "run"
        (self.run / "info").mkdir(parents=True)
        (self.run / "info/cluster.json").write_text("{}")
        self.own(path)
        if who == "nobody" and ROOT:
            self.task.prefix = ["setpriv", "--reuid", "nobody", "--regid", str(NOBODY.pw_gid), "--clear-groups"]

    def own(self, *paths):
        for path in paths:
            for p in [path, *path.rglob("*")]:
                if ROOT and self.who == "nobody":
                    os.chown(p, NOBODY.pw_uid, NOBODY.pw_gid)

    def run_task(self, script, *mounts, **options):
        self.task.write(["sh", "-c", script], mounts=[(self.run, "/run/determined"), *mounts], **options)
        self.own(self.path)
        self.task.start().connect().finish(30)
        return self.task.text(1)


@pytest.fixture(params=["root", "nobody"])
def place(request):
    namespaces.need(request.param)
    # The directory is not below pytest's own one, which is closed to others.
    path = pathlib.Path(tempfile.gettempdir()).resolve() / f"det-mounts-{os.getpid()}-{request.param}"
    path.mkdir(mode=0o755)
    place = Place(path, request.param)
    yield place
    try:
        place.task.connect(0).signal(signal.SIGKILL)
        place.task.finish()
    except OSError:
        pass
    shutil.rmtree(path)


def host():
    """Returns what a task could leave behind: names where mount points were needed, and mounts."""
    return sorted(os.listdir("/")), sorted(os.listdir("/run")), pathlib.Path("/proc/self/mountinfo").read_text()


def test_the_tasks_directory_is_at_the_contracts_path_and_nothing_is_left(place):
    before = host()
    out = place.run_task("cat /run/determined/info/cluster.json; echo; echo x > /run/determined/mine; echo $(ls -A / /run); id -u")
    assert out.splitlines()[0] == "{}"
    assert (place.run / "mine").read_text() == "x\n"
    shown = out.splitlines()[1].split()
    assert {name for name in before[0] + before[1]} <= set(shown) and "determined" in shown
    assert out.splitlines()[2] == str(NOBODY.pw_uid if place.who == "nobody" else os.getuid())
    assert host() == before
    assert place.task.text(2) == ""


def test_a_mount_in_the_root_directory_and_one_that_is_read_only(place):
    storage = place.path / "storage"
    storage.mkdir()
    before = host()
    out = place.run_task("echo kept > /determined_shared_fs/state; touch /det-ro/x 2>&1; cat /det-ro/state; ls -A /; cat /proc/meminfo | head -c 8",
                         (storage, "/determined_shared_fs"), (storage, "/det-ro", READ_ONLY))
    assert (storage / "state").read_text() == "kept\n"
    assert "Read-only file system" in out and "kept\n" in out and out.endswith("MemTotal"), out
    assert not any("old-root" in name for name in out.split())
    assert host() == before


def test_a_storage_that_is_not_there_yet_is_made_by_the_task(place):
    place.run_task("echo kept > /determined_shared_fs/state", (place.path / "new/storage", "/determined_shared_fs", MAKE_SOURCE))
    assert (place.path / "new/storage/state").read_text() == "kept\n"
    assert (place.path / "new").stat().st_uid == (NOBODY.pw_uid if place.who == "nobody" and ROOT else os.getuid())


def test_a_mount_that_cannot_be_had_is_told_and_the_task_runs(place):
    if place.who == "nobody":
        writable = place.path
    else:
        writable = pathlib.Path("/tmp")
    place.run_task("echo ran", ("/no/such/source", "/mnt/a"), (place.path, f"{writable}/not-there/b"))
    assert place.task.text(1) == "ran\n"
    told = place.task.text(2)
    assert "nothing is mounted at /mnt/a: /no/such/source: No such file" in told
    assert "does not exist; make it, or mount somewhere else" in told
    assert not (writable / "not-there").exists()


def test_mounts_lead_nowhere_the_task_could_not_go(place):
    options = {"uid": NOBODY.pw_uid, "gid": NOBODY.pw_gid} if place.who == "root" else {}
    if options:
        for p in [place.run, *place.run.rglob("*")]:
            os.chown(p, NOBODY.pw_uid, NOBODY.pw_gid)
    out = place.run_task("ls /mnt/x 2>/dev/null; echo ran", ("/root/.", "/mnt/x"), **options)
    assert out == "ran\n"
    assert "nothing is mounted at /mnt/x: /root/.: Permission denied" in place.task.text(2)


def test_a_mount_within_the_tasks_directory_shows_at_both_paths(place):
    data = place.path / "data"
    data.mkdir()
    (data / "x").write_text("here")
    out = place.run_task(f"cat {place.run}/workdir/data/x /run/determined/workdir/data/x", (data, f"{place.run}/workdir/data"))
    assert out == "herehere", place.task.text(2)


def test_signals_and_kill_reach_the_task_in_its_namespaces(place):
    place.task.write(["sh", "-c", "trap 'echo got it' USR1; setsid sh -c 'echo $$; exec sleep 1000' & echo ready; "
                      "while :; do sleep 0.05; done"], mounts=[(place.run, "/run/determined")])
    place.own(place.path)
    place.task.start().connect().pump(lambda t: len(t.lines) == 2)
    place.task.signal(signal.SIGUSR1)
    place.task.pump(lambda t: "got it" in t.text())
    place.task.signal(signal.SIGKILL)
    place.task.finish()
    assert place.task.exit[:3] == (sv.SIGNALED, 137, 9)
    [pid] = re.findall(r"^\d+$", place.task.text(), re.M)
    assert not pathlib.Path(f"/proc/{pid}").exists()


def test_what_a_dead_supervisor_left_is_found_by_its_mounts_even_without_environment(place):
    place.task.write(["sh", "-c", "setsid env -i sleep 1000 & echo $!; exec sleep 1000"], mounts=[(place.run, "/run/determined")])
    place.own(place.path)
    place.task.start().connect().pump(lambda t: t.lines)
    pid = int(place.task.text())
    status = pathlib.Path(f"/proc/{pid}/status")
    supervisor = int(re.search(r"^PPid:\s+(\d+)", status.read_text(), re.M).group(1))
    entrypoint = supervisor
    supervisor = int(re.search(r"^PPid:\s+(\d+)", pathlib.Path(f"/proc/{entrypoint}/status").read_text(), re.M).group(1))
    os.kill(supervisor, signal.SIGKILL)
    wait_for("the end of the entrypoint", lambda: not alive(entrypoint))
    assert alive(pid)
    place.task.adopt()
    place.task.connect().finish()
    assert place.task.exit[0] == sv.LOST
    wait_for("the end of its process", lambda: not alive(pid))


@pytest.mark.parametrize("calls, words, shown", [
    ("unshare", "only the library of this platform works", ""),
    ("mount", "only the library of this platform works", ""),
    ("pivot_root", "only /run/determined is mounted", "{}"),
])
def test_where_the_kernel_refuses_one_line_says_so_and_the_task_runs(place, calls, words, shown):
    place.task.prefix += [sys.executable, str(REFUSE), calls]
    storage = place.path / "storage"
    storage.mkdir()
    out = place.run_task("cat /run/determined/info/cluster.json 2>/dev/null; echo ' ran'", (storage, "/determined_shared_fs"))
    assert out == f"{shown} ran\n"
    lines = [line for line in place.task.lines if line.stdtype == 2]
    assert words in lines[-1].text and "Operation not permitted" in lines[-1].text and lines[-1].level == 4
    assert len(lines) <= 2


@pytest.mark.parametrize("calls", ["unshare", "mount", "fsopen"])
def test_a_task_that_is_to_be_isolated_does_not_start_where_the_kernel_refuses(place, calls):
    place.task.prefix += [sys.executable, str(REFUSE), calls]
    own = place.path / "tmp"
    own.mkdir()
    options = {"uid": NOBODY.pw_uid, "gid": NOBODY.pw_gid} if place.who == "root" else {}
    out = place.run_task("echo ran", hidden=[place.path], tmp=own, isolated=True, **options)
    kind, code, _, text = place.task.exit
    assert out == "" and (kind, code) == (sv.START_FAILED, 0) and not place.task.executed
    assert "security.task_isolation" in text and "Operation not permitted" in text, text
    assert text in place.task.text(2)


OPENS_A_TERMINAL = """
import os
ours, theirs = os.openpty()
of = os.fstat(theirs)
print(os.ttyname(theirs), of.st_gid, oct(of.st_mode & 0o777), *sorted(os.listdir("/dev/pts")))
os.chown(theirs, -1, of.st_gid)
"""


def opens_a_terminal(place):
    """Runs a task that opens a terminal, as nobody; sshd would give it to this group."""
    gid = NOBODY.pw_gid if place.who == "nobody" and ROOT else os.getgid() if place.who == "nobody" else grp.getgrnam("tty").gr_gid
    options = {"uid": NOBODY.pw_uid, "gid": NOBODY.pw_gid} if place.who == "root" else {}
    ours, _ = os.openpty()
    try:
        return gid, place.run_task(f"exec {sys.executable} -c '{OPENS_A_TERMINAL}'", terminal_gid=gid, **options)
    finally:
        os.close(ours)


def test_terminals_are_the_tasks_own_and_belong_to_the_group_that_sshd_wants(place):
    gid, out = opens_a_terminal(place)
    assert out == f"/dev/pts/0 {gid} 0o620 0 ptmx\n" and place.task.text(2) == "", place.task.text(2)


def test_where_there_can_be_no_terminals_of_its_own_the_task_has_those_of_the_machine(place):
    place.task.prefix += [sys.executable, str(REFUSE), "fsopen"]
    options = {"uid": os.getuid(), "gid": os.getgid()} if place.who == "root" else {}
    out = place.run_task("echo ran", terminal_gid=0, isolated=place.who == "nobody", **options)
    assert out == "ran\n" and "this task has no terminals of its own: cannot mount /dev/pts: Operation not permitted" in place.task.text(2)


def test_a_task_that_is_to_be_isolated_runs_where_it_is(place):
    own = place.path / "tmp"
    own.mkdir()
    options = {"uid": NOBODY.pw_uid, "gid": NOBODY.pw_gid} if place.who == "root" else {}
    assert place.run_task("echo ran", hidden=[place.path], tmp=own, isolated=True, **options) == "ran\n"
    assert place.task.text(2) == ""


def test_a_task_that_is_to_be_isolated_needs_mounts(place):
    place.task.write(["echo", "ran"], isolated=True)
    place.own(place.path)
    place.task.start().connect().finish()
    assert place.task.text(1) == "" and place.task.exit[0] == sv.START_FAILED
    assert "mount_namespaces is false" in place.task.exit[3]


def test_what_the_agent_keeps_is_hidden_and_the_tasks_own_directory_is_not(place):
    (place.path / "others/run").mkdir(parents=True)
    (place.path / "others/run/secret").write_text("of another task")
    key = place.path.parent / f"{place.path.name}-key"
    key.write_text("the agent's key")
    if ROOT:
        os.chown(key, *((NOBODY.pw_uid, NOBODY.pw_gid) if place.who == "nobody" else (0, 0)))
    place.own(place.path)
    way_around = f"/proc/{os.getpid()}/root{key}" if place.who == "nobody" else "/no/such/file"
    try:
        out = place.run_task(
            f"echo x > {place.run}/mine; ls -A {place.path}; cat {key} {way_around}; cat /mnt/others/run/secret /mnt2/secret; "
            f"touch {place.path}/x 2>/dev/null || echo closed; cat /run/determined/mine; grep -c ' {place.path} ' /proc/self/mountinfo; "
            f"unshare --user --map-root-user --mount sh -c 'umount {place.path}; cat {place.path}/others/run/secret {key}'",
            (place.path, "/mnt"), (place.path / "others/run", "/mnt2"), hidden=[place.path, key, "/no/such/path"])
    finally:
        key.unlink()
    assert out == "run\nclosed\nx\n1\n", place.task.text(2)
    assert (place.run / "mine").read_text() == "x\n" and not (place.path / "x").exists()
    assert f"nothing is mounted at /mnt2: {place.path}/others/run: No such file" in place.task.text(2)


def test_a_tmp_of_its_own_with_what_the_order_names(place):
    own = place.path / "tmp"
    own.mkdir()
    place.own(place.path)
    beside = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    beside.chmod(0o755)
    try:
        out = place.run_task(f"ls -A /tmp; echo kept > /tmp/mine; echo TMPDIR=$TMPDIR; ls -d {beside}; cat {place.run}/info/cluster.json",
                             tmp=own)
    finally:
        beside.rmdir()
    assert out == f"{place.path.relative_to('/tmp').parts[0]}\nTMPDIR=\n" + "{}"
    assert (own / "mine").read_text() == "kept\n"


@pytest.mark.parametrize("length, named", [(0, True), (70, False)])
def test_without_mounts_tmpdir_names_it_unless_its_path_is_too_long_for_sockets(place, length, named):
    own = place.path / ("tmp" + "x" * length)
    own.mkdir()
    place.own(place.path)
    place.task.prefix += [sys.executable, str(REFUSE), "unshare"]
    assert place.run_task("echo TMPDIR=$TMPDIR", tmp=own) == f"TMPDIR={own if named else ''}\n"
    assert ("too long for TMPDIR" in place.task.text(2)) is not named
