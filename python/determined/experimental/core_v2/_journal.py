"""What an unmanaged run has to tell the master, on disk until the master knows it.

A run writes every request into its *journal*, a file of one JSON object a line, and a thread carries them to the
master, one after the other, for as long as the run lasts. What has not got there by then stays, and is carried on by
the next run that starts here, or by ``python -m determined.experimental.core_v2``. So nothing is lost, whether the
master is away for a minute or the machine has no network at all.

==================  ==========================================================================================
first line          what to make: the experiment's configuration, the trial's hyperparameters, external ids of both
other lines         requests, in which ``{trial}``, ``{run}``, ``{task}`` and ``{storage}`` stand for what the master
                    answers to the first
``NAME.sent``       how much of the file the master knows, and what it has answered
==================  ==========================================================================================

Carrying on after a crash may repeat the last request: experiments and trials go by their external ids, checkpoints by
theirs, and equal metrics of the same step are merged, so that does no harm. A journal belongs to the process that has
it locked.
"""

import datetime
import fcntl
import hashlib
import json
import logging
import os
import pathlib
import threading
import time
import uuid
from typing import IO, Any, Dict, Iterator, List, NamedTuple, Optional

from determined import _http, _json, _routes, _storage, errors

logger = logging.getLogger("determined.unmanaged")

SUFFIX = ".journal"
# In requests, for what only the master can tell.
TRIAL, RUN, TASK, STORAGE = "{trial}", "{run}", "{task}", "{storage}"
ENDED = ("STATE_COMPLETED", "STATE_ERROR")


def directory() -> pathlib.Path:
    """Where journals lie."""
    given = os.environ.get("DET_JOURNAL_DIR")
    return pathlib.Path(given) if given else _storage.default_base_path() / "journals"


class Start(NamedTuple):
    """What a run is: the first line of its journal."""

    config: Dict[str, Any]
    hparams: Dict[str, Any]
    external_experiment_id: str
    external_trial_id: str


def _of_trial(start: Start) -> str:
    """The part of the file's name that runs of one trial have in common."""
    both = f"{start.external_experiment_id}\0{start.external_trial_id}"
    return hashlib.sha256(both.encode()).hexdigest()[:16]


class Journal:
    """The journal of a run that goes on here; its file is locked until :meth:`close`.

    Parameters
    ----------
    start : Start
    """

    def __init__(self, start: Start) -> None:
        where = directory()
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%S.%f")
        self.path = where / f"{_of_trial(start)}-{now}-{uuid.uuid4().hex[:8]}{SUFFIX}"
        self._lock = threading.Lock()
        self._grown = threading.Condition(self._lock)
        self._file: Optional[IO[str]] = open(self.path, "x", encoding="utf-8")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._append({"start": start._asdict()})

    def add(self, method: str, path: str, body: Any) -> None:
        """Note a request."""
        self._append({"method": method, "path": path, "body": body})

    def _append(self, line: Dict[str, Any]) -> None:
        text = _json.dumps(_json.to_plain(line, "report")).decode() + "\n"
        with self._grown:
            if self._file is None:
                raise RuntimeError("this run has ended: nothing can be reported any more")
            self._file.write(text)
            self._file.flush()
            self._grown.notify_all()

    def wait(self, seconds: float) -> None:
        """Until there is more, or the time is over."""
        with self._grown:
            self._grown.wait(seconds)

    def wake(self) -> None:
        """Let nobody wait any longer."""
        with self._grown:
            self._grown.notify_all()

    def close(self) -> None:
        """Let somebody else carry on, whatever happens to this machine from now on."""
        with self._lock:
            if self._file is not None:
                os.fsync(self._file.fileno())
                self._file.close()
                self._file = None


