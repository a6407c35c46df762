"""Functions and classes for every request of the REST contract.

A function is called ``METHOD_Rpc``, takes a session (:class:`determined.common.api.Session`) and keywords, and returns
the answer as a message; a message has its members as attributes, ``from_json`` and ``to_json``. The names are those of
the released library. All of them are made from the contract's table (``_contract.json``) when they are first used::

    from determined.common.api import authentication, bindings

    session = authentication.login("http://localhost:8080", "alice", "secret")
    for experiment in bindings.get_GetExperiments(session, limit=10).experiments:
        print(experiment.id, experiment.name)
"""

from typing import Any, List

from determined.common.api import _calls, _messages, _session
from determined.common.api._calls import APIHttpError, APIHttpStreamError
from determined.common.api._contract import contract
from determined.common.api._messages import DetEnum, Printable, Unset, dump_float

__all__ = ["APIHttpError", "APIHttpStreamError", "DetEnum", "Printable", "Unset", "dump_float", "get_health"]

Json = Any


def get_health(session: Any) -> Any:
    """``GET /health``: also the answer of a master that is not well."""
    answer = _session.do_request(session, method="GET", path="/health")
    if answer.status_code not in (200, 503):
        raise APIHttpError("get_health", answer)
    return _messages.type_of("HealthCheck").from_json(answer.json())


def __getattr__(name: str) -> Any:
    table = contract()
    made: Any
    if name in table.routes:
        made = _calls.function_of(table.routes[name])
    elif name in table.full_names:
        made = _messages.type_of(table.full_names[name])
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = made
    return made


def __dir__() -> List[str]:
    table = contract()
    return sorted({*globals(), *table.routes, *table.full_names})
