"""Shipping metrics in the background, so that training never waits for the network."""

import datetime
import logging
import queue
import threading
from typing import Any, Dict, List, Optional

from determined import _http, _json, errors

logger = logging.getLogger("determined.core")

QUEUE_SIZE = 1000
PATIENCE_MESSAGE_S = 10.0


class MetricsShipper:
    """A bounded queue of reports, and a thread that posts them one after the other, in order.

    A report that the master refuses does not stop the others; the first such error is raised by the next call to
    :meth:`report` or :meth:`close`, whichever comes first.

    Parameters
    ----------
    session : Session
        How to reach the master.
    trial_id, trial_run_id : int
        Whose metrics these are.
    """

    def __init__(self, session: _http.Session, trial_id: int, trial_run_id: int) -> None:
        self._session = session.clone(_http.PATIENT)
        self._trial_id = trial_id
        self._trial_run_id = trial_run_id
        self._queue: queue.Queue[Optional[Dict[str, Any]]] = queue.Queue(maxsize=QUEUE_SIZE)
        self._error: Optional[Exception] = None
        self._thread = threading.Thread(target=self._run, name="determined-metrics", daemon=True)

    def start(self) -> None:
        """Begin to ship."""
        self._thread.start()

    def report(
        self,
        group: str,
        metrics: Dict[str, Any],
        steps_completed: Optional[int] = None,
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
        report_time: Optional[datetime.datetime] = None,
    ) -> None:
        """Queue a report; waits only while the queue is full.

        The values are copied now, so the caller may go on changing them.

        Raises
        ------
        ValueError
            If the group's name is empty or contains a dot, or ``steps_completed`` is negative.
        TypeError
            If a value cannot be sent; the message tells which.
        """
        if not isinstance(group, str) or not group or "." in group:
            raise ValueError(f"metric group {group!r}: must be a non-empty string without '.'")
        body: Dict[str, Any] = {"avgMetrics": _json.to_plain(dict(metrics), "metrics")}
        if batch_metrics is not None:
            body["batchMetrics"] = _json.to_plain(list(batch_metrics), "batch_metrics")
        report: Dict[str, Any] = {
            "trialId": self._trial_id,
            "trialRunId": self._trial_run_id,
            "metrics": body,
        }
        if steps_completed is not None:
            if int(steps_completed) < 0:
                raise ValueError(f"steps_completed={steps_completed}: must not be negative")
            report["stepsCompleted"] = int(steps_completed)
        if report_time is not None:
            report["reportTime"] = report_time.astimezone(datetime.timezone.utc).isoformat()
        self._raise_error()
        self._queue.put({"group": group, "metrics": report})

    def close(self) -> None:
        """Wait until everything queued has been shipped, and end the thread."""
        if not self._thread.is_alive():
            self._raise_error()
            return
        self._queue.put(None)
        while self._thread.is_alive():
            self._thread.join(timeout=PATIENCE_MESSAGE_S)
            if self._thread.is_alive():
                logger.info("still reporting metrics to the master: %d reports to go", self._queue.qsize())
        self._session.close()
        self._raise_error()

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self) -> None:
        while True:
            report = self._queue.get()
            if report is None:
                return
            try:
                self._post(report)
            except Exception as e:
                logger.error("metrics could not be reported: %s", e)
                self._error = self._error or e

    def _post(self, report: Dict[str, Any]) -> None:
        path = f"/api/v1/trials/{self._trial_id}/metrics"
        try:
            self._session.post(path, report)
        except errors.ApiError as e:
            # The master merges a report that comes twice, but for its batch metrics, of which it wants one set only. If
            # the first attempt broke off after it was sent, these are most probably what it objects to.
            if not e.maybe_done or "batchMetrics" not in report["metrics"]["metrics"]:
                raise
            del report["metrics"]["metrics"]["batchMetrics"]
            self._session.post(path, report)
