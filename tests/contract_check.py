"""Checks what the master says against the contract, independently of the generator and of the C code.

    from contract_check import Contract
    contract = Contract()
    contract.check_reply("GetMe", response.json())            # raises AssertionError naming each fault by its JSON path
    contract.check_line("TaskLogs", json.loads(line))         # one line of a stream: {"result": …}

A reply has every field of its message (all but unset `opt` and `oneof` ones), none that the message does not know, keys in
the order of declaration, values of the right JSON types, known enum names, and no null where the generated clients index.
"""
import base64
import binascii
import json
import pathlib
import re

CONTRACT = pathlib.Path(__file__).resolve().parent.parent / "contract"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6})?Z")
LIMITS = {"int32": (-2**31, 2**31 - 1), "uint32": (0, 2**32 - 1), "int64": (-2**63, 2**63 - 1), "uint64": (0, 2**64 - 1)}
WRAPPED = {"wkt:StringValue": "string", "wkt:BytesValue": "bytes", "wkt:BoolValue": "bool", "wkt:Int32Value": "int32",
           "wkt:UInt32Value": "uint32", "wkt:Int64Value": "int64", "wkt:UInt64Value": "uint64", "wkt:FloatValue": "float",
           "wkt:DoubleValue": "double"}


class Contract:
    def __init__(self, directory=CONTRACT):
        tables = [json.loads((pathlib.Path(directory) / name).read_text()) for name in ("api.json", "link.json")]
        self.routes = {row["rpc"]: row for row in tables[0]["routes"]}
        self.messages = {name: row for table in tables for name, row in table["messages"].items()}
        self.enums = {name: row["values"] for table in tables for name, row in table["enums"].items()}
        self.served = json.loads((pathlib.Path(directory) / "served.json").read_text())

    def check_reply(self, rpc, reply):
        self.check(self.routes[rpc]["resp"], reply)

    def check_line(self, rpc, line):
        assert list(line) == ["result"], f"{rpc}: a line of a stream holds only `result`, found {list(line)}"
        self.check_reply(rpc, line["result"])

    def check(self, message, value):
        faults = list(self.faults(message, value))
        assert not faults, f"{message} breaks the contract:\n  " + "\n  ".join(faults)

    def faults(self, message, value, path=""):
        """Yields a sentence for each fault."""
        if not isinstance(value, dict):
            yield f"{path or 'reply'}: expected an object, found {value!r:.60}"
            return
        fields = {f["j"]: f for f in self.messages[message].get("fields", [])}
        for name in value.keys() - fields.keys():
            yield f"{join(path, name)}: {message} has no such field"
        if [n for n in value if n in fields] != [n for n in fields if n in value]:
            yield f"{path or 'reply'}: fields are not in the order of {message}"
        for name, field in fields.items():
            if name in value:
                yield from self.field_faults(field, value[name], join(path, name))
            elif not field.get("opt") and not field.get("oneof"):
                yield f"{join(path, name)}: is missing"

    def field_faults(self, field, value, path):
        map_of = re.fullmatch(r"map<string,(.*)>", field["t"])
        if field.get("rep"):
            if not isinstance(value, list):
                yield f"{path}: expected a list, found {value!r:.60}"
                return
            for i, element in enumerate(value):
                yield from self.value_faults(field["t"], element, f"{path}[{i}]")
        elif map_of:
            if not isinstance(value, dict):
                yield f"{path}: expected an object, found {value!r:.60}"
                return
            if list(value) != sorted(value, key=str.encode):
                yield f"{path}: keys are not sorted"
            for key, element in value.items():
                yield from self.value_faults(map_of.group(1), element, join(path, key))
        elif value is None:
            if field.get("req") or not may_be_null(field["t"]):
                yield f"{path}: is null"
        else:
            yield from self.value_faults(field["t"], value, path)

    def value_faults(self, kind, value, path):
        kind = WRAPPED.get(kind, kind)
        name, _, target = kind.partition(":")
        if name == "msg":
            yield from self.faults(target, value, path)
        elif name == "enum":
            if value not in self.enums[target]:
                yield f"{path}: {value!r:.60} is no name of {target}"
        elif not fits(kind, value):
            yield f"{path}: expected {kind}, found {value!r:.60}"


def join(path, name):
    return f"{path}.{name}" if path else name


def may_be_null(kind):
    return kind.startswith(("msg:", "wkt:"))


def fits(kind, value):
    if kind == "bool":
        return isinstance(value, bool)
    if kind in ("int32", "uint32"):
        return type(value) is int and LIMITS[kind][0] <= value <= LIMITS[kind][1]
    if kind in ("int64", "uint64"):
        return (isinstance(value, str) and re.fullmatch(r"0|-?[1-9]\d*", value) is not None
                and LIMITS[kind][0] <= int(value) <= LIMITS[kind][1])
    if kind in ("float", "double"):
        return type(value) in (int, float) or value in ("NaN", "Infinity", "-Infinity")
    if kind == "bytes":
        return is_base64(value)
    if kind == "wkt:Timestamp":
        return isinstance(value, str) and TIME.fullmatch(value) is not None
    types = {"string": str, "wkt:Struct": dict, "wkt:ListValue": list, "wkt:Value": object, "wkt:FieldMask": dict}
    return isinstance(value, types[kind])


def is_base64(value):
    try:
        return isinstance(value, str) and base64.b64decode(value, validate=True) is not None
    except binascii.Error:
        return False
