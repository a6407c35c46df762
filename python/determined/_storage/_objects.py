"""Checkpoints in object stores: what their clients have in common."""

import abc
import concurrent.futures
import contextlib
import pathlib
import random
import tempfile
import threading
from typing import (
    Any,
    BinaryIO,
    Callable,
    Dict,
    Generator,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    NoReturn,
    Optional,
    Sequence,
    Set,
)

from determined import errors
from determined._storage._base import ALL_FILES, Selector, Storage, check_id, chosen, relative
from determined._storage._resources import list_resources, meant

# A transfer mostly waits for the network. Each client splits big files into parts by itself.
TRANSFERS_AT_ONCE = 16
# Bytes that are read at once of a file that is not stored on the way.
CHUNK = 4 << 20


class Found(NamedTuple):
    """An object, as a listing tells."""

    key: str
    # In bytes.
    size: int
    # Whatever the store calls it by, it is another one when the content is another one.
    version: str


def normalized_prefix(prefix: Optional[str]) -> str:
    """A configured prefix as the beginning of keys: without a leading slash, with one at the end unless empty.

    >>> normalized_prefix("/a//b/"), normalized_prefix(None), normalized_prefix("./")
    ('a/b/', '', '')
    """
    parts = [part for part in (prefix or "").split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError(f"checkpoint_storage.prefix {prefix!r} must not contain '..'")
    return "".join(part + "/" for part in parts)


def missing_package(kind: str, package: str, cause: ImportError) -> NoReturn:
    """Say which package the client of a storage comes with."""
    raise ImportError(
        f"checkpoint_storage.type {kind} needs the Python package {package} in the task's environment: "
        f"pip install {package}"
    ) from cause


@contextlib.contextmanager
def _random_state_kept() -> Iterator[None]:
    """Clients draw from Python's generator to space out retries; the user's next number must not depend on that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    state = random.getstate()
    try:
        yield
    finally:
        random.setstate(state)


class ObjectStorage(Storage):
    """Checkpoints under keys ``[prefix/]ID/NAME``; an empty object whose key ends with ``/`` is a directory.

    Parameters
    ----------
    url : str
        Of the bucket or container, for people.
    prefix : str, optional
        Directory within it.
    temp_dir : str, optional
        Where files lie on their way; the system's directory for temporary files otherwise.
    """

    direct = False

    def __init__(self, url: str, prefix: Optional[str], temp_dir: Optional[str]) -> None:
        self._url = url
        self._prefix = normalized_prefix(prefix)
        self._temp_dir = temp_dir

    # What a client has to offer. Each may be called by several threads at once.

    @abc.abstractmethod
    def _put(self, key: str, path: pathlib.Path) -> None:
        """Store a file."""

    @abc.abstractmethod
    def _put_directory(self, key: str) -> None:
        """Store the empty object that stands for a directory."""

    @abc.abstractmethod
    def _get(self, key: str, path: pathlib.Path) -> None:
        """Fetch a file; the directory is there."""

    @abc.abstractmethod
    def _chunks(self, key: str) -> Iterator[bytes]:
        """A file's bytes, a few MiB at a time."""

    @abc.abstractmethod
    def _get_rest(self, key: str, start: int, file: BinaryIO) -> None:
        """Fetch a file's bytes from ``start`` on. It has more than that."""

    @abc.abstractmethod
    def _list(self, prefix: str) -> Iterable[Found]:
        """The objects whose keys begin with ``prefix``."""

    @abc.abstractmethod
    def _remove(self, keys: List[str]) -> None:
        """Remove objects; those that are gone already are no failure."""

    @abc.abstractmethod
    def _is_refusal(self, error: Exception) -> bool:
        """Whether the store does not let us in, or we have nothing to show at its door."""

    @contextlib.contextmanager
    def _access(self) -> Iterator[None]:
        with _random_state_kept():
            try:
                yield
            except Exception as e:
                if not self._is_refusal(e):
                    raise
                raise errors.NoDirectStorageAccess(f"no access to the checkpoint storage {self._url}: {e}") from e

    def describe(self, storage_id: str) -> str:
        return f"{self._url}/{self.key_of(storage_id)}"

    def key_of(self, storage_id: str, name: str = "") -> str:
        """The key of a checkpoint's resource, or what those of all its resources begin with."""
        return f"{self._prefix}{check_id(storage_id)}/{name}"

    @contextlib.contextmanager
    def store_path(self, storage_id: str) -> Iterator[pathlib.Path]:
        self.key_of(storage_id)
        with self._directory() as path:
            yield path
            names = set(list_resources(path))
            try:
                self.upload(storage_id, path, names)
            except BaseException:
                with contextlib.suppress(Exception):
                    self.delete(storage_id)
                raise

    @contextlib.contextmanager
    def _directory(self) -> Iterator[pathlib.Path]:
        with tempfile.TemporaryDirectory(prefix="checkpoint-", dir=self._temp_dir) as path:
            yield pathlib.Path(path)

    def upload(self, storage_id: str, source: pathlib.Path, names: Set[str]) -> None:
        def put(name: str) -> None:
            key = self.key_of(storage_id, name)
            if name.endswith("/"):
                self._put_directory(key)
            else:
                self._put(key, source / name)

        with self._access():
            each(put, sorted(names))

    def download(self, storage_id: str, target: pathlib.Path, selector: Optional[Selector] = None) -> None:
        target = pathlib.Path(target)
        names = sorted(chosen(self.resources(storage_id), selector))
        files = [name for name in names if not name.endswith("/")]
        for path in {target} | {(target / name if name.endswith("/") else (target / name).parent) for name in names}:
            path.mkdir(parents=True, exist_ok=True)
        with self._access():
            each(lambda name: self._get(self.key_of(storage_id, name), target / name), files)

    @contextlib.contextmanager
    def restore_path(self, storage_id: str, selector: Optional[Selector] = None) -> Iterator[pathlib.Path]:
        with self._directory() as path:
            self.download(storage_id, path, selector)
            yield path

    def resources(self, storage_id: str) -> Dict[str, int]:
        root = self.key_of(storage_id)
        with self._access():
            found = {relative(one.key[len(root) :]): one.size for one in self._list(root) if one.key != root}
        if not found:
            raise errors.CheckpointNotFound(f"checkpoint {storage_id} does not exist in {self._url}/{self._prefix}")
        return found

    def chunks(self, storage_id: str, name: str) -> Generator[bytes, None, None]:
        """The bytes of one file of a checkpoint, as they come."""
        with self._access():
            yield from self._chunks(self.key_of(storage_id, name))

    def delete(self, storage_id: str, globs: Sequence[str] = ALL_FILES) -> Dict[str, int]:
        found = self.resources(storage_id)
        gone = meant(found, globs)
        with self._access():
            self._remove([self.key_of(storage_id, name) for name in sorted(gone)])
        return {name: size for name, size in found.items() if name not in gone}

    def put_file(self, source: pathlib.Path, name: str) -> None:
        with self._access():
            self._put(self._prefix + relative(name), source)

    def delete_tree(self, name: str) -> None:
        with self._access():
            self._remove([one.key for one in self._list(f"{self._prefix}{relative(name)}/")])

    def list_tree(self, name: str) -> Dict[str, Found]:
        """The files below the directory ``name``, by their names relative to it; there need not be any."""
        root = f"{self._prefix}{relative(name)}/"
        with self._access():
            return {relative(one.key[len(root) :]): one for one in self._list(root) if not one.key.endswith("/")}

    def fetch(self, key: str, target: pathlib.Path, start: int = 0) -> None:
        """Fetch the object ``key`` of a listing into a file; with ``start``, add the bytes from there on to it.

        Parameters
        ----------
        key : str
        target : pathlib.Path
            Its directory is there; with ``start``, it has that many bytes.
        start : int
            Less than the object's size.
        """
        with self._access():
            if start == 0:
                self._get(key, target)
                return
            with open(target, "ab") as file:
                self._get_rest(key, start, file)


def each(work: Callable[[str], Any], names: Sequence[str]) -> None:
    """Do the work for all names, several at once; the first failure ends it."""
    with concurrent.futures.ThreadPoolExecutor(min(TRANSFERS_AT_ONCE, len(names) or 1)) as threads:
        waiting = [threads.submit(work, name) for name in names]
        try:
            for one in concurrent.futures.as_completed(waiting):
                one.result()
        finally:
            for one in waiting:
                one.cancel()
