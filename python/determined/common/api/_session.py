"""Sessions with a master as the released library has them: requests by path, answers to be read in several forms."""

import json as json_module
import types
from typing import Any, Dict, Iterator, Optional, Type, TypeVar

from determined import _http, _request, errors
from determined.common.api.certs import Cert

Self = TypeVar("Self", bound="BaseSession")

ATTEMPTS = 6  # the first one and five more

# A number, or an object that urllib3's users have, which holds one.
Retries = Any


def _attempts(max_retries: Retries) -> int:
    return int(getattr(max_retries, "total", max_retries) or 0) + 1


class Response:
    """An answer of the master.

    Attributes
    ----------
    status_code : int
    reason : str
        Of the status.
    url : str
        What was asked.
    headers : dict
    """

    def __init__(self, url: str, answer: Any, stream: bool) -> None:
        self.status_code: int = answer.status
        self.reason: str = answer.reason
        self.url = url
        self.headers = dict(answer.headers)
        self._answer = answer
        self._content: Optional[bytes] = None if stream else answer.read()

    @property
    def ok(self) -> bool:
        """Whether the status is below 400."""
        return self.status_code < 400

    @property
    def content(self) -> bytes:
        if self._content is None:
            self._content = self._answer.read()
        return self._content

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", errors="replace")

    def json(self) -> Any:
        return json_module.loads(self.content)

    def iter_content(self, chunk_size: int = 1 << 16) -> Iterator[bytes]:
        """The body piece by piece; of a request with ``stream=True`` as it comes."""
        if self._content is not None:
            yield self._content
            return
        while chunk := self._answer.read1(chunk_size):
            yield chunk

    def iter_lines(self, chunk_size: int = 1 << 16) -> Iterator[bytes]:
        """The lines of the body without their ends."""
        lines = self._answer if self._content is None else self._content.splitlines()
        for line in lines:
            yield line.rstrip(b"\r\n")

    def close(self) -> None:
        self._answer.close()

    def __enter__(self) -> "Response":
        return self

    def __exit__(self, *raised: Any) -> None:
        self.close()


def http_of(session: "BaseSession") -> _http.Session:
    """What the session asks by."""
    return session._http


class BaseSession:
    """What sessions with and without a login have in common.

    Each request takes, besides its ``path``: ``params``, the query as a dictionary; ``headers``, more of them;
    ``timeout`` in seconds. A body is what ``json`` becomes, or ``data`` as it is.

    Raises
    ------
    determined.common.api.errors.APIException
        By each request that the master refuses: ``UnauthenticatedException`` (401), ``ForbiddenException`` (403),
        ``NotFoundException`` (404) and others.
    determined.common.api.errors.MasterNotFoundException
        By each request that nobody answers.
    """

    def __init__(self, master: str, cert: Optional[Cert], token: str, attempts: int) -> None:
        self.master = master
        self.cert = cert
        self._token = token
        self._http = _http.Session(
            master,
            token,
            cert_file="noverify" if cert and cert.noverify else None,
            cert_name=cert.name if cert else None,
            cert_pem=cert.cert_pem if cert else None,
            retry=_http.Retry(attempts=attempts),
        )

    def _do_request(
        self,
        method: str,
        path: str,
        params: Optional[Dict[str, Any]],
        json: Any,
        data: Optional[str],
        headers: Optional[Dict[str, Any]],
        timeout: Optional[int],
        stream: bool,
    ) -> Response:
        payload = data.encode() if data is not None else json_module.dumps(json).encode() if json is not None else None
        target = "/" + path.lstrip("/") + _request.query(params)
        wait = timeout if timeout is not None or stream else _http.READ_TIMEOUT_S
        answer = self._http.open(method, target, payload, headers=headers, timeout_s=wait)
        url = self.master + target
        if answer.status >= 300:
            kind = errors.API_ERRORS.get(answer.status, errors.ApiError)
            raise kind(method, url, answer.status, _http.error_text(answer.read()))
        return Response(url, answer, stream)

    def get(
        self,
        path: str,
        *,
        params: Optional[Dict[str, Any]] = None,
        headers: Optional[Dict[str, Any]] = None,
        timeout: Optional[int] = None,
        stream: bool = False,
    ) -> Response:
        """GET ``path``. With ``stream`` the body is read as it comes. :class:`BaseSession` has the rest."""
        return self._do_request("GET", path, params, None, None, headers, timeout, stream)

    def delete(
        self,
        path: str,
        *,
        params: Optional[Dict[str, Any]] = None,
        headers: Optional[Dict[str, Any]] = None,
        timeout: Optional[int] = None,
    ) -> Response:
        """DELETE ``path``; see :class:`BaseSession`."""
        return self._do_request("DELETE", path, params, None, None, headers, timeout, False)

    def post(
        self,
        path: str,
        *,
        params: Optional[Dict[str, Any]] = None,
        json: Any = None,
        data: Optional[str] = None,
        headers: Optional[Dict[str, Any]] = None,
        timeout: Optional[int] = None,
    ) -> Response:
        """POST what ``json`` becomes, or ``data`` as it is; see :class:`BaseSession`."""
        return self._do_request("POST", path, params, json, data, headers, timeout, False)

    def patch(
        self,
        path: str,
        *,
        params: Optional[Dict[str, Any]] = None,
        json: Any = None,
        data: Optional[str] = None,
        headers: Optional[Dict[str, Any]] = None,
        timeout: Optional[int] = None,
    ) -> Response:
        """PATCH; see :class:`BaseSession`."""
        return self._do_request("PATCH", path, params, json, data, headers, timeout, False)

    def put(
        self,
        path: str,
        *,
        params: Optional[Dict[str, Any]] = None,
        json: Any = None,
        data: Optional[str] = None,
        headers: Optional[Dict[str, Any]] = None,
        timeout: Optional[int] = None,
    ) -> Response:
        """PUT; see :class:`BaseSession`."""
        return self._do_request("PUT", path, params, json, data, headers, timeout, False)

    def with_retry(self: Self, max_retries: Retries) -> Self:
        """The same with another number of further attempts."""
        raise NotImplementedError

    def close(self) -> None:
        """End its connections."""
        self._http.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[types.TracebackType],
    ) -> None:
        self.close()


