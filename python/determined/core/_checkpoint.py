"""Storing and restoring checkpoints, and telling the master of them."""

import contextlib
import datetime
import enum
import json
import logging
import os
import pathlib
import tempfile
import uuid
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, NamedTuple, Optional, Set, Tuple, Union

from determined import _http, _json, _routes, _storage
from determined.core import _shards
from determined.core._distributed import DistributedContext
from determined.core._uploads import Background, PendingUpload

if TYPE_CHECKING:
    from determined import _messages

logger = logging.getLogger("determined.core")

METADATA_FILE = _storage.METADATA_FILE
Path = Union[str, "os.PathLike[str]"]


class DownloadMode(enum.Enum):
    """Who downloads, when several processes of one machine want the same checkpoint.

    ``LocalWorkersShareDownload``: one of them, for all. ``NoSharedDownload``: each for itself.
    """

    LocalWorkersShareDownload = "LOCAL_WORKERS_SHARE_DOWNLOAD"
    NoSharedDownload = "NO_SHARED_DOWNLOAD"


def _write_metadata(directory: pathlib.Path, metadata: Dict[str, Any]) -> None:
    plain = _json.to_plain(metadata, "metadata")
    (directory / METADATA_FILE).write_text(json.dumps(plain, indent=2), encoding="utf-8")


class _Upload(NamedTuple):
    """What is to be stored: decided, not yet begun."""

    storage_id: str
    source: Optional[pathlib.Path]
    names: Set[str]  # what this process stores
    resources: Dict[str, int]  # of the whole checkpoint, the metadata left out
    metadata: Dict[str, Any]
    writes_metadata: bool
    shard: bool


def resources_sent(sizes: Dict[str, int]) -> "Dict[str, Union[int, str]]":
    """The files of a checkpoint and their sizes in bytes, as messages have them.

    64-bit integers travel as text: a JSON number would lose digits beyond 2**53.
    """
    return {name: str(size) for name, size in sizes.items()}


