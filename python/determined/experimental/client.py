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
    config: Union[str, pathlib.Path, Dict[str, Any]],
    model_dir: Optional[str] = None,
    includes: Optional[Iterable[Union[str, pathlib.Path]]] = None,
    project_id: Optional[int] = None,
    template: Optional[str] = None,
) -> Experiment:
    """Create an experiment and let it run.

    What is wrong with the configuration is raised as an error, all of it at once.

    Parameters
    ----------
    config : str, path or dict
        The configuration: the path of a YAML file, or what such a file would hold.
    model_dir : str, optional
        Directory of the code. Its ``.detignore`` names what stays behind.
    includes : list of paths, optional
        Files and directories that go along with the code.
    project_id : int, optional
        Project of the experiment, in place of the one that the configuration names.
    template : str, optional
        Name of a template of which the configuration takes what it does not say itself.
    """
    return _cluster().create_experiment(
        config, model_dir=model_dir, includes=includes, project_id=project_id, template=template
    )


def get_experiment(experiment_id: int) -> Experiment:
    """Return the experiment with this number. It is an error if there is none."""
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
    """Return the experiments that meet all of the conditions, of all users unless ``users`` names some.

    Parameters
    ----------
    sort_by : ExperimentSortBy, optional
    order_by : OrderBy, optional
        Ascending, unless it says otherwise.
    experiment_ids : list of int, optional
    labels : list of str, optional
        Labels that an experiment has, all of them.
    users : list of str, optional
        Names of owners.
    states : list of ExperimentState, optional
    name : str, optional
        A part of the experiment's name.
    project_id : int, optional
    """
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
    """Create a user who can log in at once. Only administrators may.

    Parameters
    ----------
    username : str
    admin : bool
        Whether the user is an administrator.
    password : str, optional
        At least eight characters, among them an upper-case letter, a lower-case letter and a digit; needed unless
        ``remote`` is true.
    remote : bool
        Whether the user logs in through another service only.
    """
    return _cluster().create_user(username, admin, password=password, remote=remote)


def get_user_by_id(user_id: int) -> User:
    """Return the user with this number."""
    return _cluster().get_user_by_id(user_id)


def get_user_by_name(user_name: str) -> User:
    """Return the user with this name."""
    return _cluster().get_user_by_name(user_name)


def whoami() -> User:
    """Return the user who is logged in."""
    return _cluster().whoami()


def get_session_username() -> str:
    """Return the name of the user who is logged in, without asking the master."""
    return _cluster().get_session_username()


def list_users(active: Optional[bool] = None) -> List[User]:
    """Return all users; with ``active=True`` those who may log in, with ``active=False`` those who may not."""
    return _cluster().list_users(active=active)


def get_trial(trial_id: int) -> Trial:
    """Return the trial with this number. It is an error if there is none."""
    return _cluster().get_trial(trial_id)


def get_checkpoint(uuid: str) -> Checkpoint:
    """Return the checkpoint with this UUID. It is an error if there is none."""
    return _cluster().get_checkpoint(uuid)


def get_workspace(name: str) -> Workspace:
    """Return the workspace with this name. It is an error if there is none."""
    return _cluster().get_workspace(name)


def list_workspaces() -> List[Workspace]:
    """Return all workspaces that the user may see."""
    return _cluster().list_workspaces()


def create_workspace(name: str) -> Workspace:
    """Create an empty workspace, which belongs to the user."""
    return _cluster().create_workspace(name)


def delete_workspace(name: str) -> None:
    """Delete a workspace with all projects and experiments in it. This cannot be undone."""
    _cluster().delete_workspace(name)


def create_model(name: str, description: Optional[str] = "", metadata: Optional[Dict[str, Any]] = None) -> Model:
    """Add a model to the registry, which is not served yet: the master refuses it by name.

    Parameters
    ----------
    name : str
    description : str, optional
    metadata : dict, optional
    """
    return _cluster().create_model(name, description=description, metadata=metadata)


def get_model(identifier: Union[str, int]) -> Model:
    """Return a model of the registry by its name or its number."""
    return _cluster().get_model(identifier)


def get_model_by_id(model_id: int) -> Model:
    """Return a model of the registry by its number. This is an older form of ``get_model(model_id)``."""
    return _cluster().get_model_by_id(model_id)


def get_models(
    sort_by: ModelSortBy = ModelSortBy.NAME,
    order_by: OrderBy = OrderBy.ASCENDING,
    name: str = "",
    description: str = "",
) -> List[Model]:
    """Return models of the registry. This is an older form of :func:`list_models`.

    Parameters
    ----------
    sort_by : ModelSortBy
    order_by : OrderBy
    name, description : str
        Parts of the model's name and description.
    """
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
    """Return the models of the registry that meet all of the conditions.

    Parameters
    ----------
    sort_by : ModelSortBy
    order_by : OrderBy
    name, description : str, optional
        Parts of the model's name and description.
    model_id : int, optional
    workspace_names : list of str, optional
    workspace_ids : list of int, optional
    """
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
    """Return the labels that models of the registry have, the commonest first."""
    return _cluster().get_model_labels()


def iter_trials_metrics(trial_ids: List[int], group: str) -> Iterable[TrialMetrics]:
    """Go through the metrics that trials have reported in one group, trial by trial, in the order of their steps.

    Parameters
    ----------
    trial_ids : list of int
    group : str
        ``"training"``, ``"validation"``, or the group that ``report_metrics()`` was given.
    """
    return _cluster().iter_trials_metrics(trial_ids, group)


def stream_trials_metrics(trial_ids: List[int], group: str) -> Iterable[TrialMetrics]:
    """Go through the metrics of trials: an older name of :func:`iter_trials_metrics`.

    Parameters
    ----------
    trial_ids : list of int
    group : str
    """
    return _cluster().stream_trials_metrics(trial_ids, group)


def stream_trials_training_metrics(trial_ids: List[int]) -> Iterable[TrialMetrics]:
    """Go through training metrics of trials: an older form of ``iter_trials_metrics(trial_ids, "training")``."""
    return _cluster().stream_trials_training_metrics(trial_ids)


def stream_trials_validation_metrics(trial_ids: List[int]) -> Iterable[TrialMetrics]:
    """Go through validation metrics of trials: an older form of ``iter_trials_metrics(trial_ids, "validation")``."""
    return _cluster().stream_trials_validation_metrics(trial_ids)


def list_oauth_clients() -> Sequence[Oauth2ScimClient]:
    """Raise ``NotFound``: this platform logs nobody in for other programs."""
    return _cluster().list_oauth_clients()


def add_oauth_client(domain: str, name: str) -> Oauth2ScimClient:
    """Raise ``NotFound``: this platform logs nobody in for other programs, so ``domain`` and ``name`` are not used."""
    return _cluster().add_oauth_client(domain, name)


def remove_oauth_client(client_id: str) -> None:
    """Raise ``NotFound``: this platform logs nobody in for other programs, so ``client_id`` is not used."""
    _cluster().remove_oauth_client(client_id)
