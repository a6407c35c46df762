"""Checkpoints."""

import dataclasses
import enum
import json
import os
import pathlib
import shutil
import tempfile
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, TypedDict, Union

from determined import _http, _routes, _storage, errors
from determined._request import path_part
from determined.experimental import _metrics
from determined.experimental._api import OrderBy

if TYPE_CHECKING:
    import tarfile

    from determined import _messages


class DownloadMode(enum.Enum):
    """Where a checkpoint's files are fetched.

    ``DIRECT``: from the storage; ``MASTER``: from the master, which reads the storage; ``AUTO``: from the storage,
    and if that cannot be reached, from the master.
    """

    DIRECT = "direct"
    MASTER = "master"
    AUTO = "auto"

    def __str__(self) -> str:
        return str(self.value)


class CheckpointState(enum.Enum):
    """The state of a checkpoint, as the master names it."""

    ACTIVE = "STATE_ACTIVE"
    COMPLETED = "STATE_COMPLETED"
    ERROR = "STATE_ERROR"
    DELETED = "STATE_DELETED"
    PARTIALLY_DELETED = "STATE_PARTIALLY_DELETED"


class CheckpointOrderBy(enum.Enum):
    """Older form of :class:`OrderBy`."""

    ASC = "ORDER_BY_ASC"
    DESC = "ORDER_BY_DESC"


class CheckpointSortBy(enum.Enum):
    """The order of a list of checkpoints."""

    UUID = "SORT_BY_UUID"
    TRIAL_ID = "SORT_BY_TRIAL_ID"
    BATCH_NUMBER = "SORT_BY_BATCH_NUMBER"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    SEARCHER_METRIC = "SORT_BY_SEARCHER_METRIC"


@dataclasses.dataclass
class CheckpointTrainingMetadata:
    """The trial that has stored a checkpoint, and its latest validation at that time."""

    experiment_config: Dict[str, Any]
    experiment_id: int
    trial_id: int
    hparams: Dict[str, Any]
    validation_metrics: Dict[str, Any]


class Checkpoint:
    """A checkpoint. Get it from ``client.get_checkpoint()``, ``trial.list_checkpoints()`` and the like.

    Attributes
    ----------
    uuid : str
    task_id, allocation_id : str or None
        The task and the allocation that stored the checkpoint.
    report_time : str or None
    resources : dict or None
        The checkpoint's files: their sizes in bytes by their paths, directories with ``/`` at the end and size 0.
    metadata : dict or None
    state : CheckpointState or None
    training : CheckpointTrainingMetadata or None
        None if no trial has stored the checkpoint.
    """

    def __init__(self, session: _http.Session, uuid: str) -> None:
        self._session = session
        self.uuid = uuid
        self.task_id: Optional[str] = None
        self.allocation_id: Optional[str] = None
        self.report_time: Optional[str] = None
        self.resources: Optional[Dict[str, Any]] = None
        self.metadata: Optional[Dict[str, Any]] = None
        self.state: Optional[CheckpointState] = None
        self.training: Optional[CheckpointTrainingMetadata] = None

    def __repr__(self) -> str:
        trial = f", trial_id={self.training.trial_id}" if self.training is not None else ""
        return f"Checkpoint(uuid={self.uuid}, task_id={self.task_id}{trial})"

    def _take(self, answer: "_messages.Checkpoint") -> None:
        self.task_id = answer.get("taskId")
        self.allocation_id = answer.get("allocationId")
        self.report_time = answer.get("reportTime")
        self.resources = answer["resources"]
        self.metadata = answer["metadata"]
        self.state = CheckpointState(answer["state"])
        training = answer.get("training") or {}
        if training.get("trialId"):
            self.training = CheckpointTrainingMetadata(
                training.get("experimentConfig") or {},
                training["experimentId"],
                training["trialId"],
                training.get("hparams") or {},
                dict(training.get("validationMetrics") or {}),
            )

    def reload(self) -> None:
        """Fetch the checkpoint from the master again, and replace the values of all attributes."""
        self._take(self._session.send(_routes.get_checkpoint(self.uuid))["checkpoint"])

    # ---- files ----

    def download(self, path: Optional[str] = None, mode: DownloadMode = DownloadMode.AUTO) -> str:
        """Fetch the checkpoint's files into a directory, and return the directory.

        Parameters
        ----------
        path : str, optional
            The directory; by default ``checkpoints/UUID`` below the current directory. If the directory has a
            ``metadata.json`` already, nothing is fetched.
        mode : DownloadMode
            Where the files are fetched from.

        Returns
        -------
        str
            The directory.

        Raises
        ------
        ValueError
            If the state is neither COMPLETED nor PARTIALLY_DELETED, or if no trial has stored the checkpoint.
        errors.CheckpointNotFound
            If the storage does not hold it.
        """
        if self.state not in (CheckpointState.COMPLETED, CheckpointState.PARTIALLY_DELETED):
            state = self.state.name if self.state is not None else "unknown; call reload() first"
            raise ValueError(f"checkpoint {self.uuid} cannot be downloaded: its state is {state}")
        mode = DownloadMode(mode)
        target = pathlib.Path(path) if path is not None else pathlib.Path("checkpoints", self.uuid)
        if not (target / "metadata.json").exists():
            if mode != DownloadMode.MASTER:
                self._fetch_directly(target, mode)
            else:
                self._fetch_from_master(target)
        if not (target / "metadata.json").exists():
            self.write_metadata_file(str(target / "metadata.json"))
        return str(target)

    def _fetch_directly(self, target: pathlib.Path, mode: DownloadMode) -> None:
        if self.training is None:
            raise ValueError(f"checkpoint {self.uuid} is of no trial, so its storage is not known")
        try:
            storage = _storage.from_config(self.training.experiment_config["checkpoint_storage"])
            storage.download(self.uuid, target)
        except (OSError, ImportError, errors.CheckpointNotFound, errors.NoDirectStorageAccess):
            if mode == DownloadMode.DIRECT:
                raise
            self._fetch_from_master(target)

    def _fetch_from_master(self, target: pathlib.Path) -> None:
        import tarfile

        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile() as f:
            self._session.download(f"/checkpoints/{path_part(self.uuid)}", "application/gzip", f)
            f.seek(0)
            with tarfile.open(fileobj=f, mode="r:*") as archive:
                _unpack(archive, target)

    def write_metadata_file(self, path: str) -> None:
        """Write the checkpoint's metadata into a file, as JSON."""
        with open(path, "w", encoding="utf-8") as f:
            json.dump(self.metadata, f, indent=2)

    # ---- changes ----

    def _put_metadata(self, metadata: Dict[str, Any]) -> None:
        # The message has members that the master does not read here, and that may not be missing.
        checkpoint: _messages.Checkpoint = {
            "uuid": self.uuid,
            "metadata": metadata,
            "resources": {},
            "training": {},
            "state": "STATE_UNSPECIFIED",
        }
        self._session.send(_routes.post_checkpoint_metadata(self.uuid, checkpoint=checkpoint))
        self.metadata = metadata

    def _known_metadata(self) -> Dict[str, Any]:
        if self.metadata is None:
            self.reload()
        return dict(self.metadata or {})

    def add_metadata(self, metadata: Dict[str, Any]) -> None:
        """Add keys to the checkpoint's metadata, or replace their values."""
        self._put_metadata({**self._known_metadata(), **metadata})

    def remove_metadata(self, keys: List[str]) -> None:
        """Remove keys from the checkpoint's metadata. It is no error if a key is not there."""
        self._put_metadata({k: v for k, v in self._known_metadata().items() if k not in keys})

    def delete(self) -> None:
        """Delete the checkpoint with its files. The master does so in the background. This cannot be undone."""
        self._session.send(_routes.delete_checkpoints(checkpoint_uuids=[self.uuid]))

    def remove_files(self, globs: List[str]) -> None:
        """Delete the files of the checkpoint that match one of the patterns, such as ``**/optimizer*``."""
        self._session.send(_routes.checkpoints_remove_files(checkpoint_uuids=[self.uuid], checkpoint_globs=globs))

    def get_metrics(self, group: Optional[str] = None) -> Iterable[_metrics.TrialMetrics]:
        """Yield the metrics of the trials that have used the checkpoint, for inference or to start from.

        Parameters
        ----------
        group : str, optional
            Yield only the metrics of this group, such as ``"validation"``.
        """
        request = _routes.get_trial_metrics_by_checkpoint(self.uuid, metric_group=group)
        for report in self._session.send(request).get("metrics") or []:
            yield _metrics.trial_metrics_from_answer(report)

    def get_pachyderm_commit(self) -> Any:
        """Raise ``ValueError``: this platform has no integration with Pachyderm."""
        raise ValueError("there is no integration with Pachyderm")


