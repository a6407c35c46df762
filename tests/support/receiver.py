"""A receiver of webhooks: an HTTP server in a thread that notes what it is sent."""
import hashlib
import hmac
import http.server
import json
import threading


class Message:
    def __init__(self, headers, path, raw):
        self.headers, self.path, self.raw, self.body = headers, path, raw, json.loads(raw)

    def is_signed_with(self, key):
        stamp = self.headers["X-Determined-AI-Signature-Timestamp"]
        wanted = hmac.new(key.encode(), f"{stamp},".encode() + self.raw, hashlib.sha256).hexdigest()
        return hmac.compare_digest(wanted, self.headers["X-Determined-AI-Signature"])


class Receiver:
    """`answer(handler)` answers a request in place of 200; it may be changed at any time."""

    def __init__(self, port=0, host="0.0.0.0"):
        self.messages, self.answer = [], None
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.messages.append(Message(self.headers, self.path, raw))
                try:
                    if receiver.answer:
                        receiver.answer(self)
                    else:
                        self.status(200)
                except OSError:
                    pass  # the master has hung up

            def status(self, number, **headers):
                self.send_response(number)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer((host, port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, path="/", host="127.0.0.1"):
        return f"http://{host}:{self.port}{path}"

    def of(self, path):
        return [m for m in list(self.messages) if m.path == path]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.server.shutdown()
        self.server.server_close()
