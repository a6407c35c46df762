"""Tests that a task's user moves and links what the agent, which is root, is about to use by its path."""
import os

import pytest
from on_an_agent import ALICE, as_user, needs_root, site
from support import namespaces

ROUNDS = 30
SWAP = """
import os
while True:
    for name in ("info", "workdir"):
        try:
            os.rename(f"{run}/{name}", f"{run}/was-{name}")
            os.symlink(victim, f"{run}/{name}")
        except OSError:
            pass
"""


@pytest.fixture
def place():
    with site() as s:
        yield s


@needs_root
def test_a_user_swaps_directories_for_links_while_the_agent_fills_them(place):
    victim = place.path / "victim"  # root owns the directory, and everybody may read it
    victim.mkdir()
    os.chmod(victim, 0o755)
    before = victim.stat()
    for i in range(ROUNDS):
        container = f"attack-{i}"
        with as_user(ALICE, f"run = {str(place.path / 'agent/tasks' / container / 'run')!r}; victim = {str(victim)!r}\n" + SWAP):
            place.start("true", container=container)
            place.master.finish(container)
        after = victim.stat()
        assert list(victim.iterdir()) == []
        assert (after.st_uid, after.st_mode) == (before.st_uid, before.st_mode)


@needs_root
def test_a_mount_over_proc_redirects_the_mounts_that_follow(place):
    namespaces.need("root")
    closed = place.path / "closed"
    (closed / "inner").mkdir(parents=True)
    (closed / "inner/secret").write_text("the secret")
    os.chmod(closed, 0o700)
    data, processes = place.directory_of(ALICE, "data"), place.directory_of(ALICE, "processes")
    for number in range(3, 30):  # the number of the descriptor with which the last of these mounts is made
        trap = place.directory_of(ALICE, f"trap-{number}")
        (trap / "self/fd").mkdir(parents=True)
        for other in range(200):
            (trap / f"self/fd/{other}").symlink_to(closed / "inner" if other == number else processes / f"self/fd/{other}")
        mounts = [{"hostPath": "/proc", "containerPath": str(processes)}, {"hostPath": str(trap), "containerPath": "/proc"},
                  {"hostPath": str(data), "containerPath": "/mnt"}]
        out = place.run("cat /mnt/secret; ls -d /mnt && echo ran", bindMounts=mounts)
        assert "the secret" not in out and "ran\n" in out


@needs_root
def test_a_mount_leads_through_what_the_supervisor_has_open(place):
    """A source of a mount must not be reached by /proc/self/fd of the process that mounts, which is root's."""
    namespaces.need("root")
    mounts = [{"hostPath": f"/proc/self/fd/{number}", "containerPath": f"/mnt/{number}"} for number in range(3, 30)]
    mounts += [{"hostPath": "/proc/1/root", "containerPath": "/mnt/root"}]
    out = place.run("cat /mnt/*/spec /mnt/*/socket 2>/dev/null; ls /mnt; echo ran", bindMounts=mounts)
    assert "DET_SESSION_TOKEN" not in out
    assert out.count("nothing is mounted at /mnt/") == len(mounts) and "ran\n" in out


@needs_root
def test_a_user_swaps_the_way_to_a_mount_point_while_root_makes_it(place):
    namespaces.need("root")
    mine, victim, data = place.directory_of(ALICE, "mine"), place.path / "victim", place.directory_of(ALICE, "data")
    victim.mkdir()
    (mine / "a").mkdir()
    (mine / "link").symlink_to(victim)
    (mine / "root").symlink_to("/")
    program = f"""
import ctypes
swap = ctypes.CDLL(None).renameat2
a, link, root = (f"{str(mine)}/{{name}}".encode() for name in ("a", "link", "root"))
while True:
    swap(-100, a, -100, root, 2); swap(-100, a, -100, link, 2)
"""
    with as_user(ALICE, program):
        for i in range(ROUNDS):
            place.run("true", bindMounts=[{"hostPath": str(data), "containerPath": f"{mine}/a/det-attack-{i}/x"}])
    assert list(victim.iterdir()) == []
    assert not [name for name in os.listdir("/") if name.startswith("det-attack")]


def test_directories_too_deep_for_the_agents_descriptors():
    deep = "import os\nfor i in range(30000):\n    os.mkdir('d'); os.chdir('d')\nprint('made')"
    with site(below="/dev/shm") as place:  # on a disk the removal would take minutes
        container = place.start(["/usr/bin/python3", "-c", deep])
        place.master.finish(container)
        assert place.master.text(container) == "made\n"
        place.gone(container)
        assert "task.not_removed" not in place.agent.log_text()


def test_a_directory_is_moved_away_and_back_while_it_is_removed(place):
    """The task's own processes have ended when its directory is removed. Here another process of the same user goes on writing."""
    container = "attack-moves"
    run = place.path / "agent/tasks" / container / "run"
    kept = place.directory_of(ALICE, "kept")
    (kept / "file").write_text("kept")
    place.start("mkdir -p workdir/a/b/c; i=0; while [ $i -lt 500 ]; do mkdir -p workdir/a/$i/b; i=$((i+1)); done; echo made; sleep 1000",
                container=container)
    place.master.wait(lambda: "made" in place.master.text(container))
    program = f"""
import os
while True:
    for one, other in (("workdir/a", "x"), ("x", "workdir/a")):
        try:
            os.rename({str(run)!r} + "/" + one, {str(run)!r} + "/" + other)
            os.symlink({str(kept)!r}, {str(run)!r} + "/" + one)
        except OSError:
            pass
        try:
            os.unlink({str(run)!r} + "/" + one)
        except OSError:
            pass
"""
    with as_user(ALICE, program):
        place.master.signal(container, 9)
        place.master.finish(container)
        place.gone(container)
    assert (kept / "file").read_text() == "kept"