def checkpoint_from_answer(answer: "_messages.Checkpoint", session: _http.Session) -> Checkpoint:
    """The checkpoint that an answer of the master describes."""
    checkpoint = Checkpoint(session, answer["uuid"])
    checkpoint._take(answer)
    return checkpoint


def _unpack(archive: "tarfile.TarFile", target: pathlib.Path) -> None:
    """Plain files and directories only, and none outside of ``target``."""
    root = target.resolve()
    for member in archive:
        path = (root / member.name).resolve()
        if path != root and root not in path.parents:
            raise ValueError(f"the checkpoint's archive holds {member.name!r}, which leads out of it")
        if member.isdir():
            path.mkdir(parents=True, exist_ok=True)
        elif member.isfile():
            path.parent.mkdir(parents=True, exist_ok=True)
            source = archive.extractfile(member)
            assert source is not None
            with open(path, "wb") as f:
                shutil.copyfileobj(source, f, 1 << 20)
            os.utime(path, (member.mtime, member.mtime))


class Choice(TypedDict):
    """Arguments of the two routes that list checkpoints."""

    sort_by_metric: Optional[str]
    sort_by_attr: Optional[CheckpointSortBy]
    order_by: Optional[OrderBy]
    states: List[CheckpointState]


def choice(sort_by: Union[str, CheckpointSortBy, None], order_by: Optional[OrderBy]) -> Choice:
    """Which checkpoints of an experiment or trial to list: the complete ones.

    Without an order the best come first, by the searcher's metric.
    """
    if (sort_by is None) != (order_by is None):
        raise AssertionError("sort_by and order_by must be given together, or neither")
    if sort_by is not None and not isinstance(sort_by, (CheckpointSortBy, str)):
        raise ValueError(f"sort_by must be a CheckpointSortBy or the name of a metric, not {sort_by!r}")
    return {
        "sort_by_metric": sort_by if isinstance(sort_by, str) else None,
        "sort_by_attr": None if isinstance(sort_by, str) else sort_by or CheckpointSortBy.SEARCHER_METRIC,
        "order_by": order_by,
        "states": [CheckpointState.COMPLETED],
    }


def best(checkpoints: List[Checkpoint], of_what: str) -> Checkpoint:
    """The first, or an error that names where there is none."""
    if not checkpoints:
        raise ValueError(f"{of_what} has no complete checkpoint that fits")
    return checkpoints[0]
