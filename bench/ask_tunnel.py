"""Questions about connections to ports of tasks: how much goes through, what else waits meanwhile, what an idle one takes.

Master, agent, task and client share the cores of this machine. The task pours with sendfile() and the client discards in the kernel, so
that the cost is the master's and the agent's; the reference is the same pouring over one plain connection to the task's port.
"""
import contextlib
import http.client
import json
import os
import signal
import socket
import time

from harness import Row, cpu_ms, directory, question, settled_pss_mb
from support.cluster import Cluster, wait_for
from support.ports import free_port
from support.streams import Client, configuration, port_of

GIGABYTES = 2
RUNS = 5
IDLE = 1000
LINES = 400

# "pour N": N MiB from the kernel. "drain N": N MiB are taken and thrown away, then one byte comes. "tick N": N lines with their time.
SERVER = """
import os, socket, sys, threading, time
source = os.memfd_create("source")
os.ftruncate(source, 1 << 20)

def serve(c):
    with c:
        while data := c.recv(64):
            word, n = data.split()
            if word == b"pour":
                for _ in range(int(n)):
                    at = 0
                    while at < 1 << 20:
                        at += os.sendfile(c.fileno(), source, at, (1 << 20) - at)
            elif word == b"drain":
                left = int(n) << 20
                c.sendall(b".")
                while left > 0:
                    left -= c.recv_into(sink, min(left, 1 << 20), socket.MSG_TRUNC)
                c.sendall(b".")
            else:
                for _ in range(int(n)):
                    print(f"tick {time.time_ns()}", flush=True)
                    time.sleep(0.01)

sink = bytearray(1 << 20)
s = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=4096)
print("serving", flush=True)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
"""


@contextlib.contextmanager
def served(route):
    with directory() as path, Cluster(path, config={"task_streams": {"route": route, "per_task": 4096}}) as c:
        c.start_master()
        c.start_agent()
        c.login()
        port = free_port()
        x = c.create(files={"server.py": SERVER}, config=configuration(c, port))
        [trial] = c.trial_ids(x)
        wait_for("the trial's server", lambda: "serving" in c.trial_log(trial))
        yield c, trial, port_of(c, trial, port), port
        c.post(f"/api/v1/experiments/{x}/kill")
        c.wait_experiment(x)


def discard(sock, n):
    """Takes n bytes from a connection, without copying them (tcp(7), MSG_TRUNC)."""
    none = bytearray(1 << 20)
    while n > 0:
        got = sock.recv_into(none, min(n, 1 << 20), socket.MSG_TRUNC)
        if got == 0:
            raise RuntimeError("the connection ended early")
        n -= got


def poured(sock, send):
    """Gigabytes a second from the task to us. The frames' heads, ten bytes for 32 KiB or more, are left uncounted."""
    begin = time.monotonic()
    send(b"pour %d" % (GIGABYTES << 10))
    discard(sock, GIGABYTES << 30)
    return GIGABYTES * 1.073741824 / (time.monotonic() - begin)


def pour(cluster, service):
    with Client(cluster, service) as c:
        return poured(c.sock, c.send)


def pour_plain(port):
    with socket.create_connection(("127.0.0.1", port)) as s:
        return poured(s, s.sendall)


@contextlib.contextmanager
def filled(cluster, service):
    """Keeps the way from the task busy, from a process of its own."""
    pid = os.fork()
    if pid == 0:
        try:
            with Client(cluster, service) as c:
                c.send(b"pour 10000000")
                discard(c.sock, 10000000 << 20)
        finally:
            os._exit(0)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def log_lags_ms(cluster, trial, service):
    """How late lines of the task's log reach a follower: they go through the same link."""
    connection = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=60)
    connection.request("GET", f"/api/v1/trials/{trial}/logs?follow=true", headers={"Authorization": f"Bearer {cluster.token}"})
    reply = connection.getresponse()
    lags = []
    with Client(cluster, service) as c:
        c.send(b"tick %d" % LINES)
        start_ns = time.time_ns()
        for line in reply:
            words = json.loads(line)["result"]["log"].split()
            if words[:1] == ["tick"] and int(words[1]) >= start_ns:
                lags.append((time.time_ns() - int(words[1])) / 1e6)
                if len(lags) == LINES:
                    break
    connection.close()
    return lags


def p99(values):
    return sorted(values)[int(len(values) * 0.99) - 1]


def idle_kb(cluster, service):
    """Memory of master and agent for each connection that rests, the first thousand (which grow the heap) not counted."""
    agent = cluster.agents["agent0"]
    warm = [Client(cluster, service) for _ in range(IDLE)]
    before = [settled_pss_mb(p.pid) for p in (cluster.master, agent)]
    more = [Client(cluster, service) for _ in range(IDLE)]
    after = [settled_pss_mb(p.pid) for p in (cluster.master, agent)]
    for c in warm + more:
        c.sock.close()
    return [(a - b) * 1024 / IDLE for a, b in zip(after, before)]


@question
def tunnel():
    """How much goes through to ports of tasks, and what does an idle connection take?"""
    with served("direct") as (cluster, _, service, port):
        direct, plain = [], []
        for _ in range(RUNS):
            plain.append(pour_plain(port))
            direct.append(pour(cluster, service))
        yield Row("streams: from a task's port to a client, direct", direct, "GB/s", "≥ 1", "one plain connection", plain)
    with served("tunnel") as (cluster, trial, service, port):
        cpu = cpu_ms(cluster.master.pid), cpu_ms(cluster.agents["agent0"].pid)
        through = [pour(cluster, service) for _ in range(RUNS)]
        spent = [(cpu_ms(p.pid) - before) / RUNS / GIGABYTES for p, before in
                 zip((cluster.master, cluster.agents["agent0"]), cpu)]
        yield Row("streams: … through the agent's link", through, "GB/s", "≥ 0.5", "one plain connection", plain)
        yield Row("streams: CPU of the master for a gigabyte through the link", [spent[0]], "ms")
        yield Row("streams: … of the agent", [spent[1]], "ms")
        quiet = log_lags_ms(cluster, trial, service)
        with filled(cluster, service):
            lags = log_lags_ms(cluster, trial, service)
        yield Row("streams: lag of a followed log line while the link is full, p99", [p99(lags)], "ms", "≤ 20", "while it rests", [p99(quiet)])
        master, agent = idle_kb(cluster, service)
        yield Row("streams: memory (PSS) of the master for an idle WebSocket to a task", [master], "KiB", "≤ 20")
        yield Row("streams: … of the agent", [agent], "KiB", "≤ 20")
