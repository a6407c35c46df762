"""How long does a change take until subscribers of /stream have it? python bench/ask_updates.py [SUBSCRIBERS]

One process holds all connections and notes when each has its message; one more makes changes, one every half second. Printed are the 50th and
the 99th percentile, over all messages, of the time from the reply to the change to the message, and the master's CPU time for each message."""
import json
import pathlib
import resource
import select
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
from support.cluster import Cluster  # noqa: E402
from support.websocket import WebSocket  # noqa: E402

CHANGES = 10


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def connect(c, project):
    ws = WebSocket(f"ws://127.0.0.1:{c.port}/stream", {"Authorization": f"Bearer {c.token}"})
    ws.send(json.dumps({"sync_id": "1", "subscribe": {"projects": {"project_ids": [project]}}}))
    while not json.loads(ws.receive()).get("complete"):
        pass
    ws.sock.setblocking(False)
    return ws


def one_change(c, project, sockets, poll, i):
    """Returns the times from the request to each message."""
    began = time.perf_counter()
    reply = c.patch(f"/api/v1/projects/{project}", {"description": f"d{i}"})
    assert reply.status == 200, reply
    waiting, took = set(sockets), []
    while waiting:
        for number, _ in poll.poll(10000):
            now = time.perf_counter() - began
            with_data = sockets[number].sock.recv(65536)
            assert with_data, "a subscriber was cut off"
            if number in waiting:
                waiting.remove(number)
                took.append(now)
    return took


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    limit = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], n + 1000)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    with tempfile.TemporaryDirectory(prefix="ask-updates-") as directory, Cluster(pathlib.Path(directory)) as c:
        c.start_master()
        c.login("admin")
        workspace = c.post("/api/v1/workspaces", {"name": "w"}).json["workspace"]["id"]
        project = c.post(f"/api/v1/workspaces/{workspace}/projects", {"name": "p"}).json["project"]["id"]
        began = time.perf_counter()
        all_of_them = [connect(c, project) for _ in range(n)]
        print(f"{n} subscribers connected and brought up to date in {time.perf_counter() - began:.1f} s")
        sockets, poll = {ws.sock.fileno(): ws for ws in all_of_them}, select.epoll()
        for number in sockets:
            poll.register(number, select.EPOLLIN)
        took, cpu = [], cpu_s(c.master.pid)
        for i in range(CHANGES):
            took += one_change(c, project, sockets, poll, i)
        took.sort()
        print(f"request to message: p50 {took[len(took) // 2] * 1000:.1f} ms, p99 {took[len(took) * 99 // 100] * 1000:.1f} ms;"
              f" CPU of the master {(cpu_s(c.master.pid) - cpu) / len(took) * 1e6:.1f} us a message")


main()
