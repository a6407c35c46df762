"""The model registry: models, and checkpoints as their versions."""

import datetime
import enum
import functools
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Optional, Union

from determined import _http, _routes
from determined.experimental import _api, _metrics
from determined.experimental._api import OrderBy
from determined.experimental._checkpoint import Checkpoint, checkpoint_from_answer

if TYPE_CHECKING:
    from determined import _messages


class ModelSortBy(enum.Enum):
    """The order of a list of models."""

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
    aliases : list of str
        The aliases of the model that stand for this version.
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
        self.aliases: List[str] = []

    def __repr__(self) -> str:
        return f"ModelVersion(model_name={self.model_name!r}, model_version={self.model_version})"

    def _take(self, answer: "_messages.ModelVersion") -> None:
        self.checkpoint = checkpoint_from_answer(answer["checkpoint"], self._session)
        self.metadata = answer.get("metadata") or {}
        self.comment = answer.get("comment") or ""
        self.notes = answer.get("notes") or ""
        self.aliases = list(answer.get("aliases") or [])
        self.model_version = answer["version"]
        self.model_id = answer["model"]["id"]
        self.name = answer.get("name")

    def reload(self) -> None:
        """Fetch the version from the master again, and replace the values of all attributes."""
        self._take(
            self._session.send(_routes.get_model_version(self.model_name, str(self.model_version)))["modelVersion"]
        )

    def _patch(self, changes: "_messages.PatchModelVersion") -> None:
        self._session.send(_routes.patch_model_version(self.model_name, str(self.model_version), model_version=changes))

    def set_name(self, name: str) -> None:
        """Change the version's name."""
        self._patch({"name": name})
        self.name = name

    def set_notes(self, notes: str) -> None:
        """Replace the version's notes, a text in Markdown."""
        self._patch({"notes": notes})
        self.notes = notes

    def delete(self) -> None:
        """Remove the version from the registry. The checkpoint is kept."""
        self._session.send(_routes.delete_model_version(self.model_name, str(self.model_version)))

    def iter_metrics(self, group: Optional[str] = None) -> Iterable[_metrics.TrialMetrics]:
        """Yield the metrics of the trials that have used the version.

        Parameters
        ----------
        group : str, optional
            Yield only the metrics of this group, such as ``"validation"``.
        """
        request = _routes.get_trial_metrics_by_model_version(
            self.model_name, str(self.model_version), metric_group=group
        )
        for report in self._session.send(request)["metrics"]:
            yield _metrics.trial_metrics_from_answer(report)

    def get_metrics(self, group: Optional[str] = None) -> Iterable[_metrics.TrialMetrics]:
        """Older name of :meth:`iter_metrics`."""
        _api.deprecated("ModelVersion.get_metrics()", "ModelVersion.iter_metrics()")
        return self.iter_metrics(group)


