"""What a task runs in, put on record: interpreter and packages. What machine it is, the agent tells."""

import logging
import os
import platform
import re
import sys
import threading
from typing import TYPE_CHECKING, Dict, Iterable

from determined import _http, _info, _routes
from determined._version import __version__

if TYPE_CHECKING:
    from determined import _messages

logger = logging.getLogger("determined.core")

# What people compare first; of these the versions are told apart from the long list.
FRAMEWORKS = (
    *("accelerate", "deepspeed", "horovod", "jax", "keras", "lightning", "numpy", "tensorflow", "tensorflow-cpu"),
    *("torch", "torchvision", "transformers"),
)
PATIENCE_S = 5.0


def packages(places: Iterable[str]) -> Dict[str, str]:
    """Names and versions of what is installed.

    Told by the names of the directories that describe packages: to read each one's METADATA takes a hundred times as
    long, and says the same.

    Parameters
    ----------
    places : iterable of str
        Directories in which modules are looked for, the first of which counts.

    Returns
    -------
    dict
        Version by name, in the spelling of PEP 503, sorted.
    """
    found: Dict[str, str] = {}
    for place in places:
        try:
            entries = os.listdir(place or ".")
        except OSError:
            continue
        for entry in entries:
            stem, _, kind = entry.rpartition(".")
            name, dash, version = stem.partition("-")
            if kind in ("dist-info", "egg-info") and dash:
                found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version.partition("-")[0])
    return dict(sorted(found.items()))


def python_environment() -> "_messages.PythonEnvironment":
    """This interpreter and its packages, as the master keeps them."""
    installed = packages(sys.path)
    return {
        "executable": sys.executable,
        "version": platform.python_version(),
        "frameworks": {"determined": __version__, **{n: installed[n] for n in FRAMEWORKS if n in installed}},
        "packages": installed,
    }


class EnvironmentRecord:
    """Tells the master in the background what this task runs in; nothing waits for it, nothing depends on it.

    Parameters
    ----------
    session : Session
    info : ClusterInfo
        Whose environment it is.
    """

    def __init__(self, session: _http.Session, info: _info.ClusterInfo) -> None:
        self._session = session
        self._allocation_id = info.allocation_id
        self._container_id = os.environ.get("DET_CONTAINER_ID", "")
        self._thread = threading.Thread(target=self._tell, name="determined-environment", daemon=True)

    def start(self) -> None:
        """Begin."""
        if self._container_id:
            self._thread.start()

    def close(self) -> None:
        """Give it a moment to arrive, if it has not yet."""
        if self._thread.is_alive():
            self._thread.join(PATIENCE_S)

    def _tell(self) -> None:
        try:
            self._session.send(
                _routes.put_allocation_environment(
                    self._allocation_id, container_id=self._container_id, python=python_environment()
                )
            )
        except Exception as e:
            # A master of another release does not know of such records.
            logger.debug("the environment is not on record: %s", e)
