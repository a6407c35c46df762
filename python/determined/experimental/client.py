"""The cluster from a program, the way of ``det`` from a shell.

>>> from determined.experimental import client
>>> client.login("http://master:8080", "me", "…")  # doctest: +SKIP
>>> experiment = client.create_experiment("const.yaml", "model/")  # doctest: +SKIP
>>> experiment.wait()  # doctest: +SKIP
<ExperimentState.COMPLETED: 'STATE_COMPLETED'>

The functions of this module ask the master that :func:`login` has named; without it, the one of ``DET_MASTER``, as
whoever is logged in with ``det``, or in a task as its owner. For several masters, or several users, make
:class:`Determined` objects.
"""

import pathlib
from typing import Any, Dict, Iterable, List, Optional, Sequence, Union

from determined.experimental._api import OrderBy
from determined.experimental._checkpoint import (
    Checkpoint,
    CheckpointOrderBy,
    CheckpointSortBy,
    CheckpointState,
    DownloadMode,
)
from determined.experimental._determined import Determined, Oauth2ScimClient
from determined.experimental._experiment import (
    Experiment,
    ExperimentOrderBy,
    ExperimentSortBy,
    ExperimentState,
)
from determined.experimental._metrics import TrainingMetrics, TrialMetrics, ValidationMetrics
from determined.experimental._model import Model, ModelOrderBy, ModelSortBy, ModelVersion
from determined.experimental._trial import Trial, TrialOrderBy, TrialSortBy, TrialState
from determined.experimental._user import User
from determined.experimental._workspace import Project, ResourcePool, Workspace

__all__ = [
    "Checkpoint",
    "CheckpointOrderBy",
    "CheckpointSortBy",
    "CheckpointState",
    "Determined",
    "DownloadMode",
    "Experiment",
    "ExperimentOrderBy",
    "ExperimentSortBy",
    "ExperimentState",
    "Model",
    "ModelOrderBy",
    "ModelSortBy",
    "ModelVersion",
    "Oauth2ScimClient",
    "OrderBy",
    "Project",
    "ResourcePool",
    "TrainingMetrics",
    "Trial",
    "TrialMetrics",
    "TrialOrderBy",
    "TrialSortBy",
    "TrialState",
    "User",
    "ValidationMetrics",
    "Workspace",
    "add_oauth_client",
    "create_experiment",
    "create_model",
    "create_user",
    "create_workspace",
    "delete_workspace",
    "get_checkpoint",
    "get_experiment",
    "get_model",
    "get_model_by_id",
    "get_model_labels",
    "get_models",
    "get_session_username",
    "get_trial",
    "get_user_by_id",
    "get_user_by_name",
    "get_workspace",
    "iter_trials_metrics",
    "list_experiments",
    "list_models",
    "list_oauth_clients",
    "list_users",
    "list_workspaces",
    "login",
    "logout",
    "remove_oauth_client",
    "stream_trials_metrics",
    "stream_trials_training_metrics",
    "stream_trials_validation_metrics",
    "whoami",
]

_determined: Optional[Determined] = None


def _cluster() -> Determined:
    global _determined
    if _determined is None:
        _determined = Determined()
    return _determined


def login(
    master: Optional[str] = None,
    user: Optional[str] = None,
    password: Optional[str] = None,
    cert_path: Optional[str] = None,
    cert_name: Optional[str] = None,
    noverify: bool = False,
) -> None:
    """Choose the master and the user for all functions of this module; parameters are those of :class:`Determined`.

    Raises
    ------
    RuntimeError
        If that was done before, also by calling a function.
    """
    global _determined
    if _determined is not None:
        raise RuntimeError("client.login() comes first and once; for several logins make Determined objects")
    _determined = Determined(master, user, password, cert_path, cert_name, noverify)


def logout() -> None:
    """End the login; :func:`login` may come again."""
    global _determined
    if _determined is not None:
        _determined.logout()
    _determined = None


def create_experiment(
    config: Union[str, pathlib.Path, Dict],
    model_dir: Optional[str] = None,
    includes: Optional[Iterable[Union[str, pathlib.Path]]] = None,
    project_id: Optional[int] = None,
    template: Optional[str] = None,
) -> Experiment:
    """See :meth:`Determined.create_experiment`."""
    return _cluster().create_experiment(
        config, model_dir=model_dir, includes=includes, project_id=project_id, template=template
    )


def get_experiment(experiment_id: int) -> Experiment:
    """See :meth:`Determined.get_experiment`."""
    return _cluster().get_experiment(experiment_id)


def list_experiments(
    sort_by: Optional[ExperimentSortBy] = None,
    order_by: Optional[OrderBy] = None,
    experiment_ids: Optional[List[int]] = None,
    labels: Optional[List[str]] = None,
    users: Optional[List[str]] = None,
    states: Optional[List[ExperimentState]] = None,
    name: Optional[str] = None,
    project_id: Optional[int] = None,
) -> List[Experiment]:
    """See :meth:`Determined.list_experiments`."""
    return _cluster().list_experiments(
        sort_by=sort_by,
        order_by=order_by,
        experiment_ids=experiment_ids,
        labels=labels,
        users=users,
        states=states,
        name=name,
        project_id=project_id,
    )


