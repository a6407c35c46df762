"""From names that people know to what the API wants."""

from typing import Any, List

from determined.common.api import _session, bindings, errors


def not_found_errs(category: str, name: str, session: _session.Session) -> errors.BadRequestException:
    """The error to raise where something is not there.

    Parameters
    ----------
    category : str
        What it is: ``"workspace"``.
    name : str
    session : Session
        Whose master does not have it.
    """
    return errors.NotFoundException("GET", session.master, 404, f"{category} '{name}' not found")


def workspace_by_name(session: _session.Session, name: str) -> Any:
    """The workspace of that name, as the master that ``session`` asks has it.

    Raises
    ------
    determined.common.api.errors.BadRequestException
        If there is none.
    """
    found = bindings.get_GetWorkspaces(session, nameCaseSensitive=name).workspaces
    if not found:
        raise not_found_errs("workspace", name, session)
    return found[0]


def usernames_to_user_ids(session: _session.Session, usernames: List[str]) -> List[int]:
    """The ids of users, in the order of their names in ``usernames``; the master that ``session`` asks knows them.

    Raises
    ------
    determined.common.api.errors.BadRequestException
        If one is missing.
    """
    ids = {user.username: user.id for user in bindings.get_GetUsers(session).users}
    missing = [name for name in usernames if name not in ids]
    if missing:
        raise not_found_errs("user", "', '".join(missing), session)
    return [ids[name] for name in usernames]
