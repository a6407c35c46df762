"""Messages of the API as a real master sends them, made from the contract (contract/api.json)."""
import json
import pathlib

CONTRACT = json.loads((pathlib.Path(__file__).parents[3] / "contract" / "api.json").read_text())
MESSAGES = CONTRACT["messages"]
ENUMS = CONTRACT["enums"]


def _zero(field):
    kind = field["t"]
    if field.get("rep"):
        return []
    if kind.startswith("map<"):
        return {}
    if kind in ("string", "bytes"):
        return ""
    if kind == "bool":
        return False
    if kind in ("int64", "uint64"):
        return "0"
    if kind.startswith("enum:"):
        values = ENUMS[kind[5:]]["values"] if isinstance(ENUMS[kind[5:]], dict) else ENUMS[kind[5:]]
        first = values[0] if isinstance(values, list) else next(iter(values))
        return first["n"] if isinstance(first, dict) and "n" in first else first[0] if isinstance(first, list) else first
    if kind.startswith(("msg:", "wkt:")):
        return None
    return 0


def message(kind_, /, **given):
    out = {}
    for field in MESSAGES[kind_]["fields"]:
        if field["j"] in given:
            out[field["j"]] = given.pop(field["j"])
        elif not field.get("opt") and not field.get("oneof"):
            out[field["j"]] = _zero(field)
    assert not given, f"{kind_} has no {sorted(given)}"
    return out


def page(total, offset=0, limit=0):
    return message("api.v1.Pagination", offset=offset, limit=limit, startIndex=offset, endIndex=total, total=total)