class Delivery:
    """The way of a journal's lines to the master.

    Parameters
    ----------
    path : pathlib.Path
        Of the journal.
    """

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._sent_path = path.with_suffix(".sent")
        self._offset = 0
        self.ids: Dict[str, Any] = {}
        self.answer: Dict[str, Any] = {}
        self.ended = False
        self.refused: List[str] = []
        try:
            sent = json.loads(self._sent_path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return
        self._offset, self.ids, self.ended = sent["offset"], sent["ids"], sent["ended"]

    def _lines(self) -> Iterator["tuple[int, Dict[str, Any]]"]:
        """Whole lines that are not sent yet, and where each ends. The last of a run that crashed may be torn."""
        with open(self._path, "rb") as f:
            f.seek(self._offset)
            for line in f:
                if not line.endswith(b"\n"):
                    return
                yield self._offset + len(line), json.loads(line)

    def advance(self, session: _http.Session) -> int:
        """Send what has not been sent; returns how many lines.

        Raises
        ------
        errors.MasterUnreachable
            If the master is away; what it knows by then is not sent again.
        errors.ApiError
            If it does not make the experiment or the trial.
        """
        count = 0
        for end, line in self._lines():
            if "start" in line:
                self._begin(session, Start(**line["start"]))
            else:
                self._send(session, line)
            self._offset = end
            self._remember()
            count += 1
        return count

    def _begin(self, session: _http.Session, start: Start) -> None:
        experiment = session.send(
            _routes.put_experiment(
                start.external_experiment_id,
                create_experiment_request={"config": json.dumps(start.config), "unmanaged": True},
            )
        )["experiment"]["id"]
        trial = session.send(
            _routes.put_trial(
                create_trial_request={"experimentId": experiment, "hparams": start.hparams, "unmanaged": True},
                external_trial_id=start.external_trial_id,
            )
        )["trial"]
        started = session.send(_routes.start_trial(trial["id"], resume=True))
        self.answer = {**started}
        storage = _routes.run_prepare_for_reporting(
            run_id=trial["id"], checkpoint_storage=start.config["checkpoint_storage"]
        )
        self.ids = {
            "experiment": experiment,
            TRIAL: trial["id"],
            RUN: self.answer["trialRunId"],
            TASK: trial["taskId"],
            STORAGE: session.send(storage).get("storageId"),
        }

    def _send(self, session: _http.Session, line: Dict[str, Any]) -> None:
        path, body = self.filled(line["path"]), self.filled(line["body"])
        try:
            self._request(session, line["method"], path, body)
        except errors.ApiError as e:
            # What the master does not want now it will not want later; the rest must not wait for it.
            logger.error("the master has refused a report: %s", e)
            self.refused.append(str(e))
        if isinstance(body, dict) and body.get("state") in ENDED:
            self.ended = True

    def _request(self, session: _http.Session, method: str, path: str, body: Any) -> None:
        try:
            session.request(method, path, body)
        except errors.ApiError as e:
            values = body.get("metrics", {}).get("metrics", {}) if isinstance(body, dict) else {}
            if not e.maybe_done or "batchMetrics" not in values:
                raise
            # The report came twice, and the master merges everything of it but the metrics of batches.
            del values["batchMetrics"]
            session.request(method, path, body)

    def filled(self, value: Any) -> Any:
        """``value`` with the master's numbers in it."""
        if isinstance(value, dict):
            filled = {k: self.filled(v) for k, v in value.items()}
            return {k: v for k, v in filled.items() if v is not None or value[k] != STORAGE}
        if isinstance(value, list):
            return [self.filled(v) for v in value]
        if isinstance(value, str) and value in self.ids:
            return self.ids[value]
        if isinstance(value, str) and value.startswith("/"):
            for name, number in self.ids.items():
                value = value.replace(name, str(number)) if name.startswith("{") else value
        return value

    def _remember(self) -> None:
        temporary = self._sent_path.with_suffix(".new")
        state = {"offset": self._offset, "ids": self.ids, "ended": self.ended}
        temporary.write_text(json.dumps(state), encoding="utf-8")
        temporary.replace(self._sent_path)

    def finish(self, session: _http.Session) -> None:
        """Everything is there: a run that has not said how it ended has crashed. The journal goes."""
        if not self.ended:
            ended = _routes.patch_trial(self.ids[TRIAL], state="STATE_ERROR")
            self._send(session, {"method": ended.method, "path": ended.target, "body": ended.body})
        self._path.unlink()
        self._sent_path.unlink()


class Synced(NamedTuple):
    """What came of carrying journals to the master."""

    runs: int
    lines: int
    left: int
    refused: List[str]


def sync(session: _http.Session, *, only: Optional[Start] = None) -> Synced:
    """Carry all journals to the master whose runs have ended.

    Parameters
    ----------
    session : Session
    only : Start, optional
        Only those of this trial.

    Raises
    ------
    errors.MasterUnreachable
        If the master is away; what it knows by then is not sent again.
    """
    runs = lines = left = 0
    refused: List[str] = []
    pattern = f"{_of_trial(only)}-*{SUFFIX}" if only is not None else f"*{SUFFIX}"
    for path in sorted(directory().glob(pattern), key=lambda p: p.name.split("-")[1]):
        with open(path, "rb") as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                left += 1
                continue
            delivery = Delivery(path)
            lines += delivery.advance(session)
            delivery.finish(session)
            refused += delivery.refused
            runs += 1
    return Synced(runs, lines, left, refused)


def latest_checkpoint(start: Start) -> "tuple[Optional[str], int]":
    """Of this trial's journals: the last checkpoint and its steps, for a run that starts while the master is away."""
    found: Optional[str] = None
    steps = 0
    for path in sorted(directory().glob(f"{_of_trial(start)}-*{SUFFIX}"), key=lambda p: p.name.split("-")[1]):
        for text in path.read_text(encoding="utf-8").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                break
            if _is_checkpoint(line):
                found, steps = line["body"]["uuid"], int(line["body"]["metadata"]["steps_completed"])
    return found, steps


def _is_checkpoint(line: Dict[str, Any]) -> bool:
    """Whether a line of a journal is a report on a checkpoint."""
    report = _routes.report_checkpoint(checkpoint=line.get("body"))  # type: ignore[arg-type]  # compared only
    return (line.get("method"), line.get("path")) == (report.method, report.target)


class Courier:
    """A thread that carries a journal to the master while its run goes on, and gives signs of life.

    Parameters
    ----------
    journal : Journal
    delivery : Delivery
    session : Session
        To the master, with the patience of a single attempt.
    """

    heartbeat_s = 60.0
    pause_s = 10.0

    def __init__(self, journal: Journal, delivery: Delivery, session: _http.Session) -> None:
        self._journal, self._delivery, self._session = journal, delivery, session
        self._closing = threading.Event()
        self._beat_at = time.monotonic() + self.heartbeat_s
        self._thread = threading.Thread(target=self._run, name="determined-courier", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Stop; what is left stays in the journal."""
        self._closing.set()
        self._journal.wake()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        away = False
        while not self._closing.is_set():
            try:
                if not self._delivery.advance(self._session):
                    self._beat()
                away = False
            except Exception as e:
                if not away:
                    logger.warning("the master cannot be told, which is tried again from now on: %s", e)
                away = True
            if not self._closing.is_set():
                self._journal.wait(self.pause_s if away else min(1.0, self.heartbeat_s))

    def _beat(self) -> None:
        if self._delivery.ids and time.monotonic() >= self._beat_at:
            self._session.send(_routes.patch_trial(self._delivery.ids[TRIAL]))
            self._beat_at = time.monotonic() + self.heartbeat_s
