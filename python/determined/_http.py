"""Talking to the master: JSON over HTTP(S) on kept-alive connections, with retries.

One :class:`Session` may be used from several threads; each thread gets its own connection. A request is repeated when
the master cannot be reached, breaks off, or answers 502, 503 or 504 (which say "not now"), so that a restart of the
master goes unnoticed by training code.
"""

import contextlib
import http.client
import ipaddress
import json
import logging
import random
import shutil
import socket
import ssl
import threading
import urllib.parse
import urllib.request
from typing import IO, Any, Dict, Iterator, NamedTuple, Optional, Set, Tuple, TypeVar

from determined import _json, errors
from determined._request import Request, Stream
from determined._version import __version__

logger = logging.getLogger("determined")
Answer = TypeVar("Answer")

NOT_NOW = (502, 503, 504)
# Our own, so that a retry leaves the random numbers of the user's training as they were.
_jitter = random.Random()
# An answer slower than this counts as none. The longest that the master takes on its own account is a long poll.
READ_TIMEOUT_S = 60.0


class Retry(NamedTuple):
    """How long to keep trying: pauses of 0.5, 1, 2 … seconds, none longer than ``max_pause_s``."""

    attempts: int
    first_pause_s: float = 0.5
    max_pause_s: float = 15.0

    def pause_s(self, attempt: int) -> float:
        """Seconds to wait after the ``attempt``-th failure (from 0), give or take a tenth so that tasks spread out."""
        return min(self.first_pause_s * 2.0**attempt, self.max_pause_s) * _jitter.uniform(0.9, 1.1)


ONCE = Retry(attempts=1)
# About ten minutes: training goes on while the master is moved or upgraded.
PATIENT = Retry(attempts=45)
# From this failure on, a line in the log tells why nothing happens.
WARN_FROM_ATTEMPT = 3


class _Broken(Exception):
    """The connection failed.

    ``sent`` tells whether the master may have seen the request. ``idle`` tells that a kept connection has ended without
    one byte of answer: most probably the master had closed it before, so that the request is sent again at once.
    """

    def __init__(self, cause: Exception, sent: bool, *, idle: bool = False) -> None:
        super().__init__(str(cause) or type(cause).__name__)
        self.sent = sent
        self.idle = idle


_PARTIAL_CHAIN = 0x80000  # ssl.VERIFY_X509_PARTIAL_CHAIN, which has a name since Python 3.10


class _NamedCertConnection(http.client.HTTPSConnection):
    """HTTPS to a host whose certificate bears another name."""

    def __init__(self, *args: Any, cert_name: str, tls: ssl.SSLContext, **kwargs: Any) -> None:
        super().__init__(*args, context=tls, **kwargs)
        self._cert_name = cert_name
        self._tls = tls

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._cert_name)


def _tls_context(cert_file: Optional[str], cert_pem: Optional[str] = None) -> ssl.SSLContext:
    if cert_file and cert_file.lower() == "noverify":
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    context = ssl.create_default_context(cafile=cert_file or None, cadata=cert_pem or None)
    # Tasks are given the master's own certificate: who signed it need not be known here.
    context.verify_flags |= _PARTIAL_CHAIN
    return context


