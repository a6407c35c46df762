"""A master for tasks: the routes that a task uses, checked against contract/api.json.

Every request is compared with its route in the contract, and its body and query with the message of that route: an unknown field, a
wrong type or a missing required field is a *complaint*, which fails the test at the end. Answers are checked in the same way, so this
master cannot differ from the contract.
"""

import collections
import contextlib
import datetime
import json
import pathlib
import re
import time
import urllib.parse
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from support.fake_master import server
from support.fake_master.server import Refusal

CONTRACT = json.loads((pathlib.Path(__file__).parents[3] / "contract" / "api.json").read_text())
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
    """Returns what is wrong with ``value`` as a field of type ``kind`` in the contract's notation."""
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
    """Returns what is wrong with ``value`` as ``message``. Fields that are ``given`` elsewhere (in the path) may be missing."""
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


class FakeMaster(server.FakeMaster):
    """The attributes are what a test may read or set, under ``lock``."""

    def __init__(self, certificate: Optional[pathlib.Path] = None) -> None:  # a PEM file with the key
        self.requests: List[Request] = []
        self.complaints: List[str] = []
        self.metrics: List[Dict[str, Any]] = []
        self.checkpoints: Dict[str, Dict[str, Any]] = {}
        self.metadata: Dict[str, Any] = {}
        self.preempt = False
        self.stops_at_validation: Optional[int] = None  # at the validation with so many steps
        self.acknowledged = False
        self.polling = 0
        self.best_validation: Optional[float] = None
        self.last_validation: Optional[int] = None
        self.storage_id: Optional[int] = 3
        self.operations: List[int] = []  # lengths that the searcher asks for, one after the other
        self.searcher_metrics: List[Any] = []  # what tasks have reported to the searcher
        self.environments: List[Dict[str, Any]] = []  # what tasks have reported of their environments
        self.idle_reports: List[bool] = []  # what the notebook has reported
        self.gathered: Dict[str, Any] = {}  # what the processes of a request have exchanged
        # RPC name → faults to come: a status to answer with, "drop" (close the connection without an answer) or "lose" (carry the request
        # out, then close the connection).
        self.faults: Dict[str, List[Any]] = collections.defaultdict(list)
        self._closing = False
        super().__init__(certificate=(certificate,) if certificate else None)

    def close(self) -> None:
        with self.lock:
            self._closing = True
            self.lock.notify_all()
        super().close()

    def rpcs(self) -> List[str]:
        with self.lock:
            return [route_of(r.method, r.path.partition("?")[0]).rpc for r in self.requests]

    def bodies(self, rpc: str) -> List[Any]:
        with self.lock:
            return [r.body for r in self.requests if route_of(r.method, r.path.partition("?")[0]).rpc == rpc]

    def reports(self, group: str) -> List[Tuple[int, Dict[str, Any]]]:
        """Returns (steps, metrics) of the reports of a group, in the order in which they arrived."""
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

    # There is one method for each RPC. Its arguments are the values in the path, the body and the query.

    def GetMe(self, _: Any, __: Any) -> Any:
        return {"user": {"username": "determined", "admin": False, "active": True}}

    def RunPrepareForReporting(self, body: Any, _: Any) -> Any:
        return {"storageId": self.storage_id} if self.storage_id is not None else {}

    def ReportTrialMetrics(self, _: str, body: Any, __: Any) -> Any:
        if "." in body["group"]:
            raise Refusal(400, "metric group must not contain '.'")
        new = body["metrics"]["metrics"]
        for old in self.metrics:
            if _point(old) == _point(body) and old["metrics"].get("stepsCompleted") is not None:
                if "batchMetrics" in new and "batchMetrics" in old["metrics"]["metrics"]:
                    raise Refusal(400, "batch metrics were reported before")
        self.metrics.append(body)
        if body["group"] == "validation" and body["metrics"].get("stepsCompleted") == self.stops_at_validation:
            self.preempt = True  # a task that is waiting for this learns it at its next request
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
            raise Refusal(400, "nobody asked for that")
        self.searcher_metrics.append(body["searcherMetric"])
        return {}

    def ReportTrialSearcherEarlyExit(self, _: str, body: Any, __: Any) -> Any:
        return {}

    def GetBestSearcherValidationMetric(self, _: str, __: Any, ___: Any) -> Any:
        if self.best_validation is None:
            raise Refusal(404, "no validation metric yet")
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
            raise Refusal(400, "checkpoints need steps_completed")
        self.checkpoints[body["uuid"]] = body
        return {}

    def GetCheckpoint(self, uuid: str, _: Any, __: Any) -> Any:
        if uuid not in self.checkpoints:
            raise Refusal(404, f"checkpoint {uuid} not found")
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
        if len(self.gathered) >= body["numPeers"] and body["requestUuid"] not in self.gathered:
            self.gathered = {}  # the next round; who still waits for the last one has it in hand
        this_round = self.gathered
        this_round[body["requestUuid"]] = body["data"]
        self.lock.notify_all()
        while len(this_round) < body["numPeers"] and not self._closing:
            self.lock.wait(1)
        return {"data": list(this_round.values())}

    def MarkAllocationResourcesDaemon(self, _: str, __: str, ___: Any, ____: Any) -> Any:
        return {}

    def PutAllocationEnvironment(self, allocation_id: str, body: Any, __: Any) -> Any:
        self.environments.append({**body, "allocationId": allocation_id})
        return {}

    def IdleNotebook(self, _: str, body: Any, __: Any) -> Any:
        self.idle_reports.append(body["idle"])
        self.lock.notify_all()
        return {}

    def PostWebhookEventData(self, body: Any, _: Any) -> Any:
        return {}

    def answer(self, exchange: server.Exchange) -> None:
        with self.lock:
            fault, answer = self._handle(exchange)
        if fault in ("drop", "lose"):
            exchange.hang_up()
            return
        with contextlib.suppress(ConnectionError):
            exchange.reply(answer)

    def _handle(self, exchange: server.Exchange) -> Tuple[Any, Any]:
        """Returns the next fault, if there is one, and the answer."""
        path, _, query_text = exchange.path.partition("?")
        if path == "/info":  # a raw route, which the table of the contract does not have
            return None, {"version": "0.38.1", "cluster_id": "c", "master_id": "m"}
        route = route_of(exchange.command, path)
        if route is None:
            self.complaints.append(f"{exchange.command} {path}: not in the contract")
            raise Refusal(501, "no such route")
        body = (
            json.loads(exchange.text, parse_constant=lambda c: self.complaints.append(f"{route.rpc}: {c} in JSON"))
            if exchange.text
            else None
        )
        query = dict(urllib.parse.parse_qsl(query_text))
        self.requests.append(Request(exchange.command, exchange.path, body))
        if route.rpc != "Login" and exchange.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Refusal(401, "invalid credentials")
        fault = self.faults[route.rpc].pop(0) if self.faults[route.rpc] else None
        if isinstance(fault, int):
            raise Refusal(fault, "as the test wishes")
        if fault == "drop":
            return fault, None
        self._check_request(route, f"{exchange.command} {path}", body, query)
        arguments = [urllib.parse.unquote(v) for v in route.pattern.match(path).groups()]
        answer = getattr(self, route.rpc)(*arguments, body, query)
        if route.rpc != "GetTrial" and route.rpc != "GetCheckpoint" and route.rpc != "GetMe":
            self.complaints += message_complaints(answer, route.row["resp"], f"answer of {route.rpc}")
        return fault, answer

    def _check_request(self, route: Route, where: str, body: Any, query: Dict[str, str]) -> None:
        in_path = [p["n"] for p in route.row.get("path_params", [])]
        if body is not None:
            of = route.row.get("body")
            if of is None:
                self.complaints.append(f"{where}: takes no body")
            elif of == "*":
                self.complaints += message_complaints(body, route.row["req"], where, tuple(in_path))
            else:
                self.complaints += complaints(body, route.row["body_type"], where)
        fields = CONTRACT["messages"][route.row["req"]]["fields"]
        known = {n for f in fields for n in (f["j"], f.get("p", f["j"]))}
        self.complaints += [f"{where}: no query parameter {n!r}" for n in query if n not in known]


def _point(report: Dict[str, Any]) -> Tuple[Any, ...]:
    """Returns what identifies a report: reports for which this is equal are merged."""
    metrics = report["metrics"]
    return report["group"], metrics["trialId"], metrics["trialRunId"], metrics.get("stepsCompleted")