def version_from_answer(answer: "_messages.ModelVersion", session: _http.Session) -> ModelVersion:
    """The version that an answer of the master describes."""
    version = ModelVersion(session, answer["version"], answer["model"]["name"])
    version._take(answer)
    return version


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

    def _take(self, answer: "_messages.Model") -> None:
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
        """Fetch the model from the master again, and replace the values of all attributes."""
        self._take(self._session.send(_routes.get_model(self.name))["model"])

    # ---- versions ----

    def list_versions(self, order_by: OrderBy = OrderBy.DESC) -> List[ModelVersion]:
        """Return all versions of the model, by default the newest first."""
        return list(self._versions(order_by))

    def _versions(self, order_by: OrderBy, limit: Optional[int] = None) -> Iterator[ModelVersion]:
        page = functools.partial(_routes.get_model_versions, self.name, sort_by="SORT_BY_VERSION", order_by=order_by)
        for version in _api.pages(self._session, page, lambda answer: answer.get("modelVersions"), limit):
            yield version_from_answer(version, self._session)

    def get_versions(self, order_by: OrderBy = OrderBy.DESC) -> List[ModelVersion]:
        """Older name of :meth:`list_versions`."""
        _api.deprecated("Model.get_versions()", "Model.list_versions()")
        return self.list_versions(order_by)

    def get_version(self, version: Union[int, str] = -1) -> Optional[ModelVersion]:
        """Return one version of the model.

        Parameters
        ----------
        version : int or str
            The number of the version, from 1; -1 means the newest. A text is an alias, such as ``"production"``.

        Returns
        -------
        ModelVersion or None
            None if the newest version is asked for, and the model has no version.
        """
        if version != -1:
            answer = self._session.send(_routes.get_model_version(self.name, str(version)))["modelVersion"]
            return version_from_answer(answer, self._session)
        return next(self._versions(OrderBy.DESC, limit=1), None)

    def register_version(self, checkpoint_uuid: str) -> ModelVersion:
        """Register a checkpoint as the next version of the model, and return that version."""
        request = _routes.post_model_version(self.name, checkpoint_uuid=checkpoint_uuid)
        return version_from_answer(self._session.send(request)["modelVersion"], self._session)

    # ---- aliases ----

    def set_alias(self, alias: str, version: int) -> None:
        """Let an alias, such as ``"production"``, stand for a version. An alias that exists is moved to the version.

        Parameters
        ----------
        alias : str
            It begins with a lower-case letter and has lower-case letters, digits, ``.``, ``_`` and ``-``.
        version : int
            The number of the version, from 1.
        """
        self._session.send(_routes.put_model_alias(self.name, alias, version=version))

    def remove_alias(self, alias: str) -> None:
        """Remove an alias. The version that it stood for is kept."""
        self._session.send(_routes.delete_model_alias(self.name, alias))

    def list_aliases(self) -> Dict[str, int]:
        """Return the aliases of the model, and the number of the version that each stands for."""
        aliases = self._session.send(_routes.get_model_aliases(self.name))["aliases"]
        return {alias["name"]: alias["version"] for alias in aliases}

    # ---- changes ----

    def _patch(self, changes: "_messages.PatchModel") -> None:
        self._session.send(_routes.patch_model(self.name, model=changes))

    def _put_metadata(self, metadata: Dict[str, Any]) -> None:
        self._patch({"metadata": metadata})
        self.metadata = metadata

    def _known_metadata(self) -> Dict[str, Any]:
        if self.metadata is None:
            self.reload()
        return dict(self.metadata or {})

    def add_metadata(self, metadata: Dict[str, Any]) -> None:
        """Add keys to the model's metadata, or replace their values."""
        self._put_metadata({**self._known_metadata(), **metadata})

    def remove_metadata(self, keys: List[str]) -> None:
        """Remove keys from the model's metadata. It is no error if a key is not there."""
        self._put_metadata({k: v for k, v in self._known_metadata().items() if k not in keys})

    def move_to_workspace(self, workspace_name: str) -> None:
        """Move the model to another workspace."""
        from determined.experimental._workspace import Workspace

        workspace = Workspace(self._session, workspace_name=workspace_name)
        self._session.send(_routes.move_model(self.name, destination_workspace_id=workspace.id))
        self.workspace_id = workspace.id

    def set_labels(self, labels: List[str]) -> None:
        """Replace the model's labels."""
        self._patch({"labels": list(labels)})
        self.labels = list(labels)

    def set_description(self, description: str) -> None:
        """Replace the model's description."""
        self._patch({"description": description})
        self.description = description

    def archive(self) -> None:
        """Hide the model from lists that do not ask for archived models."""
        self._session.send(_routes.archive_model(self.name))
        self.archived = True

    def unarchive(self) -> None:
        """Show the model in lists again."""
        self._session.send(_routes.unarchive_model(self.name))
        self.archived = False

    def delete(self) -> None:
        """Delete the model and its versions. The checkpoints are kept."""
        self._session.send(_routes.delete_model(self.name))


def model_from_answer(answer: "_messages.Model", session: _http.Session) -> Model:
    """The model that an answer of the master describes."""
    model = Model(session, answer["name"])
    model._take(answer)
    return model
