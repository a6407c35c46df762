"""TCP through a WebSocket, as a master's proxy does it: binary messages are the bytes."""
import base64
import hashlib
import socket
import struct
import threading

BINARY, CLOSE, PING, PONG = 2, 8, 9, 10


def frame(opcode, data):
    n = len(data)
    size = bytes([n]) if n < 126 else struct.pack(">BH", 126, n) if n < 65536 else struct.pack(">BQ", 127, n)
    return bytes([0x80 | opcode]) + size + data


def read_frame(rfile):
    """(opcode, data) of a client's frame. det sends no fragments. None: the connection has ended."""
    head = rfile.read(2)
    if len(head) < 2:
        return None
    n = head[1] & 0x7F
    if n >= 126:
        n = int.from_bytes(rfile.read(2 if n == 126 else 8), "big")
    mask, raw = rfile.read(4), rfile.read(n)
    whole = (mask * (n // 4 + 1))[:n]
    return head[0] & 0x0F, (int.from_bytes(raw, "big") ^ int.from_bytes(whole, "big")).to_bytes(n, "big")


def bridge(exchange, port):
    """Answers the request for an upgrade, and joins its connection with a port of this machine until either ends."""
    accept = hashlib.sha1((exchange.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    exchange.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
                         + base64.b64encode(accept) + b"\r\n\r\n")
    exchange.close_connection = True
    server = socket.create_connection(("127.0.0.1", port))

    def to_client():
        try:
            while data := server.recv(65536):
                exchange.wfile.write(frame(BINARY, data))
            exchange.wfile.write(frame(CLOSE, struct.pack(">H", 1000)))
        except OSError:
            pass  # the client has gone

    thread = threading.Thread(target=to_client, daemon=True)
    thread.start()
    while (got := read_frame(exchange.rfile)) and got[0] != CLOSE:
        if got[0] == BINARY:
            server.sendall(got[1])
        elif got[0] == PING:
            exchange.wfile.write(frame(PONG, got[1]))
    server.close()
    thread.join(5)