class Session:
    """Requests in the name of a task.

    Parameters
    ----------
    master_url : str
        ``http[s]://host[:port][/prefix]``.
    token : str
        Session token of the allocation.
    cert_file : str, optional
        CA certificates in PEM to check the master's with, instead of the system's; ``noverify`` checks nothing.
    cert_name : str, optional
        Name that the master's certificate bears, where it is not the host's.
    cert_pem : str, optional
        The same certificates as text.
    retry : Retry
        How patient to be.

    Attributes
    ----------
    url, token : str
        As given; the address does not end with a slash.
    """

    def __init__(
        self,
        master_url: str,
        token: str,
        *,
        cert_file: Optional[str] = None,
        cert_name: Optional[str] = None,
        cert_pem: Optional[str] = None,
        retry: Retry = PATIENT,
    ) -> None:
        parts = urllib.parse.urlsplit(master_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"master address {master_url!r} is not of the form http[s]://host[:port]")
        self.url = master_url.rstrip("/")
        self._parts = parts
        self.token = token
        self._cert_file, self._cert_name, self._cert_pem = cert_file, cert_name, cert_pem
        self._tls = _tls_context(cert_file, cert_pem) if parts.scheme == "https" else None
        self._retry = retry
        self._local = threading.local()
        self._live: Set[http.client.HTTPConnection] = set()
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def is_private(self) -> bool:
        """Whether nobody on the way can read what is sent, or answer in the master's place.

        So it is if the master's certificate is checked, or if nothing leaves this machine, also not to a proxy.
        """
        if self._tls is not None:
            return self._tls.verify_mode != ssl.CERT_NONE
        host = self._parts.hostname or ""
        try:
            is_here = host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            is_here = False
        return is_here and self._proxy() is None

    def clone(self, retry: Retry) -> "Session":
        """A session of its own connections and patience."""
        return Session(
            self.url,
            self.token,
            cert_file=self._cert_file,
            cert_name=self._cert_name,
            cert_pem=self._cert_pem,
            retry=retry,
        )

    def send(self, request: Request[Answer], *, timeout_s: float = READ_TIMEOUT_S) -> Answer:
        """Ask the master; :meth:`request` says what can go wrong.

        Parameters
        ----------
        request : Request
            From a function of :mod:`determined._routes`.
        timeout_s : float
            How long to wait for each answer, in seconds.

        Returns
        -------
        dict
            The decoded answer, a message of the type that the request names.
        """
        answer: Answer = self.request(request.method, request.target, request.body, timeout_s=timeout_s)
        return answer

    def follow(self, stream: Stream[Answer]) -> Iterator[Answer]:
        """Ask for an answer that comes message by message, for as long as the master has more.

        Yields
        ------
        dict
            The ``result`` of each message.

        Raises
        ------
        errors.ApiError
            The master refused, or says so in the midst of it.
        errors.MasterUnreachable
            It cannot be reached, or broke off.
        """
        url = self.url + stream.target
        connection = self._connect_apart()
        try:
            connection.request(stream.method, self._target(stream.target), None, self._headers(None))
            response = connection.getresponse()
            if response.status >= 400:
                kind = errors.API_ERRORS.get(response.status, errors.ApiError)
                raise kind(stream.method, url, response.status, error_text(response.read()))
            if connection.sock is not None:
                # Whoever follows a task that says nothing waits for as long as that takes.
                connection.sock.settimeout(None)
            for line in response:
                message = _decode(stream.method, url, response.status, line) if line.strip() else {}
                if "error" in message:
                    raise errors.ApiError(stream.method, url, response.status, error_text(line))
                if "result" in message:
                    yield message["result"]
        except (OSError, http.client.HTTPException) as e:
            raise errors.MasterUnreachable(stream.method, url, 1, e) from e
        finally:
            self._drop(connection)

    def download(self, path: str, accept: str, target: IO[bytes]) -> None:
        """GET an answer of whatever length into a file; errors as for :meth:`follow`."""
        connection = self._connect_apart()
        try:
            connection.request("GET", self._target(path), None, {**self._headers(None), "Accept": accept})
            response = connection.getresponse()
            if response.status >= 400:
                kind = errors.API_ERRORS.get(response.status, errors.ApiError)
                raise kind("GET", self.url + path, response.status, error_text(response.read()))
            shutil.copyfileobj(response, target, 1 << 20)
        except (OSError, http.client.HTTPException) as e:
            raise errors.MasterUnreachable("GET", self.url + path, 1, e) from e
        finally:
            self._drop(connection)

    def request(self, method: str, path: str, body: Any = None, *, timeout_s: float = READ_TIMEOUT_S) -> Any:
        """Ask the master.

        Parameters
        ----------
        method, path : str
            ``path`` starts with a slash and is escaped already.
        body : object, optional
            Anything :func:`determined._json.to_plain` takes.
        timeout_s : float
            How long to wait for each answer, in seconds.

        Returns
        -------
        object
            The decoded answer.

        Raises
        ------
        errors.ApiError
            The master refused.
        errors.MasterUnreachable
            It gave no answer, or "not now", until patience ran out.
        """
        url = self.url + path
        payload = _json.dumps(_json.to_plain(body, "request")) if body is not None else None
        maybe_done = False
        cause: object = None
        for attempt in range(self._retry.attempts):
            if attempt > 0:
                self._closed.wait(self._retry.pause_s(attempt - 1))
            try:
                status, answer, seen = self._exchange(method, path, payload, timeout_s)
            except _Broken as e:
                maybe_done = maybe_done or e.sent
                cause = e
            else:
                maybe_done = maybe_done or seen
                if status < 400:
                    return _decode(method, url, status, answer)
                if status not in NOT_NOW:
                    kind = errors.API_ERRORS.get(status, errors.ApiError)
                    raise kind(method, url, status, error_text(answer), maybe_done=maybe_done)
                cause = f"{status}: {error_text(answer)}"
            if self._closed.is_set():
                break
            level = logging.WARNING if WARN_FROM_ATTEMPT <= attempt + 1 < self._retry.attempts else logging.DEBUG
            logger.log(level, "%s %s, attempt %d of %d: %s", method, url, attempt + 1, self._retry.attempts, cause)
        raise errors.MasterUnreachable(method, url, attempt + 1, cause)

    def open(
        self,
        method: str,
        path: str,
        payload: Optional[bytes] = None,
        *,
        headers: Optional[Dict[str, str]] = None,
        timeout_s: Optional[float] = READ_TIMEOUT_S,
    ) -> http.client.HTTPResponse:
        """Ask the master, on a connection of its own, and leave the answer to be read: whatever its status and form.

        Parameters
        ----------
        method, path : str
            As for :meth:`request`.
        payload : bytes, optional
            The body.
        headers : dict, optional
            They go before those that every request has.
        timeout_s : float, optional
            How long to wait for the answer's beginning, and then for each piece of it. None: for as long as it takes.

        Raises
        ------
        errors.MasterUnreachable
            It gave no answer, or "not now", until patience ran out.
        """
        cause: object = None
        for attempt in range(self._retry.attempts):
            if attempt > 0:
                self._closed.wait(self._retry.pause_s(attempt - 1))
            connection = self._connect_apart()
            try:
                connection.request(method, self._target(path), payload, {**self._headers(payload), **(headers or {})})
                response = connection.getresponse()
                if response.status not in NOT_NOW or attempt + 1 == self._retry.attempts:
                    if connection.sock is not None:
                        connection.sock.settimeout(timeout_s)
                    return response
                cause = f"{response.status}: {error_text(response.read())}"
            except (OSError, http.client.HTTPException) as e:
                cause = e
            self._drop(connection)
            if self._closed.is_set() or isinstance(cause, ssl.SSLCertVerificationError):
                break
        raise errors.MasterUnreachable(method, self.url + path, attempt + 1, cause)

    def close(self) -> None:
        """End all connections, also those on which some thread is waiting just now."""
        self._closed.set()
        with self._lock:
            live = list(self._live)
            self._live.clear()
        for connection in live:
            if connection.sock is not None:
                # shutdown() wakes a thread that is reading; close() alone would leave it there.
                with contextlib.suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _exchange(self, method: str, path: str, payload: Optional[bytes], timeout_s: float) -> Tuple[int, bytes, bool]:
        """Send once, on the thread's kept connection or, if the master has closed that meanwhile, on a new one.

        The last value tells whether the master may have seen the request on the kept one, before it was killed.
        """
        kept, seen = getattr(self._local, "connection", None), False
        if kept is not None and kept.sock is not None:
            try:
                return (*self._exchange_on(kept, method, path, payload, timeout_s), False)
            except _Broken as e:
                if (e.sent and not e.idle) or self._closed.is_set():
                    raise
                seen = e.sent
        try:
            return (*self._exchange_on(self._connect(timeout_s), method, path, payload, timeout_s), seen)
        except _Broken as e:
            e.sent = e.sent or seen
            raise

    def _exchange_on(
        self, connection: http.client.HTTPConnection, method: str, path: str, payload: Optional[bytes], timeout_s: float
    ) -> Tuple[int, bytes]:
        sent = False
        try:
            if connection.sock is not None:
                connection.sock.settimeout(timeout_s)
            fresh = connection.sock is None
            connection.request(method, self._target(path), payload, self._headers(payload))
            sent = True
            if self._closed.is_set():
                # close() may have come while we were connecting, when there was nothing yet to shut down.
                raise ConnectionAbortedError("the session was closed")
            response = connection.getresponse()
            return response.status, response.read()
        except http.client.RemoteDisconnected as e:
            self._drop(connection)
            raise _Broken(e, sent, idle=not fresh) from e
        except ssl.SSLCertVerificationError as e:
            # Asking again does not make a certificate right.
            self._drop(connection)
            raise errors.MasterUnreachable(method, self.url + path, 1, e) from e
        except (OSError, http.client.HTTPException) as e:
            self._drop(connection)
            raise _Broken(e, sent) from e

    def _connect(self, timeout_s: float) -> http.client.HTTPConnection:
        parts = self._parts
        host, port = parts.hostname or "", parts.port
        tunnel = None
        proxy = self._proxy()
        if proxy is not None:
            if self._tls is not None:
                tunnel = (host, port or 443)
            host, port = proxy
        connection: http.client.HTTPConnection
        if self._tls is None:
            connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
        elif self._cert_name:
            connection = _NamedCertConnection(host, port, timeout=timeout_s, cert_name=self._cert_name, tls=self._tls)
        else:
            connection = http.client.HTTPSConnection(host, port, timeout=timeout_s, context=self._tls)
        if tunnel:
            connection.set_tunnel(*tunnel)
        self._local.connection = connection
        with self._lock:
            self._live.add(connection)
        return connection

    def _connect_apart(self) -> http.client.HTTPConnection:
        """A connection for one long answer; the thread's other requests go on over its own."""
        kept = getattr(self._local, "connection", None)
        try:
            return self._connect(READ_TIMEOUT_S)
        finally:
            self._local.connection = kept

    def _drop(self, connection: http.client.HTTPConnection) -> None:
        connection.close()
        with self._lock:
            self._live.discard(connection)

    def _proxy(self) -> Optional[Tuple[str, int]]:
        """Host and port of the proxy that the environment (HTTP_PROXY …) prescribes for the master, if any."""
        if urllib.request.proxy_bypass(self._parts.hostname or ""):
            return None
        address = urllib.request.getproxies().get(self._parts.scheme)
        if not address:
            return None
        proxy = urllib.parse.urlsplit(address if "//" in address else "//" + address)
        return (proxy.hostname, proxy.port or 80) if proxy.hostname else None

    def _target(self, path: str) -> str:
        """What the request line says: a proxy for plain HTTP wants the whole address."""
        if self._tls is None and self._proxy() is not None:
            return self.url + path
        return self._parts.path.rstrip("/") + path

    def _headers(self, payload: Optional[bytes]) -> Dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": f"determined-python/{__version__}"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if payload is not None:
            headers["Content-Type"] = "application/json"
        return headers


def _decode(method: str, url: str, status: int, answer: bytes) -> Any:
    if not answer.strip():
        return {}
    try:
        return json.loads(answer)
    except ValueError as e:
        raise errors.ApiError(method, url, status, f"the answer is not JSON: {e}") from e


def error_text(answer: bytes) -> str:
    """The sentence within ``{"error": {"error": …}}``; whatever came, where it has another form."""
    try:
        error = json.loads(answer)["error"]
        return str(error.get("error") or error.get("message") or error)
    except (ValueError, KeyError, TypeError, AttributeError):
        return answer[:500].decode(errors="replace").strip() or "no explanation given"
