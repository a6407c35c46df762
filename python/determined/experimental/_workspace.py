"""Workspaces, the projects in them, and the resource pools that they may use."""

import functools
from typing import TYPE_CHECKING, Dict, Iterator, List, Optional, Sequence

from determined import _http, _routes
from determined.experimental import _api
from determined.experimental._experiment import Experiment, experiment_from_answer

if TYPE_CHECKING:
    from determined import _messages


class Project:
    """A project: a folder of experiments. Get it from a :class:`Workspace`.

    Attributes
    ----------
    id : int
    archived : bool or None
    description, name, username, key : str or None
    n_active_experiments, n_experiments : int or None
    notes : list of dict or None
        ``{"name": …, "contents": …}`` each.
    workspace_id : int or None
    """

    def __init__(self, session: _http.Session, project_id: int) -> None:
        self._session = session
        self.id = project_id
        self.archived: Optional[bool] = None
        self.description: Optional[str] = None
        self.n_active_experiments: Optional[int] = None
        self.n_experiments: Optional[int] = None
        self.name: Optional[str] = None
        self.notes: Optional[List[Dict[str, str]]] = None
        self.workspace_id: Optional[int] = None
        self.username: Optional[str] = None
        self.key: Optional[str] = None

    def __repr__(self) -> str:
        return f"Project(id={self.id}, name={self.name!r})"

    def _take(self, answer: "_messages.Project") -> None:
        self.archived = answer["archived"]
        self.description = answer.get("description")
        self.n_active_experiments = answer["numActiveExperiments"]
        self.n_experiments = answer["numExperiments"]
        self.name = answer["name"]
        self.notes = _notes(answer.get("notes") or [])
        self.workspace_id = answer["workspaceId"]
        self.username = answer["username"]
        self.key = answer.get("key")

    def reload(self) -> None:
        """Fetch the project from the master again, and replace the values of all attributes."""
        self._take(self._session.send(_routes.get_project(self.id))["project"])

    def list_experiments(self) -> List[Experiment]:
        """Return all experiments of the project."""
        page = functools.partial(_routes.get_experiments, project_id=self.id)
        found = _api.pages(self._session, page, lambda answer: answer.get("experiments"))
        return [experiment_from_answer(e, self._session) for e in found]

    def _patch(self, changes: "_messages.PatchProject") -> "_messages.Project":
        return self._session.send(_routes.patch_project(self.id, project=changes))["project"]

    def set_description(self, description: str) -> None:
        """Replace the project's description."""
        self.description = self._patch({"description": description}).get("description")

    def set_key(self, key: str) -> None:
        """Change the project's key: the letters with which the ids of its runs begin."""
        self.key = self._patch({"key": key}).get("key")

    def set_name(self, name: str) -> None:
        """Change the project's name."""
        self.name = self._patch({"name": name})["name"]

    def archive(self) -> None:
        """Hide the project from lists that do not ask for archived projects."""
        self._session.send(_routes.archive_project(self.id))
        self.archived = True

    def unarchive(self) -> None:
        """Show the project in lists again."""
        self._session.send(_routes.unarchive_project(self.id))
        self.archived = False

    def add_note(self, name: str, contents: str) -> None:
        """Add a note to the project.

        Parameters
        ----------
        name : str
            The title of the note.
        contents : str
        """
        note: _messages.Note = {"name": name, "contents": contents}
        self.notes = _notes(self._session.send(_routes.add_project_note(self.id, note=note))["notes"])

    def remove_note(self, name: str) -> None:
        """Remove a note from the project.

        Raises
        ------
        ValueError
            If the project has no note of that name, or more than one.
        """
        self.reload()
        notes = self.notes or []
        left = [note for note in notes if note["name"] != name]
        if len(notes) - len(left) != 1:
            raise ValueError(f"project {self.id} has {len(notes) - len(left)} notes of the name {name!r}, not one")
        kept: List[_messages.Note] = [{"name": note["name"], "contents": note["contents"]} for note in left]
        self.notes = _notes(self._session.send(_routes.put_project_notes(self.id, notes=kept))["notes"])


def project_from_answer(answer: "_messages.Project", session: _http.Session) -> Project:
    """The project that an answer of the master describes."""
    project = Project(session, answer["id"])
    project._take(answer)
    return project


