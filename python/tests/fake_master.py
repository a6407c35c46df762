"""A master for tests: the routes that a task uses, checked against contract/api.json.

Every request is matched with its route in the contract, and its body and query with the message of that route: an
unknown field, a wrong type or a missing required field is a *complaint*, which fails the test at the end. Answers are
checked the same way, so this master cannot drift from the contract.
"""

import collections
import contextlib
import datetime
import http.server
import json
import pathlib
import re
import socket
import ssl
import threading
import time
import urllib.parse
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

CONTRACT = json.loads((pathlib.Path(__file__).parents[2] / "contract" / "api.json").read_text())
TOKEN = "a-session-token"


class Request(NamedTuple):
    method: str
    path: str
    body: Any


class Route(NamedTuple):
    rpc: str
    method: str
    pattern: "re.Pattern[str]"
    row: Dict[str, Any]


def _pattern(path: str) -> "re.Pattern[str]":
    return re.compile("^" + re.sub(r"\\\{[^}]*\\\}", "([^/]+)", re.escape(path)) + "$")


ROUTES = [Route(row["rpc"], row["method"], _pattern(row["path"]), row) for row in CONTRACT["routes"]]


def route_of(method: str, path: str) -> Optional[Route]:
    return next((r for r in ROUTES if r.method == method and r.pattern.match(path)), None)


_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_INTEGERS = {"int32", "uint32", "int64", "uint64"}


def complaints(value: Any, kind: str, where: str) -> List[str]:
    """What is wrong with ``value`` as a field of type ``kind`` in the contract's notation."""
    if kind.startswith("msg:"):
        return message_complaints(value, kind[4:], where)
    if kind.startswith("enum:"):
        names = list(CONTRACT["enums"][kind[5:]]["values"])
        return [] if value in names else [f"{where}: {value!r} is none of {names}"]
    if kind.startswith("map<"):
        inner = kind[4:-1].split(",")[1]
        if not isinstance(value, dict):
            return [f"{where}: not an object"]
        return [c for k, v in value.items() for c in complaints(v, inner, f"{where}.{k}")]
    if kind == "wkt:Struct":
        return [] if isinstance(value, dict) else [f"{where}: not an object"]
    if kind == "wkt:Timestamp":
        try:
            datetime.datetime.fromisoformat(str(value).replace("Z", "+00:00"))
            return []
        except ValueError:
            return [f"{where}: {value!r} is not a time"]
    good = {
        "string": isinstance(value, str),
        "bool": isinstance(value, bool),
        "double": value in _NOT_FINITE or (isinstance(value, (int, float)) and not isinstance(value, bool)),
        "float": isinstance(value, (int, float)) and not isinstance(value, bool),
    }.get(kind, True)
    if kind in _INTEGERS:
        good = isinstance(value, int) and not isinstance(value, bool)
        good = good or (kind.endswith("64") and isinstance(value, str) and re.fullmatch(r"-?\d+", value) is not None)
    return [] if good else [f"{where}: {value!r} is not of type {kind}"]


def message_complaints(value: Any, message: str, where: str, given: Tuple[str, ...] = ()) -> List[str]:
    """What is wrong with ``value`` as ``message``; fields ``given`` elsewhere (in the path) may be missing."""
    if not isinstance(value, dict):
        return [f"{where}: not an object"]
    fields = {f["j"]: f for f in CONTRACT["messages"][message]["fields"]}
    names = {f.get("p", f["j"]): f["j"] for f in fields.values()}
    found = []
    seen = set(given)
    for key, item in value.items():
        name = names.get(key, key)
        if name not in fields:
            found.append(f"{where}: {message} has no field {key!r}")
            continue
        seen.add(name)
        items = item if fields[name].get("rep") else [item]
        for i, one in enumerate(items):
            found += complaints(one, fields[name]["t"], f"{where}.{name}[{i}]")
    found += [f"{where}: {message} needs {n!r}" for n, f in fields.items() if f.get("req") and n not in seen]
    return found


