"""What all parts of the SDK have in common: pages of lists, times."""

import datetime
import enum
import re
import warnings
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Optional, Sequence, TypeVar, cast

from determined import _http
from determined._request import Request

Answer = TypeVar("Answer")
Item = TypeVar("Item")

if TYPE_CHECKING:
    from typing import Protocol

    class Page(Protocol[Answer]):
        """A function of :mod:`determined._routes` for a list, all of whose other arguments are given."""

        def __call__(self, *, offset: int, limit: int) -> Request[Answer]: ...


PAGE = 200


class OrderBy(enum.Enum):
    """Which way a list is sorted."""

    ASCENDING = "ORDER_BY_ASC"
    ASC = ASCENDING
    DESCENDING = "ORDER_BY_DESC"
    DESC = DESCENDING


def pages(
    session: _http.Session,
    page: "Page[Answer]",
    items_of: Callable[[Answer], Optional[Sequence[Item]]],
    limit: Optional[int] = None,
) -> Iterator[Item]:
    """Yield the items of a list. Each page is fetched when its first item is asked for.

    Parameters
    ----------
    session : Session
    page : callable
        Makes the request for the page that begins at ``offset`` and has at most ``limit`` items.
    items_of : callable
        Takes the items out of an answer; None counts as no items.
    limit : int, optional
        Yield at most this many items.
    """
    offset = 0
    while limit is None or offset < limit:
        count = PAGE if limit is None else min(PAGE, limit - offset)
        answer = session.send(page(offset=offset, limit=count))
        items = items_of(answer) or ()
        yield from items
        offset += len(items)
        total = (cast(Dict[str, Any], answer).get("pagination") or {}).get("total") or 0
        if not items or offset >= total:
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
