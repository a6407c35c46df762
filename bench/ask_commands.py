"""Questions about commands: launching many, killing all of them, and from the request to the end of short ones."""
import socket
import time

from ask_api import credentials, write_script
from harness import Row, fsync_ms, question, running_master, wrk
from support.cluster import wait_for

CONNECTIONS = 16
COMMAND = {"config": {"entrypoint": ["true"], "resources": {"slots": 0}}}


def total(cluster):
    return cluster.get("/api/v1/commands?limit=1").json["pagination"]["total"]


def active(cluster):
    return cluster.get("/api/v1/tasks/count").json["commands"]


def launch(cluster, n):
    return [cluster.post("/api/v1/commands", COMMAND).json["command"]["id"] for _ in range(n)]


def kill_all(cluster, ids):
    """Seconds until all are killed, by requests that follow one another on each of some connections."""
    def request(made):
        return (f"POST /api/v1/commands/{made}/kill HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {cluster.token}\r\n"
                "Content-Length: 0\r\n\r\n").encode()

    def answers(connection, n):
        text = b""
        while text.count(b"HTTP/1.1 200") < n:
            text += connection.recv(1 << 20)
    parts = [ids[i::CONNECTIONS] for i in range(CONNECTIONS)]
    connections = [socket.create_connection(("127.0.0.1", cluster.port)) for _ in parts]
    began = time.perf_counter()
    for connection, part in zip(connections, parts):
        connection.sendall(b"".join(map(request, part)))
    for connection, part in zip(connections, parts):
        answers(connection, len(part))
        connection.close()
    return time.perf_counter() - began


@question
def commands():
    """How many commands without slots can be launched by 32 clients, and how long does it take to kill 500?"""
    with running_master() as cluster:
        script = write_script(cluster.dir / "launch.lua", COMMAND)
        disk = [1000 / t for t in fsync_ms(cluster.dir)]
        loads = [wrk(cluster.url + "/api/v1/commands", 32, 2, credentials(cluster), script) for _ in range(3)]
        yield Row("commands without slots launched, 32 clients", [load.per_s for load in loads], "/s", "≥ 1000",
                  "fsyncs of the disk", disk)
        yield Row("… p99", [load.p99_ms for load in loads], "ms")
        yield Row("… the last 2 s of them, with as many waiting", [loads[-1].per_s], "/s", "", "the first 2 s", [loads[0].per_s])
    times = []
    for _ in range(3):
        with running_master() as cluster:
            times.append(kill_all(cluster, launch(cluster, 500)))
            assert active(cluster) == 0
    yield Row("500 waiting commands killed, 16 connections", times, "s", "≤ 0.2")


@question
def short_commands():
    """How long do 40 commands `true` take on one agent, from the first request to the end of the last one?"""
    with running_master() as cluster:
        cluster.start_agent(slots=1)
        times = []
        for _ in range(3):
            began = time.perf_counter()
            launch(cluster, 40)
            wait_for("the end of all commands", lambda: active(cluster) == 0)
            times.append(time.perf_counter() - began)
        yield Row("40 commands `true`, until the last one has ended", times, "s", "≤ 1")