class FakeMaster:
    """Listens on a free port. State is what a test may look at or set; all access is under ``lock``."""

    def __init__(self, certificate: Optional[pathlib.Path] = None) -> None:
        self.lock = threading.Condition()
        self.requests: List[Request] = []
        self.complaints: List[str] = []
        self.metrics: List[Dict[str, Any]] = []
        self.checkpoints: Dict[str, Dict[str, Any]] = {}
        self.metadata: Dict[str, Any] = {}
        self.preempt = False
        self.stops_at_validation: Optional[int] = None  # of so many steps
        self.acknowledged = False
        self.polling = 0
        self.best_validation: Optional[float] = None
        self.last_validation: Optional[int] = None
        self.storage_id: Optional[int] = 3
        self.operations: List[int] = []  # lengths that the searcher asks for, one after the other
        self.searcher_metrics: List[Any] = []  # what it heard of them
        self.environments: List[Dict[str, Any]] = []  # what tasks say they run in
        self.gathered: Dict[str, Any] = {}  # what peers gave each other, by request
        # RPC name → faults to come: a status to answer with, "drop" (hang up unanswered), "lose" (do it, then hang up).
        self.faults: Dict[str, List[Any]] = collections.defaultdict(list)
        self.connections = 0
        self._closing = False
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.master = self
        self._scheme = "http"
        if certificate is not None:  # PEM, with its key
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            # The handshake belongs into the thread of the connection: accept() must not wait for it.
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
            self._scheme = "https"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        with self.lock:
            self._closing = True
            self.lock.notify_all()
        self._server.shutdown()
        self._server.server_close()

    def rpcs(self) -> List[str]:
        with self.lock:
            return [route_of(r.method, r.path.partition("?")[0]).rpc for r in self.requests]

    def bodies(self, rpc: str) -> List[Any]:
        with self.lock:
            return [r.body for r in self.requests if route_of(r.method, r.path.partition("?")[0]).rpc == rpc]

    def reports(self, group: str) -> List[Tuple[int, Dict[str, Any]]]:
        """(steps, metrics) of a group, in the order they arrived."""
        with self.lock:
            return [
                (m["metrics"].get("stepsCompleted"), m["metrics"]["metrics"]["avgMetrics"])
                for m in self.metrics
                if m["group"] == group
            ]

    def ask_to_preempt(self) -> None:
        with self.lock:
            self.preempt = True
            self.lock.notify_all()

    # One method for each RPC: arguments are the values in the path, the body, the query.

    def GetMe(self, _: Any, __: Any) -> Any:
        return {"user": {"username": "determined", "admin": False, "active": True}}

    def RunPrepareForReporting(self, body: Any, _: Any) -> Any:
        return {"storageId": self.storage_id} if self.storage_id is not None else {}

    def ReportTrialMetrics(self, _: str, body: Any, __: Any) -> Any:
        if "." in body["group"]:
            raise _Refusal(400, "metric group must not contain '.'")
        new = body["metrics"]["metrics"]
        for old in self.metrics:
            if _point(old) == _point(body) and old["metrics"].get("stepsCompleted") is not None:
                if "batchMetrics" in new and "batchMetrics" in old["metrics"]["metrics"]:
                    raise _Refusal(400, "batch metrics were reported before")
        self.metrics.append(body)
        if body["group"] == "validation" and body["metrics"].get("stepsCompleted") == self.stops_at_validation:
            self.preempt = True  # who polls learns it late
        return {}

    def ReportTrialProgress(self, _: str, body: Any, __: Any) -> Any:
        return {}

    def PostTrialRunnerMetadata(self, _: str, body: Any, __: Any) -> Any:
        return {}

    def GetCurrentTrialSearcherOperation(self, _: str, __: Any, ___: Any) -> Any:
        if not self.operations:
            return {"completed": True}
        return {"op": {"validateAfter": {"length": str(self.operations[0])}}, "completed": False}

    def CompleteTrialSearcherValidation(self, _: str, body: Any, __: Any) -> Any:
        if not self.operations or body["op"]["length"] != self.operations.pop(0):
            raise _Refusal(400, "nobody asked for that")
        self.searcher_metrics.append(body["searcherMetric"])
        return {}

    def ReportTrialSearcherEarlyExit(self, _: str, body: Any, __: Any) -> Any:
        return {}

    def GetBestSearcherValidationMetric(self, _: str, __: Any, ___: Any) -> Any:
        if self.best_validation is None:
            raise _Refusal(404, "no validation metric yet")
        return {"metric": self.best_validation}

    def ReportTrialSourceInfo(self, body: Any, _: Any) -> Any:
        return {
            "trialId": body["trialSourceInfo"]["trialId"],
            "checkpointUuid": body["trialSourceInfo"]["checkpointUuid"],
        }

    def GetTrial(self, trial: str, _: Any, __: Any) -> Any:
        latest = {"totalBatches": self.last_validation} if self.last_validation is not None else None
        return {"trial": {"id": int(trial), "latestValidation": latest}}

    def PostRunMetadata(self, _: str, body: Any, __: Any) -> Any:
        self.metadata = body["metadata"]
        return {"metadata": self.metadata}

    def GetRunMetadata(self, _: str, __: Any, ___: Any) -> Any:
        return {"metadata": self.metadata}

    def ReportCheckpoint(self, body: Any, _: Any) -> Any:
        if "steps_completed" not in body["metadata"]:
            raise _Refusal(400, "checkpoints need steps_completed")
        self.checkpoints[body["uuid"]] = body
        return {}

    def GetCheckpoint(self, uuid: str, _: Any, __: Any) -> Any:
        if uuid not in self.checkpoints:
            raise _Refusal(404, f"checkpoint {uuid} not found")
        return {"checkpoint": self.checkpoints[uuid]}

    def PatchCheckpoints(self, body: Any, _: Any) -> Any:
        for change in body["checkpoints"]:
            self.checkpoints[change["uuid"]]["resources"] = change["resources"]["resources"]
        return {}

    def AllocationPreemptionSignal(self, _: str, __: Any, query: Dict[str, str]) -> Any:
        deadline = time.monotonic() + float(query["timeoutSeconds"])
        self.polling += 1
        while not self.preempt and not self._closing and time.monotonic() < deadline:
            self.lock.wait(deadline - time.monotonic())
        self.polling -= 1
        return {"preempt": self.preempt}

    def AckAllocationPreemptionSignal(self, _: str, __: Any, ___: Any) -> Any:
        self.acknowledged = True
        return {}

    def AllocationAllGather(self, _: str, body: Any, __: Any) -> Any:
        self.gathered[body["requestUuid"]] = body["data"]
        self.lock.notify_all()
        while len(self.gathered) < body["numPeers"] and not self._closing:
            self.lock.wait(1)
        return {"data": list(self.gathered.values())}

    def MarkAllocationResourcesDaemon(self, _: str, __: str, ___: Any, ____: Any) -> Any:
        return {}

    def PutAllocationEnvironment(self, allocation_id: str, body: Any, __: Any) -> Any:
        self.environments.append({**body, "allocationId": allocation_id})
        return {}

    def PostWebhookEventData(self, body: Any, _: Any) -> Any:
        return {}


