"""A master for agents, and an agent for it. The master takes agents' WebSockets, acknowledges their messages or does not, and serves the
routes that agents ask for.

Everything that an agent sends is put into lists that tests read under `lock`.
"""

import base64
import hashlib
import io
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import tarfile
import threading
import urllib.parse
import uuid

from support.fake_master.server import FakeMaster, Refusal
from support.ports import free_port
from support.waiting import TIMEOUT_S

BUILD = pathlib.Path(os.environ.get("DET_BUILD", pathlib.Path(__file__).parents[3] / "build"))
TOKEN = "secret-of-the-agents"
OWNER = 7  # the number, on the platform, of the user who owns the tasks


def tgz(files):
    """Makes a context of {"name": "text"}, or of ready-made tarfile.TarInfo objects with their data."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in files.items():
            info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            data = b"" if isinstance(content, tarfile.TarInfo) else content.encode()
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


class Connection:
    def __init__(self, master, sock, rfile, query):
        self.master, self.sock, self.rfile, self.query = master, sock, rfile, query
        self.lock = threading.Lock()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send_frame(self, opcode, data):
        n = len(data)
        head = bytes([0x80 | opcode]) + (
            bytes([n]) if n < 126 else struct.pack(">BH", 126, n) if n < 65536 else struct.pack(">BQ", 127, n))
        with self.lock:
            self.sock.sendall(head + data)

    def send(self, **body):
        body.setdefault("epoch", str(self.master.epoch))
        self.send_frame(1, json.dumps(body).encode())

    def read_exactly(self, n):
        data = self.rfile.read(n)
        if len(data) < n:
            raise ConnectionError
        return data

    def messages(self):
        parts = b""
        while True:
            a, b = self.read_exactly(2)
            n = b & 0x7F
            if n == 126:
                (n,) = struct.unpack(">H", self.read_exactly(2))
            elif n == 127:
                (n,) = struct.unpack(">Q", self.read_exactly(8))
            mask = self.read_exactly(4)
            raw = self.read_exactly(n)
            data = (int.from_bytes(raw, "big") ^ int.from_bytes((mask * (n // 4 + 1))[:n], "big")).to_bytes(n, "big")
            opcode = a & 0x0F
            if opcode == 8:
                self.master.note("closes", data[2:].decode(errors="replace"))
                self.send_frame(8, data)
                return
            if opcode == 9:
                self.send_frame(10, data)
            if opcode in (0, 1, 2):
                parts += data
                if a & 0x80 and opcode == 2:
                    self.master.note("frames", parts)
                elif a & 0x80:
                    yield json.loads(parts)
                if a & 0x80:
                    parts = b""

    def serve(self):
        master = self.master
        try:
            for m in self.messages():
                master.take(self, m)
        except (OSError, ConnectionError, ValueError):
            pass
        with master.lock:
            if master.connection is self:
                master.connection = None
            master.lock.notify_all()


class Master(FakeMaster):
    def __init__(self):
        self.epoch, self.cluster = 1, "cluster-" + uuid.uuid4().hex[:8]
        self.context, self.rendezvous, self.broken_requests = tgz({}), None, 0
        self.context_may_go = threading.Event()  # while it is cleared, a request for a context waits for its answer
        self.context_may_go.set()
        self.ack_logs = self.ack_states = True
        self.connection, self.hellos, self.requests, self.posts, self.states, self.devices = None, [], [], [], [], []
        self.uses = []      # what agents have told of the use of slots, one entry a message: {container id: TaskUse}
        self.frames = []    # binary messages: frames of byte streams (support/streams.py)
        self.closes = []    # the reasons with which agents have closed their connections
        self.lines = {}     # container id → {number: line}
        self.twice = []     # numbers of lines that were sent again although they had been acknowledged
        self.expected = {}  # container id → StartTask
        self.done = {}      # container id → its last TERMINATED
        self.log_bytes = 0
        # The port is one that no other program takes while a test has the master closed.
        super().__init__(free_port())

    def close(self):
        super().close()
        self.drop()

    def answer(self, exchange):
        url = urllib.parse.urlparse(exchange.path)
        if exchange.command != "GET":
            self.note("posts", (exchange.path, json.loads(exchange.text)))
            return exchange.reply({})
        self.note("requests", (exchange.path, exchange.headers.get("Authorization")))
        if url.path == "/agents":
            return self.take_agent(exchange, dict(urllib.parse.parse_qsl(url.query)))
        if re.fullmatch(r"/api/v1/tasks/[^/]+/context_directory", url.path):
            self.context_may_go.wait()
            if self.broken_requests > 0:
                self.broken_requests -= 1
                raise Refusal(503, "later")
            return exchange.reply({"b64Tgz": base64.b64encode(self.context).decode()})
        if url.path.endswith("/rendezvous"):
            return exchange.reply({"rendezvousInfo": self.rendezvous})
        raise Refusal(404, "no such route")

    def take_agent(self, exchange, query):
        """Turns the connection into a WebSocket, which stays until the agent closes it."""
        if exchange.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Refusal(401, "invalid agent token")
        key = exchange.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        exchange.send_response(101)
        exchange.send_header("Upgrade", "websocket")
        exchange.send_header("Connection", "Upgrade")
        exchange.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        exchange.end_headers()
        exchange.close_connection = True
        Connection(self, exchange.connection, exchange.rfile, query).serve()

    def drop(self):
        connection = self.connection
        if connection:
            connection.sock.shutdown(socket.SHUT_RDWR)

    def note(self, name, value):
        with self.lock:
            getattr(self, name).append(value)
            self.lock.notify_all()

    def stored(self, container):
        """Returns the number of the newest line before the first gap."""
        n = 0
        while n + 1 in self.lines.get(container, {}):
            n += 1
        return n

    def take(self, connection, m):
        with self.lock:
            if connection is not self.connection and not m.get("hello"):
                return  # a real master drops this line, too: the agent has been killed, and its successor was told before what is stored
            if m.get("hello"):
                self.hellos.append((connection.query, m["hello"]))
                expected = [{"containerId": c, "logsSeq": str(self.stored(c))} for c in self.expected if c not in self.done]
                connection.send(hello={"protocol": 1, "masterId": "m-1", "clusterId": self.cluster, "clusterName": "",
                                       "version": "0", "expected": expected})
                self.connection = connection
            elif m.get("state"):
                self.take_state(connection, m["state"])
            elif m.get("logs"):
                self.take_logs(connection, m["logs"])
            elif m.get("devices"):
                self.devices.append(m["devices"])
            elif m.get("use"):
                self.uses.append({u["containerId"]: u for u in m["use"]["tasks"]})
            self.lock.notify_all()

    def take_state(self, connection, state):
        self.states.append(state)
        if state["state"] == "STATE_TERMINATED" and self.ack_states:
            self.done[state["containerId"]] = state
            connection.send(stateAck={"containerId": state["containerId"], "state": "STATE_TERMINATED"})

    def take_logs(self, connection, logs):
        container, first = logs["containerId"], int(logs["firstSeq"])
        stored = self.lines.setdefault(container, {})
        for i, line in enumerate(logs["lines"]):
            if first + i in stored and self.ack_logs:
                self.twice.append(first + i)
            stored[first + i] = line
            self.log_bytes += len(line["log"])
        if self.ack_logs:
            connection.send(logsAck={"containerId": container, "seq": str(first + len(logs["lines"]) - 1)})

    def wait(self, condition, timeout=TIMEOUT_S):
        """Waits for a condition without polling: everything that an agent sends wakes it."""
        with self.lock:
            assert self.lock.wait_for(condition, timeout), "the agent did not say it in time"

    def wait_agent(self, n=1):
        self.wait(lambda: len(self.hellos) >= n and self.connection)

    def start(self, argv, container=None, **more):
        container = container or str(uuid.uuid4())
        order = {"containerId": container, "allocationId": "1.task.0", "taskId": "1.task", "taskType": "TASK_TYPE_COMMAND",
                 "deviceIds": [0], "argv": argv, "fetchContext": True, "workDir": "", "user": {"ownerId": OWNER, "owner": "somebody"},
                 "env": ["DET_TASK_ID=1.task", "DET_ALLOCATION_ID=1.task.0", "DET_SESSION_TOKEN=session", "DET_TASK_TYPE=COMMAND"]}
        if "more_container" in more:  # StartTask's field has the name of the first argument
            order["container"] = more.pop("more_container")
        order.update(more)
        order["env"] = order["env"] + more.pop("more_env", [])
        self.expected[container] = order
        self.connection.send(start=order)
        return container

    def signal(self, container, signo):
        self.connection.send(signal={"containerId": container, "signal": int(signo)})

    def finish(self, container, timeout=TIMEOUT_S):
        self.wait(lambda: container in self.done, timeout)
        return self.done[container]["exit"]

    def text(self, container, stdtype=None):
        lines = self.lines.get(container, {})
        return "".join(lines[n]["log"] for n in sorted(lines) if stdtype in (None, lines[n]["stdtype"]))

    def states_of(self, container):
        return [s["state"] for s in self.states if s["containerId"] == container]


class Agent:
    """A determined-agent with a run_root of its own."""

    def __init__(self, master, directory, **keys):
        self.root = pathlib.Path(directory)
        self.keys = {"master_host": "127.0.0.1", "master_port": master.port, "agent_id": "a1", "token": TOKEN,
                     "run_root": str(self.root / "tasks"), **keys}
        self.process = None
        self.environment, self.prefix = {}, []  # further variables, and words of a program that executes the agent

    def start(self):
        self.root.mkdir(exist_ok=True)
        config = self.root / "agent.yaml"
        config.write_text(json.dumps(self.keys))
        self.log = open(self.root / "agent.log", "a")
        self.process = subprocess.Popen([*self.prefix, BUILD / "determined-agent", "run", "--config-file", config], stderr=self.log,
                                        env={**os.environ, **self.environment})
        return self

    def kill(self, signo=signal.SIGKILL):
        self.process.send_signal(signo)
        self.process.wait(60)
        return self.process.returncode

    def log_text(self):
        return (self.root / "agent.log").read_text()

    def task_dirs(self):
        return [d for d in (self.root / "tasks").iterdir() if d.is_dir()]
