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

from typing import Any, Dict, List, Optional

from determined.experimental._api import OrderBy
from determined.experimental._checkpoint import (
    Checkpoint,
    CheckpointOrderBy,
    CheckpointSortBy,
    CheckpointState,
    DownloadMode,
)
from determined.experimental._determined import DefaultCluster, Determined, Oauth2ScimClient
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

# The functions of this module are methods of one object, so that each is written and described once.
_determined = DefaultCluster()

login = _determined.login
logout = _determined.logout
create_experiment = _determined.create_experiment
get_experiment = _determined.get_experiment
list_experiments = _determined.list_experiments
create_user = _determined.create_user
get_user_by_id = _determined.get_user_by_id
get_user_by_name = _determined.get_user_by_name
whoami = _determined.whoami
get_session_username = _determined.get_session_username
list_users = _determined.list_users
get_trial = _determined.get_trial
get_checkpoint = _determined.get_checkpoint
get_workspace = _determined.get_workspace
list_workspaces = _determined.list_workspaces
create_workspace = _determined.create_workspace
delete_workspace = _determined.delete_workspace
get_model = _determined.get_model
get_model_by_id = _determined.get_model_by_id
list_models = _determined.list_models
get_model_labels = _determined.get_model_labels
iter_trials_metrics = _determined.iter_trials_metrics
stream_trials_metrics = _determined.stream_trials_metrics
stream_trials_training_metrics = _determined.stream_trials_training_metrics
stream_trials_validation_metrics = _determined.stream_trials_validation_metrics
list_oauth_clients = _determined.list_oauth_clients
add_oauth_client = _determined.add_oauth_client
remove_oauth_client = _determined.remove_oauth_client


def create_model(name: str, description: Optional[str] = "", metadata: Optional[Dict[str, Any]] = None) -> Model:
    """Add a model to the registry. Names of models are unique in the cluster.

    Parameters
    ----------
    name : str
    description : str, optional
    metadata : dict, optional
    """
    return _determined.create_model(name, description=description, metadata=metadata)


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
    return _determined.get_models(sort_by=sort_by, order_by=order_by, name=name, description=description)
