"""An agent in a few lines of Python, which sends whatever a test wants: the client's side of the WebSocket of contract/link.json."""
import base64
import contextlib
import json
import os
import re
import socket
import struct
import time
import urllib.parse


class Refused(Exception):
    """The master did not accept the connection, or has closed it."""


class HostileAgent:
    def __init__(self, cluster, agent_id="evil", token=None, pool="default", tls=None):
        self.cluster, self.agent_id, self.pool, self.epoch = cluster, agent_id, pool, 0
        self.token = token or (cluster.dir / "data/agent.token").read_text().strip()
        self.data = b""
        self.sock = socket.create_connection(("127.0.0.1", cluster.port), timeout=30)
        if tls:  # an ssl.SSLContext
            self.sock = tls.wrap_socket(self.sock)
        query = urllib.parse.urlencode({"id": agent_id, "version": "0.1.0", "resource_pool": pool, "hostname": "evil.example"})
        self.sock.sendall((f"GET /agents?{query} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           f"Authorization: Bearer {self.token}\r\nSec-WebSocket-Version: 13\r\n"
                           f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.data:
            self._more()
        head, self.data = self.data.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            size = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
            while size and len(self.data) < int(size[1]):
                self._more()
            raise Refused(f"{head.splitlines()[0].decode()} {self.data.decode()}")

    def _more(self):
        part = self.sock.recv(65536)
        if not part:
            raise Refused("the connection was closed")
        self.data += part

    def send(self, **body):
        """Sends one message: hello=…, state=… or another one."""
        return self.send_message(1, json.dumps({"epoch": str(self.epoch), **body}).encode())

    def send_message(self, opcode, data):
        n = len(data)
        head = bytes([0x80 | opcode]) + (bytes([0x80 | n]) if n < 126 else struct.pack(">BH", 0x80 | 126, n) if n < 65536
                          else struct.pack(">BQ", 0x80 | 127, n))
        self.sock.sendall(head + b"\0\0\0\0" + data)
        return self

    def hello(self, devices=1, **more):
        if isinstance(devices, int):
            devices = [{"id": i, "brand": "b", "uuid": f"u{i}", "type": "TYPE_CPU"} for i in range(devices)]
        self.send(hello={"protocol": 1, "agentId": self.agent_id, "version": "0.1.0", "resourcePool": self.pool,
                         "hostname": "evil.example", "tasks": [], "devices": devices, **more})
        return self

    def frame(self):
        """Returns (opcode, data) of the next frame."""
        while True:
            if len(self.data) >= 2:
                n, at = self.data[1] & 0x7F, 2
                if n == 126 and len(self.data) >= 4:
                    n, at = struct.unpack(">H", self.data[2:4])[0], 4
                elif n == 127 and len(self.data) >= 10:
                    n, at = struct.unpack(">Q", self.data[2:10])[0], 10
                elif n > 125:
                    n = None
                if n is not None and len(self.data) >= at + n:
                    frame = self.data[0] & 0x0F, self.data[at:at + n]
                    self.data = self.data[at + n:]
                    return frame
            self._more()

    def hear_binary(self):
        """Returns the next binary message of the master: a frame of a byte stream (support/streams.py)."""
        while True:
            opcode, data = self.frame()
            if opcode == 2:
                return data
            if opcode == 8:
                raise Refused(data[2:].decode(errors="replace"))

    def hear(self):
        """Returns the next message of the master; raises Refused if it closes the connection."""
        while True:
            opcode, data = self.frame()
            if opcode == 1:
                return json.loads(data)
            if opcode == 8:
                raise Refused(data[2:].decode(errors="replace"))

    def hear_until(self, name, timeout_s=60):
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            message = self.hear()
            if message.get("refused"):
                raise Refused(message["refused"]["reason"])
            if message.get(name):
                return message[name]
        raise AssertionError(f"the master did not say {name}")

    def welcome(self):
        hello = self.hear_until("hello")
        return hello

    def refusal(self):
        """Returns the message with which the master sends this agent away."""
        while True:
            message = self.hear()
            if message.get("refused"):
                return message["refused"]["reason"]

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
