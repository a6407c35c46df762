"""Questions about /proxy/: what it adds to a request to a task, how much it carries, and what an idle WebSocket costs.

The trial's server is Python, and so is the client; both share the cores with the master. So the same client asks the server without the
master, too: that is the reference of each row.
"""
import json
import resource
import socket
import statistics
import time

from harness import Row, cpu_ms, question, running_master, settled_pss_mb
from support.cluster import wait_for
from support.ports import free_port

ROUNDS, REQUESTS, GIGABYTE, SOCKETS = 3, 400, 1 << 30, 1000

SERVER = r'''
import os, socket, sys, threading

BLOCK = os.urandom(1 << 20)

def serve(c):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = b""
    while b"\r\n\r\n" not in data:
        piece = c.recv(65536)
        if not piece:
            return
        data += piece
    path = data.split(b" ")[1]
    if path.endswith(b"/small"):
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    elif path.endswith(b"/download"):
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (1 << 30))
        for _ in range(1 << 10):
            c.sendall(BLOCK)
    elif path.endswith(b"/upload"):
        left, room = (1 << 30) - len(data.split(b"\r\n\r\n", 1)[1]), bytearray(1 << 20)
        while left:
            left -= c.recv_into(room)
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    else:
        c.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        c.recv(1)
    c.close()

s = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1024)
threading.stack_size(1 << 16)
print("serving", flush=True)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
'''


class Way:
    """A way to the server: through the master, or without it."""

    def __init__(self, port, prefix, token):
        self.port, self.prefix, self.token = port, prefix, token

    def connect(self):
        c = socket.create_connection(("127.0.0.1", self.port))
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return c

    def head(self, what, method="GET", more=""):
        return f"{method} {self.prefix}/{what} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n{more}\r\n".encode()

    def small_ms(self):
        """The median of requests with a connection each, as the master makes them to the task."""
        took, head = [], self.head("small")
        for _ in range(REQUESTS):
            begin = time.perf_counter()
            with self.connect() as c:
                c.sendall(head)
                assert c.recv(4096).startswith(b"HTTP/1.1 200")
            took.append((time.perf_counter() - begin) * 1000)
        return statistics.median(took)

    def download_mb_s(self):
        room, got = bytearray(1 << 20), 0
        with self.connect() as c:
            begin = time.perf_counter()
            c.sendall(self.head("download"))
            while got < GIGABYTE:
                n = c.recv_into(room)
                assert n, "the download broke off"
                got += n
            return GIGABYTE / (time.perf_counter() - begin) / 1e6

    def upload_mb_s(self):
        block = bytes(1 << 20)
        with self.connect() as c:
            begin = time.perf_counter()
            c.sendall(self.head("upload", "POST", f"Content-Length: {GIGABYTE}\r\n"))
            for _ in range(1 << 10):
                c.sendall(block)
            assert c.recv(4096).startswith(b"HTTP/1.1 200")
            return GIGABYTE / (time.perf_counter() - begin) / 1e6

    def websockets(self, n):
        upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        made = []
        for _ in range(n):
            c = self.connect()
            c.sendall(self.head("socket", more=upgrade))
            assert c.recv(4096).startswith(b"HTTP/1.1 101")
            made.append(c)
        return made


def start_server(cluster):
    port = free_port()
    config = cluster.experiment_config(entrypoint=f"python3 server.py {port}", environment={"proxy_ports": [{"proxy_port": port}]})
    config["resources"]["slots_per_trial"] = 0
    experiment = cluster.create({"server.py": SERVER}, config=config)
    [trial] = cluster.trial_ids(experiment)
    wait_for("the server", lambda: "serving" in cluster.trial_log(trial))
    task = cluster.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    return Way(cluster.port, f"/proxy/{task}:{port}", cluster.token), Way(port, "", "-")


def idle_kib(cluster, way):
    """Memory of the master for each WebSocket over which nothing passes; those before have made the heap grow."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    warm = way.websockets(10)
    before = settled_pss_mb(cluster.master.pid)
    more = way.websockets(SOCKETS)
    kib = (settled_pss_mb(cluster.master.pid) - before) * 1024 / SOCKETS
    for c in warm + more:
        c.close()
    return kib


def compared(cluster, what, target, way, direct, measure):
    """Both ways in turns; and the CPU that a GiB takes of master and agent, which the load of the machine changes little."""
    through, without, spent = [], [], []
    pids = cluster.master.pid, cluster.agents["agent0"].pid
    for _ in range(ROUNDS):
        before = [cpu_ms(pid) for pid in pids]
        through.append(measure(way))
        spent.append([cpu_ms(pid) - b for pid, b in zip(pids, before, strict=True)])
        without.append(measure(direct))
    yield Row(what, through, "MB/s", target, "without the master", without)
    yield Row("… CPU of the master", [master for master, _ in spent], "ms")
    yield Row("… CPU of the agent", [agent for _, agent in spent], "ms")


@question
def proxy():
    """What does a request to a port of a task cost through the master, directly and through the agent's connection?"""
    for route in ("direct", "tunnel"):
        with running_master() as cluster:
            cluster.stop_master()
            cluster.config["task_streams"] = {"route": route}
            cluster.start_master()
            cluster.login()
            cluster.start_agent()
            way, direct = start_server(cluster)
            through, without = [way.small_ms() for _ in range(ROUNDS)], [direct.small_ms() for _ in range(ROUNDS)]
            added = [a - b for a, b in zip(through, without, strict=True)]
            yield Row(f"proxy ({route}): added to a small request, p50", added, "ms", "≤ 0.3", "the whole request", through)
            target = "≥ 1000" if route == "direct" else "≥ 500"
            yield from compared(cluster, f"proxy ({route}): 1 GiB downloaded", target, way, direct, Way.download_mb_s)
            yield from compared(cluster, f"proxy ({route}): 1 GiB uploaded", target, way, direct, Way.upload_mb_s)
            if route == "tunnel":
                yield Row("proxy: memory (PSS) of an idle WebSocket, of 1,000", [idle_kib(cluster, way)], "KiB", "≤ 20")
            assert json.loads(cluster.get("/health").body)
