"""Storage in a directory that all machines share."""

import os
import pathlib
from typing import Any, Callable, Dict, Optional

from determined import _storage
from determined._storage import _directory
from determined.common.storage import base


def copytree(
    src: str, dst: str, selector: Optional[Callable[[str], bool]] = None, src_root: Optional[str] = None
) -> str:
    """Copy a directory, or what is wanted of it, into another one; returns that one.

    Parameters
    ----------
    src, dst : str
    selector : callable, optional
        Says of each resource whether it is wanted; all are by default.
    src_root : str, optional
        What the names that the selector is given are relative to; by default ``src``.
    """
    source = pathlib.Path(src)
    inner = "" if src_root is None else os.path.relpath(src, src_root) + "/"
    wanted = {name for name in _storage.list_resources(source) if selector is None or selector(inner + name)}
    _directory.copy_resources(source, pathlib.Path(dst), wanted)
    return dst


class SharedFSStorageManager(base.StorageManager):
    """Directories below one that all machines share.

    Parameters
    ----------
    base_path : str
        That directory, as this machine sees it.
    """

    @classmethod
    def from_config(cls, config: Dict[str, Any], container_path: Optional[str]) -> "SharedFSStorageManager":
        """The manager of a storage of type ``shared_fs``.

        Parameters
        ----------
        config : dict
            Its ``host_path``, and perhaps its ``storage_path``.
        container_path : str, optional
            Where ``host_path`` is mounted: see :func:`determined.common.storage.build`.
        """
        unknown = set(config) - {"host_path", "storage_path", "container_path"}
        if unknown or "host_path" not in config:
            raise TypeError(f"unknown keys {sorted(unknown)}" if unknown else "host_path is missing")
        if container_path == _storage.SHARED_FS_CONTAINER_PATH:
            return cls(os.fspath(_storage.shared_fs_path(config)))
        return cls(os.fspath(_storage.path_below(container_path or config["host_path"], config)))
