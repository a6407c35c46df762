"""A WebSocket client of a few lines, over the standard library."""
import base64
import hashlib
import os
import socket
import ssl
import struct
import urllib.parse

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Refused(Exception):
    """The server did not agree to a WebSocket; `status` is that of its answer."""

    def __init__(self, status, text):
        super().__init__(f"{status}: {text[:300]!r}")
        self.status, self.text = status, text


class Closed(Exception):
    """The server has ended the connection."""


class WebSocket:
    """url: ws://… or wss://…, whose certificate is not checked. headers: what goes with the request beside what the protocol wants.
    receive_buffer: bytes that the system takes from the server while nobody reads."""

    def __init__(self, url, headers=None, timeout=60, receive_buffer=None):
        parts = urllib.parse.urlsplit(url)
        port = parts.port or (443 if parts.scheme == "wss" else 80)
        self.sock = socket.socket()
        self.sock.settimeout(timeout)
        if receive_buffer:  # to be set before the connection is made
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.sock.connect((parts.hostname, port))
        if parts.scheme == "wss":
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self.sock = context.wrap_socket(self.sock, server_hostname=parts.hostname)
        self.file = self.sock.makefile("rb")
        key = base64.b64encode(os.urandom(16))
        lines = [f"GET {parts.path or '/'}{'?' + parts.query if parts.query else ''} HTTP/1.1", f"Host: {parts.netloc}",
                 "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key.decode()}",
                 *(f"{name}: {value}" for name, value in (headers or {}).items()), "", ""]
        self.sock.sendall("\r\n".join(lines).encode())
        status = int((self.file.readline() or b"HTTP/1.1 0 gone").split()[1])
        answer = {}
        while (line := self.file.readline().strip()):
            name, _, value = line.partition(b":")
            answer[name.strip().lower()] = value.strip()
        if status != 101:
            text = self.file.read(int(answer.get(b"content-length", b"0")))
            self.close()
            raise Refused(status, text)
        assert answer[b"sec-websocket-accept"] == base64.b64encode(hashlib.sha1(key + _MAGIC).digest()), answer
        self.headers = answer

    def send(self, data):
        """A text message of a str, a binary one of bytes."""
        text = isinstance(data, str)
        self._send_frame(TEXT if text else BINARY, data.encode() if text else data)

    def _send_frame(self, opcode, data):
        n, mask = len(data), os.urandom(4)
        length = struct.pack("!B", 0x80 | n) if n < 126 else struct.pack("!BH", 0xFE, n) if n < 1 << 16 else struct.pack("!BQ", 0xFF, n)
        whole = n // 4 * 4 + 4
        masked = (int.from_bytes(data.ljust(whole, b"\0"), "big") ^ int.from_bytes(mask * (whole // 4), "big")).to_bytes(whole, "big")[:n]
        self.sock.sendall(struct.pack("!B", 0x80 | opcode) + length + mask + masked)

    def _read(self, n):
        data = self.file.read(n)
        if len(data) < n:
            raise Closed("the connection ended without a close frame")
        return data

    def receive(self):
        """Returns the next message: a str or bytes. Pings are answered."""
        message, kind = b"", None
        while True:
            first, second = self._read(2)
            n = second & 0x7F
            if n > 125:
                n = struct.unpack("!H" if n == 126 else "!Q", self._read(2 if n == 126 else 8))[0]
            data, opcode = self._read(n), first & 0x0F
            if opcode == CLOSE:
                raise Closed(f"{data[:2].hex()} {data[2:]!r}")
            if opcode == PING:
                self._send_frame(PONG, data)
            elif opcode != PONG:
                message, kind = message + data, opcode or kind
                if first & 0x80:
                    return message.decode() if kind == TEXT else message

    def close(self):
        self.file.close()
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
