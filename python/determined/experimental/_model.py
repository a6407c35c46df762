"""The model registry: models, and checkpoints as their versions."""

import datetime
import enum
from typing import Any, Dict, Iterable, List, Optional

from determined import _http
from determined.experimental import _api, _metrics
from determined.experimental._api import OrderBy
from determined.experimental._checkpoint import Checkpoint


class ModelSortBy(enum.Enum):
    """What a list of models is sorted by."""

    NAME = "SORT_BY_NAME"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    CREATION_TIME = "SORT_BY_CREATION_TIME"
    LAST_UPDATED_TIME = "SORT_BY_LAST_UPDATED_TIME"
    NUM_VERSIONS = "SORT_BY_NUM_VERSIONS"
    WORKSPACE = "SORT_BY_WORKSPACE"


class ModelOrderBy(enum.Enum):
    """Older form of :class:`OrderBy`."""

    ASCENDING = "ORDER_BY_ASC"
    ASC = ASCENDING
    DESCENDING = "ORDER_BY_DESC"
    DESC = DESCENDING


class ModelVersion:
    """A version of a model: a checkpoint with a number. Get it from a :class:`Model`.

    Attributes
    ----------
    model_name : str
    model_version : int
    model_id : int or None
    checkpoint : Checkpoint or None
    metadata : dict or None
    name, comment, notes : str or None
    """

    def __init__(self, session: _http.Session, model_version: int, model_name: str) -> None:
        self._session = session
        self.model_name = model_name
        self.model_version = model_version
        self.model_id: Optional[int] = None
        self.checkpoint: Optional[Checkpoint] = None
        self.metadata: Optional[Dict[str, Any]] = None
        self.name: Optional[str] = None
        self.comment: Optional[str] = None
        self.notes: Optional[str] = None

    def __repr__(self) -> str:
        return f"ModelVersion(model_name={self.model_name!r}, model_version={self.model_version})"

    @property
    def _path(self) -> str:
        return f"/api/v1/models/{_api.quoted(self.model_name)}/versions/{self.model_version}"

    @classmethod
    def _from_answer(cls, answer: Dict[str, Any], session: _http.Session) -> "ModelVersion":
        version = cls(session, answer["version"], answer["model"]["name"])
        version._take(answer)
        return version

    def _take(self, answer: Dict[str, Any]) -> None:
        self.checkpoint = Checkpoint._from_answer(answer["checkpoint"], self._session)
        self.metadata = answer.get("metadata") or {}
        self.comment = answer.get("comment") or ""
        self.notes = answer.get("notes") or ""
        self.model_version = answer["version"]
        self.model_id = answer["model"]["id"]
        self.name = answer.get("name")

    def reload(self) -> None:
        """Ask the master again."""
        self._take(self._session.get(self._path)["modelVersion"])

    def set_name(self, name: str) -> None:
        """Give it a name."""
        self._session.patch(self._path, {"name": name})
        self.name = name

    def set_notes(self, notes: str) -> None:
        """Replace its notes."""
        self._session.patch(self._path, {"notes": notes})
        self.notes = notes

    def delete(self) -> None:
        """Take it out of the registry; the checkpoint stays."""
        self._session.delete(self._path)

    def iter_metrics(self, group: Optional[str] = None) -> Iterable[_metrics.TrialMetrics]:
        """Metrics of the trials that have used it.

        Parameters
        ----------
        group : str, optional
            Only these.
        """
        for report in self._session.get(f"{self._path}/metrics", params=_api.parameters(metricGroup=group))["metrics"]:
            yield _metrics.TrialMetrics._from_answer(report)

    def get_metrics(self, group: Optional[str] = None) -> Iterable[_metrics.TrialMetrics]:
        """Older name of :meth:`iter_metrics`."""
        _api.deprecated("ModelVersion.get_metrics()", "ModelVersion.iter_metrics()")
        return self.iter_metrics(group)


