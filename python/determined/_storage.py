"""Checkpoint storage: directories, on this machine or shared between machines.

A checkpoint is a directory named by its id. Its *resources* are its contents as the master wants them: path relative to
the checkpoint, with ``/`` in between and at the end of directories, to size in bytes (0 for directories).
"""

import contextlib
import os
import pathlib
import shutil
import uuid
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Union

from determined import _info, errors

# Where a container finds the checkpoint_storage.host_path of a shared file system.
SHARED_FS_CONTAINER_PATH = "/determined_shared_fs"

Selector = Callable[[str], bool]


def list_resources(directory: Union[str, os.PathLike]) -> Dict[str, int]:
    """Everything below ``directory``, as resources (see the module)."""
    root = pathlib.Path(directory)
    resources = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_dir():
            resources[name + "/"] = 0
        elif path.is_file():
            resources[name] = path.stat().st_size
    return resources


def copy_resources(source: pathlib.Path, target: pathlib.Path, names: Set[str]) -> None:
    """Copy the resources ``names`` (directories without their contents), parents first."""
    target.mkdir(parents=True, exist_ok=True)
    for name in sorted(names):
        if name.endswith("/"):
            (target / name).mkdir(parents=True, exist_ok=True)
        else:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target / name)


def _sync_to_disk(directory: pathlib.Path) -> None:
    """Make sure that what we are about to call stored survives a power cut."""
    paths = [p for p in directory.rglob("*") if p.is_file() or p.is_dir()] + [directory, directory.parent]
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError:
            pass  # some network file systems refuse to sync directories
        finally:
            os.close(handle)


class DirectoryStorage:
    """Checkpoints in the subdirectories of one directory.

    Parameters
    ----------
    base_path : path-like
        Made when the first checkpoint is stored.
    """

    def __init__(self, base_path: Union[str, os.PathLike]) -> None:
        self.base_path = pathlib.Path(base_path)

    def path_of(self, storage_id: str) -> pathlib.Path:
        """Where the checkpoint lies, or will."""
        if not storage_id or storage_id in (".", "..") or "/" in storage_id or "\0" in storage_id:
            raise ValueError(f"{storage_id!r} is not a checkpoint id")
        return self.base_path / storage_id

    def _existing(self, storage_id: str) -> pathlib.Path:
        path = self.path_of(storage_id)
        if not path.is_dir():
            raise errors.CheckpointNotFound(f"checkpoint {storage_id} does not exist in {self.base_path}")
        return path

    @contextlib.contextmanager
    def store_path(self, storage_id: str) -> Iterator[pathlib.Path]:
        """A directory to write the checkpoint into; written through to the disk at the end, removed on an exception."""
        path = self.path_of(storage_id)
        path.mkdir(parents=True)
        try:
            yield path
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise
        _sync_to_disk(path)

    def download(self, storage_id: str, target: Union[str, os.PathLike], selector: Optional[Selector] = None) -> None:
        """Copy a checkpoint, or what ``selector`` says yes to, into the directory ``target``."""
        source = self._existing(storage_id)
        names = {name for name in list_resources(source) if selector is None or selector(name)}
        copy_resources(source, pathlib.Path(target), names)

    @contextlib.contextmanager
    def restore_path(self, storage_id: str, selector: Optional[Selector] = None) -> Iterator[pathlib.Path]:
        """A directory with the checkpoint's files: the stored ones themselves, since they can be read in place."""
        yield self._existing(storage_id)

    def delete(self, storage_id: str) -> Dict[str, int]:
        """Remove a checkpoint; returns the resources left, which are none."""
        shutil.rmtree(self._existing(storage_id))
        return {}

    def validate(self) -> None:
        """Prove that we may write, read and delete here.

        Raises
        ------
        OSError
            If not.
        """
        name = str(uuid.uuid4())
        with self.store_path(name) as path:
            (path / "VALIDATE.txt").write_text(name, encoding="utf-8")
        try:
            with self.restore_path(name) as path:
                found = (path / "VALIDATE.txt").read_text(encoding="utf-8")
            if found != name:
                raise OSError(f"{self.base_path}: wrote {name!r} into VALIDATE.txt and read back {found!r}")
        finally:
            self.delete(name)


def _shared_fs_path(config: Dict[str, Any]) -> pathlib.Path:
    """Directory of a shared_fs storage as this process sees it."""
    host_path = config["host_path"]
    # In a container the host's path is mounted at a fixed place; a task that runs as a plain process sees it as it
    # is, and a directory of that fixed name on its machine is somebody else's.
    mounted = _info.in_container() and os.path.isdir(SHARED_FS_CONTAINER_PATH)
    root = SHARED_FS_CONTAINER_PATH if mounted else host_path
    storage_path = config.get("storage_path") or ""
    if os.path.isabs(storage_path):
        storage_path = os.path.relpath(storage_path, host_path)
    path = os.path.normpath(os.path.join(root, storage_path))
    if os.path.commonpath([root, path]) != os.path.normpath(root):
        raise ValueError(f"checkpoint_storage: storage_path {config['storage_path']!r} leads out of {host_path!r}")
    return pathlib.Path(path)


def from_config(config: Dict[str, Any]) -> DirectoryStorage:
    """The storage that ``checkpoint_storage`` of an experiment configuration describes.

    Raises
    ------
    ValueError
        If it describes none, or one of a type that this version cannot use.
    """
    kind = config.get("type")
    if kind == "shared_fs":
        return DirectoryStorage(_shared_fs_path(config))
    if kind == "directory":
        return DirectoryStorage(config["container_path"])
    if kind in ("s3", "gcs", "azure"):
        raise ValueError(
            f"checkpoint_storage.type {kind!r} is not supported by this version yet; use shared_fs or directory"
        )
    raise ValueError(f"checkpoint_storage.type {kind!r} is unknown; use shared_fs or directory")


def shortcut_to_config(shortcut: str) -> Dict[str, Any]:
    """The configuration for which ``shortcut`` (a path or a URL) stands."""
    scheme, found, rest = shortcut.partition("://")
    if not found:
        return {"type": "shared_fs", "host_path": os.path.abspath(shortcut)}
    if scheme == "file":
        return {"type": "shared_fs", "host_path": rest}
    kind = {"s3": "s3", "gs": "gcs", "ms": "azure"}.get(scheme)
    if kind is None:
        raise ValueError(f"checkpoint_storage {shortcut!r}: use a path, file://PATH, or a URL of s3:// or gs://")
    bucket, _, prefix = rest.partition("/")
    return {"type": kind, "bucket": bucket, "prefix": prefix}


def from_shortcut(shortcut: str) -> DirectoryStorage:
    """The storage for which ``shortcut`` stands; a path means just this path, in a container, too."""
    config = shortcut_to_config(shortcut)
    return DirectoryStorage(config["host_path"]) if config["type"] == "shared_fs" else from_config(config)


def default_base_path() -> pathlib.Path:
    """Where checkpoints go off the cluster, unless told otherwise (XDG base directories)."""
    data_home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return pathlib.Path(data_home) / "determined"


def changed_files(directory: pathlib.Path, seen: Dict[str, float]) -> List[str]:
    """Files below ``directory`` that are new or were modified since ``seen`` was brought up to date; does so."""
    changed = []
    for path in sorted(directory.rglob("*")) if directory.is_dir() else []:
        if path.is_file():
            name, modified = path.relative_to(directory).as_posix(), path.stat().st_mtime
            if seen.get(name) != modified:
                seen[name] = modified
                changed.append(name)
    return changed