class ResourcePool:
    """A pool of machines. Get it from :meth:`Workspace.list_pools`.

    Attributes
    ----------
    name : str
    """

    def __init__(self, session: _http.Session, name: str = "") -> None:
        self.name = name
        self._session = session

    def __repr__(self) -> str:
        return f"ResourcePool(name={self.name!r})"

    def add_bindings(self, workspace_names: List[str]) -> None:
        """Bind the pool to these workspaces, too. As long as a pool is bound to any, no other workspace may use it."""
        self._session.send(_routes.bind_rp_to_workspace(self.name, workspace_names=workspace_names))

    def remove_bindings(self, workspace_names: List[str]) -> None:
        """End the binding of the pool to these workspaces."""
        self._session.send(_routes.unbind_rp_from_workspace(self.name, workspace_names=workspace_names))

    def replace_bindings(self, workspace_names: List[str]) -> None:
        """Bind the pool to these workspaces, and to no others."""
        self._session.send(_routes.overwrite_rp_workspace_bindings(self.name, workspace_names=workspace_names))

    def list_workspaces(self) -> List[Optional[str]]:
        """Return the names of the workspaces that the pool is bound to."""
        page = functools.partial(_routes.list_workspaces_bound_to_rp, self.name)
        ids = _api.pages(self._session, page, lambda answer: answer.get("workspaceIds"))
        return [Workspace(self._session, workspace_id=i).name for i in ids]


class Workspace:
    """A workspace: a folder of projects. Get it from ``client.get_workspace()``.

    Attributes
    ----------
    id : int
    name : str or None

    Parameters
    ----------
    session : Session
    workspace_id : int, optional
    workspace_name : str, optional
        Exactly one of the two.

    Raises
    ------
    ValueError
        If there is no workspace of that name.
    """

    def __init__(
        self, session: _http.Session, workspace_id: Optional[int] = None, workspace_name: Optional[str] = None
    ) -> None:
        if (workspace_id is None) == (workspace_name is None):
            raise ValueError("give workspace_id or workspace_name, and not both")
        self._session = session
        self.name = workspace_name
        if workspace_id is not None:
            self.id = workspace_id
            self.reload()
        else:
            page = functools.partial(_routes.get_workspaces, name=workspace_name)
            found = _api.pages(session, page, lambda answer: answer.get("workspaces"))
            # The master's own filter finds parts of names.
            ids = [workspace["id"] for workspace in found if workspace["name"] == workspace_name]
            if not ids:
                raise ValueError(f"there is no workspace {workspace_name!r}")
            self.id = ids[0]

    def __repr__(self) -> str:
        return f"Workspace(id={self.id}, name={self.name!r})"

    def _take(self, answer: "_messages.Workspace") -> None:
        self.id = answer["id"]
        self.name = answer["name"]

    def reload(self) -> None:
        """Fetch the workspace from the master again, and replace the value of ``name``."""
        self._take(self._session.send(_routes.get_workspace(self.id))["workspace"])

    def list_pools(self) -> List[ResourcePool]:
        """Return the resource pools that tasks of the workspace may use."""
        page = functools.partial(_routes.list_r_ps_bound_to_workspace, self.id)
        names = _api.pages(self._session, page, lambda answer: answer.get("resourcePools"))
        return [ResourcePool(self._session, name) for name in names]

    def create_project(self, name: str, description: Optional[str] = None) -> Project:
        """Create a project in the workspace.

        Parameters
        ----------
        name : str
        description : str, optional

        Raises
        ------
        errors.Conflict
            If the workspace has a project of that name.
        """
        request = _routes.post_project(self.id, name=name, description=description or "")
        return project_from_answer(self._session.send(request)["project"], self._session)

    def delete_project(self, name: str) -> None:
        """Delete a project of the workspace with all experiments in it. This cannot be undone."""
        self._session.send(_routes.delete_project(self.get_project(name).id))

    def get_project(self, project_name: str) -> Project:
        """Return the project of the workspace that has this name.

        Raises
        ------
        ValueError
            If the workspace has no project of that name.
        """
        for project in self._projects(project_name):
            if project["name"] == project_name:  # the master's own filter finds parts of names
                return project_from_answer(project, self._session)
        raise ValueError(f"there is no project {project_name!r}")

    def list_projects(self) -> List[Project]:
        """Return all projects of the workspace."""
        return [project_from_answer(project, self._session) for project in self._projects()]

    def _projects(self, name: Optional[str] = None) -> "Iterator[_messages.Project]":
        page = functools.partial(_routes.get_workspace_projects, self.id, name=name)
        return _api.pages(self._session, page, lambda answer: answer.get("projects"))


def workspace_from_answer(answer: "_messages.Workspace", session: _http.Session) -> Workspace:
    """The workspace that an answer of the master describes."""
    workspace = Workspace.__new__(Workspace)
    workspace._session = session
    workspace._take(answer)
    return workspace


def _notes(notes: "Sequence[_messages.Note]") -> List[Dict[str, str]]:
    return [{"name": note["name"], "contents": note["contents"]} for note in notes]
