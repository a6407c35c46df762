"""A trial whose ports are visited through the master's proxy. Its server does what its path says, also what no server should do."""
import base64
import http.client
import io
import json
import socket
import urllib.parse

from support.cluster import wait_for
from support.ports import free_port

SERVER = r'''
import base64, hashlib, json, os, socket, socketserver, sys, threading, time, urllib.parse

BLOCK = os.urandom(1 << 16)

class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        line = self.rfile.readline().decode().split(" ")
        if len(line) != 3:
            return
        self.method, self.target = line[0], line[1]
        self.headers = []
        while (header := self.rfile.readline().decode("latin-1").strip()):
            name, _, value = header.partition(":")
            self.headers.append([name, value.strip()])
        path, _, query = self.target.partition("?")
        self.query = dict(urllib.parse.parse_qsl(query))
        try:
            getattr(self, "do_" + path.split("/")[3].replace("-", "_"), self.do_echo)()
        except (BrokenPipeError, ConnectionResetError):
            print("the client has left", flush=True)

    def header(self, name):
        return next((v for n, v in self.headers if n.lower() == name.lower()), None)

    def send(self, status, body=b"", **headers):
        head = [f"HTTP/1.1 {status} X"] + [f"{k.replace('_', '-')}: {v}" for k, v in headers.items()]
        self.wfile.write(("\r\n".join(head) + "\r\n\r\n").encode() + body)

    def reply(self, value):
        body = json.dumps(value).encode()
        self.send(200, body if self.method != "HEAD" else b"", Content_Type="application/json", Content_Length=len(body))

    def body(self):
        """Reads the request's body, and returns its pieces."""
        if self.header("Transfer-Encoding"):
            while (n := int(self.rfile.readline(), 16)):
                yield self.rfile.read(n)
                self.rfile.readline()
            self.rfile.readline()
        else:
            left = int(self.header("Content-Length") or 0)
            while left:
                piece = self.rfile.read(min(left, 1 << 16))
                if not piece:
                    raise ConnectionResetError
                left -= len(piece)
                yield piece

    def do_echo(self):
        if self.header("Expect"):
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        digest, n = hashlib.sha256(), 0
        for piece in self.body():
            digest.update(piece)
            n += len(piece)
        self.reply({"method": self.method, "target": self.target, "headers": self.headers, "n": n, "sha256": digest.hexdigest()})

    def do_early(self):
        """Answers before the body."""
        self.reply({"early": True})

    def do_refuse(self):
        """Refuses the body without reading it, and closes."""
        self.send(413, b"too large for me", Content_Length=16, Connection="close")

    def do_bytes(self):
        n = int(self.query["n"])
        how = self.query.get("how")
        self.send(200, **({"Content_Length": n} if how == "sized" else {"Transfer_Encoding": "chunked"} if how == "chunked" else {}))
        if self.method == "HEAD":
            return
        while n:
            piece = BLOCK[:min(n, len(BLOCK))]
            n -= len(piece)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if how == "chunked" else piece)
        if how == "chunked":
            self.wfile.write(b"0\r\n\r\n")

    def do_events(self):
        self.send(200, Content_Type="text/event-stream")
        self.wfile.write(b"data: first\n\n")
        self.rfile.read(1)  # until the client leaves
        print("the events have ended", flush=True)

    def do_silent(self):
        print("silence begins", flush=True)
        self.rfile.read(1)
        print("the silence has ended", flush=True)

    def do_late(self):
        """Reads nothing for a while."""
        time.sleep(float(self.query["s"]))
        self.do_echo()

    def do_raw(self):
        """Sends the bytes that the query has."""
        self.wfile.write(base64.b64decode(self.query["b64"]))

    def do_drip(self):
        """Sends the bytes that the query has, each in a packet of its own."""
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in base64.b64decode(self.query["b64"]):
            self.wfile.write(bytes([byte]))

    def do_endless_head(self):
        """Begins a head, and says no more."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX: y\r\n")
        self.rfile.read(1)

    def do_websocket(self):
        accept = base64.b64encode(hashlib.sha1((self.header("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        self.send(101, Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Accept=accept.decode(), Set_Cookie="auth=stolen; Path=/")
        while (head := self.rfile.read(2)):
            n = head[1] & 127
            extended = self.rfile.read({126: 2, 127: 8}.get(n, 0))
            n = int.from_bytes(extended, "big") if extended else n
            mask, data = self.rfile.read(4), self.rfile.read(n)
            plain = bytes(c ^ mask[i % 4] for i, c in enumerate(data)) if n < 100000 else data
            self.wfile.write(bytes([head[0], head[1] & 127]) + extended + plain)
        print("the websocket has ended", flush=True)

class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 1024

servers = [Server(("127.0.0.1", int(port)), Handler) for port in sys.argv[1:]]
for s in servers:
    threading.Thread(target=s.serve_forever, daemon=True).start()
print("serving", flush=True)
threading.Event().wait()
'''


