"""From ``checkpoint_storage`` of a configuration, or a shortcut for it, to a storage."""

import os
import pathlib
from typing import Any, Dict

from determined import _info
from determined._storage._azure import AzureStorage
from determined._storage._base import Storage
from determined._storage._directory import DirectoryStorage
from determined._storage._gcs import GCSStorage
from determined._storage._s3 import S3Storage

# Where a container finds the checkpoint_storage.host_path of a shared file system.
SHARED_FS_CONTAINER_PATH = "/determined_shared_fs"

# What each type is made from; whatever else a configuration holds is for others (save_trial_best …).
_OBJECT_STORES = {
    "s3": (S3Storage, ("bucket", "access_key", "secret_key", "endpoint_url", "prefix", "temp_dir")),
    "gcs": (GCSStorage, ("bucket", "prefix", "temp_dir")),
    "azure": (AzureStorage, ("container", "connection_string", "account_url", "credential", "temp_dir")),
}


def _is_covered(host_path: str) -> bool:
    """Whether a task's own ``/tmp`` covers the machine's, which is the storage or holds it.

    A plain process of a task sees its machine's directories as they are, except for ``/tmp``, which is its own. The
    storage is mounted for it where a container has it, too. A storage further below ``/tmp`` shows there all the same.
    """
    if os.path.realpath(host_path) not in ("/", os.path.realpath("/tmp")):
        return False
    try:
        mounts = os.path.samefile(_info.DEFAULT_RUN_DIR, _info.run_dir())
    except OSError:
        return False
    return mounts and os.path.ismount(SHARED_FS_CONTAINER_PATH) and os.path.ismount("/tmp")


def path_below(root: str, config: Dict[str, Any]) -> pathlib.Path:
    """Directory of a shared_fs storage whose ``host_path`` this process finds at ``root``."""
    host_path = config["host_path"]
    storage_path = config.get("storage_path") or ""
    if os.path.isabs(storage_path):
        storage_path = os.path.relpath(storage_path, host_path)
    path = os.path.normpath(os.path.join(root, storage_path))
    if os.path.commonpath([root, path]) != os.path.normpath(root):
        raise ValueError(f"checkpoint_storage: storage_path {config['storage_path']!r} leads out of {host_path!r}")
    return pathlib.Path(path)


def shared_fs_path(config: Dict[str, Any]) -> pathlib.Path:
    """Directory of a shared_fs storage as this process sees it."""
    host_path = config["host_path"]
    # In a container the host's path is mounted at a fixed place; a task that runs as a plain process sees it as it
    # is, and a directory of that fixed name on its machine may be somebody else's.
    mounted = _is_covered(host_path) or (_info.in_container() and os.path.isdir(SHARED_FS_CONTAINER_PATH))
    return path_below(SHARED_FS_CONTAINER_PATH if mounted else host_path, config)


def from_config(config: Dict[str, Any]) -> Storage:
    """The storage that ``checkpoint_storage`` of an experiment configuration describes.

    Raises
    ------
    ValueError
        If it describes none.
    ImportError
        If the client of its object store is not installed; the message names the package.
    errors.NoDirectStorageAccess
        If there are no credentials for it.
    """
    kind = config.get("type")
    if kind == "shared_fs":
        return DirectoryStorage(shared_fs_path(config))
    if kind == "directory":
        return DirectoryStorage(config["container_path"])
    if kind not in _OBJECT_STORES:
        raise ValueError(f"checkpoint_storage.type {kind!r} is unknown; use shared_fs, directory, s3, gcs or azure")
    store, keys = _OBJECT_STORES[kind]
    missing = [key for key in keys[:1] if not config.get(key)]
    if missing:
        raise ValueError(f"checkpoint_storage of type {kind}: {missing[0]} is missing")
    storage: Storage = store(**{key: config[key] for key in keys if config.get(key) is not None})
    return storage


def shortcut_to_config(shortcut: str) -> Dict[str, Any]:
    """The configuration for which ``shortcut`` (a path or a URL) stands."""
    scheme, found, rest = shortcut.partition("://")
    if not found:
        return {"type": "shared_fs", "host_path": os.path.abspath(shortcut)}
    if scheme == "file":
        return {"type": "shared_fs", "host_path": rest}
    kind = {"s3": "s3", "gs": "gcs"}.get(scheme)
    if kind is None:
        raise ValueError(f"checkpoint_storage {shortcut!r}: use a path, file://PATH, or a URL of s3:// or gs://")
    bucket, _, prefix = rest.partition("/")
    return {"type": kind, "bucket": bucket, **({"prefix": prefix} if prefix else {})}


def from_shortcut(shortcut: str) -> Storage:
    """The storage for which ``shortcut`` stands; a path means just this path, in a container, too."""
    config = shortcut_to_config(shortcut)
    return DirectoryStorage(config["host_path"]) if config["type"] == "shared_fs" else from_config(config)
