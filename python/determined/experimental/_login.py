"""Reaching the master from a program: where it is, who asks, and how to trust it. Shares its files with ``det``."""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import urllib.parse
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, NamedTuple, Optional

from determined import _http, _info, _request, _routes, errors

if TYPE_CHECKING:
    from determined import _messages

DEFAULT_MASTER = "localhost:8080"
DEFAULT_USER = "determined"
# A password is hashed with this prefix, which the master knows.
_SALT = "GubPEmmotfiK9TMD6Zdw"
# A program of a user's wants to hear soon that the master is not there.
RETRY = _http.Retry(attempts=5)


def canonical_address(master: str) -> str:
    """The address in one form: ``scheme://host:port[/path]``.

    >>> canonical_address("example.com"), canonical_address("https://example.com/det/")
    ('http://example.com:8080', 'https://example.com:443/det')

    Raises
    ------
    ValueError
        If it is none.
    """
    text = master.strip()
    bare = "://" not in text
    parts = urllib.parse.urlsplit("http://" + text if bare else text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"master {master!r} is not of the form [http[s]://]host[:port][/path]")
    port = parts.port or (8080 if bare else 443 if parts.scheme == "https" else 80)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/')}"


def config_directory() -> pathlib.Path:
    """Where logins and certificates are kept."""
    given = os.environ.get("DET_DEBUG_CONFIG_PATH")
    if given:
        return pathlib.Path(given)
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return pathlib.Path(base) / "determined"


class _Stored(NamedTuple):
    active_user: Optional[str]
    tokens: Dict[str, str]


