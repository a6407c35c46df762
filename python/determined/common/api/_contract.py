"""The platform's REST contract as a table: routes, messages and enums, with the names that programs know them by."""

import collections
import functools
import json
import pathlib
from typing import Any, Dict, List, NamedTuple, Optional

_TABLE = pathlib.Path(__file__).with_name("_contract.json")

# Names whose last part another message of the predecessor has as well, one that no route of ours uses.
_LONG_NAMES = {"trial.v1.TrialEarlyExit.ExitedReason"}

# What is not part of the platform's own messages: the health page, and what gateways of this kind say of errors.
_OTHER_MESSAGES: Dict[str, Dict[str, str]] = {
    "HealthCheck": {
        "database": "enum:HealthStatus",
        "resource_managers": "list msg:ResourceManagerHealth",
        "status": "enum:HealthStatus",
    },
    "ResourceManagerHealth": {"cluster_name": "string", "status": "enum:HealthStatus"},
    "protobufAny": {"typeUrl": "string", "value": "string"},
    "protobufFieldMask": {"paths": "list string"},
    "runtimeError": {"code": "int32", "details": "list msg:protobufAny", "error": "string", "message": "string"},
    "runtimeStreamError": {
        "details": "list msg:protobufAny",
        "grpcCode": "int32",
        "httpCode": "int32",
        "httpStatus": "string",
        "message": "string",
    },
}
_OTHER_ENUMS = {"HealthStatus": ["up", "down"], "protobufNullValue": ["NULL_VALUE"]}

# Types of single values as Python programs see them. 64-bit integers travel as text.
_SCALARS = {
    "string": "str",
    "bytes": "str",
    "bool": "bool",
    "int32": "int",
    "uint32": "int",
    "int64": "str",
    "uint64": "str",
    "float": "float",
    "double": "float",
    "wkt:Timestamp": "str",
    "wkt:Struct": "typing.Dict[str, typing.Any]",
    "wkt:Value": "typing.Any",
    "wkt:ListValue": "typing.Sequence[str]",
    "wkt:StringValue": "str",
    "wkt:BytesValue": "str",
    "wkt:BoolValue": "bool",
    "wkt:Int32Value": "int",
    "wkt:UInt32Value": "int",
    "wkt:Int64Value": "str",
    "wkt:DoubleValue": "float",
    "wkt:FloatValue": "float",
}


class Field(NamedTuple):
    """A member of a message.

    Attributes
    ----------
    name : str
        As JSON and Python spell it.
    kind : str
        A key of the scalar types, ``msg:NAME`` or ``enum:NAME`` with the contract's full name.
    repeated, mapped, required : bool
        A list; a map from strings; a member that every message has.
    """

    name: str
    kind: str
    repeated: bool
    mapped: bool
    required: bool

    @property
    def refers_to(self) -> Optional[str]:
        """The full name of the message or enum that a value is of."""
        prefix, _, name = self.kind.partition(":")
        return name if prefix in ("msg", "enum") else None

    @property
    def is_enum(self) -> bool:
        return self.kind.startswith("enum:")

    @property
    def is_float(self) -> bool:
        return _SCALARS.get(self.kind) == "float"

    def annotation(self, names: Dict[str, str]) -> str:
        """The type as text; ``names`` leads from full names to Python's."""
        single = names[self.refers_to] if self.refers_to else _SCALARS[self.kind]
        if self.mapped:
            return f"typing.Dict[str, {single}]"
        return f"typing.Sequence[{single}]" if self.repeated else single


class Route(NamedTuple):
    """A request that the master answers.

    Attributes
    ----------
    rpc, method, path : str
        ``path`` has its parameters in braces.
    request, response : str
        Full names of messages.
    body : str or None
        ``*``: the whole request; a name: the member of the request that the body is; None: no body.
    stream : bool
        The answer is a message a line.
    """

    rpc: str
    method: str
    path: str
    request: str
    response: str
    body: Optional[str]
    stream: bool
    path_names: List[str]

    @property
    def function(self) -> str:
        """The name of the function that sends it."""
        return f"{self.method.lower()}_{self.rpc}"


def _other_fields(members: Dict[str, str]) -> Dict[str, Any]:
    rows = [{"j": name, "t": text.split()[-1], "rep": text.startswith("list ")} for name, text in members.items()]
    return {"fields": rows}


def _field(row: Dict[str, Any]) -> Field:
    kind = row["t"]
    if kind == "wkt:FieldMask":
        kind = "msg:protobufFieldMask"
    mapped = kind.startswith("map<")
    if mapped:
        kind = kind[len("map<string,") : -1]
    return Field(row["j"], kind, bool(row.get("rep")), mapped, bool(row.get("req")))


class Contract:
    """The table, looked up by full names and by the names that Python programs use."""

    def __init__(self, table: Dict[str, Any]) -> None:
        others = {name: _other_fields(members) for name, members in _OTHER_MESSAGES.items()}
        self._messages = {**table["messages"], **others}
        self._enums = {name: list(row["values"]) for name, row in table["enums"].items()}
        self._enums.update(_OTHER_ENUMS)
        self.names = _python_names([*self._messages, *self._enums])
        self.full_names = {name: full for full, name in self.names.items()}
        self.routes = {route.function: route for route in map(_route, table["routes"])}

    def is_enum(self, full_name: str) -> bool:
        return full_name in self._enums

    def enum_values(self, full_name: str) -> List[str]:
        return self._enums[full_name]

    @functools.cache  # noqa: B019 (there is one contract, for good)
    def fields(self, full_name: str) -> List[Field]:
        """Of a message, those that it always has first."""
        fields = [_field(row) for row in self._messages[full_name]["fields"]]
        return sorted(fields, key=lambda field: (not field.required, field.name))


def _route(row: Dict[str, Any]) -> Route:
    path_names = [part["n"] for part in row.get("path_params", [])]
    return Route(
        row["rpc"],
        row["method"],
        row["path"],
        row["req"],
        row["resp"],
        row.get("body"),
        bool(row.get("stream")),
        path_names,
    )


def _python_names(full_names: List[str]) -> Dict[str, str]:
    """The released library's rule: the last two parts of a name, and the last three where others end alike."""
    endings = collections.Counter(name.rpartition(".")[2] for name in full_names)
    names = {}
    for name in full_names:
        parts = name.split(".")
        alone = endings[parts[-1]] == 1 and name not in _LONG_NAMES
        names[name] = "".join(parts[-2:] if alone else parts[-3:])
    return names


@functools.lru_cache(maxsize=1)
def contract() -> Contract:
    """Reads the table when it is first needed: importing the library does not wait for it."""
    return Contract(json.loads(_TABLE.read_text()))
