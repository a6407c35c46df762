"""Checkpoints in a directory, on this machine or shared between machines."""

import concurrent.futures
import contextlib
import os
import pathlib
import shutil
from typing import Callable, Dict, Iterable, Iterator, Optional, Sequence, Set, TypeVar, Union

from determined import errors
from determined._storage._base import ALL_FILES, Selector, Storage, check_id, chosen, forget_on_failure, relative
from determined._storage._problems import explained, foreseen
from determined._storage._resources import list_resources, meant

T = TypeVar("T")

# A few files at once are copied faster than one after the other; many are not.
COPIES_AT_ONCE = 4
# The disk is waited for; a file system writes its journal once for all files that wait at a time.
SYNCS_AT_ONCE = 32


def _sync(path: pathlib.Path) -> None:
    """Make sure that what we are about to call stored survives a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        pass  # some network file systems refuse to sync directories
    finally:
        os.close(handle)


def _sync_all(paths: Iterable[pathlib.Path]) -> None:
    _at_once(_sync, paths, SYNCS_AT_ONCE)


def _at_once(work: Callable[[T], object], items: Iterable[T], threads_n: int = COPIES_AT_ONCE) -> None:
    items = list(items)
    if len(items) < 2:
        for item in items:
            work(item)
        return
    with concurrent.futures.ThreadPoolExecutor(min(threads_n, len(items))) as threads:
        list(threads.map(work, items))


def copy_resources(source: pathlib.Path, target: pathlib.Path, names: Set[str], *, durably: bool = False) -> None:
    """Copy the resources ``names`` (directories without their contents), a few files at once."""
    directories = {name for name in names if name.endswith("/")}
    files = sorted(names - directories)
    for path in sorted({target / name for name in directories} | {(target / name).parent for name in files} | {target}):
        path.mkdir(parents=True, exist_ok=True)

    _at_once(lambda name: shutil.copy2(source / name, target / name), files)
    if durably:
        _sync_all([target / name for name in files])


SHARED_ABOVE = ("tensorboard", "experiment")  # below the cluster's directory


class DirectoryStorage(Storage):
    """Checkpoints in the subdirectories of one directory.

    Parameters
    ----------
    base_path : path-like
        Made when the first checkpoint is stored.
    """

    direct = True

    def __init__(self, base_path: Union[str, "os.PathLike[str]"]) -> None:
        self.base_path = pathlib.Path(base_path)

    def path_of(self, storage_id: str) -> pathlib.Path:
        """Where the checkpoint lies, or will."""
        return self.base_path / check_id(storage_id)

    def describe(self, storage_id: str) -> str:
        return os.fspath(self.path_of(storage_id))

    def foreseen_problem(self) -> Optional[str]:
        return foreseen(self.base_path)

    def _existing(self, storage_id: str) -> pathlib.Path:
        path = self.path_of(storage_id)
        with explained(self.base_path, "read"):
            exists = path.is_dir()
        if not exists:
            raise errors.CheckpointNotFound(f"checkpoint {storage_id} does not exist in {self.base_path}")
        return path

    def _sync_directories(self, path: pathlib.Path) -> None:
        _sync_all([p for p in path.rglob("*") if p.is_dir()] + [path, path.parent])

    @contextlib.contextmanager
    def store_path(self, storage_id: str) -> Iterator[pathlib.Path]:
        path = self.path_of(storage_id)
        # What went wrong is looked at before what was stored so far is removed: a full disk is full no more then.
        with forget_on_failure(lambda: shutil.rmtree(path)), explained(self.base_path, "write to"):
            path.mkdir(parents=True, exist_ok=True)
            yield path
            _sync_all(p for p in path.rglob("*") if p.is_file())
            self._sync_directories(path)

    def upload(self, storage_id: str, source: pathlib.Path, names: Set[str]) -> None:
        path = self.path_of(storage_id)
        with explained(self.base_path, "write to"):
            copy_resources(source, path, names, durably=True)
            self._sync_directories(path)

    def download(self, storage_id: str, target: pathlib.Path, selector: Optional[Selector] = None) -> None:
        source = self._existing(storage_id)
        with explained(self.base_path, "read"):
            copy_resources(source, pathlib.Path(target), chosen(list_resources(source), selector))

    @contextlib.contextmanager
    def restore_path(self, storage_id: str, selector: Optional[Selector] = None) -> Iterator[pathlib.Path]:
        path = self._existing(storage_id)
        with explained(self.base_path, "read"):
            yield path

    def resources(self, storage_id: str) -> Dict[str, int]:
        return list_resources(self._existing(storage_id))

    def delete(self, storage_id: str, globs: Sequence[str] = ALL_FILES) -> Dict[str, int]:
        path = self._existing(storage_id)
        with explained(self.base_path, "remove what is in"):
            return self._delete(path, globs)

    def _delete(self, path: pathlib.Path, globs: Sequence[str]) -> Dict[str, int]:
        if set(ALL_FILES) & set(globs):
            shutil.rmtree(path)
            return {}
        for name in sorted(meant(list_resources(path), globs), key=lambda name: -len(name)):
            (path / name).rmdir() if name.endswith("/") else (path / name).unlink()
        left = list_resources(path)
        if not left:
            path.rmdir()
        return left

    def put_file(self, source: pathlib.Path, name: str) -> None:
        target = self.base_path / relative(name)
        with explained(self.base_path, "write to"):
            self._make_shared(target)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)

    def _make_shared(self, target: pathlib.Path) -> None:
        """Directories above an experiment's own, of TensorBoard files.

        Users, each with a uid of their own, add theirs there, as in /tmp.
        """
        parts = target.relative_to(self.base_path).parts
        if parts[1 : len(SHARED_ABOVE) + 1] != SHARED_ABOVE:
            return
        path = self.base_path
        for part in parts[: len(SHARED_ABOVE) + 1]:
            path = path / part
            with contextlib.suppress(FileExistsError):
                path.mkdir(parents=True)
                path.chmod(0o1777)

    def delete_tree(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.base_path / relative(name))


def default_base_path() -> pathlib.Path:
    """Where checkpoints go off the cluster, unless told otherwise (XDG base directories)."""
    data_home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return pathlib.Path(data_home) / "determined"
