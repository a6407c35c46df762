"""A trial that serves a TCP port, and a client that publishes this port on the machine that it runs on."""
import contextlib
import json
import os
import select
import socket
import subprocess

from support.cluster import wait_for
from support.ports import free_port

# The server sends back what it receives. "give N" is answered with N bytes, and then the connection is closed.
SERVER = """
import socket, sys, threading

def serve(c):
    with c:
        while data := c.recv(65536):
            if data.startswith(b"give "):
                c.sendall(b"x" * int(data[5:]))
                return
            c.sendall(data)

s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("serving", flush=True)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
"""


def configuration(c, port, tcp=True):
    return c.experiment_config(entrypoint=f"python3 server.py {port}",
                               environment={"proxy_ports": [{"proxy_port": port, "proxy_tcp": tcp}]})


class Publisher:
    """Runs `det experiment create -f -p LOCAL:PORT` of either client as long as the context lasts."""

    def __init__(self, c, directory, program, env=None, port=None, local=None, config=None):
        self.c, self.port, self.local = c, port or free_port(), local or free_port()
        model = directory / "model"
        model.mkdir(exist_ok=True)
        (model / "server.py").write_text(SERVER)
        (directory / "served.yaml").write_text(json.dumps(config or configuration(c, self.port)))
        self.log = directory / "publisher.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [program, "experiment", "create", "served.yaml", "model", "-f", "-p", f"{self.local}:{self.port}"], cwd=directory,
                stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env=env or {"PATH": os.environ["PATH"], "HOME": str(directory), "DET_MASTER": c.url, "DET_USER": "determined",
                            "DET_PASS": c.password})

    def text(self):
        return self.log.read_text(errors="replace")

    @property
    def experiment(self):
        line = wait_for("the experiment", lambda: next((x for x in self.text().splitlines() if x.startswith("Created experiment")), None))
        return int(line.split()[-1])

    def wait_serving(self):
        wait_for("the trial's server", lambda: "serving" in self.text() or self.process.poll() is not None)
        assert self.process.poll() is None, self.text()

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.local), timeout=60)
        return contextlib.closing(connection)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        with contextlib.suppress(AssertionError):
            self.c.post(f"/api/v1/experiments/{self.experiment}/kill")
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
            self.process.wait()


def read_all(connection):
    data = bytearray()
    while piece := connection.recv(1 << 16):
        data += piece
    return bytes(data)


def exchange(connection, data):
    """Returns what an echo sends back, which is read while the data are still being sent."""
    back = bytearray()
    sent = 0
    connection.setblocking(False)
    while len(back) < len(data):
        readable, writable, _ = select.select([connection], [connection] if sent < len(data) else [], [], 60)
        assert readable or writable, f"stuck with {sent} sent and {len(back)} back"
        if writable:
            sent += connection.send(data[sent:sent + 65536])
        if readable:
            piece = connection.recv(65536)
            assert piece, "the connection ended early"
            back += piece
    connection.setblocking(True)
    return bytes(back)
