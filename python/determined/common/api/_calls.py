"""Functions that send the requests of the contract, made from its table when they are asked for."""

import inspect
import json
import typing
import urllib.parse
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from determined.common.api import _messages, _session
from determined.common.api._contract import Field, Route, contract


class APIHttpError(Exception):
    """The master refused a request; ``response`` is its answer."""

    def __init__(self, operation_name: str, response: Any) -> None:
        self.response = response
        self.operation_name = operation_name
        self.message = f"API Error: {operation_name} failed: {response.reason}."
        super().__init__(self.message)


class APIHttpStreamError(APIHttpError):
    """An answer that comes message by message ended with an error."""

    def __init__(self, operation_name: str, error: Any) -> None:
        self.operation_name = operation_name
        self.error = error
        self.message = f"Stream Error during {operation_name}: {error.message}"
        Exception.__init__(self, self.message)


def _stream_error(**members: Any) -> Any:
    return _messages.type_of("runtimeStreamError").from_json(members)


class _Argument(NamedTuple):
    """A keyword of a function: its place in the request, and its type."""

    name: str  # what Python calls it
    key: str  # what the request calls it
    field: Field


def _flat(fields: List[Field], prefix: str = "", key_prefix: str = "") -> Iterator[_Argument]:
    """The members of a query; those of a message within it are joined by an underscore, by a dot in the request."""
    for field in fields:
        if field.kind.startswith("msg:") and not field.repeated:
            name = str(field.refers_to)
            yield from _flat(contract().fields(name), f"{prefix}{field.name}_", f"{key_prefix}{field.name}.")
        else:
            # `in` is a reserved word of Python.
            name = "incl" if field.name == "in" else field.name
            yield _Argument(prefix + name, key_prefix + field.name, field)


def _member(fields: List[Field], name: str) -> Field:
    """The contract's routes write some members in snake case."""
    return next(field for field in fields if name in (field.name, _snake(field.name)))


def _path_field(route: Route, name: str) -> Field:
    """The member that a parameter of the path stands for."""
    fields = contract().fields(route.request)
    first, _, rest = name.partition(".")
    if rest:
        return _member(contract().fields(str(_member(fields, first).refers_to)), rest)
    return _member(fields, name)


def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name)


class _Call:
    """One function: how its keywords become a request, and the answer a message."""

    def __init__(self, route: Route) -> None:
        self.route = route
        fields = contract().fields(route.request)
        self.in_path = [_Argument(name.replace(".", "_"), name, _path_field(route, name)) for name in route.path_names]
        path_keys = {argument.key for argument in self.in_path}
        self.in_query: List[_Argument] = []
        self.body: Optional[Field] = None
        if route.body == "*":
            self.body = Field("body", f"msg:{route.request}", False, False, True)
        else:
            if route.body:
                member = _member(fields, route.body)
                self.body = member._replace(name="body", required=True)
                fields = [field for field in fields if field is not member]
            self.in_query = [argument for argument in _flat(fields) if argument.key not in path_keys]
        response = contract().fields(route.response)
        self.response = _messages.type_of(route.response) if response else None

    def signature(self) -> inspect.Signature:
        names = contract().names
        required = {a.name: a.field.annotation(names) for a in self.in_path}
        optional = {a.name: f"typing.Optional[{a.field.annotation(names)}]" for a in self.in_query}
        if self.body:
            required["body"] = self.body.annotation(names)
        parameters = [
            inspect.Parameter("session", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="api.BaseSession")
        ]
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=required[name])
            for name in sorted(required)
        ]
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=optional[name])
            for name in sorted(optional)
        ]
        answer = names[self.route.response] if self.response else None
        return inspect.Signature(
            parameters, return_annotation=f"typing.Iterable[{answer}]" if self.route.stream else answer
        )

    def request(self, given: Dict[str, Any]) -> Tuple[str, Optional[Dict[str, Any]], Any]:
        """Path, query and body."""
        path = self.route.path
        for argument in self.in_path:
            path = path.replace("{" + argument.key + "}", urllib.parse.quote(str(given[argument.name])))
        query = {a.key: _plain(a.field, given.get(a.name)) for a in self.in_query}
        body = _plain(self.body, given["body"]) if self.body else None
        return path, query or None, body

    def answer(self, response: Any) -> Any:
        if response.status_code != 200:
            raise APIHttpError(self.route.function, response)
        return self.response.from_json(response.json()) if self.response else None

    def answers(self, response: Any) -> Iterator[Any]:
        if response.status_code != 200:
            raise APIHttpError(self.route.function, response)
        try:
            for line in response.iter_lines(chunk_size=1024 * 1024):
                message = json.loads(line)
                if "error" in message:
                    raise APIHttpStreamError(self.route.function, _stream_error(**message["error"]))
                yield typing.cast(Any, self.response).from_json(message["result"])
        except OSError as e:  # requests' own errors are of this kind, too
            raise APIHttpStreamError(self.route.function, _stream_error(message=type(e).__name__)) from e


def _plain(field: Field, value: Any) -> Any:
    """A value as a query or a body holds it."""
    if value is None:
        return None
    if field.repeated:
        return [_plain(field._replace(repeated=False), item) for item in value]
    if field.mapped:
        return {key: _plain(field._replace(mapped=False), item) for key, item in value.items()}
    if isinstance(value, _messages.DetEnum):
        return value.value
    if isinstance(value, _messages.Message):
        return value.to_json(True)
    if isinstance(value, bool):
        return value if field.name == "body" else str(value).lower()
    return _messages.dump_float(value) if field.is_float else value


def _send(call: _Call, session: Any, given: Dict[str, Any]) -> Any:
    path, query, body = call.request(given)
    return _session.do_request(
        session,
        method=call.route.method,
        path=path,
        params=query,
        json=body,
        stream=call.route.stream,
    )


def function_of(route: Route) -> Callable[..., Any]:
    """The function that sends a route's request."""
    call = _Call(route)
    signature = call.signature()

    def send(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        session = given.pop("session")
        return call.answer(_send(call, session, given))

    def send_and_stream(*args: Any, **kwargs: Any) -> Iterator[Any]:
        given = signature.bind(*args, **kwargs).arguments
        session = given.pop("session")
        yield from call.answers(_send(call, session, given))

    made: Callable[..., Any] = send_and_stream if route.stream else send
    made.__name__ = made.__qualname__ = route.function
    made.__module__ = _messages.MODULE
    made.__doc__ = f"``{route.method} {route.path}``"
    made.__signature__ = signature  # type: ignore[attr-defined]
    return made
