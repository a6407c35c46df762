"""A server that answers a Jupyter server's questions for kernels, terminals and sessions, as a test wishes."""

import http.server
import json
import threading
from typing import Any, Dict, List

BASE_URL = "/proxy/7.6f4e/"
TOKEN = "a-notebook-token"


class JupyterStandIn:
    """``answers`` holds what it answers, by the last part of the path: a list, a status, or None to break off."""

    def __init__(self) -> None:
        self.answers: Dict[str, Any] = {"kernels": [], "terminals": [], "sessions": []}
        self.paths: List[str] = []
        stand_in = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                stand_in.paths.append(self.path)
                answer = stand_in.answers[self.path.rpartition("/")[2]]
                if self.headers.get("Authorization") != f"token {TOKEN}":
                    answer = 403
                if answer is None:
                    self.close_connection = True
                    return
                text = json.dumps(answer).encode()
                self.send_response(answer if isinstance(answer, int) else 200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def kernel(
    connections: int = 0, state: str = "idle", last_activity: str = "2026-11-23T05:00:00.000000Z"
) -> Dict[str, Any]:
    return {
        "id": "a-kernel",
        "name": "python3",
        "connections": connections,
        "execution_state": state,
        "last_activity": last_activity,
    }