def do_request(
    session: BaseSession,
    *,
    method: str,
    path: str,
    params: Optional[Dict[str, Any]] = None,
    json: Any = None,
    stream: bool = False,
) -> Response:
    """Send a request and return its answer, for the functions that are made from the contract.

    Parameters
    ----------
    session : BaseSession
        Or what stands for one, and has its method ``_do_request()``: programs of release 0.38.1 make such classes.
    method, path : str
    params : dict, optional
        The query.
    json : object, optional
        What the body is to say.
    stream : bool
        Whether the body is read as it comes.
    """
    return session._do_request(
        method=method, path=path, params=params, json=json, data=None, headers=None, timeout=None, stream=stream
    )


class UnauthSession(BaseSession):
    """A session of nobody: for what the master tells everybody.

    Parameters
    ----------
    master : str
        Its address.
    cert : Cert or None
        How its certificate is checked.
    max_retries : int
        Further attempts, where nobody answers.
    """

    def __init__(self, master: str, cert: Optional[Cert], max_retries: Retries = ATTEMPTS - 1) -> None:
        super().__init__(master, cert, "", _attempts(max_retries))

    def with_retry(self: "N", max_retries: Retries) -> "N":
        """The same with another number of further attempts."""
        return type(self)(self.master, self.cert, max_retries)


class Session(BaseSession):
    """A session of a user who has logged in.

    Parameters
    ----------
    master : str
        Its address.
    username, token : str
        Who it is, and the token of the login.
    cert : Cert or None
        How the master's certificate is checked.
    max_retries : int
        Further attempts, where nobody answers.

    Attributes
    ----------
    AUTH_HEADER : str
        By which the token travels.
    """

    AUTH_HEADER = "Authorization"

    def __init__(
        self, master: str, username: str, token: str, cert: Optional[Cert], max_retries: Retries = ATTEMPTS - 1
    ) -> None:
        super().__init__(master, cert, token, _attempts(max_retries))
        self.username = username
        self.token = token

    def with_retry(self: "S", max_retries: Retries) -> "S":
        """The same with another number of further attempts."""
        return type(self)(self.master, self.username, self.token, self.cert, max_retries)


S = TypeVar("S", bound=Session)
N = TypeVar("N", bound=UnauthSession)


class TaskSession(Session):
    """The session that the platform has given to a task."""
