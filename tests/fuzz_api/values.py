"""Random values of the contract's types: right ones, ones at the edges of what a type holds, and ones of another type."""
import base64
import math
import re
import string

EDGES = {
    "int32": [0, 1, -1, 2, 100, 2**31 - 1, -(2**31)],
    "uint32": [0, 1, 2**31, 2**32 - 1],
    "int64": ["0", "1", "-1", str(2**63 - 1), str(-(2**63)), 2**53 + 1],
    "uint64": ["0", "1", str(2**64 - 1)],
    "float": [0.0, -0.0, 1e38, -1e38, 1e-45, "NaN", "Infinity", "-Infinity", "Nan"],
    "double": [0.0, -0.0, 1.8e308, 5e-324, "NaN", "Infinity", "-Infinity", 1e15],
    "bool": [True, False],
    "string": ["", " ", "\u0000", "\n", "a" * 5000, "ä\u0301\U0001f600\u202e", "../../etc/passwd", "'; DROP TABLE users; --", "%s%n%x", "-1", "0",
               "null", "[]", "{", "\\", "\"", "\ud7ff", "(((((((((a+)+)+)+)+)+)+)+)+)$", ".*" * 200, "[", "STATE_RUNNING", "id=desc,id=asc"],
    "bytes": ["", "AA==", base64.b64encode(b"x" * 3000).decode(), "====", "AAAA"],
    "wkt:Timestamp": ["1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "2026-01-01T00:00:00.123456789+23:59"],
}
WRONG = [None, True, 0, -1, 1.5, 10**400, "", "x", [], [[]], [None], {}, {"": None}, {"a": {"b": [1, {}]}}, [1, "a", {}], "2026-13-99T99:99:99Z",
         "STATE_NO_SUCH", "1" * 400, [[[[[[[[]]]]]]]]]


class Values:
    """rng decides everything; `real` are values that exist, by the name of the field that holds them."""

    def __init__(self, contract, real):
        self.contract, self.real = contract, real

    def known(self, rng, name, place):
        """A value that exists, or NULL: of the field's name, or of the resource that the path names before an `id`."""
        key = name.lower().removesuffix("s")
        if key in ("id", "entityid", "jobid") and place:
            key = place
        found = self.real.get(key) or self.real.get(name.lower())
        return rng.choice(found) if found else None

    def scalar(self, rng, kind, name, place):
        known = self.known(rng, name, place)
        if known is not None and rng.random() < 0.6:
            return known
        if rng.random() < 0.4:
            return rng.choice(EDGES[kind])
        if kind in ("int32", "uint32"):
            return rng.randrange(0, 20)
        if kind in ("int64", "uint64"):
            return str(rng.randrange(0, 1000))
        if kind in ("float", "double"):
            return rng.uniform(-10, 10)
        if kind == "bool":
            return rng.random() < 0.5
        if kind == "bytes":
            return base64.b64encode(rng.randbytes(rng.randrange(40))).decode()
        if kind == "wkt:Timestamp":
            return f"20{rng.randrange(10, 40)}-0{rng.randrange(1, 10)}-1{rng.randrange(10)}T12:00:00Z"
        return "".join(rng.choice(string.ascii_letters + "._-/ ") for _ in range(rng.randrange(1, 12)))

    def json(self, rng, depth=0):
        """For a Struct, a Value or a list of them."""
        if depth > 3 or rng.random() < 0.5:
            return rng.choice([None, True, 0, -1.5, "text", 1e300, "NaN", ""])
        if rng.random() < 0.5:
            return [self.json(rng, depth + 1) for _ in range(rng.randrange(4))]
        return {rng.choice(["a", "b", "", "loss", "a.b", "\u00e4"]): self.json(rng, depth + 1) for _ in range(rng.randrange(4))}

    def one(self, rng, kind, name, place, wrongness, depth):
        if rng.random() < wrongness:
            return rng.choice(WRONG)
        wrapped = re.fullmatch(r"wkt:(String|Bytes|Bool|Int32|UInt32|Int64|UInt64|Float|Double)Value", kind)
        if wrapped:
            kind = wrapped.group(1).lower()
        if kind.startswith("msg:"):
            return self.message(rng, kind[4:], wrongness, depth + 1) if depth < 6 else {}
        if kind.startswith("enum:"):
            names = self.contract.enums[kind[5:]]
            return rng.choice([*names, *names.values(), 99, -1]) if rng.random() < 0.2 else rng.choice(list(names))
        if kind in ("wkt:Struct", "wkt:Value", "wkt:ListValue"):
            value = self.json(rng)
            return {"a": value} if kind == "wkt:Struct" and not isinstance(value, dict) else [value] if kind == "wkt:ListValue" else value
        if kind == "wkt:FieldMask":
            return {"paths": [rng.choice(["name", "labels", "", "a.b"])]}
        return self.scalar(rng, kind, name, place)

    def field(self, rng, field, place, wrongness, depth):
        map_of = re.fullmatch(r"map<string,(.*)>", field["t"])
        if field.get("rep"):
            few = rng.choice([0, 1, 1, 1, 2, 3, 30])
            return [self.one(rng, field["t"], field["j"], place, wrongness, depth) for _ in range(few)]
        if map_of:
            return {rng.choice(["", "a", "b", "x" * 300]): self.one(rng, map_of.group(1), field["j"], place, wrongness, depth)
                    for _ in range(rng.randrange(3))}
        return self.one(rng, field["t"], field["j"], place, wrongness, depth)

    def message(self, rng, message, wrongness, depth=0, place=None, without=()):
        fields = [f for f in self.contract.messages[message].get("fields", []) if f["j"] not in without]
        share = rng.choice([0.2, 0.5, 1.0]) / (1 + depth / 2)
        chosen, taken = {}, set()
        for f in fields:
            if rng.random() < share and (not f.get("oneof") or f["oneof"] not in taken or wrongness):
                chosen[f["j"] if rng.random() < 0.9 else f.get("p", f["j"])] = self.field(rng, f, place, wrongness, depth)
                taken.add(f.get("oneof"))
        if rng.random() < wrongness:
            chosen["noSuchField"] = rng.choice(WRONG)
        return chosen


def query_of(message, prefix=""):
    """Pairs of a query: nested members with dots, lists by repetition."""
    for name, value in message.items():
        if isinstance(value, dict):
            yield from query_of(value, f"{prefix}{name}.")
        else:
            for v in value if isinstance(value, list) else [value]:
                text = str(v).lower() if isinstance(v, bool) or v is None else "NaN" if isinstance(v, float) and math.isnan(v) else str(v)
                yield prefix + name, text
