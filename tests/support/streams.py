"""A trial that serves a TCP port, a client of the master's WebSocket to that port, and frames of streams within an agent's link."""
import base64
import json
import os
import socket
import struct

OPEN, ACCEPT, REFUSE, DATA, CREDIT, END, CLOSE = range(1, 8)
WINDOW = 65536


def frame(kind, stream, body=b""):
    """A frame of the protocol in docs/spec/agents.md, Streams."""
    return bytes([kind, 0, 0, 0]) + struct.pack("<I", stream) + body


def parsed(data):
    return data[0], struct.unpack("<I", data[4:8])[0], data[8:]


# One thread for all connections, so that a thousand cost little. What comes is sent back, except these words:
# "give N": N bytes, then the end. "last N": N bytes, and the program ends when all have left. "say N": N lines of log.
SERVER = """
import asyncio, sys

async def serve(reader, writer):
    try:
        while data := await reader.read(1 << 16):
            word, _, n = data.partition(b" ")
            if word in (b"give", b"last") and n.isdigit():
                for left in range(int(n), 0, -65536):
                    writer.write(b"x" * min(left, 65536))
                    await writer.drain()
                writer.close()
                await writer.wait_closed()
                if word == b"last":
                    sys.exit(0)
                return
            if word == b"say" and n.isdigit():
                for i in range(int(n)):
                    print("line", i)
                sys.stdout.flush()
                data = b"said"
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), backlog=4096)
    print("serving", flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def configuration(c, port, **more):
    return c.experiment_config(entrypoint=f"python3 server.py {port}",
                               environment={"proxy_ports": [{"proxy_port": port, "proxy_tcp": True}]}, **more)


def port_of(cluster, trial, port):
    task = cluster.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    return f"{task}:{port}"


def _request(cluster, service, upgrade):
    headers = (f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
               f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n") if upgrade else "Connection: close\r\n"
    return (f"GET /proxy/{service}/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {cluster.token}\r\n{headers}\r\n").encode()


class Client:
    """A WebSocket to TASK:PORT. Its methods hide the frames; close_code and close_why are what the master said at the end."""

    def __init__(self, cluster, service, receive_buffer=None):
        self.sock = socket.socket()
        if receive_buffer:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.sock.settimeout(120)
        self.sock.connect(("127.0.0.1", cluster.port))
        self.sock.sendall(_request(cluster, service, upgrade=True))
        self.closed, self.close_code, self.close_why = False, None, ""
        self.raw, self.data = bytearray(), bytearray()
        while b"\r\n\r\n" not in self.raw:
            part = self.sock.recv(4096)
            assert part, "the master closed the connection"
            self.raw += part
        head, _, rest = bytes(self.raw).partition(b"\r\n\r\n")
        assert b" 101 " in head.split(b"\r\n")[0], (head, rest)
        self.raw = bytearray(rest)

    @staticmethod
    def refused(cluster, service):
        """Returns the status and the sentence of a plain request, which gets no WebSocket."""
        with socket.create_connection(("127.0.0.1", cluster.port), timeout=120) as s:
            s.sendall(_request(cluster, service, upgrade=False))
            text = b""
            while part := s.recv(65536):
                text += part
        head, _, body = text.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)["message"] if body.startswith(b"{") else body.decode()

    def send(self, data):
        for at in range(0, len(data), 65536):
            part = data[at:at + 65536]
            n = len(part)
            head = b"\x82" + (bytes([0x80 | n]) if n < 126 else struct.pack(">BH", 0x80 | 126, n) if n < 65536
                              else struct.pack(">BQ", 0x80 | 127, n))
            self.sock.sendall(head + b"\0\0\0\0" + part)  # a mask of zeros changes nothing

    def _take_frame(self):
        raw = self.raw
        if len(raw) < 2:
            return False
        n, at = raw[1] & 0x7F, 2
        if n == 126:
            n, at = (struct.unpack(">H", raw[2:4])[0], 4) if len(raw) >= 4 else (1 << 62, 4)
        elif n == 127:
            n, at = (struct.unpack(">Q", raw[2:10])[0], 10) if len(raw) >= 10 else (1 << 62, 10)
        if len(raw) < at + n:
            return False
        kind, body = raw[0] & 0x0F, raw[at:at + n]
        del raw[:at + n]
        if kind == 8:
            self.closed = True
            if len(body) >= 2:
                self.close_code, self.close_why = struct.unpack(">H", body[:2])[0], body[2:].decode()
            self.sock.sendall(b"\x88\x82\0\0\0\0" + struct.pack(">H", self.close_code or 1000))
        elif kind in (0, 1, 2):
            self.data += body
        return True

    def _more(self):
        while not self._take_frame():
            part = self.sock.recv(1 << 18)
            if not part:
                self.closed = True
                return
            self.raw += part

    def receive(self, n):
        while len(self.data) < n and not self.closed:
            self._more()
        got = bytes(self.data[:n])
        del self.data[:n]
        return got

    def receive_all(self):
        while not self.closed:
            self._more()
        got = bytes(self.data)
        self.data.clear()
        return got

    def exchange(self, data):
        """Returns what an echo sends back. Not more is under way than all buffers hold."""
        back = bytearray()
        for at in range(0, len(data), 100_000):
            part = data[at:at + 100_000]
            self.send(part)
            back += self.receive(len(part))
        return bytes(back)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.sock.close()
