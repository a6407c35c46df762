"""A registry of images, as an engine pulls from it: read-only, without names and passwords, in memory.

    with Registry() as registry:
        name = registry.add("big:1", [files])    # a layer for each, as tests/support/engines.py: archive() takes them
"""
import contextlib
import gzip
import hashlib
import http.server
import json
import os
import ssl
import threading

from support.engines import archive

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


def digest(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class Registry(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address="127.0.0.1", tls=None):
        """tls: (certificate, key), files."""
        super().__init__((address, 0), _Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.address = f"{address}:{self.server_port}"
        self.blobs, self.manifests, self.asked = {}, {}, []
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.shutdown()
        self.server_close()

    def _blob(self, data, kind):
        self.blobs[digest(data)] = data
        return {"mediaType": kind, "size": len(data), "digest": digest(data)}

    def add(self, name, layers):
        """Adds an image, and returns the name by which an engine pulls it."""
        repository, tag = name.split(":")
        archives = [archive(files) for files in layers]
        machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
        config = json.dumps({"architecture": machine, "os": "linux", "config": {"Env": ["PATH=/bin"]},
                             "rootfs": {"type": "layers", "diff_ids": [digest(data) for data in archives]}}).encode()
        manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": self._blob(config, CONFIG),
                               "layers": [self._blob(gzip.compress(data, 1, mtime=0), LAYER) for data in archives]}).encode()
        for reference in (tag, digest(manifest)):
            self.manifests[f"/v2/{repository}/manifests/{reference}"] = manifest
        return f"{self.address}/{name}"


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        registry, blob = self.server, self.path.rsplit("/", 1)[-1]
        registry.asked.append(f"{self.command} {self.path}")
        if self.path == "/v2/":
            self.reply(200, b"{}", "application/json")
        elif self.path in registry.manifests:
            self.reply(200, registry.manifests[self.path], MANIFEST)
        elif "/blobs/" in self.path and blob in registry.blobs:
            self.reply(200, registry.blobs[blob], "application/octet-stream")
        else:
            self.reply(404, b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}', "application/json")

    def reply(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        self.send_header("Docker-Content-Digest", digest(body))
        self.end_headers()
        if self.command == "GET":
            with contextlib.suppress(OSError):  # an engine that has no room left goes away
                self.wfile.write(body)

    do_GET = do_HEAD = answer

    def log_message(self, *args):
        pass