def create_user(username: str, admin: bool, password: Optional[str] = None, remote: bool = False) -> User:
    """See :meth:`Determined.create_user`."""
    return _cluster().create_user(username, admin, password=password, remote=remote)


def get_user_by_id(user_id: int) -> User:
    """See :meth:`Determined.get_user_by_id`."""
    return _cluster().get_user_by_id(user_id)


def get_user_by_name(user_name: str) -> User:
    """See :meth:`Determined.get_user_by_name`."""
    return _cluster().get_user_by_name(user_name)


def whoami() -> User:
    """See :meth:`Determined.whoami`."""
    return _cluster().whoami()


def get_session_username() -> str:
    """See :meth:`Determined.get_session_username`."""
    return _cluster().get_session_username()


def list_users(active: Optional[bool] = None) -> List[User]:
    """See :meth:`Determined.list_users`."""
    return _cluster().list_users(active=active)


def get_trial(trial_id: int) -> Trial:
    """See :meth:`Determined.get_trial`."""
    return _cluster().get_trial(trial_id)


def get_checkpoint(uuid: str) -> Checkpoint:
    """See :meth:`Determined.get_checkpoint`."""
    return _cluster().get_checkpoint(uuid)


def get_workspace(name: str) -> Workspace:
    """See :meth:`Determined.get_workspace`."""
    return _cluster().get_workspace(name)


def list_workspaces() -> List[Workspace]:
    """See :meth:`Determined.list_workspaces`."""
    return _cluster().list_workspaces()


def create_workspace(name: str) -> Workspace:
    """See :meth:`Determined.create_workspace`."""
    return _cluster().create_workspace(name)


def delete_workspace(name: str) -> None:
    """See :meth:`Determined.delete_workspace`."""
    _cluster().delete_workspace(name)


def create_model(name: str, description: Optional[str] = "", metadata: Optional[Dict[str, Any]] = None) -> Model:
    """See :meth:`Determined.create_model`."""
    return _cluster().create_model(name, description=description, metadata=metadata)


def get_model(identifier: Union[str, int]) -> Model:
    """See :meth:`Determined.get_model`."""
    return _cluster().get_model(identifier)


def get_model_by_id(model_id: int) -> Model:
    """See :meth:`Determined.get_model_by_id`."""
    return _cluster().get_model_by_id(model_id)


def get_models(
    sort_by: ModelSortBy = ModelSortBy.NAME,
    order_by: OrderBy = OrderBy.ASCENDING,
    name: str = "",
    description: str = "",
) -> List[Model]:
    """See :meth:`Determined.get_models`."""
    return _cluster().get_models(sort_by=sort_by, order_by=order_by, name=name, description=description)


def list_models(
    sort_by: ModelSortBy = ModelSortBy.NAME,
    order_by: OrderBy = OrderBy.ASCENDING,
    name: Optional[str] = None,
    description: Optional[str] = None,
    model_id: Optional[int] = None,
    workspace_names: Optional[List[str]] = None,
    workspace_ids: Optional[List[int]] = None,
) -> List[Model]:
    """See :meth:`Determined.list_models`."""
    return _cluster().list_models(
        sort_by=sort_by,
        order_by=order_by,
        name=name,
        description=description,
        model_id=model_id,
        workspace_names=workspace_names,
        workspace_ids=workspace_ids,
    )


def get_model_labels() -> List[str]:
    """See :meth:`Determined.get_model_labels`."""
    return _cluster().get_model_labels()


def iter_trials_metrics(trial_ids: List[int], group: str) -> Iterable[TrialMetrics]:
    """See :meth:`Determined.iter_trials_metrics`."""
    return _cluster().iter_trials_metrics(trial_ids, group)


def stream_trials_metrics(trial_ids: List[int], group: str) -> Iterable[TrialMetrics]:
    """See :meth:`Determined.stream_trials_metrics`."""
    return _cluster().stream_trials_metrics(trial_ids, group)


def stream_trials_training_metrics(trial_ids: List[int]) -> Iterable[TrialMetrics]:
    """See :meth:`Determined.stream_trials_training_metrics`."""
    return _cluster().stream_trials_training_metrics(trial_ids)


def stream_trials_validation_metrics(trial_ids: List[int]) -> Iterable[TrialMetrics]:
    """See :meth:`Determined.stream_trials_validation_metrics`."""
    return _cluster().stream_trials_validation_metrics(trial_ids)


def list_oauth_clients() -> Sequence[Oauth2ScimClient]:
    """See :meth:`Determined.list_oauth_clients`."""
    return _cluster().list_oauth_clients()


def add_oauth_client(domain: str, name: str) -> Oauth2ScimClient:
    """See :meth:`Determined.add_oauth_client`."""
    return _cluster().add_oauth_client(domain, name)


def remove_oauth_client(client_id: str) -> None:
    """See :meth:`Determined.remove_oauth_client`."""
    _cluster().remove_oauth_client(client_id)