class CheckpointContext:
    """Checkpoints of a task. Reached as ``core_context.checkpoint``.

    A checkpoint is a directory of files under an id (a UUID). Its metadata is a dictionary of your own; it must tell
    ``steps_completed``, the number of batches trained, and also lies in the checkpoint as ``metadata.json``.
    """

    def __init__(
        self,
        dist: DistributedContext,
        storage_manager: _storage.Storage,
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
        self._background = Background()

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
            With ``shard`` also if metadata contradict each other, or processes have different files of one name.
        RuntimeError
            If the wrong process calls, or there is nothing to store, or another process could not do its part.
        errors.NoDirectStorageAccess
            If the storage does not let us in.

        Examples
        --------
        >>> storage_id = core_context.checkpoint.upload("model/", {"steps_completed": 100})  # doctest: +SKIP
        """
        upload = self._plan(ckpt_dir, metadata, shard, selector)
        self._end(upload, lambda: self._transfer(upload))
        return upload.storage_id

    def upload_async(
        self,
        ckpt_dir: Optional[Path],
        metadata: Optional[Dict[str, Any]] = None,
        *,
        shard: bool = False,
        selector: Optional[Callable[[str], bool]] = None,
    ) -> PendingUpload:
        """Store the contents of a directory as a checkpoint while training goes on.

        The directory must stay as it is until the upload is done. Uploads are carried out one after the other; leaving
        ``with core.init()`` waits for all of them, and raises what went wrong with one that nobody waited for. With
        ``shard`` every process must call :meth:`PendingUpload.wait`: what it does, all processes do together.

        Parameters and errors are those of :meth:`upload`; what goes wrong later is raised by
        :meth:`PendingUpload.wait`.

        Returns
        -------
        PendingUpload

        Examples
        --------
        >>> pending = core_context.checkpoint.upload_async("model/", {"steps_completed": 100})  # doctest: +SKIP
        >>> train_some_more()  # doctest: +SKIP
        >>> pending.wait()  # doctest: +SKIP
        """
        upload = self._plan(ckpt_dir, metadata, shard, selector)
        if not shard:
            transfer = self._background.start(lambda: self._end(upload, lambda: self._transfer(upload)))
            return self._background.keep(PendingUpload(upload.storage_id, transfer, lambda: None))
        transfer = self._background.start(lambda: self._transfer(upload))
        return PendingUpload(upload.storage_id, transfer, lambda: self._end(upload, transfer.result))

    def _plan(
        self,
        ckpt_dir: Optional[Path],
        metadata: Optional[Dict[str, Any]],
        shard: bool,
        selector: Optional[Callable[[str], bool]],
    ) -> _Upload:
        """Look at what there is to store, in all processes together if it is sharded; nothing is stored yet."""
        self._check_call(shard)
        source = None if ckpt_dir is None else pathlib.Path(ckpt_dir)

        def look() -> Dict[str, int]:
            if source is None and not shard:
                raise RuntimeError("checkpoint.upload(): ckpt_dir is None, so there is nothing to store")
            if source is not None and not source.is_dir():
                raise NotADirectoryError(f"checkpoint.upload(): {os.fspath(source)!r} is not a directory")
            found = _storage.list_resources(source) if source is not None else {}
            found.pop(METADATA_FILE, None)
            return {name: size for name, size in found.items() if selector is None or selector(name)}

        if not shard:
            self._check_metadata(metadata)
            resources = look()
            return _Upload(str(uuid.uuid4()), source, set(resources), resources, metadata or {}, True, False)
        resources = _shards.together(self._dist, look)
        plan = _shards.agree(self._dist, source, _shards.part_of(source, resources, metadata, self._dist))
        self._check_metadata(plan.metadata)
        storage_id = self._dist.broadcast(str(uuid.uuid4()))
        return _Upload(
            storage_id, source, plan.mine, plan.resources, plan.metadata, plan.writer == self._dist.rank, True
        )

    def _transfer(self, upload: _Upload) -> None:
        """Store what is this process's to store. The metadata come last: who finds them finds a whole checkpoint."""
        if upload.source is not None:
            self._storage.upload(upload.storage_id, upload.source, upload.names)
        if upload.writes_metadata:
            with tempfile.TemporaryDirectory(prefix="checkpoint-") as path:
                _write_metadata(pathlib.Path(path), upload.metadata)
                self._storage.upload(upload.storage_id, pathlib.Path(path), {METADATA_FILE})

    def _end(self, upload: _Upload, work: Callable[[], None]) -> None:
        """Do the rest, in all processes together if it is sharded, and tell the master; what failed leaves nothing."""
        try:
            _shards.together(self._dist, work) if upload.shard else work()
        except BaseException:
            if self._dist.rank == 0:
                with contextlib.suppress(Exception):
                    self._storage.delete(upload.storage_id)
            raise

        def report() -> None:
            self._report(upload.storage_id, self._with_metadata(upload), upload.metadata)

        if upload.shard:
            _shards.together(self._dist, report if self._dist.rank == 0 else lambda: None)
        else:
            report()

    def _with_metadata(self, upload: _Upload) -> Dict[str, int]:
        text = json.dumps(_json.to_plain(upload.metadata, "metadata"), indent=2)
        return {**upload.resources, METADATA_FILE: len(text.encode())}

    def close(self) -> None:
        """Wait for uploads in the background.

        Raises
        ------
        Exception
            What went wrong with the first one that nobody waited for.
        """
        self._background.close()

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
        if shard:
            with self._sharded_path(metadata) as (path, storage_id):
                yield path, storage_id
            return
        self._check_metadata(metadata)
        storage_id = str(uuid.uuid4())
        with self._storage.store_path(storage_id) as path:
            yield path, storage_id
            _write_metadata(path, metadata or {})
            resources = _storage.list_resources(path)
        self._report(storage_id, resources, metadata or {})

    @contextlib.contextmanager
    def _sharded_path(self, metadata: Optional[Dict[str, Any]]) -> Iterator[Tuple[pathlib.Path, str]]:
        merged = _shards.merged_metadata(self._dist.allgather(metadata))
        self._check_metadata(merged)
        storage_id = self._dist.broadcast(str(uuid.uuid4()))
        if not self._storage.direct:
            with tempfile.TemporaryDirectory(prefix="checkpoint-") as name:
                path = pathlib.Path(name)
                yield path, storage_id
                resources = _storage.list_resources(path)
                resources.pop(METADATA_FILE, None)
                plan = _shards.agree(self._dist, path, _shards.part_of(path, resources, None, self._dist))
                writes = self._dist.rank == plan.writer
                upload = _Upload(storage_id, path, plan.mine, plan.resources, merged, writes, True)
                self._end(upload, lambda: self._transfer(upload))
            return
        with self._storage.store_path(storage_id) as path:
            yield path, storage_id
        self._dist.allgather(None)
        if self._dist.rank == 0:
            with tempfile.TemporaryDirectory(prefix="checkpoint-") as name:
                _write_metadata(pathlib.Path(name), merged)
                self._storage.upload(storage_id, pathlib.Path(name), {METADATA_FILE})
            self._report(storage_id, self._storage.resources(storage_id), merged)
        self._dist.allgather(None)

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
        mine = self._reads_for_itself(download_mode)

        def download() -> None:
            if mine:
                self._storage.download(storage_id, pathlib.Path(ckpt_dir), selector)

        self._read(download_mode, download)

    def _reads_for_itself(self, mode: DownloadMode) -> bool:
        return DownloadMode(mode) is DownloadMode.NoSharedDownload or self._dist.local_rank == 0

    def _read(self, mode: DownloadMode, work: Callable[[], Any]) -> Any:
        """What the first process of this machine comes to, for all of them; if it fails, it fails in all."""
        if mode is DownloadMode.NoSharedDownload or self._dist.local_size == 1:
            return work()
        problem: Optional[Exception] = None
        result = None
        try:
            result = work()
        except Exception as e:
            problem = e
        result, failed = self._dist.broadcast_local((result, problem))
        if failed is not None:
            raise failed
        return result

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
        mode = DownloadMode(download_mode)
        if self._storage.direct or mode is DownloadMode.NoSharedDownload or self._dist.local_size == 1:
            with self._storage.restore_path(storage_id, selector) as path:
                yield path
            return
        with contextlib.ExitStack() as stack:
            first = self._dist.local_rank == 0
            reading = self._storage.restore_path(storage_id, selector)
            path = self._read(mode, lambda: stack.enter_context(reading) if first else None)
            yield path
            # The directory goes with the first process's context: not before all have read.
            self._dist.allgather_local(None)

    def get_metadata(self, storage_id: str) -> Dict[str, Any]:
        """The checkpoint's metadata, as the master knows it."""
        checkpoint = self._session.send(_routes.get_checkpoint(storage_id)).get("checkpoint")
        return (checkpoint.get("metadata") if checkpoint else None) or {}

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
        report: _messages.Checkpoint = {
            "uuid": storage_id,
            "taskId": self._task_id,
            "reportTime": datetime.datetime.now(datetime.timezone.utc).isoformat(),
            "state": "STATE_COMPLETED",
            "resources": resources_sent(resources),
            "metadata": metadata,
            "training": {},
        }
        if self._allocation_id is not None:
            report["allocationId"] = self._allocation_id
        if self._storage_backend_id is not None:
            report["storageId"] = self._storage_backend_id
        self._session.send(_routes.report_checkpoint(checkpoint=report))
        logger.info("checkpoint %s stored after %s steps", storage_id, metadata["steps_completed"])

    def _report_deleted(self, storage_id: str, left: Dict[str, int]) -> None:
        self._session.send(
            _routes.patch_checkpoints(
                checkpoints=[{"uuid": storage_id, "resources": {"resources": resources_sent(left)}}]
            )
        )
        logger.info("checkpoint %s deleted", storage_id)


def storage_of(checkpoint: CheckpointContext) -> _storage.Storage:
    """Where a context stores checkpoints, for other modules of the library."""
    return checkpoint._storage


class DummyCheckpointContext(CheckpointContext):
    """Checkpoints that no master hears of: off the cluster, and in tasks that are not trials."""

    def __init__(self, dist: DistributedContext, storage_manager: _storage.Storage) -> None:
        self._dist = dist
        self._storage = storage_manager
        self._background = Background()

    def get_metadata(self, storage_id: str) -> Dict[str, Any]:
        with self._storage.restore_path(storage_id) as path:
            metadata: Dict[str, Any] = json.loads((path / METADATA_FILE).read_text(encoding="utf-8"))
            return metadata

    def _check_metadata(self, metadata: Optional[Dict[str, Any]]) -> None:
        pass

    def _report(self, storage_id: str, resources: Dict[str, int], metadata: Dict[str, Any]) -> None:
        logger.info("checkpoint %s stored in %s", storage_id, self._storage.describe(storage_id))

    def _report_deleted(self, storage_id: str, left: Dict[str, int]) -> None:
        logger.info("checkpoint %s deleted", storage_id)
