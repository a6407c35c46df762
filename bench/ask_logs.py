"""Questions about task logs: lines in, by POST and over agents' connections; lines out; searching; what they take on disk.

bench/log_load.c is the client, and says what the text is.
"""
import contextlib
import re
import socket
import subprocess
import time

from harness import Row, built, cpu_ms, directory, question
from support import postgres
from support.cluster import Cluster, wait_for

CLIENTS = 4
LINES = 1_000_000
MANY = 10_000_000
# A server clears up what is dead once a minute. Here the lines of a quarter of an hour come in as many seconds.
VACUUMED = {"autovacuum": "on", "autovacuum_naptime": "1s", "autovacuum_vacuum_cost_delay": "0"}
ENGINES = {"SQLite": "sqlite", "PostgreSQL": "postgres"}


@contextlib.contextmanager
def master_on(engine):
    """A master whose commits are on disk before they are answered, on either engine."""
    with contextlib.ExitStack() as stack:
        config, server = {}, None
        if engine == "postgres":
            server = postgres.Server(fsync="on", full_page_writes="on", shared_buffers="128MB", max_wal_size="4GB", **VACUUMED)
            config = {"db": stack.enter_context(server).new_database()}
        cluster = stack.enter_context(Cluster(stack.enter_context(directory()), config=config))
        cluster.start_master()
        cluster.login()
        cluster.server = server
        yield cluster


def engines():
    return [(name, engine) for name, engine in ENGINES.items() if engine == "sqlite" or postgres.is_installed()]


def a_task(cluster):
    experiment = cluster.create({"train.py": "print(1)\n"}, activate=False)
    [trial] = cluster.trial_ids(experiment)
    return cluster.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]


def load(cluster, kind, task, lines, *more):
    """Lines a second."""
    token = cluster.token if kind == "post" else (cluster.dir / "data" / "agent.token").read_text().strip()
    text = subprocess.run([built("log_load"), kind, str(cluster.port), token, task, str(lines), str(CLIENTS), *more], check=True,
                          capture_output=True, text=True).stdout
    return float(re.search(r"([\d.]+) /s", text).group(1))


def with_cpu(cluster, lines, times, function):
    """What `function` gives, so many times, and the master's µs of CPU a line: that much does not depend on who else is here."""
    results, costs = [], []
    for i in range(times):
        before = cpu_ms(cluster.master.pid)
        results.append(function(i))
        costs.append((cpu_ms(cluster.master.pid) - before) * 1000 / lines)
    return results, costs


def bare(lines):
    """The text alone: bytes, MB/s written and synced, packed, unpacked."""
    with directory() as path:
        text = subprocess.run([built("log_load"), "write", str(path / "text"), str(lines)], check=True, capture_output=True,
                              text=True).stdout
    return {what: float(number) for what, number in re.findall(r"^(\S.*?)\s{2,}([\d.]+) \S+$", text, re.MULTILINE)}


def read(cluster, path):
    """(lines, seconds) of a stream, read as fast as it comes."""
    begin, lines, part = time.perf_counter(), 0, bytearray(1 << 20)
    with socket.create_connection(("127.0.0.1", cluster.port)) as s:
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {cluster.token}\r\nConnection: close\r\n\r\n".encode())
        while n := s.recv_into(part):
            lines += part.count(b"\n", 0, n)
    return lines, time.perf_counter() - begin


def wait_sealed(cluster):
    wait_for("the heads to be sealed", lambda: cluster.metric("det_log_unsealed_bytes") < 1 << 20, 600)


@question
def log_lines():
    """How many lines of a task's log a second, in batches of 1,000 by four clients, durable before the answer, and back?"""
    for name, engine in engines():
        written = [bare(LINES)["written and synced"] * 1e6 / 100 for _ in range(3)]
        with master_on(engine) as cluster:
            task = a_task(cluster)
            posted, cost = with_cpu(cluster, LINES, 3, lambda _: load(cluster, "post", task, LINES))  # noqa: B023
            yield Row(f"log lines in by POST, {name}", posted, "/s", "≥ 300000", "100 bytes a line, written and synced", written)
            yield Row("… CPU of the master a line", cost, "µs")
            relayed, cost = with_cpu(cluster, LINES, 3, lambda i: load(cluster, "agent", f"task-{i}", LINES))  # noqa: B023
            yield Row(f"log lines in over agents' connections, {name}", relayed, "/s", "≥ 300000")
            yield Row("… CPU of the master a line", cost, "µs")
            wait_sealed(cluster)
            back, cost = with_cpu(cluster, LINES, 3, lambda _: read(cluster, f"/api/v1/tasks/{task}/logs?limit={LINES}"))  # noqa: B023
            yield Row(f"log lines read back, {name}", [lines / seconds for lines, seconds in back], "/s", "≥ 500000")
            yield Row("… CPU of the master a line", cost, "µs")


def disk_of(cluster):
    """Bytes of the store, of PostgreSQL's with the room that sealed heads have left for the next ones."""
    if cluster.server:
        return int(cluster.server.sql(f"SELECT pg_database_size('{cluster.config['db']['name']}')"))
    return sum((cluster.dir / "data" / f"determined.db{suffix}").stat().st_size for suffix in ("", "-wal"))


@question
def log_volume():
    """What do ten million lines take on disk, and how long does it take to search them, on both engines?"""
    text = bare(MANY)
    for name, engine in engines():
        yield from ask_volume(name, engine, text)


def ask_volume(name, engine, text):
    with master_on(engine) as cluster:
        task = a_task(cluster)
        load(cluster, "post", task, MANY, "fresh")
        wait_sealed(cluster)
        gigabytes = text["text"] / 1e9
        yield Row(f"ten million log lines on disk, of their text, {name}", [100 * disk_of(cluster) / text["text"]], "%", "≤ 10",
                  "zstd alone", [100 / text["packed to a part of"]])
        unpacked = [1000 / text["unpacked"]]
        for what, query in (("a text that is nowhere", "CUDA%20out%20of%20memory"), ("a number that is nowhere", "step%2099999999"),
                            ("a rare text", "shard%2000317%20read%20in%202.71")):
            found = [read(cluster, f"/api/v1/tasks/{task}/logs?searchText={query}") for _ in range(3)]
            yield Row(f"1 GB of one task's log searched for {what}, {name}", [seconds / gigabytes for _, seconds in found], "s", "≤ 1",
                      "zstd unpacking it", unpacked)
        for what, pattern in (("that holds a text", "loss%20%5B6-9%5D.*samples/z"), ("that holds one of two", "%5E.*(exception%7Caborted)"),
                              ("that holds none", "%5B0-9%5D%7B9%7D")):
            found = [read(cluster, f"/api/v1/tasks/{task}/logs?searchText={pattern}&enableRegex=true") for _ in range(3)]
            seconds = [took / gigabytes for _, took in found]
            yield Row(f"… by a regular expression {what}", seconds, "s", "≤ 1", "zstd unpacking it", unpacked)
