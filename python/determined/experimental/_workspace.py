"""Workspaces, the projects in them, and the resource pools that they may use."""

from typing import Any, Dict, List, Optional

from determined import _http
from determined.experimental import _api
from determined.experimental._experiment import Experiment


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
        self._path = f"/api/v1/projects/{project_id}"
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

    @classmethod
    def _from_answer(cls, answer: Dict[str, Any], session: _http.Session) -> "Project":
        project = cls(session, answer["id"])
        project._take(answer)
        return project

    def _take(self, answer: Dict[str, Any]) -> None:
        self.archived = answer["archived"]
        self.description = answer.get("description")
        self.n_active_experiments = answer["numActiveExperiments"]
        self.n_experiments = answer["numExperiments"]
        self.name = answer["name"]
        self.notes = [dict(note) for note in answer.get("notes") or []]
        self.workspace_id = answer["workspaceId"]
        self.username = answer["username"]
        self.key = answer.get("key")

    def reload(self) -> None:
        """Ask the master again."""
        self._take(self._session.get(self._path)["project"])

    def list_experiments(self) -> List[Experiment]:
        """All its experiments."""
        params = _api.parameters(projectId=self.id)
        found = _api.pages(self._session, "/api/v1/experiments", "experiments", params)
        return [Experiment._from_answer(e, self._session) for e in found]

    def _patch(self, **changes: Any) -> Dict[str, Any]:
        return self._session.patch(self._path, changes)["project"]

    def set_description(self, description: str) -> None:
        """Describe it."""
        self.description = self._patch(description=description).get("description")

    def set_key(self, key: str) -> None:
        """Give it another key: the letters that the ids of its runs begin with."""
        self.key = self._patch(key=key).get("key")

    def set_name(self, name: str) -> None:
        """Give it another name."""
        self.name = self._patch(name=name)["name"]

    def archive(self) -> None:
        """Take it out of everyday lists."""
        self._session.post(f"{self._path}/archive")
        self.archived = True

    def unarchive(self) -> None:
        """Put it back into everyday lists."""
        self._session.post(f"{self._path}/unarchive")
        self.archived = False

    def add_note(self, name: str, contents: str) -> None:
        """Add a note.

        Parameters
        ----------
        name : str
            Its title.
        contents : str
        """
        answer = self._session.post(f"{self._path}/notes", {"name": name, "contents": contents})
        self.notes = [dict(note) for note in answer["notes"]]

    def remove_note(self, name: str) -> None:
        """Remove a note.

        Raises
        ------
        ValueError
            If there is none of that name, or more than one.
        """
        self.reload()
        notes = self.notes or []
        left = [note for note in notes if note["name"] != name]
        if len(notes) - len(left) != 1:
            raise ValueError(f"project {self.id} has {len(notes) - len(left)} notes of the name {name!r}, not one")
        answer = self._session.put(f"{self._path}/notes", {"projectId": self.id, "notes": left})
        self.notes = [dict(note) for note in answer["notes"]]


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

    @property
    def _path(self) -> str:
        return f"/api/v1/resource-pools/{_api.quoted(self.name)}/workspace-bindings"

    def _body(self, workspace_names: List[str]) -> Dict[str, Any]:
        return {"resourcePoolName": self.name, "workspaceNames": workspace_names}

    def add_bindings(self, workspace_names: List[str]) -> None:
        """Let these workspaces use it, too; only those that are bound to it may, if there are any."""
        self._session.post(self._path, self._body(workspace_names))

    def remove_bindings(self, workspace_names: List[str]) -> None:
        """Let these workspaces use it no more."""
        self._session.delete(self._path, self._body(workspace_names))

    def replace_bindings(self, workspace_names: List[str]) -> None:
        """Let these workspaces use it, and no others."""
        self._session.put(self._path, self._body(workspace_names))

    def list_workspaces(self) -> List[Optional[str]]:
        """Names of the workspaces that are bound to it."""
        ids = _api.pages(self._session, self._path, "workspaceIds", {})
        return [Workspace(self._session, workspace_id=int(i)).name for i in ids]  # type: ignore[call-overload]


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
            self.id = _find(session, "/api/v1/workspaces", "workspaces", str(workspace_name), "workspace")["id"]

    def __repr__(self) -> str:
        return f"Workspace(id={self.id}, name={self.name!r})"

    @classmethod
    def _from_answer(cls, answer: Dict[str, Any], session: _http.Session) -> "Workspace":
        workspace = cls.__new__(cls)
        workspace._session = session
        workspace._take(answer)
        return workspace

    def _take(self, answer: Dict[str, Any]) -> None:
        self.id = answer["id"]
        self.name = answer["name"]

    def reload(self) -> None:
        """Ask the master again."""
        self._take(self._session.get(f"/api/v1/workspaces/{self.id}")["workspace"])

    def list_pools(self) -> List[ResourcePool]:
        """The resource pools that its tasks may use."""
        path = f"/api/v1/workspaces/{self.id}/available-resource-pools"
        return [ResourcePool(self._session, str(n)) for n in _api.pages(self._session, path, "resourcePools", {})]

    def create_project(self, name: str, description: Optional[str] = None) -> Project:
        """Make a project in it.

        Parameters
        ----------
        name : str
        description : str, optional

        Raises
        ------
        errors.Conflict
            If it has one of that name.
        """
        body = {"name": name, "description": description or "", "workspaceId": self.id}
        answer = self._session.post(f"/api/v1/workspaces/{self.id}/projects", body)
        return Project._from_answer(answer["project"], self._session)

    def delete_project(self, name: str) -> None:
        """Delete a project with all that is in it."""
        self._session.delete(f"/api/v1/projects/{self.get_project(name).id}")

    def get_project(self, project_name: str) -> Project:
        """One of its projects.

        Raises
        ------
        ValueError
            If there is none of that name.
        """
        found = _find(self._session, f"/api/v1/workspaces/{self.id}/projects", "projects", project_name, "project")
        return Project._from_answer(found, self._session)

    def list_projects(self) -> List[Project]:
        """All its projects."""
        path = f"/api/v1/workspaces/{self.id}/projects"
        return [Project._from_answer(p, self._session) for p in _api.pages(self._session, path, "projects", {})]


def _find(session: _http.Session, path: str, field: str, name: str, what: str) -> Dict[str, Any]:
    """The one of exactly this name; the master's own filter knows parts of names."""
    for item in _api.pages(session, path, field, {"name": name}):
        if item["name"] == name:
            return item
    raise ValueError(f"there is no {what} {name!r}")
