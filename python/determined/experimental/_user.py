"""Users of the cluster."""

from typing import TYPE_CHECKING, Optional

from determined import _http, _routes
from determined.experimental import _login

if TYPE_CHECKING:
    from determined import _messages


class User:
    """A user. Get it from ``client.get_user_by_name()`` and the like.

    Attributes
    ----------
    user_id : int
    username, display_name : str or None
    admin, active, remote : bool or None
        Whether the user is an administrator, may log in, and logs in through another service only.
    agent_uid, agent_gid : int or None
    agent_user, agent_group : str or None
        The account that tasks of this user run as.
    """

    def __init__(self, user_id: int, session: _http.Session) -> None:
        self.user_id = user_id
        self._session = session
        self.username: Optional[str] = None
        self.admin: Optional[bool] = None
        self.active: Optional[bool] = None
        self.remote: Optional[bool] = None
        self.agent_uid: Optional[int] = None
        self.agent_gid: Optional[int] = None
        self.agent_user: Optional[str] = None
        self.agent_group: Optional[str] = None
        self.display_name: Optional[str] = None

    def __repr__(self) -> str:
        return f"User(user_id={self.user_id}, username={self.username!r})"

    def _take(self, answer: "_messages.User") -> None:
        self.username = answer["username"]
        self.admin = answer["admin"]
        self.active = answer.get("active", True)
        self.remote = bool(answer.get("remote"))
        self.display_name = answer.get("displayName")
        agent = answer.get("agentUserGroup") or {}
        self.agent_uid, self.agent_gid = agent.get("agentUid"), agent.get("agentGid")
        self.agent_user, self.agent_group = agent.get("agentUser"), agent.get("agentGroup")

    def reload(self) -> None:
        """Fetch the user from the master again, and replace the values of all attributes."""
        self._take(self._session.send(_routes.get_user(self.user_id))["user"])

    def _patch(self, changes: "_messages.PatchUser") -> None:
        self._take(self._session.send(_routes.patch_user(self.user_id, user=changes))["user"])

    def rename(self, new_username: str) -> None:
        """Change the name that the user logs in with."""
        self._patch({"username": new_username})

    def activate(self) -> None:
        """Allow the user to log in."""
        self._patch({"active": True})

    def deactivate(self) -> None:
        """Forbid the user to log in."""
        self._patch({"active": False})

    def change_display_name(self, display_name: str) -> None:
        """Change the name that lists and pages show."""
        self._patch({"displayName": display_name})

    def change_password(self, new_password: str) -> None:
        """Set the user's password.

        Raises
        ------
        ValueError
            If the password has less than 8 characters, or no upper-case letter, lower-case letter or digit.
        """
        self._patch({"password": _login.hashed_password(new_password, new=True), "isHashed": True})

    def link_with_agent(
        self,
        agent_uid: Optional[int] = None,
        agent_gid: Optional[int] = None,
        agent_user: Optional[str] = None,
        agent_group: Optional[str] = None,
    ) -> None:
        """Run the user's tasks as this account of the agents' machines.

        Parameters
        ----------
        agent_uid, agent_gid : int, optional
        agent_user, agent_group : str, optional
            The names of the account and of its group.
        """
        account: _messages.AgentUserGroup = {}
        if agent_uid is not None:
            account["agentUid"] = agent_uid
        if agent_gid is not None:
            account["agentGid"] = agent_gid
        if agent_user is not None:
            account["agentUser"] = agent_user
        if agent_group is not None:
            account["agentGroup"] = agent_group
        self._patch({"agentUserGroup": account})


def user_from_answer(answer: "_messages.User", session: _http.Session) -> User:
    """The user that an answer of the master describes."""
    user = User(answer["id"], session)
    user._take(answer)
    return user