class Model:
    """A model of the registry. Get it from ``client.get_model()`` or ``client.create_model()``.

    Attributes
    ----------
    name : str
    model_id, workspace_id : int or None
    description, username : str or None
    creation_time, last_updated_time : datetime.datetime or None
    metadata : dict or None
    labels : list of str or None
    archived : bool or None
    """

    def __init__(self, session: _http.Session, name: str) -> None:
        self._session = session
        self.name = name
        self.model_id: Optional[int] = None
        self.description: Optional[str] = None
        self.creation_time: Optional[datetime.datetime] = None
        self.last_updated_time: Optional[datetime.datetime] = None
        self.metadata: Optional[Dict[str, Any]] = None
        self.labels: Optional[List[str]] = None
        self.username: Optional[str] = None
        self.workspace_id: Optional[int] = None
        self.archived: Optional[bool] = None

    def __repr__(self) -> str:
        return f"Model(id={self.model_id}, name={self.name!r})"

    @property
    def _path(self) -> str:
        return f"/api/v1/models/{_api.quoted(self.name)}"

    @classmethod
    def _from_answer(cls, answer: Dict[str, Any], session: _http.Session) -> "Model":
        model = cls(session, answer["name"])
        model._take(answer)
        return model

    def _take(self, answer: Dict[str, Any]) -> None:
        self.model_id = answer["id"]
        self.description = answer.get("description") or ""
        self.creation_time = _api.time_of(answer["creationTime"])
        self.last_updated_time = _api.time_of(answer["lastUpdatedTime"])
        self.metadata = answer.get("metadata") or {}
        self.labels = list(answer.get("labels") or [])
        self.username = answer.get("username") or ""
        self.workspace_id = answer["workspaceId"]
        self.archived = answer.get("archived", False)

    def reload(self) -> None:
        """Ask the master again."""
        self._take(self._session.get(self._path)["model"])

    # ---- versions ----

    def list_versions(self, order_by: OrderBy = OrderBy.DESC) -> List[ModelVersion]:
        """All its versions, the newest first unless told otherwise."""
        params = _api.parameters(sortBy="SORT_BY_VERSION", orderBy=order_by)
        found = _api.pages(self._session, f"{self._path}/versions", "modelVersions", params)
        return [ModelVersion._from_answer(v, self._session) for v in found]

    def get_versions(self, order_by: OrderBy = OrderBy.DESC) -> List[ModelVersion]:
        """Older name of :meth:`list_versions`."""
        _api.deprecated("Model.get_versions()", "Model.list_versions()")
        return self.list_versions(order_by)

    def get_version(self, version: int = -1) -> Optional[ModelVersion]:
        """One of its versions.

        Parameters
        ----------
        version : int
            Its number; -1 stands for the newest.

        Returns
        -------
        ModelVersion or None
            None if the newest of none is asked for.
        """
        if version != -1:
            answer = self._session.get(f"{self._path}/versions/{version}")["modelVersion"]
            return ModelVersion._from_answer(answer, self._session)
        params = _api.parameters(sortBy="SORT_BY_VERSION", orderBy=OrderBy.DESC)
        newest = _api.pages(self._session, f"{self._path}/versions", "modelVersions", params, limit=1)
        return next((ModelVersion._from_answer(v, self._session) for v in newest), None)

    def register_version(self, checkpoint_uuid: str) -> ModelVersion:
        """Make a checkpoint its next version."""
        body = {"modelName": self.name, "checkpointUuid": checkpoint_uuid}
        return ModelVersion._from_answer(
            self._session.post(f"{self._path}/versions", body)["modelVersion"], self._session
        )

    # ---- changes ----

    def _put_metadata(self, metadata: Dict[str, Any]) -> None:
        self._session.patch(self._path, {"metadata": metadata})
        self.metadata = metadata

    def _known_metadata(self) -> Dict[str, Any]:
        if self.metadata is None:
            self.reload()
        return dict(self.metadata or {})

    def add_metadata(self, metadata: Dict[str, Any]) -> None:
        """Add to its metadata; a key that is there gets the new value."""
        self._put_metadata({**self._known_metadata(), **metadata})

    def remove_metadata(self, keys: List[str]) -> None:
        """Take these keys out of its metadata; those that are not there do not matter."""
        self._put_metadata({k: v for k, v in self._known_metadata().items() if k not in keys})

    def move_to_workspace(self, workspace_name: str) -> None:
        """Move it to another workspace."""
        from determined.experimental._workspace import Workspace

        workspace = Workspace(self._session, workspace_name=workspace_name)
        body = {"modelName": self.name, "destinationWorkspaceId": workspace.id}
        self._session.post(f"{self._path}/move", body)
        self.workspace_id = workspace.id

    def set_labels(self, labels: List[str]) -> None:
        """Replace its labels."""
        self._session.patch(self._path, {"labels": list(labels)})
        self.labels = list(labels)

    def set_description(self, description: str) -> None:
        """Describe it."""
        self._session.patch(self._path, {"description": description})
        self.description = description

    def archive(self) -> None:
        """Take it out of everyday lists."""
        self._session.post(f"{self._path}/archive")
        self.archived = True

    def unarchive(self) -> None:
        """Put it back into everyday lists."""
        self._session.post(f"{self._path}/unarchive")
        self.archived = False

    def delete(self) -> None:
        """Delete it and its versions; checkpoints stay."""
        self._session.delete(self._path)
