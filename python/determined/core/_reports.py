"""Reporting in the background, so that training never waits for the network."""

import datetime
import logging
import queue
import threading
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional

from determined import _http, _json, _routes, errors
from determined._request import Request

if TYPE_CHECKING:
    from determined import _messages

logger = logging.getLogger("determined.core")

# At ten reports a second this holds what comes in while the master is away for a quarter of an hour.
QUEUE_SIZE = 10_000
VALIDATION = "validation"
PATIENCE_MESSAGE_S = 10.0


class _Report(NamedTuple):
    request: "Request[Any]"
    # Nobody's work depends on it: if it fails, a line in the log will do.
    advisory: bool


class Reporter:
    """A bounded queue of reports on one trial, and a thread that posts them one after the other, in order.

    A report that the master refuses does not stop those behind it; the first such error is raised by the next call that
    adds or awaits something.

    Parameters
    ----------
    session : Session
        How to reach the master.
    trial_id, trial_run_id : int
        Whose reports these are.
    """

    def __init__(self, session: _http.Session, trial_id: int, trial_run_id: int) -> None:
        self._session = session
        self._trial_id = trial_id
        self._trial_run_id = trial_run_id
        self._queue: queue.Queue[Optional[_Report]] = queue.Queue(maxsize=QUEUE_SIZE)
        self._error: Optional[Exception] = None
        self._closed = False
        # Whether a validation was reported that nobody has awaited since: the search decides by validations.
        self._validated = False
        self._thread = threading.Thread(target=self._run, name="determined-reports", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def status(self, status: str) -> None:
        """Report in a word what the trial is doing."""
        request = _routes.post_trial_runner_metadata(self._trial_id, metadata={"state": status})
        self._add(_Report(request, advisory=True))

    def progress(self, progress: float) -> None:
        """Report which part of training is done, from 0 to 1."""
        request = _routes.report_trial_progress(self._trial_id, progress=progress, is_raw=True)
        self._add(_Report(request, advisory=True))

    def metrics(
        self,
        group: str,
        metrics: Dict[str, Any],
        steps_completed: Optional[int] = None,
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
        report_time: Optional[datetime.datetime] = None,
    ) -> None:
        """Report metrics. The values are copied now, so the caller may go on changing them.

        Raises
        ------
        ValueError
            If the group's name is empty or contains a dot, or ``steps_completed`` is negative.
        TypeError
            If a value cannot be sent; the message tells which.
        """
        if not isinstance(group, str) or not group or "." in group:
            raise ValueError(f"metric group {group!r}: must be a non-empty string without '.'")
        values: _messages.Metrics = {"avgMetrics": _json.to_plain(dict(metrics), "metrics")}
        if batch_metrics is not None:
            values["batchMetrics"] = _json.to_plain(list(batch_metrics), "batch_metrics")
        report: _messages.TrialMetrics = {
            "trialId": self._trial_id,
            "trialRunId": self._trial_run_id,
            "metrics": values,
        }
        if steps_completed is not None:
            if int(steps_completed) < 0:
                raise ValueError(f"steps_completed={steps_completed}: must not be negative")
            report["stepsCompleted"] = int(steps_completed)
        if report_time is not None:
            report["reportTime"] = report_time.astimezone(datetime.timezone.utc).isoformat()
        request = _routes.report_trial_metrics(self._trial_id, metrics=report, group=group)
        self._add(_Report(request, advisory=False))
        self._validated = self._validated or group == VALIDATION

    def validation_arrived(self, timeout_s: float) -> bool:
        """Whether a validation was reported since the last call, and has reached the master.

        Waits for it, but not longer than ``timeout_s``: training goes on without a master that is away. Each validation
        is waited for once.
        """
        reported, self._validated = self._validated, False
        if not reported or not self._thread.is_alive():
            return False
        with self._queue.all_tasks_done:
            return self._queue.all_tasks_done.wait_for(lambda: not self._queue.unfinished_tasks, timeout_s)

    def flush(self) -> None:
        """Wait until the master has everything reported so far."""
        if not self._thread.is_alive():
            raise RuntimeError("core_context was not started: use `with core.init() as core_context`")
        self._queue.join()
        self._raise_error()

    def close(self) -> None:
        """Send what is left, and end the thread."""
        self._closed = True
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join(timeout=PATIENCE_MESSAGE_S)
            while self._thread.is_alive():
                logger.info("still reporting to the master: %d reports to go", self._queue.qsize())
                self._thread.join(timeout=PATIENCE_MESSAGE_S)
        self._raise_error()

    def _add(self, report: _Report) -> None:
        self._raise_error()
        if self._closed:
            raise RuntimeError("core_context has ended: nothing can be reported any more")
        self._queue.put(report)

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self) -> None:
        while True:
            report = self._queue.get()
            if report is not None:
                self._send(report)
            self._queue.task_done()
            if report is None:
                return

    def _send(self, report: _Report) -> None:
        try:
            self._post(report)
        except Exception as e:
            if report.advisory:
                logger.warning("not reported: %s", e)
            else:
                logger.error("metrics could not be reported: %s", e)
                self._error = self._error or e

    def _post(self, report: _Report) -> None:
        try:
            self._session.send(report.request)
        except errors.ApiError as e:
            # The master merges a report that comes twice, but for its batch metrics, of which it wants one set only. If
            # the first attempt broke off after it was sent, these are most probably what it objects to.
            values = report.request.body.get("metrics", {}).get("metrics", {})
            if not e.maybe_done or "batchMetrics" not in values:
                raise
            del values["batchMetrics"]
            self._session.send(report.request)
