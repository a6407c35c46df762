"""Files for TensorBoard: a directory of the task's own, mirrored into checkpoint storage."""

import concurrent.futures
import enum
import logging
import os
import pathlib
import re
import tempfile
import threading
import time
from typing import Callable, Dict, List, Optional, Tuple

from determined import _info, _storage

logger = logging.getLogger("determined.core")

# Files are looked through at most this often, however often metrics are reported.
MIN_INTERVAL_S = 1.0
# Traces of profilers, whose names are those of the machine: one of each rank. Event files have names of their own.
_TRACE = re.compile(
    r"^(?P<worker>.*?)(?P<rest>(\.\d+)?\.pt\.trace\.json(\.gz)?|\.trace\.json(\.gz)?|\.memory_profile\.json\.gz"
    r"|\.(xplane|input_pipeline|tensorflow_stats|kernel_stats|overview_page)\.pb)$"
)


class TensorboardMode(enum.Enum):
    """Who sees to it that TensorBoard's files reach checkpoint storage.

    ``AUTO``: the library, after reports of metrics and at the end; rank 0 also draws what it reports of training and
    validation, as ``Determined/NAME`` and ``Determined/val_NAME``. ``MANUAL``: you, by
    ``core_context.train.upload_tensorboard_files()``, and nothing is drawn for you.
    """

    AUTO = "AUTO"
    MANUAL = "MANUAL"


def local_path(allocation_id: str) -> pathlib.Path:
    """Where a task writes its event files: gone with its container, or with its own directory where it has none."""
    rank = os.environ.get("HOROVOD_RANK", "0")
    base = tempfile.gettempdir() if _info.in_container() else _info.run_dir()
    return pathlib.Path(base) / f"tensorboard-{allocation_id}-{rank}"


def experiment_path(cluster_id: str, experiment_id: int) -> str:
    """Where the files of an experiment's trials lie, relative to the root of its checkpoint storage."""
    return f"{cluster_id}/tensorboard/experiment/{experiment_id}"


def with_rank(path: pathlib.Path, rank: int) -> pathlib.Path:
    """The name under which a rank's file is stored: traces of profilers get ``#RANK`` before their extension.

    >>> with_rank(pathlib.Path("plugins/host.xplane.pb"), 3).as_posix()
    'plugins/host#3.xplane.pb'
    >>> with_rank(pathlib.Path("events.out.tfevents.17.host"), 3).as_posix()
    'events.out.tfevents.17.host'
    """
    trace = _TRACE.match(path.name)
    return path.with_name(f"{trace['worker']}#{rank}{trace['rest']}") if trace else path


class TensorboardFiles:
    """Mirrors a local directory into ``CLUSTER/tensorboard/experiment/E/trial/T`` of the storage, in the background.

    Parameters
    ----------
    base_path : pathlib.Path
        The local directory; made if missing.
    storage : Storage
        Where the experiment keeps its checkpoints.
    cluster_id, experiment_id, trial_id
        Whose files these are.
    """

    def __init__(
        self,
        base_path: pathlib.Path,
        storage: _storage.Storage,
        cluster_id: str,
        experiment_id: int,
        trial_id: int,
    ) -> None:
        self.base_path = base_path
        base_path.mkdir(parents=True, exist_ok=True)
        self._storage = storage
        self._target = f"{experiment_path(cluster_id, experiment_id)}/trial/{trial_id}"
        self._seen: Dict[str, float] = {}
        self._failed: List[str] = []
        self._lock = threading.Lock()  # of _failed
        self._last_s: Optional[float] = None
        self._thread = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="tensorboard-files")
        self._waiting: List[concurrent.futures.Future[None]] = []

    def sync(
        self,
        selector: Callable[[pathlib.Path], bool] = lambda _: True,
        mangler: Callable[[pathlib.Path, int], pathlib.Path] = lambda path, __: path,
        rank: int = 0,
        *,
        at_once: bool = True,
    ) -> None:
        """Have stored what changed since the last time; unless ``at_once``, not more than once a second.

        Does not wait for it. A file that could not be stored is tried again the next time.
        """
        now = time.monotonic()
        if not at_once and self._last_s is not None and now - self._last_s < MIN_INTERVAL_S:
            return
        self._waiting = [one for one in self._waiting if not one.done()]
        if not at_once and self._waiting:
            return  # storing takes longer than a second
        self._last_s = now
        files = [(name, mangler(name, rank).as_posix()) for name in self._changed() if selector(name)]
        if files:
            self._waiting.append(self._thread.submit(self._store, files))

    def _changed(self) -> List[pathlib.Path]:
        """What changed since the last time, or could not be stored then."""
        with self._lock:
            failed, self._failed = self._failed, []
        for name in failed:
            self._seen.pop(name, None)
        return [pathlib.Path(name) for name in _storage.changed_files(self.base_path, self._seen)]

    def _store(self, files: List[Tuple[pathlib.Path, str]]) -> None:
        for name, stored_as in files:
            try:
                self._storage.put_file(self.base_path / name, f"{self._target}/{stored_as}")
            except Exception as e:
                # A curve in TensorBoard is not worth a training run; the end of the context tries once more.
                logger.warning("TensorBoard's file %s could not be stored: %s", name, e)
                with self._lock:
                    self._failed.append(str(name))

    def flush(self) -> None:
        """Wait until everything that was asked for has been tried."""
        for one in self._waiting:
            one.result()

    def close(self, *, last_sync: bool) -> None:
        """Wait for what is under way; with ``last_sync`` store what changed since, too.

        That is done on the calling thread: a context that is closed when the interpreter ends finds no other one.
        """
        self.flush()
        if last_sync:
            self._store([(name, name.as_posix()) for name in self._changed()])
        self._thread.shutdown(wait=True)
