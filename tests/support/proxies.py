"""A proxy for HTTP, as clients of a site find it in their environment."""
import base64
import contextlib
import pathlib
import re
import select
import shutil
import socket
import subprocess
import tempfile
import threading
import urllib.parse

from support.ports import free_port
from support.waiting import wait_for


class Proxy:
    """Serves CONNECT and plain HTTP to whoever has the right name and password, and notes what was asked for."""

    def __init__(self, address, user=None):
        self.asked, self.refused = [], 0
        self._right = f"Proxy-Authorization: Basic {base64.b64encode(user.encode()).decode()}" if user else ""
        self._server = socket.create_server((address, 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                threading.Thread(target=self._carry, args=(connection,), daemon=True).start()

    def _carry(self, near):
        with near, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += near.recv(65536)
            words = head.decode().split("\r\n")
            method, target, _ = words[0].split()
            if self._right and self._right not in words:
                self.refused += 1
                near.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                return
            self.asked.append(f"{method} {target}")
            url = urllib.parse.urlsplit(target if "://" in target else f"//{target}")
            with socket.create_connection((url.hostname, url.port)) as far:
                if method == "CONNECT":
                    near.sendall(b"HTTP/1.1 200 Connection established\r\nX-Proxy: test\r\n\r\n")
                else:
                    path = url.path + (f"?{url.query}" if url.query else "")
                    far.sendall(head.replace(target.encode(), path.encode(), 1).replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
                while True:
                    for one in select.select([near, far], [], [])[0]:
                        data = one.recv(65536)
                        if not data:
                            return
                        (far if one is near else near).sendall(data)

    def close(self):
        self._server.close()


class Tinyproxy:
    """Tinyproxy, a program that sites use (Debian's package tinyproxy-bin), with what Proxy offers. Of CONNECT it notes the address, as Proxy
    does."""

    refused = 0

    @staticmethod
    def is_installed():
        return bool(shutil.which("tinyproxy"))

    def __init__(self, address, user=None):
        self._dir = tempfile.TemporaryDirectory()
        self._log = pathlib.Path(self._dir.name) / "log"
        self.port = free_port()
        config = pathlib.Path(self._dir.name) / "conf"
        lines = [f"Port {self.port}", f"Listen {address}", "Timeout 600", f'LogFile "{self._log}"', "LogLevel Connect", "MaxClients 50", "DisableViaHeader Yes"]
        if user:
            lines.append("BasicAuth {} {}".format(*user.split(":")))
        config.write_text("\n".join(lines) + "\n")
        self._process = subprocess.Popen(["tinyproxy", "-d", "-c", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("tinyproxy's answer", lambda: self._answers(address))

    def _answers(self, address):
        assert self._process.poll() is None, "tinyproxy has ended"
        with contextlib.suppress(OSError):
            socket.create_connection((address, self.port)).close()
            return True
        return False

    def _lines(self):
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def asked(self):
        """All requests, those among them that were refused: this program does not tell which these are."""
        return [" ".join(words) for words in re.findall(r"Request \(file descriptor \d+\): (\S+) (\S+) HTTP", self._lines())]

    def close(self):
        self._process.terminate()
        self._process.wait(60)
        self._dir.cleanup()
