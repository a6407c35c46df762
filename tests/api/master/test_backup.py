"""Tests determined-master backup and restore: what was acknowledged before a backup began is there after a restore."""
import os
import shutil
import sqlite3
import subprocess
import threading

import pytest
from support.cluster import BUILD, Cluster, wait_for

# The command copies the embedded store. For the other engine it refers to pg_dump, which a test below checks with a configuration alone.
pytestmark = pytest.mark.skipif(os.environ.get("DET_TEST_DB") == "postgres", reason="PostgreSQL is backed up by pg_dump")


def command(cluster, verb, file, *options, data=None):
    return subprocess.run([BUILD / "determined-master", verb, file, "--config-file", cluster.dir / "master.yaml",
                           "--data-dir", data or cluster.dir / "data", *options], capture_output=True, text=True, timeout=120)


def backup(cluster, file):
    done = command(cluster, "backup", file)
    assert done.returncode == 0, done.stderr
    assert file.stat().st_mode & 0o777 == 0o600
    return file


def restore(cluster, file, directory):
    """Makes a cluster of its own, with the contents of the backup; it is not started."""
    other = Cluster(directory)
    shutil.copy(cluster.dir / "master.yaml", other.dir / "master.yaml")
    done = command(other, "restore", file)
    assert done.returncode == 0, done.stderr
    return other


def experiments(cluster):
    cluster.login("admin")
    return {e["id"] for e in cluster.get("/api/v1/experiments?limit=-1").json["experiments"]}


class Writer(threading.Thread):
    """Creates experiments until it is told to stop, and keeps those that were acknowledged."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.acknowledged, self.stop = cluster, [], threading.Event()
        self.start()

    def run(self):
        while not self.stop.is_set():
            self.acknowledged.append(self.cluster.create(activate=False))


def test_a_backup_under_load_has_all_that_was_acknowledged_before_it_began(new_cluster, tmp_path):
    cluster = new_cluster().start_master()
    cluster.login("admin")
    writers = [Writer(cluster) for _ in range(4)]
    promised = []
    for i in range(3):
        wait_for("acknowledged writes", lambda: sum(len(w.acknowledged) for w in writers) >= 30 * (i + 1))  # noqa: B023
        before = {number for w in writers for number in list(w.acknowledged)}
        promised.append((before, backup(cluster, tmp_path / f"backup{i}")))
    for w in writers:
        w.stop.set()
        w.join()
    for i, (before, file) in enumerate(promised):
        with restore(cluster, file, tmp_path / f"restored{i}") as other:
            other.start_master()
            assert before <= experiments(other)
    assert not (cluster.dir / "data/backup.tmp").exists()


def test_agents_come_back_to_a_restored_master_although_it_forgot_its_last_starts(new_cluster, tmp_path):
    cluster = new_cluster().start_master()
    file = backup(cluster, tmp_path / "backup")
    for _ in range(2):  # the agent sees later epochs than the one in the backup
        cluster.stop_master()
        cluster.start_master()
    cluster.start_agent()
    cluster.stop_agent()
    cluster.stop_master()
    (cluster.dir / "data").rename(tmp_path / "lost")
    done = command(cluster, "restore", file)
    assert done.returncode == 0, done.stderr
    cluster.start_master()
    cluster.token = None  # the token belongs to a session that is not in the backup
    cluster.start_agent()  # waits until the master lists the agent, so its token and epoch are accepted
    assert cluster.get("/api/v1/agents").json["agents"][0]["id"] == "agent0"


def test_a_stopped_master_can_be_backed_up(new_cluster, tmp_path):
    cluster = new_cluster().start_master()
    cluster.login("admin")
    kept = cluster.create(activate=False)
    cluster.master.kill()  # the write-ahead log now holds much that is not in the database file
    cluster.master.wait()
    file = backup(cluster, tmp_path / "backup")
    cluster.stop_master()
    with restore(cluster, file, tmp_path / "restored") as other:
        other.start_master()
        assert experiments(other) == {kept}


def test_nothing_is_overwritten(new_cluster, tmp_path):
    cluster = new_cluster().start_master()
    file = backup(cluster, tmp_path / "backup")
    content = file.read_bytes()
    again = command(cluster, "backup", file)
    assert again.returncode == 1 and "is there already" in again.stderr
    assert file.read_bytes() == content
    running = command(cluster, "restore", file)
    assert running.returncode == 1 and "another master runs" in running.stderr
    cluster.stop_master()
    stopped = command(cluster, "restore", file)
    assert stopped.returncode == 1 and "is not empty" in stopped.stderr


def damaged(file):
    """Removes the entries from an index of users."""
    with sqlite3.connect(file) as db:
        page, = db.execute("SELECT rootpage FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'users'").fetchone()
    db.close()
    data = bytearray(file.read_bytes())
    data[(page - 1) * 4096:page * 4096] = (b"\x0a\0\0\0\0\x10\0\0").ljust(4096, b"\0")
    file.write_bytes(data)


def cut(file):
    file.write_bytes(file.read_bytes()[:20000])


def newer(file):
    with sqlite3.connect(file) as db:
        db.execute("INSERT INTO migrations (number, name) VALUES (9999, 'later')")
    db.close()


def no_backup(file):
    with sqlite3.connect(file) as db:
        db.execute("DELETE FROM kv WHERE key = 'backup.note'")
    db.close()


def not_a_database(file):
    file.write_text("hello\n" * 1000)


@pytest.mark.parametrize("spoil, words", [
    (damaged, "damaged"), (cut, "the file is damaged"), (newer, "of version 9999, this program knows versions up to"),
    (no_backup, "not a backup"), (not_a_database, "not a database")])
def test_a_spoilt_backup_is_refused_and_leaves_no_store(new_cluster, tmp_path, spoil, words):
    cluster = new_cluster().start_master()
    file = backup(cluster, tmp_path / "backup")
    spoil(file)
    data = tmp_path / "new"
    done = command(cluster, "restore", file, data=data)
    assert done.returncode == 1
    assert words in done.stderr and "PRAGMA" not in done.stderr
    assert [p.name for p in data.iterdir()] == ["lock"]


@pytest.mark.parametrize("verb", ["backup", "restore"])
def test_a_store_on_a_server_is_left_to_the_servers_tools(new_cluster, tmp_path, verb):
    cluster = new_cluster()
    (cluster.dir / "master.yaml").write_text("db: {type: postgres, host: db, user: u, password: p, name: det}")
    done = command(cluster, verb, tmp_path / "backup")
    assert done.returncode == 1 and "pg_dump" in done.stderr
    assert not (tmp_path / "backup").exists()
