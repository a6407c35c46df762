"""A client of a Jupyter server, as JupyterLab in a browser is one: REST for kernels, a WebSocket to each kernel."""
import contextlib
import functools
import json
import os
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request
import uuid

import pytest

from support.websocket import WebSocket

OWN = pathlib.Path(__file__).parents[2] / ".venv-notebook/bin/python"
# The Python of an environment that has JupyterLab.
PYTHON = os.environ.get("DET_NOTEBOOK_PYTHON") or (str(OWN) if OWN.exists() else sys.executable)


@functools.lru_cache(maxsize=None)
def is_missing():
    return subprocess.run([PYTHON, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('jupyterlab') is None)"]).returncode != 0


needs_jupyterlab = pytest.mark.skipif(is_missing(), reason=f"{PYTHON} has no jupyterlab (python/environments/notebook.txt)")


class Jupyter:
    """url: http://HOST:PORT/proxy/TASK/. headers: what goes with every request, such as a cookie."""

    def __init__(self, url, token, headers=None):
        self.url, self.token, self.headers = url, token, headers or {}

    def request(self, method, path, body=None, token=True):
        """Returns (status, text)."""
        headers = {**self.headers, **({"Authorization": f"token {self.token}"} if token else {})}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode(errors="replace")
        except urllib.error.URLError as e:
            return 0, str(e)

    def ask(self, method, path, body=None):
        status, text = self.request(method, path, body)
        assert status < 300, (status, text)
        return json.loads(text) if text else None

    def answers(self):
        return self.request("GET", "api/status")[0] == 200

    def start_kernel(self):
        """Returns the kernel's id."""
        return self.ask("POST", "api/kernels", {"name": "python3"})["id"]

    @contextlib.contextmanager
    def kernel(self, kernel_id):
        """Yields a function that executes code and returns what it prints, or its value's text, or the error's name."""
        url = f"{self.url.replace('http', 'ws', 1)}api/kernels/{kernel_id}/channels?token={self.token}"
        with WebSocket(url, self.headers) as ws:
            yield lambda code: execute(ws, code)


def execute(ws, code):
    header = {"msg_id": uuid.uuid4().hex, "username": "", "session": uuid.uuid4().hex, "msg_type": "execute_request", "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
    ws.send(json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "buffers": [], "channel": "shell"}))
    said = []
    while True:
        message = json.loads(ws.receive())
        if message["parent_header"].get("msg_id") != header["msg_id"]:
            continue
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "stream":
            said.append(content["text"])
        elif kind == "execute_result":
            said.append(content["data"]["text/plain"])
        elif kind == "error":
            said.append(content["ename"])
        elif kind == "status" and content["execution_state"] == "idle":
            return "".join(said)
