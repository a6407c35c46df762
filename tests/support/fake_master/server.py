"""The HTTP server of all fake masters, with one thread for each connection, and with TLS if a certificate is given. A subclass answers
the requests."""
import http.server
import json
import socket
import ssl
import threading

REASONS = {400: (3, "InvalidArgument"), 401: (16, "Unauthenticated"), 403: (7, "PermissionDenied"), 404: (5, "NotFound"),
           409: (6, "AlreadyExists"), 501: (12, "Unimplemented"), 503: (14, "Unavailable")}


class Refusal(Exception):
    """A refusal, in the form of the real master's errors."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message

    @property
    def body(self):
        code, reason = REASONS.get(self.status, (2, "Unknown"))
        return {"error": {"code": code, "reason": reason, "error": self.message}}


class BrokenOff(Exception):
    """Ends a stream before its end."""


class Exchange(http.server.BaseHTTPRequestHandler):
    """A request as master.answer(exchange) gets it: command, path, headers, `text` (the bytes of the body), and methods that answer it."""

    protocol_version = "HTTP/1.1"
    # headers and body are sent by two writes, and the second must not wait for the first one's acknowledgement
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.server.master.note_connection()

    def handle(self):
        try:
            super().handle()
        except (ssl.SSLError, BrokenPipeError, ConnectionResetError):
            pass  # the client does not trust this server, only wants to see the certificate, or has seen enough

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            self.server.master.answer(self)
        except Refusal as refusal:
            self.reply(refusal.body, refusal.status)

    do_POST = do_PATCH = do_PUT = do_DELETE = do_GET

    def reply(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def reply_text(self, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/csv")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def reply_in_parts(self, values):
        """Sends the values of an iterator, one on each line, as the real master's streams do. The iterator may raise BrokenOff."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for value in values:
                line = json.dumps(value).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        except BrokenOff:
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")

    def hang_up(self):
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


class FakeMaster:
    """Listens from the beginning. Tests read its state and change it under `lock`, a condition that is notified of every change."""

    def __init__(self, port=0, certificate=None):
        """port 0: any free port. certificate: (a PEM file with the key,) or (the certificate's file, the key's file)."""
        self.lock = threading.Condition()
        self.port, self.certificate = port, certificate
        self.connections = 0
        self.open()

    def open(self):
        self.http = Server(("127.0.0.1", self.port), Exchange)
        self.http.master = self
        self.port = self.http.server_address[1]
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate)
            # The handshake must run in the thread of the connection, so that accept() does not wait for it.
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    @property
    def url(self):
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self.port}"

    def note_connection(self):
        with self.lock:
            self.connections += 1

    def answer(self, exchange):
        """Answers the request with one of the exchange's methods, or raises Refusal."""
        raise NotImplementedError