def _point(report: Dict[str, Any]) -> Tuple[Any, ...]:
    """What tells a report apart: reports that agree in it are merged."""
    metrics = report["metrics"]
    return report["group"], metrics["trialId"], metrics["trialRunId"], metrics.get("stepsCompleted")


class _Refusal(Exception):
    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    master: FakeMaster


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body leave in two writes, which must not wait for each other.
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        with self.server.master.lock:
            self.server.master.connections += 1

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PATCH = do_PUT = do_DELETE = do_GET

    def _serve(self) -> None:
        master = self.server.master
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query_text = self.path.partition("?")
        with master.lock:
            try:
                fault, status, answer = self._handle(master, path, query_text, text)
            except _Refusal as e:
                fault, status = None, e.status
                answer = {"error": {"code": 3, "reason": "InvalidArgument", "error": e.message}}
        if fault in ("drop", "lose"):
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        payload = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(payload)

    def _handle(self, master: FakeMaster, path: str, query_text: str, text: bytes) -> Tuple[Any, int, Any]:
        route = route_of(self.command, path)
        if route is None:
            master.complaints.append(f"{self.command} {path}: not in the contract")
            return None, 501, {"error": {"code": 12, "reason": "Unimplemented", "error": "no such route"}}
        body = (
            json.loads(text, parse_constant=lambda c: master.complaints.append(f"{route.rpc}: {c} in JSON"))
            if text
            else None
        )
        query = dict(urllib.parse.parse_qsl(query_text))
        master.requests.append(Request(self.command, self.path, body))
        if route.rpc != "Login" and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise _Refusal(401, "invalid credentials")
        fault = master.faults[route.rpc].pop(0) if master.faults[route.rpc] else None
        if isinstance(fault, int):
            raise _Refusal(fault, "as the test wishes")
        if fault == "drop":
            return fault, 0, None
        self._check_request(master, route, path, body, query)
        arguments = [urllib.parse.unquote(v) for v in route.pattern.match(path).groups()]
        answer = getattr(master, route.rpc)(*arguments, body, query)
        if route.rpc != "GetTrial" and route.rpc != "GetCheckpoint" and route.rpc != "GetMe":
            master.complaints += message_complaints(answer, route.row["resp"], f"answer of {route.rpc}")
        return fault, 200, answer

    def _check_request(self, master: FakeMaster, route: Route, path: str, body: Any, query: Dict[str, str]) -> None:
        where = f"{self.command} {path}"
        in_path = [p["n"] for p in route.row.get("path_params", [])]
        if body is not None:
            of = route.row.get("body")
            if of is None:
                master.complaints.append(f"{where}: takes no body")
            elif of == "*":
                master.complaints += message_complaints(body, route.row["req"], where, tuple(in_path))
            else:
                master.complaints += complaints(body, route.row["body_type"], where)
        fields = CONTRACT["messages"][route.row["req"]]["fields"]
        known = {n for f in fields for n in (f["j"], f.get("p", f["j"]))}
        master.complaints += [f"{where}: no query parameter {n!r}" for n in query if n not in known]
