"""What the functions of ``_routes.py`` return: a request to the master as data, which a session sends.

A request is made in one place and sent in another: at once, by the thread that reports, or days later from a journal.
"""

import enum
import urllib.parse
from typing import Any, Dict, Generic, Mapping, Optional, TypeVar, Union

Answer = TypeVar("Answer")

# What a parameter of an enumerated type may be given as: the contract's word for it, or the SDK's enum that holds it.
Choice = Union[str, enum.Enum]


def path_part(text: Union[str, int]) -> str:
    """A text as one part of a path: also ``/`` is escaped. A number is its digits: either names the version of a model.

    >>> path_part("a/b c"), path_part(3)
    ('a%2Fb%20c', '3')
    """
    return urllib.parse.quote(str(text), safe="")


def _query_value(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, set)):
        return [_query_value(item) for item in value]
    return value


def query(parameters: Optional[Mapping[str, Any]]) -> str:
    """The end of an address. A parameter that is None is left out; a list is repeated, item by item.

    >>> query({"limit": 3, "active": True, "name": None, "labels": ["a", "b"]}), query({})
    ('?limit=3&active=true&labels=a&labels=b', '')
    """
    given = {name: _query_value(value) for name, value in (parameters or {}).items() if value is not None}
    return "?" + urllib.parse.urlencode(given, doseq=True) if given else ""


class _Call(Generic[Answer]):
    """A request whose answers are of the type ``Answer``, a message of ``_messages.pyi``.

    Parameters
    ----------
    method : str
    path : str
        With its parameters filled in and escaped.
    parameters : mapping, optional
        The query; what is None is left out.
    body : object, optional
        Anything that :func:`determined._json.to_plain` takes. None sends no body.
    members : mapping, optional
        The body by its members, in place of ``body``; a member that is None is left out.

    Attributes
    ----------
    target : str
        Path and query.
    """

    __slots__ = ("body", "method", "target")

    def __init__(
        self,
        method: str,
        path: str,
        *,
        parameters: Optional[Mapping[str, Any]] = None,
        body: Any = None,
        members: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self.method = method
        self.target = path + query(parameters)
        self.body = body
        if members is not None:
            given: Dict[str, Any] = {name: value for name, value in members.items() if value is not None}
            self.body = given


class Request(_Call[Answer]):
    """A request with one answer; :meth:`determined._http.Session.send` sends it."""

    __slots__ = ()


class Stream(_Call[Answer]):
    """A request whose answers come message by message; :meth:`determined._http.Session.follow` yields them."""

    __slots__ = ()
