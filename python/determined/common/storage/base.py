"""What every storage manager does."""

import contextlib
import os
import pathlib
import shutil
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Union

from determined import _storage
from determined._storage import _objects

Paths = Set[str]
Selector = Callable[[str], bool]


class StorageManager:
    """Directories of files, each under an id, in one storage.

    Resources are named as everywhere on the platform: paths relative to the checkpoint, directories with ``/`` at the
    end.

    Parameters
    ----------
    base_path : str
        The directory that holds them or, for a storage elsewhere, that files pass through on their way.
    """

    def __init__(self, base_path: str) -> None:
        if not isinstance(base_path, str):
            raise ValueError(f"base_path must be a string, not {base_path!r}")
        self._base_path = base_path
        self._storage: _storage.Storage = _storage.DirectoryStorage(base_path)

    @classmethod
    def from_config(cls, config: Dict[str, Any], container_path: Optional[str]) -> "StorageManager":
        """The manager whose arguments are the keys of ``config``.

        Parameters
        ----------
        config : dict
            ``checkpoint_storage`` of an experiment configuration, without its ``type``.
        container_path : str, optional
            Of use to storages that are mounted: see :func:`determined.common.storage.build`.
        """
        return cls(**config)

    def pre_store_path(self, dst: str) -> pathlib.Path:
        """Make a directory of this machine to write what is stored under the id ``dst`` into."""
        path = pathlib.Path(self._base_path) / dst
        path.mkdir(parents=True, exist_ok=True)
        return path

    def post_store_path(self, src: Union[str, "os.PathLike[str]"], dst: str, paths: Optional[Paths] = None) -> None:
        """Store what was written into the directory of :meth:`pre_store_path`.

        Parameters
        ----------
        src : path-like
            That directory. It is gone afterwards, where it is not the storage itself.
        dst : str
            The id.
        paths : set of str, optional
            Which resources; all by default.
        """
        if self.store_path_is_direct_access():
            return
        self.upload(src, dst, paths)
        shutil.rmtree(src)

    @contextlib.contextmanager
    def store_path(self, dst: str) -> Iterator[pathlib.Path]:
        """A directory to write into; stored under the id ``dst`` at the end, gone on an exception."""
        with self._storage.store_path(dst) as path:
            yield path

    def store_path_is_direct_access(self) -> bool:
        """Whether the directory of :meth:`store_path` is the storage itself."""
        return self._storage.direct

    @contextlib.contextmanager
    def restore_path(self, src: str, selector: Optional[Selector] = None) -> Iterator[pathlib.Path]:
        """A directory with what lies under the id ``src``, for as long as the context lasts.

        Parameters
        ----------
        src : str
        selector : callable, optional
            Says of each resource whether it is wanted.

        Raises
        ------
        determined.errors.CheckpointNotFound
            If nothing lies there.
        """
        with self._storage.restore_path(src, selector) as path:
            yield path

    def upload(self, src: Union[str, "os.PathLike[str]"], dst: str, paths: Optional[Paths] = None) -> None:
        """Store a directory.

        Parameters
        ----------
        src : path-like
        dst : str
            The id.
        paths : set of str, optional
            Which resources of the directory; all by default.
        """
        source = pathlib.Path(src)
        self._storage.upload(dst, source, set(_storage.list_resources(source)) if paths is None else set(paths))

    def download(self, src: str, dst: Union[str, "os.PathLike[str]"], selector: Optional[Selector] = None) -> None:
        """Copy what lies under an id.

        Parameters
        ----------
        src : str
            The id.
        dst : path-like
            A directory, which is made if it is not there.
        selector : callable, optional
            Says of each resource whether it is wanted.

        Raises
        ------
        determined.errors.CheckpointNotFound
            If nothing lies there.
        """
        self._storage.download(src, pathlib.Path(dst), selector)

    def delete(self, tgt: str, globs: List[str]) -> Dict[str, int]:
        """Remove resources.

        Parameters
        ----------
        tgt : str
            The id.
        globs : list of str
            Patterns of what goes; ``**/*`` means everything.

        Returns
        -------
        dict
            The resources that are left, with their sizes in bytes.

        Raises
        ------
        determined.errors.CheckpointNotFound
            If nothing lies there.
        """
        return self._storage.delete(tgt, globs)


def from_string(shortcut: str) -> StorageManager:
    """The manager of a storage that is named in short: a path, ``file://PATH``, ``s3://…`` or ``gs://…``.

    Raises
    ------
    ValueError
        If it means none.
    """
    from determined.common import storage

    return storage.build(_storage.shortcut_to_config(shortcut), container_path=None)


def normalize_prefix(prefix: Optional[str]) -> str:
    """A configured prefix as keys of an object store begin with it, without slashes at its ends.

    Raises
    ------
    ValueError
        If it leads upwards.

    >>> normalize_prefix("/a//b/"), normalize_prefix(None)
    ('a/b', '')
    """
    return _objects.normalized_prefix(prefix).rstrip("/")
