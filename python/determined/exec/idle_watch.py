"""Tell the master whether a notebook is used: ``python3 -m determined.exec.idle_watch``, beside JupyterLab.

Every 30 seconds it asks JupyterLab what runs there, and reports the answer; more often if the notebook's
``idle_timeout`` is short, because the master ends a notebook of which it has heard nothing else for that time. What
counts as idle, ``NOTEBOOK_IDLE_TYPE`` says:

========================  =========================================================================
kernels_or_terminals      there is no kernel, no terminal and no session (the default)
kernel_connections        no kernel has a connection: nobody has it open
activity                  no kernel is busy, and since the last look no kernel or terminal did anything
========================  =========================================================================

Neither the notebook nor this program needs the master or the agent to be there: a report that does not arrive is
followed by the next one.
"""

import http.client
import json
import logging
import os
import pathlib
import re
import sys
import threading
from typing import Any, Dict, List, NamedTuple, Optional

import determined as det
from determined import _http, _routes, errors

logger = logging.getLogger("determined")

IDLE_TYPES = ("kernels_or_terminals", "kernel_connections", "activity")
LOOK_EVERY_S = 30.0
LOOKS_PER_TIMEOUT = 3
SHORTEST_PAUSE_S = 1.0
# Until JupyterLab has answered for the first time.
LOOK_AT_START_EVERY_S = 0.1
ANSWER_TIMEOUT_S = 10.0


_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DURATION = re.compile(r"([\d.]+)(h|ms|m|s|us|µs|ns)")


def duration_s(text: str) -> float:
    """A duration of the configuration, such as ``idle_timeout``.

    >>> duration_s("1h30m"), duration_s("1.5s"), duration_s("250ms")
    (5400.0, 1.5, 0.25)
    """
    return sum(float(number) * _UNITS_S[unit] for number, unit in _DURATION.findall(text))


def pause_s(config: Dict[str, Any]) -> float:
    """Seconds between two looks at the notebook of this configuration.

    >>> pause_s({}), pause_s({"idle_timeout": "30m"}), pause_s({"idle_timeout": "6s"}), pause_s({"idle_timeout": "1s"})
    (30.0, 30.0, 2.0, 1.0)
    """
    timeout = config.get("idle_timeout")
    if not timeout:
        return LOOK_EVERY_S
    return min(LOOK_EVERY_S, max(SHORTEST_PAUSE_S, duration_s(timeout) / LOOKS_PER_TIMEOUT))


def read_config() -> Dict[str, Any]:
    """The notebook's configuration; empty if the master tells none."""
    text, path = os.environ.get("NOTEBOOK_CONFIG"), os.environ.get("NOTEBOOK_CONFIG_FILE")
    if path:  # The variable would be too long.
        text = pathlib.Path(path).read_text(encoding="utf-8")
    found: Dict[str, Any] = json.loads(text or "{}")
    return found


class JupyterAway(Exception):
    """JupyterLab did not answer, or with something that is no list."""


class Jupyter:
    """The programming interface of a Jupyter server on this machine.

    Parameters
    ----------
    port : int
    base_url : str
        Begins and ends with a slash.
    token : str
    """

    def __init__(self, port: int, base_url: str, token: str) -> None:
        self.port, self._base_url, self._token = port, base_url, token

    def ask(self, what: str) -> List[Dict[str, Any]]:
        """The list of all ``kernels``, ``terminals`` or ``sessions``; empty if the server has no such things.

        Raises
        ------
        JupyterAway
        """
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_TIMEOUT_S)
        try:
            headers = {"Authorization": f"token {self._token}"}
            connection.request("GET", f"{self._base_url}api/{what}", headers=headers)
            response = connection.getresponse()
            text = response.read()
            if response.status == 404:
                return []  # A server without terminals does not know the word.
            if response.status != 200:
                raise JupyterAway(f"JupyterLab answered {response.status} to a question for its {what}")
            found = json.loads(text)
        except (OSError, http.client.HTTPException, ValueError) as e:
            raise JupyterAway(f"JupyterLab does not answer on port {self.port}: {e}") from e
        finally:
            connection.close()
        if not isinstance(found, list):
            raise JupyterAway(f"JupyterLab answered no list to a question for its {what}")
        return found


class Seen(NamedTuple):
    """What runs in a Jupyter server at one moment."""

    kernels: List[Dict[str, Any]]
    terminals: List[Dict[str, Any]]
    sessions: List[Dict[str, Any]]

    def last_activity(self) -> str:
        """When a kernel or terminal last did something, as text that grows; empty if there are none."""
        return max((str(one.get("last_activity", "")) for one in [*self.kernels, *self.terminals]), default="")


