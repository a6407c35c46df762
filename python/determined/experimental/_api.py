"""What all parts of the SDK have in common: pages of lists, parameters, times."""

import datetime
import enum
import re
import urllib.parse
import warnings
from typing import Any, Dict, Iterator, Optional

from determined import _http

PAGE = 200


class OrderBy(enum.Enum):
    """Which way a list is sorted."""

    ASCENDING = "ORDER_BY_ASC"
    ASC = ASCENDING
    DESCENDING = "ORDER_BY_DESC"
    DESC = DESCENDING


def quoted(text: object) -> str:
    """A word as part of a path."""
    return urllib.parse.quote(str(text), safe="")


def plain(value: Any) -> Any:
    """A parameter as a query holds it."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).isoformat()
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    return value


def parameters(**given: Any) -> Dict[str, Any]:
    """Those that are given, for a query."""
    return {name: plain(value) for name, value in given.items() if value is not None}


def pages(
    session: _http.Session, path: str, field: str, params: Dict[str, Any], limit: Optional[int] = None
) -> Iterator[Dict[str, Any]]:
    """The items of a list, fetched page by page as they are asked for.

    Parameters
    ----------
    session : Session
    path : str
        Of the list.
    field : str
        Of the answer, that holds the items.
    params : dict
        From :func:`parameters`.
    limit : int, optional
        How many items at most.
    """
    offset = 0
    while limit is None or offset < limit:
        page = PAGE if limit is None else min(PAGE, limit - offset)
        answer = session.get(path, params={**params, "offset": offset, "limit": page})
        items = answer.get(field) or []
        yield from items
        offset += len(items)
        if not items or offset >= ((answer.get("pagination") or {}).get("total") or 0):
            return


def time_of(text: Optional[str]) -> Optional[datetime.datetime]:
    """A time as the master writes it.

    >>> time_of("2026-01-02T03:04:05.123456789Z").isoformat()
    '2026-01-02T03:04:05.123456+00:00'
    """
    if not text:
        return None
    # Six digits of the second's fraction are all that Python knows.
    text = re.sub(r"\.(\d{6})\d*", r".\1", text.replace("Z", "+00:00"))
    text = re.sub(r"\.(\d{1,5})(?=[+-])", lambda m: "." + m.group(1).ljust(6, "0"), text)
    return datetime.datetime.fromisoformat(text)


def deprecated(old: str, new: str) -> None:
    """Warn of a name that is kept for old programs."""
    warnings.warn(f"{old} is deprecated: use {new}", FutureWarning, stacklevel=3)
