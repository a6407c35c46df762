"""Tests a configuration in which every value is wrong: one answer names all mistakes, each with its place. It is made from the key
tables."""
import json
import re
import subprocess

import pytest
from support.cluster import BUILD, ROOT

WRONG = {"int": "many", "number": "much", "bool": "perhaps", "string": [1], "list": 5, "map": "flat", "duration": [1], "size": [1]}
DYNAMIC = re.compile(r"\[\]|\*")


def keys_of(program):
    return json.loads((ROOT / f"contract/{program}-config.json").read_text())["keys"]


def leaves(program):
    """Returns the keys that have a value of their own and exist whatever the values of other keys are."""
    rows = keys_of(program)
    chosen = {row["key"] for row in rows if row.get("selector")}
    objects = {row["key"].rpartition(".")[0] for row in rows}
    return [row for row in rows if row["key"] not in objects and row["type"] in WRONG and not DYNAMIC.search(row["key"])
            and not any(row["key"].startswith(f"{name}.") for name in chosen)]


def document(rows):
    tree = {}
    for row in rows:
        at = tree
        *path, last = row["key"].split(".")
        for part in path:
            at = at.setdefault(part, {})
        at[last] = WRONG[row["type"]]
    return tree


def missing(rows, text):
    return [row["key"] for row in rows if not re.search(rf"(^|[ .>]){re.escape(row['key'])}(:| \(line \d)", text, re.M)]


@pytest.mark.parametrize("program, command", [("master", ["determined-master"]), ("agent", ["determined-agent", "run"])])
def test_of_a_program(tmp_path, program, command):
    rows = leaves(program)
    assert len(rows) > 20
    path = tmp_path / "all-wrong.yaml"
    path.write_text("\n".join(f"{key}: {json.dumps(value)}" for key, value in {**document(rows), "nonsense": 1}.items()))
    words = [BUILD / command[0], *command[1:], "--config-file", path, *(["--data-dir", tmp_path / "data"] if program == "master" else [])]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert missing(rows, done.stderr) == []
    assert 'unknown field "nonsense"' in done.stderr
    assert all(re.search(rf"{re.escape(str(path))}:\d+:\d+: ", line) for line in done.stderr.splitlines()), done.stderr
    assert not (tmp_path / "data").exists()


def test_of_an_experiment(master):
    rows = leaves("experiment")
    assert len(rows) > 20
    before = master.get("/api/v1/experiments").json["pagination"]["total"]
    reply = master.post("/api/v1/experiments", {"config": json.dumps({**document(rows), "nonsense": 1}), "modelDefinition": []})
    assert reply.status == 400
    text = reply.json["error"]["error"]
    assert missing(rows, text) == [], text
    assert '"nonsense"' in text
    assert master.get("/api/v1/experiments").json["pagination"]["total"] == before
