"""Files for TensorBoard: a directory of the task's own, mirrored into checkpoint storage."""

import enum
import os
import pathlib
import shutil
import tempfile
import time
from typing import Callable, Dict, Optional

from determined import _info, _storage

# Files are looked through at most this often, however often metrics are reported.
MIN_INTERVAL_S = 1.0


class TensorboardMode(enum.Enum):
    """Who sees to it that TensorBoard's files reach checkpoint storage.

    ``AUTO``: the library, after reports of metrics and at the end. ``MANUAL``: you, by
    ``core_context.train.upload_tensorboard_files()``.
    """

    AUTO = "AUTO"
    MANUAL = "MANUAL"


def local_path(allocation_id: str) -> pathlib.Path:
    """Where a task writes its event files: gone with its container, or with its own directory where it has none."""
    rank = os.environ.get("HOROVOD_RANK", "0")
    base = tempfile.gettempdir() if _info.in_container() else _info.run_dir()
    return pathlib.Path(base) / f"tensorboard-{allocation_id}-{rank}"


class TensorboardFiles:
    """Mirrors a local directory into ``CLUSTER/tensorboard/experiment/E/trial/T`` of the storage.

    Parameters
    ----------
    base_path : pathlib.Path
        The local directory; made if missing.
    storage : DirectoryStorage
        Where the experiment keeps its checkpoints.
    cluster_id, experiment_id, trial_id
        Whose files these are.
    """

    def __init__(
        self,
        base_path: pathlib.Path,
        storage: _storage.DirectoryStorage,
        cluster_id: str,
        experiment_id: int,
        trial_id: int,
    ) -> None:
        self.base_path = base_path
        base_path.mkdir(parents=True, exist_ok=True)
        self._target = (
            storage.base_path / cluster_id / "tensorboard" / "experiment" / str(experiment_id) / "trial" / str(trial_id)
        )
        self._seen: Dict[str, float] = {}
        self._last_s: Optional[float] = None

    def sync(
        self,
        selector: Callable[[pathlib.Path], bool] = lambda _: True,
        mangler: Callable[[pathlib.Path, int], pathlib.Path] = lambda path, __: path,
        rank: int = 0,
        *,
        at_once: bool = True,
    ) -> None:
        """Copy what changed since the last time; unless ``at_once``, not more than once a second."""
        now = time.monotonic()
        if not at_once and self._last_s is not None and now - self._last_s < MIN_INTERVAL_S:
            return
        self._last_s = now
        for name in _storage.changed_files(self.base_path, self._seen):
            if selector(pathlib.Path(name)):
                target = self._target / mangler(pathlib.Path(name), rank)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.base_path / name, target)