class Visited:
    """A running trial with two ports: `service` for its owner, `open_service` for everybody."""

    def __init__(self, cluster, token=None):
        self.c, self.token = cluster, token or cluster.token
        self.port, self.open_port = free_port(), free_port()
        ports = [{"proxy_port": self.port, "default_service_id": True}, {"proxy_port": self.open_port, "unauthenticated": True}]
        config = cluster.experiment_config(entrypoint=f"python3 server.py {self.port} {self.open_port}", environment={"proxy_ports": ports})
        config["resources"]["slots_per_trial"] = 0
        was, cluster.token = cluster.token, self.token
        try:
            self.experiment = cluster.create({"server.py": SERVER}, config=config)
            [self.trial] = cluster.trial_ids(self.experiment)
            self.task = cluster.get(f"/api/v1/trials/{self.trial}").json["trial"]["taskId"]
        finally:
            cluster.token = was
        self.service, self.open_service = f"{self.task}:{self.port}", f"{self.task}:{self.open_port}"

    def log(self):
        return self.c.trial_log(self.trial)

    def wait_serving(self):
        wait_for("the trial's server", lambda: "serving" in self.log())

    def path(self, what, is_open=False):
        return f"/proxy/{self.open_service if is_open else self.service}/{what}"

    def ask(self, what, method="GET", is_open=False, token="", **options):
        return self.c.request(method, self.path(what, is_open), token=self.token if token == "" else token, **options)

    def raw(self, answer, how="raw", **options):
        """The task answers with these bytes; `drip`: one at a time."""
        return self.ask(how + "?b64=" + urllib.parse.quote(base64.b64encode(answer).decode(), safe=""), **options)

    def kill(self):
        self.c.post(f"/api/v1/experiments/{self.experiment}/kill", token=self.token)

    def connect(self):
        return Connection.to(self.c.port)

    def head(self, method, what, is_open=False, token="", **headers):
        """The text of a request's head, for those who send it themselves."""
        lines = [f"{method} {self.path(what, is_open)} HTTP/1.1", "Host: master"]
        if token != "none":
            lines.append(f"Authorization: Bearer {token or self.token}")
        return ("\r\n".join(lines + [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]) + "\r\n\r\n").encode()

    def __enter__(self):
        self.wait_serving()
        return self

    def __exit__(self, *exc):
        self.kill()


class Reader(io.BufferedReader):
    """Stays open when http.client is done with a reply."""

    def close(self):
        pass


class Connection(socket.socket):
    """A connection whose replies are read through one buffer: what has come of the next reply is not lost with the one before."""

    @classmethod
    def to(cls, port):
        made = cls(fileno=socket.create_connection(("127.0.0.1", port)).detach())
        made.settimeout(60)
        made.reader = Reader(socket.SocketIO(made, "r"))
        return made

    def makefile(self, *mode):
        return self.reader


def read_reply(connection, method="GET"):
    reply = http.client.HTTPResponse(connection, method=method)
    reply.begin()
    return reply


def read_until(connection, mark):
    data = b""
    while not data.endswith(mark):
        piece = connection.recv(1)
        assert piece, data
        data += piece
    return data


class WebSocket:
    """A client of few words: small frames, each sent in one piece."""

    def __init__(self, visited, what="websocket", is_open=False, token="", **headers):
        self.connection = socket.create_connection(("127.0.0.1", visited.c.port), timeout=60)
        self.connection.sendall(visited.head("GET", what, is_open, token, Connection="Upgrade", Upgrade="websocket",
                                             Sec_WebSocket_Version="13", Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==", **headers))
        self.head = read_until(self.connection, b"\r\n\r\n").decode()
        self.status = int(self.head.split(" ")[1])

    def send(self, data, opcode=2):
        n = len(data)
        size = bytes([0x80 | n]) if n < 126 else bytes([0xFE]) + n.to_bytes(2, "big")
        self.connection.sendall(bytes([0x80 | opcode]) + size + bytes(4) + data)

    def receive(self):
        head = self.read(2)
        n = head[1] & 127
        return self.read(int.from_bytes(self.read(2), "big") if n == 126 else n)

    def read(self, n):
        data = b""
        while len(data) < n:
            piece = self.connection.recv(n - len(data))
            assert piece, "the connection ended"
            data += piece
        return data

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.connection.close()


def echoed(reply):
    """What the task has received, and its headers by lower-case names."""
    assert reply.status == 200, reply
    got = json.loads(reply.body)
    names = {}
    for name, value in got["headers"]:
        names.setdefault(name.lower(), []).append(value)
    return got, names