class TokenStore:
    """``auth.json``: who is logged in where."""

    def __init__(self, master: str, path: Optional[pathlib.Path] = None) -> None:
        self._master = master
        self._path = path or config_directory() / "auth.json"

    def _whole(self) -> Dict[str, Any]:
        try:
            whole = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            whole = {}
        except ValueError as e:
            raise RuntimeError(f"{self._path}: is damaged ({e}); remove it and log in again") from None
        return whole if isinstance(whole.get("masters"), dict) else {"version": 2, "masters": {}}

    def read(self) -> _Stored:
        """What it holds of this master."""
        for address, entry in self._whole()["masters"].items():
            if canonical_address(address) == self._master:
                return _Stored(entry.get("active_user"), dict(entry.get("tokens") or {}))
        return _Stored(None, {})

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Dict[str, Any]]:
        """What it holds of this master, to be changed and kept at the end. No two programs do so at once."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(f"{self._path}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            whole = self._whole()
            yield whole["masters"].setdefault(self._master, {})
            temporary = f"{self._path}.temp"
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(handle, "w", encoding="utf-8") as f:
                json.dump(whole, f, indent=4, sort_keys=True)
            os.replace(temporary, self._path)

    def change(self, user: str, token: Optional[str]) -> None:
        """Keep a token, or with None forget it."""
        with self._changing() as entry:
            tokens = entry.setdefault("tokens", {})
            if token is not None:
                tokens[user] = token
            else:
                tokens.pop(user, None)
                if entry.get("active_user") == user:
                    del entry["active_user"]

    def activate(self, user: Optional[str]) -> None:
        """Let a user be the one whose login counts unless another one is named; None: nobody is."""
        with self._changing() as entry:
            if user is None:
                entry.pop("active_user", None)
            elif user not in (entry.get("tokens") or {}):
                raise ValueError(f"{user} is not logged in to {self._master}")
            else:
                entry["active_user"] = user

    def clear(self) -> None:
        """Forget all logins."""
        with self._changing() as entry:
            entry.clear()


def stored_certificate(master: str) -> Optional[str]:
    """The certificates in PEM that somebody has trusted with ``det`` for this master, if so."""
    try:
        certificates = json.loads((config_directory() / "certs.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return certificates.get(master) or None


def hashed_password(password: str, *, new: bool = False) -> str:
    """As it is sent.

    Raises
    ------
    ValueError
        If it is to be a new one and too easy to guess.
    """
    kinds = (str.isupper, str.islower, str.isdigit)
    if new and (len(password) < 8 or not all(any(map(kind, password)) for kind in kinds)):
        raise ValueError(
            "a password needs at least 8 characters, among them an upper-case letter, a lower-case letter and a digit"
        )
    return hashlib.sha512((_SALT + password).encode()).hexdigest() if password else ""


def login_request(
    session: _http.Session, info: Callable[[], Any], user: str, password: str
) -> "_request.Request[_messages.LoginResponse]":
    """The request that logs in by this session.

    The password is hashed, unless the master wants it as it is, for a directory (docs/ldap.md). What a master says over
    plain http, or over https with a certificate that is not checked, may come from anybody on the way, so that it is
    asked (``info``, GET /info) on a private way only.
    """
    plain = bool(password) and session.is_private() and bool(info().get("plain_passwords"))
    return _routes.login(
        username=user, password=password if plain else hashed_password(password), is_hashed=bool(password) and not plain
    )


def post_login(session: _http.Session, user: str, password: str) -> str:
    """Log in; returns the token."""
    return session.send(login_request(session, lambda: session.request("GET", "/info"), user, password))["token"]


class Login(NamedTuple):
    """A session, and whose it is."""

    session: _http.Session
    user: str
    master: str
    # Of a task: nothing that a logout could end.
    lent: bool


def _is_valid(session: _http.Session) -> bool:
    try:
        session.send(_routes.get_me())
    except errors.Unauthenticated:
        return False
    return True


def login(
    master: Optional[str] = None,
    user: Optional[str] = None,
    password: Optional[str] = None,
    cert_path: Optional[str] = None,
    cert_name: Optional[str] = None,
    noverify: bool = False,
) -> Login:
    """Find the master and a token for it.

    In this order: user and password as given; ``DET_USER`` with ``DET_PASS``; a token that ``det user login`` or an
    earlier program has left; ``DET_USER_TOKEN``, which tasks have; the user ``determined`` without a password.

    Raises
    ------
    errors.Unauthenticated
        If none will do.
    errors.MasterUnreachable
    """
    info = _info.get_cluster_info()
    in_task = master is None and info is not None
    given = master or os.environ.get("DET_MASTER") or os.environ.get("DET_MASTER_ADDR") or DEFAULT_MASTER
    address = canonical_address(given)
    verify_by = "noverify" if noverify else cert_path or os.environ.get("DET_MASTER_CERT_FILE") or None
    trusted = stored_certificate(address) if address.startswith("https:") and not verify_by else None
    name = cert_name or os.environ.get("DET_MASTER_CERT_NAME") or None

    def session(token: str) -> _http.Session:
        return _http.Session(address, token, cert_file=verify_by, cert_name=name, cert_pem=trusted, retry=RETRY)

    store = TokenStore(address)
    if user is None and password is None and os.environ.get("DET_PASS") and os.environ.get("DET_USER"):
        user, password = os.environ["DET_USER"], os.environ["DET_PASS"]
    stored = _Stored(None, {}) if in_task else store.read()
    who = user or (os.environ.get("DET_USER") if in_task else None) or stored.active_user or DEFAULT_USER
    lent = os.environ.get("DET_USER_TOKEN") if user is None and os.environ.get("DET_USER") else None
    if lent and password is None:
        lent_user = os.environ["DET_USER"]
        if in_task or lent_user == who or stored.active_user is None:
            return Login(session(lent), lent_user, address, lent=True)
    if password is None and who in stored.tokens:
        kept = session(stored.tokens[who])
        if _is_valid(kept):
            return Login(kept, who, address, lent=False)
        kept.close()
    token = post_login(session(""), who, password or "")
    if not in_task:
        store.change(who, token)
    return Login(session(token), who, address, lent=False)


def logout(given: Login) -> None:
    """End the session at the master, and forget its token."""
    if given.lent:
        return
    given.session.send(_routes.logout())
    store = TokenStore(given.master)
    if given.user in store.read().tokens:
        store.change(given.user, None)
