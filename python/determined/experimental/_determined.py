"""The cluster as a whole: where everything of the SDK begins."""

import functools
import json
import os
import pathlib
import urllib.parse
from typing import Any, Dict, Iterable, List, Optional, Sequence, Union

from determined import _http, _routes
from determined.experimental import _api, _context, _login, _metrics
from determined.experimental._api import OrderBy
from determined.experimental._checkpoint import Checkpoint
from determined.experimental._experiment import Experiment, ExperimentSortBy, ExperimentState, experiment_from_answer
from determined.experimental._model import Model, ModelSortBy, model_from_answer
from determined.experimental._trial import Trial
from determined.experimental._user import User, user_from_answer
from determined.experimental._workspace import Workspace, workspace_from_answer


class Oauth2ScimClient:
    """A program to which the master gives tokens for SCIM, such as a directory service."""

    def __init__(self, client_id: str, domain: str, name: str, secret: Optional[str] = None) -> None:
        self.id = client_id
        self.secret = secret
        self.domain = domain
        self.name = name


class Determined:
    """A connection to a master.

    Parameters
    ----------
    master : str, optional
        Its address; by default ``DET_MASTER``, else ``localhost:8080``. In a task, the task's own.
    user, password : str, optional
        By default ``DET_USER`` and ``DET_PASS``, else whoever is logged in with ``det``. In a task, its owner.
    cert_path : str, optional
        Certificates in PEM to check the master's with.
    cert_name : str, optional
        Name that the master's certificate bears, where it is not the host's.
    noverify : bool
        Whether to go without that check.

    Raises
    ------
    errors.Unauthenticated
        If user and password do not fit.
    errors.MasterUnreachable

    Examples
    --------
    >>> from determined.experimental import client
    >>> cluster = client.Determined("http://master:8080", "me", "…")  # doctest: +SKIP
    >>> cluster.get_experiment(7).wait()  # doctest: +SKIP
    """

    def __init__(
        self,
        master: Optional[str] = None,
        user: Optional[str] = None,
        password: Optional[str] = None,
        cert_path: Optional[str] = None,
        cert_name: Optional[str] = None,
        noverify: bool = False,
    ) -> None:
        self._current: Optional[_login.Login] = _login.login(master, user, password, cert_path, cert_name, noverify)

    @property
    def _login(self) -> _login.Login:
        if self._current is None:
            self._current = _login.login()
        return self._current

    @property
    def _session(self) -> _http.Session:
        return self._login.session

    # ---- users ----

    def create_user(self, username: str, admin: bool, password: Optional[str] = None, remote: bool = False) -> User:
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

        Raises
        ------
        ValueError
            If the password will not do, or is missing.
        """
        if password is None and not remote:
            raise ValueError(f"user {username!r} needs a password, unless remote is True")
        request = _routes.post_user(
            user={"username": username, "admin": admin, "active": True, "remote": remote},
            password=_login.hashed_password(password, new=True) if password is not None else None,
            is_hashed=True if password is not None else None,
        )
        return user_from_answer(self._session.send(request)["user"], self._session)

    def get_user_by_id(self, user_id: int) -> User:
        """Return the user with this number."""
        return user_from_answer(self._session.send(_routes.get_user(user_id))["user"], self._session)

    def get_user_by_name(self, user_name: str) -> User:
        """Return the user with this name."""
        answer = self._session.send(_routes.get_user_by_username(user_name))["user"]
        return user_from_answer(answer, self._session)

    def whoami(self) -> User:
        """Return the user who is logged in."""
        return user_from_answer(self._session.send(_routes.get_me())["user"], self._session)

    def get_session_username(self) -> str:
        """Return the name of the user who is logged in, without asking the master."""
        return self._login.user

    def logout(self) -> None:
        """End this login; it cannot be used afterwards. A task's own stays."""
        _login.logout(self._login)

    def list_users(self, active: Optional[bool] = None) -> List[User]:
        """Return all users; with ``active=True`` those who may log in, with ``active=False`` those who may not."""
        page = functools.partial(_routes.get_users, active=active)
        found = _api.pages(self._session, page, lambda answer: answer.get("users"))
        return [user_from_answer(u, self._session) for u in found]

    # ---- experiments, trials, checkpoints ----

    def create_experiment(
        self,
        config: Union[str, pathlib.Path, Dict[str, Any]],
        model_dir: Optional[Union[str, pathlib.Path]] = None,
        includes: Optional[Iterable[Union[str, pathlib.Path]]] = None,
        project_id: Optional[int] = None,
        template: Optional[str] = None,
    ) -> Experiment:
        """Create an experiment and let it run.

        Parameters
        ----------
        config : str, pathlib.Path or dict
            The configuration, or the path of a YAML file that holds it.
        model_dir : path-like, optional
            Its contents go along, but for what its ``.detignore`` names; at most 95 MiB.
        includes : list of path-like, optional
            More files and directories.
        project_id : int, optional
            Where to put it; by default the configuration's ``project``, else "Uncategorized".
        template : str, optional
            Name of a template that the configuration is laid over.

        Raises
        ------
        errors.BadRequest
            If the configuration is wrong; the message names every mistake.
        """
        if isinstance(config, dict):
            text = json.dumps(config)
        elif isinstance(config, (str, os.PathLike)):
            text = pathlib.Path(config).read_text(encoding="utf-8")
        else:
            raise TypeError(f"config must be a path or a dictionary, not {type(config).__name__}")
        request = _routes.create_experiment(
            activate=True,
            config=text,
            model_definition=_context.read(model_dir, includes),
            project_id=project_id,
            template=template,
        )
        answer = self._session.send(request)
        for warning in answer.get("warnings") or []:
            _warn_of_launch(warning)
        return experiment_from_answer({**answer["experiment"], "config": answer["config"]}, self._session)

    def get_experiment(self, experiment_id: int) -> Experiment:
        """Return the experiment with this number. It is an error if there is none."""
        experiment = Experiment(experiment_id, self._session)
        experiment.reload()
        return experiment

    def list_experiments(
        self,
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
        page = functools.partial(
            _routes.get_experiments,
            sort_by=sort_by,
            order_by=order_by,
            labels=labels,
            users=users,
            states=states,
            name=name,
            project_id=project_id,
            experiment_id_filter_incl=experiment_ids,
        )
        found = _api.pages(self._session, page, lambda answer: answer.get("experiments"))
        return [experiment_from_answer(e, self._session) for e in found]

    def get_trial(self, trial_id: int) -> Trial:
        """Return the trial with this number. It is an error if there is none."""
        trial = Trial(trial_id, self._session)
        trial.reload()
        return trial

    def get_checkpoint(self, uuid: str) -> Checkpoint:
        """Return the checkpoint with this UUID. It is an error if there is none."""
        checkpoint = Checkpoint(self._session, uuid)
        checkpoint.reload()
        return checkpoint

    def iter_trials_metrics(self, trial_ids: List[int], group: str) -> Iterable[_metrics.TrialMetrics]:
        """Go through the metrics that trials have reported in one group, trial by trial, in the order of their steps.

        Parameters
        ----------
        trial_ids : list of int
        group : str
            ``"training"``, ``"validation"``, or the group that ``report_metrics()`` was given.

        Yields
        ------
        TrialMetrics
        """
        return _metrics.iterate(self._session, trial_ids, group)

    def stream_trials_metrics(self, trial_ids: List[int], group: str) -> Iterable[_metrics.TrialMetrics]:
        """Go through the metrics of trials: an older name of :meth:`iter_trials_metrics`.

        Parameters
        ----------
        trial_ids : list of int
        group : str
        """
        _api.deprecated("stream_trials_metrics()", "iter_trials_metrics()")
        return self.iter_trials_metrics(trial_ids, group)

    def stream_trials_training_metrics(self, trial_ids: List[int]) -> Iterable[_metrics.TrialMetrics]:
        """Go through training metrics of trials: an older form of ``iter_trials_metrics(…, "training")``."""
        _api.deprecated("stream_trials_training_metrics()", 'iter_trials_metrics(…, "training")')
        return _metrics.iterate_training(self._session, trial_ids)

    def stream_trials_validation_metrics(self, trial_ids: List[int]) -> Iterable[_metrics.TrialMetrics]:
        """Go through validation metrics of trials: an older form of ``iter_trials_metrics(…, "validation")``."""
        _api.deprecated("stream_trials_validation_metrics()", 'iter_trials_metrics(…, "validation")')
        return _metrics.iterate_validation(self._session, trial_ids)

    # ---- workspaces ----

    def get_workspace(self, name: str) -> Workspace:
        """Return the workspace with this name.

        Raises
        ------
        ValueError
            If there is none.
        """
        return Workspace(self._session, workspace_name=name)

    def list_workspaces(self) -> List[Workspace]:
        """Return all workspaces that the user may see."""
        found = _api.pages(self._session, _routes.get_workspaces, lambda answer: answer.get("workspaces"))
        return [workspace_from_answer(w, self._session) for w in found]

    def create_workspace(self, name: str) -> Workspace:
        """Create an empty workspace, which belongs to the user."""
        answer = self._session.send(_routes.post_workspace(name=name))["workspace"]
        return workspace_from_answer(answer, self._session)

    def delete_workspace(self, name: str) -> None:
        """Delete a workspace with all projects and experiments in it. This cannot be undone."""
        self._session.send(_routes.delete_workspace(self.get_workspace(name).id))

    # ---- models ----

    def create_model(
        self,
        name: str,
        description: Optional[str] = "",
        metadata: Optional[Dict[str, Any]] = None,
        labels: Optional[List[str]] = None,
        workspace_name: Optional[str] = None,
    ) -> Model:
        """Add a model to the registry. Names of models are unique in the cluster.

        Parameters
        ----------
        name : str
        description : str, optional
        metadata : dict, optional
        labels : list of str, optional
        workspace_name : str, optional
            By default "Uncategorized".
        """
        request = _routes.post_model(
            name=name, description=description, metadata=metadata, labels=labels, workspace_name=workspace_name
        )
        return model_from_answer(self._session.send(request)["model"], self._session)

    def get_model(self, identifier: Union[str, int]) -> Model:
        """Return a model of the registry by its name or its number."""
        answer = self._session.send(_routes.get_model(str(identifier)))["model"]
        return model_from_answer(answer, self._session)

    def get_model_by_id(self, model_id: int) -> Model:
        """Return a model of the registry by its number. This is an older form of ``get_model(model_id)``."""
        _api.deprecated("get_model_by_id()", "get_model()")
        return self.get_model(model_id)

    def list_models(
        self,
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
        page = functools.partial(
            _routes.get_models,
            sort_by=sort_by,
            order_by=order_by,
            name=name or None,
            description=description or None,
            id=model_id,
            workspace_names=workspace_names,
            workspace_ids=workspace_ids,
        )
        found = _api.pages(self._session, page, lambda answer: answer.get("models"))
        return [model_from_answer(m, self._session) for m in found]

    def get_models(
        self,
        sort_by: ModelSortBy = ModelSortBy.NAME,
        order_by: OrderBy = OrderBy.ASCENDING,
        name: Optional[str] = None,
        description: Optional[str] = None,
        model_id: Optional[int] = None,
        workspace_names: Optional[List[str]] = None,
        workspace_ids: Optional[List[int]] = None,
    ) -> List[Model]:
        """Return models of the registry. This is an older name of :meth:`list_models`, with the same parameters."""
        _api.deprecated("get_models()", "list_models()")
        return self.list_models(sort_by, order_by, name, description, model_id, workspace_names, workspace_ids)

    def get_model_labels(self) -> List[str]:
        """Return the labels that models of the registry have, the commonest first."""
        return list(self._session.send(_routes.get_model_labels()).get("labels") or [])

    # ---- single sign-on ----

    def list_oauth_clients(self) -> Sequence[Oauth2ScimClient]:
        """Return the programs to which the master gives tokens for SCIM. Only an admin may."""
        found = self._session.request("GET", "/oauth2/clients")
        return [Oauth2ScimClient(client_id=c["id"], domain=c["domain"], name=c["name"]) for c in found]

    def add_oauth_client(self, domain: str, name: str) -> Oauth2ScimClient:
        """Let a program ask for tokens for SCIM. Only an admin may.

        Parameters
        ----------
        domain : str
            The address to which the program has browsers sent back, whole and exact: ``https://HOST/PATH``.
        name : str
            What people call the program; no other has this name.

        Returns
        -------
        Oauth2ScimClient
            Its ``secret`` is shown this once.
        """
        made = self._session.request("POST", "/oauth2/clients", {"domain": domain, "name": name})
        return Oauth2ScimClient(client_id=made["id"], domain=made["domain"], name=made["name"], secret=made["secret"])

    def remove_oauth_client(self, client_id: str) -> None:
        """Remove a program, and end its tokens. Only an admin may."""
        self._session.request("DELETE", f"/oauth2/clients/{urllib.parse.quote(client_id, safe='')}")


class DefaultCluster(Determined):
    """The cluster that the functions of ``client`` ask. It logs in when the first of them needs the master."""

    def __init__(self) -> None:
        self._current = None

    def login(
        self,
        master: Optional[str] = None,
        user: Optional[str] = None,
        password: Optional[str] = None,
        cert_path: Optional[str] = None,
        cert_name: Optional[str] = None,
        noverify: bool = False,
    ) -> None:
        """Choose the master and the user for all functions of the module ``client``.

        The parameters are those of :class:`Determined`.

        Raises
        ------
        RuntimeError
            If that was done before, also by calling a function.
        """
        if self._current is not None:
            raise RuntimeError("client.login() comes first and once; for several logins make Determined objects")
        self._current = _login.login(master, user, password, cert_path, cert_name, noverify)

    def logout(self) -> None:
        """End the login; :func:`login` may come again. A task's own login stays valid."""
        if self._current is not None:
            super().logout()
        self._current = None


def session_of(cluster: Determined) -> _http.Session:
    """The session that a connection sends its requests by, for other modules of the library."""
    return cluster._session


def address_of(cluster: Determined) -> str:
    """The address of the master, ``scheme://host:port[/path]``, for other modules of the library."""
    return cluster._login.master


def _warn_of_launch(warning: str) -> None:
    import logging

    words = {"LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED": "no agent has as many slots now: it waits until one has"}
    logging.getLogger("determined").warning("the experiment was created; %s", words.get(warning, warning))
