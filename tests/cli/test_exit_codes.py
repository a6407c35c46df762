"""The exit statuses that contract/cli.json gives (docs/reference/exit-codes.md is made of it) are those that det has."""
import json
import pathlib
import re
import shlex

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = json.loads((ROOT / "contract" / "cli.json").read_text())["commands"]
LEAVES = [row for row in ROWS if not any(other["path"].startswith(row["path"] + " ") for other in ROWS) and row["path"]]
NOWHERE = "http://127.0.0.1:1"


def test_only_a_wrong_command_line_has_status_2():
    """The table of error kinds gives each an exit status; the page has no other."""
    header = (ROOT / "src" / "common" / "base" / "error.h").read_text()
    kinds = dict(re.findall(r'X\((\w+), \d+, \d+, "\w+", (\d)\)', header))
    assert len(kinds) > 15 and {kind: status for kind, status in kinds.items() if status != "1"} == {"USAGE": "2"}
    assert list(ROWS[0]["exit"]) == ["0", "1", "2", "3"]


@pytest.mark.parametrize("row", LEAVES, ids=lambda row: row["path"])
def test_an_option_that_does_not_exist_has_status_2(det, master, row):
    done = det.run(*row["path"].split(), "--no-such-option")
    assert done.returncode == 2 and "unrecognized arguments: --no-such-option" in done.stderr, done
    assert not master.requests and done.stdout == ""


def needs_file(row):
    return any(p["t"] == "file" for p in row.get("args", []))


@pytest.mark.parametrize("row", [r for r in LEAVES if r.get("served") and not r.get("offline") and not r.get("hidden") and not needs_file(r)],
                         ids=lambda row: row["path"])
def test_a_command_that_needs_a_master_has_status_1_without_one(det, tmp_path, row):
    words = re.split(" && | > ", row["example"][0])[0]  # the others are of the shell
    done = det.run(*shlex.split(words), DET_MASTER=NOWHERE, stdin="y\n" * 3)
    if row["path"] == "version":  # says in its output that there is none
        assert done.returncode == 0
    elif row["path"] == "deploy ssh":  # before it asks the master, since the hosts could not reach it
        assert done.returncode == 2 and "an address of this machine only" in done.stderr, done
    else:
        assert done.returncode == (0 if row["path"] == "user logout" else 1) and "Master not found" in done.stderr, done


def follow(det, tmp_path, *words):
    path = tmp_path / "const.yaml"
    path.write_text("name: digits\nentrypoint: exit 7\n")
    return det.run("experiment", *words, *([path] if words[0] == "create" else [1]))


OWN = [  # dev curl: test_det_dev.py
    (["wait"], "STATE_COMPLETED", 0), (["wait"], "STATE_CANCELED", 1),
    (["create", "-f"], "STATE_COMPLETED", 0), (["create", "-f"], "STATE_PAUSED", 0), (["create", "-f"], "STATE_ERROR", 1),
    (["create", "--test"], "STATE_ERROR", 1), (["create", "--local"], "STATE_COMPLETED", 7), (["create"], "STATE_ERROR", 0),
    (["continue", "-f"], "STATE_COMPLETED", 0), (["continue", "-f"], "STATE_CANCELED", 1),
]


@pytest.mark.parametrize("words, state, status", OWN)
def test_statuses_of_commands_that_have_their_own(det, master, tmp_path, words, state, status):
    master.states = [state]
    assert follow(det, tmp_path, *words).returncode == status


ELSEWHERE = {"dev curl", "command run", "shell start", "shell open", "task create", "task fork"}  # in files of their own


def test_every_command_with_statuses_of_its_own_is_tested():
    assert {row["path"] for row in ROWS[1:] if "exit" in row} == {f"experiment {words[0]}" for words, _, _ in OWN} | ELSEWHERE


def test_help_has_the_statuses(det):
    assert "exit status:\n  0" in det("--help") and "Ctrl-C" in det("--help")
    assert re.search(r"exit status:\n  0 +the experiment has completed\n  1 ", det("experiment", "wait", "--help"))
    assert "exit status:" not in det("experiment", "list", "--help")
