"""Questions about what waits: long polls that are held, and a big store at the start of the master."""
import os
import resource
import socket
import subprocess
import time

from harness import Row, built, directory, question, running_master, settled_pss_mb
from support.cluster import Cluster, wait_for

POLLS, TLS_POLLS = 10000, 2000
# Of 10 million metric points and 10 GB of logs; 1 takes minutes and 20 GB of disk.
SCALE = float(os.environ.get("DET_BENCH_SCALE", "0.02"))


def running_allocation(cluster):
    cluster.start_agent(**({"security": {"tls": {"enabled": True, "skip_verify": True}}} if cluster.tls else {}))
    x = cluster.create(entrypoint=["sleep", "600"])
    [trial] = wait_for("the trial", lambda: cluster.trial_ids(x))
    task = cluster.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    [allocation] = wait_for("the allocation", lambda: cluster.get(f"/api/v1/tasks/{task}").json["task"]["allocations"])
    return allocation["allocationId"]


def hold(cluster, allocation, n):
    """Connections on which a long poll for preemption waits."""
    text = (f"GET /api/v1/allocations/{allocation}/signals/preemption?timeoutSeconds=600 HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: Bearer {cluster.token}\r\n\r\n").encode()
    made = []
    for _ in range(n):
        connection = socket.create_connection(("127.0.0.1", cluster.port))
        if cluster.tls:
            connection = cluster.tls.wrap_socket(connection)
        connection.sendall(text)
        made.append(connection)
    return made


def poll_kb(cluster, n):
    """Memory of the master for each; one poll before, so that the first's costs are not counted."""
    allocation = running_allocation(cluster)
    warm = hold(cluster, allocation, 1)
    before = settled_pss_mb(cluster.master.pid)
    held = hold(cluster, allocation, n)
    after = settled_pss_mb(cluster.master.pid)
    assert cluster.get("/health").status == 200
    for connection in warm + held:
        connection.close()
    return (after - before) * 1024 / n


@question
def long_polls():
    """What does a long poll cost that is held, 10,000 of them at once?"""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with running_master() as cluster:
        plain = poll_kb(cluster, POLLS)
    yield Row(f"a long poll that is held: memory (PSS), {POLLS:,} at once", [plain], "KiB", "≤ 10")
    with running_master(tls=True) as cluster:
        yield Row(f"… over TLS, {TLS_POLLS:,} at once", [poll_kb(cluster, TLS_POLLS)], "KiB", "≤ 40", "plain HTTP", [plain])


def start_ms(cluster):
    begin = time.perf_counter()
    cluster.start_master(wait=False)
    while True:
        try:
            with socket.create_connection(("127.0.0.1", cluster.port), timeout=1) as s:
                s.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
                if s.recv(100).startswith(b"HTTP/1.1 200"):
                    return (time.perf_counter() - begin) * 1000
        except OSError:
            time.sleep(0.0005)


def starts(cluster):
    times = []
    for _ in range(5):
        times.append(start_ms(cluster))
        cluster.stop_master()
    return times


def filled(cluster):
    points, megabytes = int(10e6 * SCALE), int(10000 * SCALE)
    (cluster.dir / "data").mkdir(mode=0o700)
    subprocess.run([built("store_fill"), cluster.dir / "data/determined.db", str(points), str(megabytes)], check=True)
    return f"{points:,} metric points and {megabytes:,} MB of logs"


@question
def big_store():
    """How long until /health answers, when the store is big? (DET_BENCH_SCALE=1: 10 million points, 10 GB of logs)"""
    with directory() as path, Cluster(path / "empty") as empty, Cluster(path / "full") as full:
        empty.start_master().stop_master()
        what = filled(full)
        yield Row(f"restart with {what}, until /health", starts(full), "ms", "≤ 100", "an empty store", starts(empty))
