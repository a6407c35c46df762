"""Disks that are full, and writes that fail: nothing is acknowledged that is not kept, and what was is there afterwards."""
import os
import random
import shutil

import pytest
from fault.disks import failing, fill, small_disk
from fault.journal import Load
from support.cluster import wait_for

pytestmark = [
    pytest.mark.skipif(os.environ.get("DET_TEST_DB") == "postgres", reason="is about the embedded store; see tests/api/master/test_postgres.py"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]
ROUNDS = max(1, int(os.environ.get("DET_FAULT_KILLS", "10")) // 20)


def refused(cluster):
    body = {"config": "{}", "activate": False}
    return cluster.post("/api/v1/experiments", {**body, "config": '{"name": "x", "entrypoint": "true", "searcher": {"name": "single", '
                                                '"metric": "m"}}'}).status == 503


def test_a_full_disk_stops_writes_not_reads_and_is_got_over_without_help(new_cluster):
    cluster = new_cluster()
    with small_disk(cluster.dir / "data", mib=40) as disk:
        try:
            cluster.start_master()
            cluster.login()
            load = Load(cluster)
            for n in range(ROUNDS):
                before = load.done()
                wait_for("progress", lambda before=before: load.done() > before + 20)
                filler = fill(disk)
                wait_for("the master to see it", lambda n=n: cluster.master_log().count("store.full") > n)
                assert refused(cluster)
                assert cluster.get("/api/v1/experiments").status == 200
                assert cluster.get("/api/v1/me").status == 200
                filler.unlink()
                wait_for("its recovery", lambda n=n: cluster.master_log().count("store.recovered") > n)
                before = load.done()
                wait_for("progress", lambda before=before: load.done() > before + 20)
            load.finish()
            counts = load.check()
            cluster.stop_master(9)
            cluster.start_master()
            assert load.check() == counts
            print(f"\nfaults: {ROUNDS} times a full disk; acknowledged of sent: {counts}")
        finally:
            cluster.stop_master()


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
@pytest.mark.parametrize("inject", ["fdatasync,fsync:error=EIO:when=3+", "pwrite64:error=EIO:when=5+", "fdatasync,fsync:error=EIO:when=1+"])
def test_after_a_failed_write_or_sync_the_master_ends_rather_than_promise(new_cluster, inject):
    """Nobody knows what is on the disk after a sync has failed: only a new start, which reads it, can tell.

    From the n-th call on all fail: a single one may hit SQLite's copying of its log into the file, which is tried again and loses nothing.
    """
    seed = int(os.environ.get("DET_TEST_SEED", random.SystemRandom().randrange(1 << 30)))
    print(f"DET_TEST_SEED={seed}")
    cluster = new_cluster().start_master()
    cluster.login()
    load = Load(cluster)
    for _ in range(ROUNDS):
        before = load.done()
        wait_for("progress", lambda before=before: load.done() > before + 20)
        with failing(cluster.master.pid, inject):
            wait_for("the end of the master", lambda: cluster.master.poll() is not None)
        assert cluster.master.returncode == 75
        assert "store.lost" in cluster.master_log()
        cluster.master = None
        cluster.start_master()
    load.finish()
    print(f"\nfaults: {ROUNDS} times {inject}; acknowledged of sent: {load.check()}")
