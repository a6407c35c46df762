"""A question about /stream: how long a change takes until all its subscribers have it.

One process holds all connections and notes when each has its message; it also makes the changes, one after another. Measured is the time from the
request of a change to each message, over all messages, and the master's CPU time for a message.
"""
import json
import resource
import select
import time

from harness import Row, cpu_ms, question, running_master
from support.websocket import WebSocket

SUBSCRIBERS, CHANGES = 5000, 10


def connect(c, project):
    ws = WebSocket(f"ws://127.0.0.1:{c.port}/stream", {"Authorization": f"Bearer {c.token}"})
    ws.send(json.dumps({"sync_id": "1", "subscribe": {"projects": {"project_ids": [project]}}}))
    while not json.loads(ws.receive()).get("complete"):
        pass
    ws.sock.setblocking(False)
    return ws


def one_change(c, project, sockets, poll, i):
    """Returns the times from the request to each message, in seconds."""
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


@question
def updates():
    """How long does a change take until 5,000 subscribers of /stream have it?"""
    limit = SUBSCRIBERS + 1000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, limit), hard), hard))
    with running_master() as c:
        c.login("admin")
        workspace = c.post("/api/v1/workspaces", {"name": "w"}).json["workspace"]["id"]
        project = c.post(f"/api/v1/workspaces/{workspace}/projects", {"name": "p"}).json["project"]["id"]
        began = time.perf_counter()
        sockets, poll, took = {}, select.epoll(), []
        for _ in range(SUBSCRIBERS):
            ws = connect(c, project)
            sockets[ws.sock.fileno()] = ws
            poll.register(ws.sock, select.EPOLLIN)
        connected_s = time.perf_counter() - began
        cpu = cpu_ms(c.master.pid)
        for i in range(CHANGES):
            took += one_change(c, project, sockets, poll, i)
        cpu = cpu_ms(c.master.pid) - cpu
        for ws in sockets.values():
            ws.sock.close()
    took.sort()
    yield Row("event to client, 5,000 subscribers, p50", [took[len(took) // 2] * 1000], "ms")
    yield Row("event to client, 5,000 subscribers, p99", [took[len(took) * 99 // 100] * 1000], "ms", "≤ 100")
    yield Row("CPU of the master for a message", [cpu / len(took) * 1000], "us")
    yield Row("5,000 subscribers connect and are brought up to date", [connected_s], "s")
