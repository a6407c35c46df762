"""A container engine that a test tells what to answer: an HTTP server at a Unix socket, with the forms of Docker's API.

    with FakeEngine(path) as engine:
        engine.answer("GET", "/version", 200, {"ApiVersion": "1.41"})
"""
import contextlib
import http.server
import json
import pathlib
import re
import socketserver
import threading

VERSION = {"Version": "20.10.24", "ApiVersion": "1.41", "MinAPIVersion": "1.12", "Arch": "amd64"}
INFO = {"MemoryLimit": True, "PidsLimit": True, "SecurityOptions": ["name=seccomp,profile=default"]}
IMAGE = {"Id": "sha256:1", "Architecture": "amd64", "Config": {"Env": ["PATH=/bin"], "Entrypoint": None}}


class FakeEngine(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def __init__(self, path):
        self.path = str(path)
        self.asked = []  # (method, path without the API's version, query, headers, body)
        self.answers = {}
        pathlib.Path(self.path).unlink(missing_ok=True)
        super().__init__(self.path, _Handler)
        self.answer("GET", "/version", 200, VERSION)
        self.answer("GET", "/info", 200, INFO)
        self.answer("GET", "/images/.*/json", 200, IMAGE)
        self.answer("GET", "/containers/json", 200, [])
        self.answer("DELETE", "/containers/.*", 204, b"")
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def answer(self, method, path, status, body):
        """body: JSON, or bytes that are sent as they are, or a tuple of bytes that are sent one after the other (an Event in it
        is waited for)."""
        self.answers[(method, path)] = (status, body)

    def find(self, method, path):
        for (m, pattern), answer in reversed(self.answers.items()):
            if m == method and re.fullmatch(pattern, path):
                return answer
        return 404, {"message": f"no such thing: {path}"}

    def requests(self, method, path):
        return [a for a in self.asked if a[0] == method and re.fullmatch(path, a[1])]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.shutdown()
        self.server_close()
        pathlib.Path(self.path).unlink(missing_ok=True)


class _Handler(http.server.BaseHTTPRequestHandler):
    def serve(self):
        path, _, query = re.sub(r"^/v\d+\.\d+/", "/", self.path).partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.command, path, query, dict(self.headers), body))
        status, answer = self.server.find(self.command, path)
        parts = answer if isinstance(answer, tuple) else (answer if isinstance(answer, bytes) else json.dumps(answer).encode(),)
        self.send_response(status)
        self.send_header("Connection", "close")
        self.end_headers()
        for part in parts:
            if isinstance(part, threading.Event):
                part.wait(30)
                continue
            with contextlib.suppress(OSError):  # who asked may have gone
                self.wfile.write(part)
                self.wfile.flush()

    do_GET = do_POST = do_DELETE = serve

    def address_string(self):
        return "socket"

    def log_message(self, *args):
        pass
