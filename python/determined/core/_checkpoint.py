"""Storing and restoring checkpoints, and telling the master of them."""

import contextlib
import datetime
import enum
import json
import logging
import os
import pathlib
import uuid
from typing import Any, Callable, Dict, Iterator, Optional, Tuple, Union

from determined import _http, _json, _storage
from determined.core._distributed import DistributedContext

logger = logging.getLogger("determined.core")

METADATA_FILE = "metadata.json"
Path = Union[str, os.PathLike]


class DownloadMode(enum.Enum):
    """Who downloads, when several processes of one machine want the same checkpoint.

    ``LocalWorkersShareDownload``: one of them, for all. ``NoSharedDownload``: each for itself.
    """

    LocalWorkersShareDownload = "LOCAL_WORKERS_SHARE_DOWNLOAD"
    NoSharedDownload = "NO_SHARED_DOWNLOAD"


def _write_metadata(directory: pathlib.Path, metadata: Dict[str, Any]) -> None:
    plain = _json.to_plain(metadata, "metadata")
    (directory / METADATA_FILE).write_text(json.dumps(plain, indent=2), encoding="utf-8")


class CheckpointContext:
    """Checkpoints of a task. Reached as ``core_context.checkpoint``.

    A checkpoint is a directory of files under an id (a UUID). Its metadata is a dictionary of your own; it must tell
    ``steps_completed``, the number of batches trained, and also lies in the checkpoint as ``metadata.json``.
    """

    def __init__(
        self,
        dist: DistributedContext,
        storage_manager: _storage.DirectoryStorage,
        session: _http.Session,
        task_id: str,
        allocation_id: Optional[str],
        storage_backend_id: Optional[int],
    ) -> None:
        self._dist = dist
        self._storage = storage_manager
        self._session = session
        self._task_id = task_id
        self._allocation_id = allocation_id
        self._storage_backend_id = storage_backend_id

    def upload(
        self,
        ckpt_dir: Optional[Path],
        metadata: Optional[Dict[str, Any]] = None,
        *,
        shard: bool = False,
        selector: Optional[Callable[[str], bool]] = None,
    ) -> str:
        """Store the contents of a directory as a checkpoint.

        Parameters
        ----------
        ckpt_dir : path-like
            What to store; it stays as it is. With ``shard``, a process that has nothing to add passes None.
        metadata : dict
            Must tell ``steps_completed``.
        shard : bool
            Whether all processes contribute to one checkpoint. If not, only rank 0 may call this.
        selector : callable, optional
            Gets a path relative to ``ckpt_dir`` (directories end with ``/``), tells whether to store it.

        Returns
        -------
        str
            Id of the checkpoint.

        Raises
        ------
        ValueError
            If ``metadata`` does not tell ``steps_completed``.
        RuntimeError
            If the wrong process calls, or there is nothing to store.

        Examples
        --------
        >>> storage_id = core_context.checkpoint.upload("model/", {"steps_completed": 100})  # doctest: +SKIP
        """
        self._check_call(shard)
        self._check_metadata(metadata)
        if ckpt_dir is None:
            raise RuntimeError("checkpoint.upload(): no process passed a directory, so there is nothing to store")
        source = pathlib.Path(ckpt_dir)
        if not source.is_dir():
            raise NotADirectoryError(f"checkpoint.upload(): {os.fspath(source)!r} is not a directory")
        names = {name for name in _storage.list_resources(source) if selector is None or selector(name)}
        storage_id = str(uuid.uuid4())
        with self._storage.store_path(storage_id) as path:
            _storage.copy_resources(source, path, names)
            _write_metadata(path, metadata or {})
            resources = _storage.list_resources(path)
        self._report(storage_id, resources, metadata or {})
        return storage_id

    @contextlib.contextmanager
    def store_path(
        self, metadata: Optional[Dict[str, Any]] = None, *, shard: bool = False
    ) -> Iterator[Tuple[pathlib.Path, str]]:
        """A directory to write a checkpoint to; what lies there at the end of the context is the checkpoint.

        If the body raises, nothing is stored.

        Parameters
        ----------
        metadata : dict
            Must tell ``steps_completed``.
        shard : bool
            Whether all processes contribute to one checkpoint. If not, only rank 0 may call this.

        Yields
        ------
        path : pathlib.Path
            The directory.
        storage_id : str
            Id of the checkpoint.

        Raises
        ------
        ValueError, RuntimeError
            As for :meth:`upload`.

        Examples
        --------
        >>> with core_context.checkpoint.store_path({"steps_completed": 100}) as (path, storage_id):  # doctest: +SKIP
        ...     (path / "weights.txt").write_text("0.5")
        """
        self._check_call(shard)
        self._check_metadata(metadata)
        storage_id = str(uuid.uuid4())
        with self._storage.store_path(storage_id) as path:
            yield path, storage_id
            _write_metadata(path, metadata or {})
            resources = _storage.list_resources(path)
        self._report(storage_id, resources, metadata or {})

    def download(
        self,
        storage_id: str,
        ckpt_dir: Path,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Optional[Callable[[str], bool]] = None,
    ) -> None:
        """Copy a checkpoint into a directory.

        Parameters
        ----------
        storage_id : str
            Id of the checkpoint.
        ckpt_dir : path-like
            Where to; made if missing.
        download_mode : DownloadMode
            Who does it, when several processes want it.
        selector : callable, optional
            Gets a path relative to the checkpoint, tells whether to copy it.

        Raises
        ------
        errors.CheckpointNotFound
            If the storage does not hold it.
        """
        DownloadMode(download_mode)
        self._storage.download(storage_id, ckpt_dir, selector)

    @contextlib.contextmanager
    def restore_path(
        self,
        storage_id: str,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Optional[Callable[[str], bool]] = None,
    ) -> Iterator[pathlib.Path]:
        """A directory to read a checkpoint from, for as long as the context lasts. Do not write there.

        Parameters and errors are those of :meth:`download`; files that ``selector`` declines may be there all the same.

        Examples
        --------
        >>> with core_context.checkpoint.restore_path(info.latest_checkpoint) as path:  # doctest: +SKIP
        ...     weights = float((path / "weights.txt").read_text())
        """
        DownloadMode(download_mode)
        with self._storage.restore_path(storage_id, selector) as path:
            yield path

    def get_metadata(self, storage_id: str) -> Dict[str, Any]:
        """The checkpoint's metadata, as the master knows it."""
        checkpoint = self._session.get(f"/api/v1/checkpoints/{storage_id}").get("checkpoint") or {}
        return checkpoint.get("metadata") or {}

    def delete(self, storage_id: str) -> None:
        """Remove a checkpoint from the storage, and tell the master.

        Raises
        ------
        errors.CheckpointNotFound
            If the storage does not hold it.
        """
        left = self._storage.delete(storage_id)
        self._report_deleted(storage_id, left)

    def _check_call(self, shard: bool) -> None:
        if not shard and self._dist.rank != 0:
            raise RuntimeError(
                f"rank {self._dist.rank} must not store a checkpoint on its own: "
                "call from rank 0 only, or from all processes with shard=True"
            )

    def _check_metadata(self, metadata: Optional[Dict[str, Any]]) -> None:
        if "steps_completed" not in (metadata or {}):
            raise ValueError("the metadata of a checkpoint must tell 'steps_completed'")

    def _report(self, storage_id: str, resources: Dict[str, int], metadata: Dict[str, Any]) -> None:
        report = {
            "uuid": storage_id,
            "taskId": self._task_id,
            "allocationId": self._allocation_id,
            "reportTime": datetime.datetime.now(datetime.timezone.utc),
            "state": "STATE_COMPLETED",
            # int64 travels as a string: a JSON number would lose digits beyond 2**53.
            "resources": {name: str(size) for name, size in resources.items()},
            "metadata": metadata,
            "training": {},
            "storageId": self._storage_backend_id,
        }
        self._session.post("/api/v1/checkpoints", {k: v for k, v in report.items() if v is not None})
        logger.info("checkpoint %s stored after %s steps", storage_id, metadata["steps_completed"])

    def _report_deleted(self, storage_id: str, left: Dict[str, int]) -> None:
        resources = {name: str(size) for name, size in left.items()}
        self._session.patch(
            "/api/v1/checkpoints", {"checkpoints": [{"uuid": storage_id, "resources": {"resources": resources}}]}
        )
        logger.info("checkpoint %s deleted", storage_id)


class DummyCheckpointContext(CheckpointContext):
    """Checkpoints that no master hears of: off the cluster, and in tasks that are not trials."""

    def __init__(self, dist: DistributedContext, storage_manager: _storage.DirectoryStorage) -> None:
        self._dist = dist
        self._storage = storage_manager

    def get_metadata(self, storage_id: str) -> Dict[str, Any]:
        with self._storage.restore_path(storage_id) as path:
            return json.loads((path / METADATA_FILE).read_text(encoding="utf-8"))

    def _check_metadata(self, metadata: Optional[Dict[str, Any]]) -> None:
        pass

    def _report(self, storage_id: str, resources: Dict[str, int], metadata: Dict[str, Any]) -> None:
        logger.info("checkpoint %s stored in %s", storage_id, self._storage.path_of(storage_id))

    def _report_deleted(self, storage_id: str, left: Dict[str, int]) -> None:
        logger.info("checkpoint %s deleted", storage_id)
