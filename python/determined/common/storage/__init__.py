"""Checkpoint storage for programs: read, write and remove what lies under an id, where an experiment's storage is.

The names are those of the released library. Training code needs none of them: ``core_context.checkpoint`` stores and
restores checkpoints, and tells the master of them. What is written here, the master does not know of.

>>> import tempfile
>>> manager = build({"type": "shared_fs", "host_path": tempfile.mkdtemp()}, container_path=None)
>>> with manager.store_path("an-id") as path:
...     _ = (path / "weights.txt").write_text("0.5")
>>> with manager.restore_path("an-id") as path:
...     (path / "weights.txt").read_text()
'0.5'
"""

from typing import Any, Dict, Optional, Type

from determined._storage._base import prove_usable
from determined.common.storage.azure import AzureStorageManager
from determined.common.storage.base import Paths, Selector, StorageManager, from_string, normalize_prefix
from determined.common.storage.cloud import CloudStorageManager
from determined.common.storage.directory import DirectoryStorageManager
from determined.common.storage.gcs import GCSStorageManager
from determined.common.storage.s3 import S3StorageManager
from determined.common.storage.shared import SharedFSStorageManager

__all__ = [
    "AzureStorageManager",
    "CloudStorageManager",
    "DirectoryStorageManager",
    "GCSStorageManager",
    "Paths",
    "S3StorageManager",
    "Selector",
    "SharedFSStorageManager",
    "StorageManager",
    "build",
    "from_string",
    "normalize_prefix",
    "validate_config",
    "validate_manager",
]

_MANAGERS: Dict[str, Type[StorageManager]] = {
    "azure": AzureStorageManager,
    "directory": DirectoryStorageManager,
    "gcs": GCSStorageManager,
    "s3": S3StorageManager,
    "shared_fs": SharedFSStorageManager,
}
# Of a configuration, what is said to others: how many checkpoints are kept, how a directory is mounted.
_OF_OTHERS = ("save_experiment_best", "save_trial_best", "save_trial_latest", "propagation", "checkpoint_path")


def build(config: Dict[str, Any], container_path: Optional[str]) -> StorageManager:
    """The manager of the storage that ``checkpoint_storage`` of an experiment configuration describes.

    Parameters
    ----------
    config : dict
    container_path : str, optional
        Where a ``host_path`` is mounted for this program; None if the program sees it as the configuration names it.
        For ``/determined_shared_fs``, a task's own place for it, the library finds out which of the two holds.

    Raises
    ------
    ValueError
        If the type is missing or is no text.
    TypeError
        If there is no such type of storage, or its keys are not those of the type.
    """
    kind = config.get("type")
    if kind is None:
        raise ValueError("checkpoint_storage: type is missing; use shared_fs, directory, s3, gcs or azure")
    if not isinstance(kind, str):
        raise ValueError(f"checkpoint_storage.type must be a string, not {kind!r}")
    if kind not in _MANAGERS:
        raise TypeError(f"checkpoint_storage.type {kind!r} is unknown; use shared_fs, directory, s3, gcs or azure")
    keys = {key: value for key, value in config.items() if key not in _OF_OTHERS and key != "type"}
    try:
        return _MANAGERS[kind].from_config(keys, container_path)
    except TypeError as e:
        raise TypeError(f"checkpoint_storage of type {kind}: {e}") from e


def validate_manager(manager: StorageManager) -> None:
    """Prove that the storage can be written, read and cleared.

    Raises
    ------
    Exception
        Whatever went wrong.
    """
    prove_usable(manager)


def validate_config(config: Dict[str, Any], container_path: Optional[str]) -> None:
    """Prove that the storage of a configuration can be used: :func:`build` and :func:`validate_manager` in one.

    Parameters
    ----------
    config : dict
    container_path : str, optional
        As for :func:`build`.

    Raises
    ------
    Exception
        Whatever went wrong.
    """
    validate_manager(build(config, container_path))