def is_idle(idle_type: str, now: Seen, before: Optional[Seen]) -> bool:
    """Whether the notebook is idle, by what is seen ``now`` and was seen ``before``, the time before.

    >>> is_idle("kernel_connections", Seen([{"connections": 0}], [], []), None)
    True
    """
    if idle_type == "kernel_connections":
        return all(kernel.get("connections") == 0 for kernel in now.kernels)
    if idle_type == "activity":
        busy = any(kernel.get("execution_state") == "busy" for kernel in now.kernels)
        return not busy and before is not None and now.last_activity() == before.last_activity()
    return not (now.kernels or now.terminals or now.sessions)


class IdleWatch:
    """Looks at a Jupyter server, and reports to the master.

    Parameters
    ----------
    jupyter : Jupyter
    session : _http.Session
        To the master; it should try a report only a few times, because the next one follows soon.
    notebook_id : str
    idle_type : str
        One of :data:`IDLE_TYPES`.
    pause_s : float
        Seconds between two looks.
    """

    def __init__(
        self, jupyter: Jupyter, session: _http.Session, notebook_id: str, idle_type: str, pause_s: float = LOOK_EVERY_S
    ) -> None:
        self._jupyter, self._session, self._pause_s = jupyter, session, pause_s
        self._notebook_id, self._idle_type = notebook_id, idle_type
        self._before: Optional[Seen] = None
        self._idle: Optional[bool] = None  # None: JupyterLab has not answered yet
        self._jupyter_away = self._master_away = False

    def look(self) -> Optional[bool]:
        """Whether the notebook is idle; None if JupyterLab has never answered.

        While JupyterLab does not answer, its last answer counts: whoever runs something that takes the whole machine
        must not lose it for that.
        """
        try:
            now = Seen(self._jupyter.ask("kernels"), self._jupyter.ask("terminals"), self._jupyter.ask("sessions"))
        except JupyterAway as e:
            if self._idle is not None and not self._jupyter_away:
                logger.warning("%s; its last answer counts until it does (idle: %s)", e, self._idle)
                self._jupyter_away = True
            return self._idle
        self._jupyter_away = False
        if self._idle is None:
            # The platform waits for this line. JupyterLab's own, that it is running, comes before it listens.
            print(f"JupyterLab answers on port {self._jupyter.port}", flush=True)
        self._idle = is_idle(self._idle_type, now, self._before)
        self._before = now
        return self._idle

    def report(self, idle: bool) -> None:
        """Tell the master. A failure is logged when it begins, and when it ends."""
        try:
            self._session.send(_routes.idle_notebook(self._notebook_id, idle=idle))
        except (errors.MasterUnreachable, errors.ApiError) as e:
            if not self._master_away:
                logger.warning("the master could not be told whether this notebook is idle; it is tried again: %s", e)
                self._master_away = True
            return
        if self._master_away:
            logger.info("the master is told again whether this notebook is idle")
            self._master_away = False

    def run(self, stopped: threading.Event) -> None:
        """Look and report until ``stopped`` is set."""
        while not stopped.is_set():
            idle = self.look()
            if idle is not None:
                self.report(idle)
            stopped.wait(LOOK_AT_START_EVERY_S if idle is None else self._pause_s)


def main() -> int:
    info = det.get_cluster_info()
    if info is None or info.task_type != "NOTEBOOK":
        logger.error("determined.exec.idle_watch runs in notebooks on a cluster only")
        return 1
    idle_type = os.environ.get("NOTEBOOK_IDLE_TYPE") or IDLE_TYPES[0]
    if idle_type not in IDLE_TYPES:
        logger.error("notebook_idle_type %r is unknown; use %s", idle_type, ", ".join(IDLE_TYPES))
        return 1
    jupyter = Jupyter(
        int(os.environ["NOTEBOOK_PORT"]), f"/proxy/{info.task_id}/", os.environ.get("DET_NOTEBOOK_TOKEN", "")
    )
    session = _http.Session(
        info.master_url,
        info.session_token,
        cert_file=info.master_cert_file,
        cert_name=info.master_cert_name,
        retry=_http.Retry(attempts=3),
    )
    IdleWatch(jupyter, session, info.task_id, idle_type, pause_s(read_config())).run(threading.Event())
    return 0


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    sys.exit(main())
