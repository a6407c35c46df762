"""Backups and restores that are killed, interrupted, or run out of disk."""
import base64
import os
import shutil
import signal
import subprocess
import time

import pytest
from fault.disks import run_killed, small_disk
from support.cluster import BUILD, Cluster

pytestmark = [
    pytest.mark.skipif(os.environ.get("DET_TEST_DB") == "postgres", reason="PostgreSQL is backed up by pg_dump"),
    pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed"),
]


def words(cluster, verb, file):
    return [BUILD / "determined-master", verb, file, "--config-file", cluster.dir / "master.yaml", "--data-dir", cluster.dir / "data"]


def run(cluster, verb, file):
    return subprocess.run(words(cluster, verb, file), capture_output=True, text=True, timeout=120, check=False)


def names(cluster):
    return sorted(x["name"] for x in cluster.get("/api/v1/experiments?limit=-1").json["experiments"])


@pytest.fixture
def filled(new_cluster):
    """A master whose store has some 10 MB that do not compress."""
    c = new_cluster().start_master()
    c.login()
    for i in range(4):
        c.create(files={"noise": base64.b64encode(os.urandom(2 << 20)).decode()}, activate=False, name=f"kept-{i}")
    return c


@pytest.mark.parametrize("where", ["write,pwrite64:when=40", "fsync,fdatasync:when=1", "fsync,fdatasync:when=2", "fsync,fdatasync:when=3",
                                   "rename,renameat2:when=1", "rename,renameat2:when=2"])
def test_a_killed_restore_is_told_of_and_done_again(filled, tmp_path, where):
    file = tmp_path / "backup"
    assert run(filled, "backup", file).returncode == 0
    other = Cluster(tmp_path / "other")
    shutil.copy(filled.dir / "master.yaml", other.dir / "master.yaml")
    other.config, other.token = filled.config, filled.token
    killed = run_killed(words(other, "restore", file), where)
    whole = (other.dir / "data/determined.db").exists()
    with other:
        if killed and not whole:
            started = subprocess.run([BUILD / "determined-master", "--config-file", other.dir / "master.yaml", "--data-dir",
                                      other.dir / "data", "--port", str(other.port)], capture_output=True, text=True, timeout=60, check=False)
            assert started.returncode != 0 and "did not end: run determined-master restore" in started.stderr, started.stderr
            again = run(other, "restore", file)
            assert again.returncode == 0, again.stderr
            assert "begun anew" in again.stderr
        other.start_master()
        assert names(other) == [f"kept-{i}" for i in range(4)]
        assert sorted(p.name for p in (other.dir / "data").iterdir() if not p.name.startswith("determined.db-")) == [
            "admin.sock", "agent.token", "determined.db", "lock", "webhooks.key"]


def test_a_master_that_is_stopped_amid_a_backup_stops_well_and_leaves_nothing(filled, tmp_path):
    made = 0
    for i in range(6):
        file = tmp_path / f"backup{i}"
        backup = subprocess.Popen(words(filled, "backup", file), stderr=subprocess.PIPE, text=True)
        time.sleep(0.02 * i)  # each time at another point of it
        assert filled.stop_master(signal.SIGTERM if i % 3 else signal.SIGKILL) is not None
        said = backup.communicate(timeout=60)[1]
        assert (backup.returncode == 0) == file.exists(), said
        assert backup.returncode == 0 or said.startswith("determined-master: "), said
        made += backup.returncode == 0
        filled.start_master()
        assert not list((filled.dir / "data").glob("backup.tmp*"))
        assert not list(tmp_path.glob("backup*.partial*"))
    print(f"\nfaults: 6 stops amid a backup, {made} of them after it was done")
    assert names(filled) == [f"kept-{i}" for i in range(4)]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_backup_onto_a_full_disk_says_so_and_leaves_nothing(filled, tmp_path):
    with small_disk(tmp_path / "small", mib=5) as disk:
        done = run(filled, "backup", disk / "backup")
        assert done.returncode == 1 and "No space left" in done.stderr, done.stderr
        assert list(disk.iterdir()) == []
    assert names(filled) == [f"kept-{i}" for i in range(4)]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_backup_that_fills_the_masters_own_disk_gives_way(new_cluster, tmp_path):
    cluster = new_cluster()
    with small_disk(cluster.dir / "data", mib=36) as disk:
        try:
            cluster.start_master()
            cluster.login()
            for i in range(4):
                cluster.create(files={"noise": base64.b64encode(os.urandom(2 << 20)).decode()}, activate=False, name=f"kept-{i}")
            free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize
            (disk / "ballast").write_bytes(b"x" * (free - (4 << 20)))
            done = run(cluster, "backup", tmp_path / "backup")
            assert done.returncode == 1 and "full" in done.stderr, done.stderr
            assert not (tmp_path / "backup").exists() and not list(disk.glob("backup.tmp*"))
            cluster.create(activate=False, name="kept-4")
            assert names(cluster) == [f"kept-{i}" for i in range(5)]
        finally:
            cluster.stop_master()
