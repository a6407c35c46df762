"""A reverse proxy that has the platform below a path of its own, as nginx has with `location /tools/det-cluster/ { proxy_pass http://master/; }`."""
import socket
import threading

from support.ports import free_port

PREFIX = "/tools/det-cluster"


class PrefixProxy:
    """Serves as long as the context lasts. Each connection carries one request."""

    def __init__(self, master_port):
        self.master, self.port = master_port, free_port()
        self.url = f"http://127.0.0.1:{self.port}{PREFIX}"

    def __enter__(self):
        self.listening = socket.create_server(("127.0.0.1", self.port), backlog=64)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exc):
        self.listening.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            with client, socket.create_connection(("127.0.0.1", self.master)) as master:
                head = b""
                while b"\r\n\r\n" not in head:
                    data = client.recv(65536)
                    if not data:
                        return
                    head += data
                head, _, body = head.partition(b"\r\n\r\n")
                lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
                lines[0] = lines[0].replace(b" " + PREFIX.encode(), b" ", 1)
                master.sendall(b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body)
                threading.Thread(target=self._pass, args=(client, master), daemon=True).start()
                while data := master.recv(65536):
                    client.sendall(data)
        except OSError:
            return

    @staticmethod
    def _pass(client, master):
        try:
            while data := client.recv(65536):
                master.sendall(data)
        except OSError:
            return
