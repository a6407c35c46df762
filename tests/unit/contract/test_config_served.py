#!/usr/bin/env python3
"""Every key of master.yaml and agent.yaml is read by the programs, or its row says what becomes of it (`ignored`, `refused`)."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Whole branches of the table that C refuses, or rewrites, by their kind: nothing below them is looked at.
KINDS = {"agent", "local", "priority", "round_robin", "fair_share", "default"}
CHECKS_ONLY = {"schema_checks.c", "expconf_checks.c"}  # the checks judge a value, and do nothing with it


def texts(*folders):
    return "\n".join(p.read_text() for f in folders for p in sorted((ROOT / "src" / f).rglob("*.[ch]")) if p.name not in CHECKS_ONLY)


def rows(name, parts, prefix="", keys=None):
    for row in keys if keys is not None else json.loads((ROOT / f"contract/{name}-config.json").read_text())["keys"]:
        path = prefix + row["key"]
        yield path, row
        if "ignored" not in row and "refused" not in row:
            yield from rows(name, parts, path + ".", parts.get(row.get("part"), []))


def served(path, row, source):
    if row.get("replaced_by") or set(row["type"].split("|")) <= {"object"} or path.endswith(("[]", "*")):
        return True  # a row that only holds others, or stands for another one
    leaf = re.escape(path.split(".")[-1])
    return f'"{path}"' in source or re.search(rf'["._>]{leaf}["\[ ,;)]', source) is not None


def main():
    parts = json.loads((ROOT / "contract/config-parts.json").read_text())["parts"]
    failed = 0
    for name, folders in (("master", ("master", "api", "core", "net", "store", "common")), ("agent", ("agent", "net", "common"))):
        # Of what cannot be enabled, the other members ask for nothing.
        source = texts(*folders)
        silent = tuple(path.removesuffix("enabled") for path, row in rows(name, parts) if path.endswith(".enabled") and "refused" in row)
        for path, row in rows(name, parts):
            if silent and path.startswith(silent):
                continue
            if "ignored" in row or "refused" in row or (row.get("only") and not KINDS & set(row["only"])):
                silent += (path + ".", path + "[")
                if "ignored" in row and "refused" in row:
                    print(f"{name}: {path} is both ignored and refused")
                    failed += 1
            elif row.get("drop"):
                print(f"{name}: {path} is dropped without a word: say why in `ignored`")
                failed += 1
            elif not served(path, row, source):
                print(f"{name}: nothing reads {path}: say in its row what becomes of it (`ignored` or `refused`)")
                failed += 1
    sys.exit(1 if failed else 0)


main()
