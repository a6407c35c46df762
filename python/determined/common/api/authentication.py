"""Logging in: by name and password, by what ``det`` has kept, or from within a task."""

import contextlib
import os
import pathlib
from typing import List, Optional

from determined import _routes, errors
from determined.common.api import _session, certs
from determined.experimental import _login

PASSWORD_COMPLEXITY_MIN_LENGTH = 8


def salt_and_hash(password: str) -> str:
    """A password as it is sent; an empty one stays empty."""
    return _login.hashed_password(password)


def check_password_complexity(password: Optional[str]) -> None:
    """Refuses a new password that is too easy to guess.

    Raises
    ------
    ValueError
    """
    _login.hashed_password(password or "", new=True)


def get_det_username_from_env() -> Optional[str]:
    """The user that ``DET_USER`` names, if it does."""
    return os.environ.get("DET_USER")


def get_det_user_token_from_env() -> Optional[str]:
    """The token in ``DET_USER_TOKEN``, if there is one: a login that the platform gives to a task."""
    return os.environ.get("DET_USER_TOKEN")


def get_det_password_from_env() -> Optional[str]:
    """The password in ``DET_PASS``, if there is one."""
    return os.environ.get("DET_PASS")


def get_det_session_token_from_env() -> Optional[str]:
    """The token in ``DET_SESSION_TOKEN``, if there is one: what a task reports with."""
    return os.environ.get("DET_SESSION_TOKEN")


def login(master_address: str, username: str, password: str, cert: Optional[certs.Cert] = None) -> _session.Session:
    """A new login.

    Parameters
    ----------
    master_address, username, password : str
    cert : Cert, optional
        How the master's certificate is checked.

    Raises
    ------
    determined.common.api.errors.UnauthenticatedException
        Name and password do not fit.
    """
    address = _login.canonical_address(master_address)
    with _session.UnauthSession(address, cert) as nobody:
        request = _login.login_request(_session.http_of(nobody), lambda: nobody.get("/info").json(), username, password)
        token = nobody.post(request.target, json=request.body).json()["token"]
    return _session.Session(address, username, token, cert)


class TokenStore:
    """The logins that ``det`` and the library keep for one master.

    Parameters
    ----------
    master_address : str
    path : pathlib.Path, optional
        The file; by default that of ``det``.
    """

    def __init__(self, master_address: str, path: Optional[pathlib.Path] = None) -> None:
        self._store = _login.TokenStore(_login.canonical_address(master_address), path)

    def get_active_user(self) -> Optional[str]:
        """Whose login counts, unless a program names another user."""
        return self._store.read().active_user

    def get_all_users(self) -> List[str]:
        """Who is logged in."""
        return list(self._store.read().tokens)

    def get_token(self, user: str) -> Optional[str]:
        """A user's token; None for one who is not logged in."""
        return self._store.read().tokens.get(user)

    def drop_user(self, username: str) -> None:
        """Forget a user's login."""
        self._store.change(username, None)

    def set_token(self, username: str, token: str) -> None:
        """Keep the ``token`` of the user ``username``."""
        self._store.change(username, token)

    def set_active(self, username: str) -> None:
        """Let a user's login be the one that counts.

        Raises
        ------
        ValueError
            If that user is not logged in.
        """
        self._store.activate(username)

    def clear_active(self) -> None:
        """Let no user's login be the one that counts."""
        self._store.activate(None)

    def delete_token_cache(self) -> None:
        """Forget all logins."""
        self._store.clear()


def _is_valid(session: _session.Session) -> bool:
    try:
        session.get(_routes.get_me().target)
    except errors.Unauthenticated:
        return False
    return True


def login_with_cache(
    master_address: str,
    requested_user: Optional[str] = None,
    password: Optional[str] = None,
    cert: Optional[certs.Cert] = None,
) -> _session.Session:
    """A session by whatever is at hand.

    In this order: the given password; ``DET_USER`` with ``DET_PASS`` or ``DET_USER_TOKEN``; a kept login; the user
    ``determined`` without a password. A new login is kept for the next program.

    Parameters
    ----------
    master_address : str
    requested_user, password : str, optional
    cert : Cert, optional
        How the master's certificate is checked.
    """
    address = _login.canonical_address(master_address)
    store = TokenStore(address)
    user = requested_user or get_det_username_from_env() or store.get_active_user() or _login.DEFAULT_USER
    if password is None and user == get_det_username_from_env():
        password = get_det_password_from_env()
        if password is None and get_det_user_token_from_env():
            return _session.Session(address, user, get_det_user_token_from_env() or "", cert)
    kept = store.get_token(user) if password is None else None
    if kept:
        session = _session.Session(address, user, kept, cert)
        if _is_valid(session):
            return session
    session = login(address, user, password or "", cert)
    store.set_token(user, session.token)
    return session


def logout(master_address: str, requested_user: Optional[str], cert: Optional[certs.Cert]) -> Optional[str]:
    """End the kept login of a user, or of the active one; returns who that was, None if nobody was logged in.

    Parameters
    ----------
    master_address : str
    requested_user : str or None
    cert : Cert or None
        How the master's certificate is checked.
    """
    store = TokenStore(master_address)
    user = requested_user or store.get_active_user()
    token = store.get_token(user) if user else None
    if user is None or token is None:
        return None
    store.drop_user(user)
    session = _session.Session(_login.canonical_address(master_address), user, token, cert)
    with contextlib.suppress(errors.Unauthenticated):
        session.post(_routes.logout().target)
    return user


def logout_all(master_address: str, cert: Optional[certs.Cert]) -> None:
    """End all kept logins with the master ``master_address``, whose certificate is checked by ``cert``."""
    for user in TokenStore(master_address).get_all_users():
        logout(master_address, user, cert)


def login_from_task(master_address: str, cert: Optional[certs.Cert]) -> _session.TaskSession:
    """The session of the task that this program runs in.

    Parameters
    ----------
    master_address : str
    cert : Cert or None
        How the master's certificate is checked.

    Raises
    ------
    ValueError
        This program runs in no task.
    """
    token = get_det_session_token_from_env()
    if not token:
        raise ValueError("DET_SESSION_TOKEN is not set: this program does not run in a task of the platform")
    return _session.TaskSession(
        _login.canonical_address(master_address), get_det_username_from_env() or "", token, cert
    )
