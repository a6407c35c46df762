"""Commands that commands, notebooks, shells and TensorBoards have in common: list, describe, config, kill, set priority, logs."""
import csv
import io
import json

import pytest
from support.fake_master import clients as fake_master
from support.fake_master.launched import ID, KINDS, OTHER, SIBLING, launched

NOUNS = {noun: kind for kind, (noun, _, _) in KINDS.items()}
every_noun = pytest.mark.parametrize("noun", NOUNS)
COLUMNS = ["id", "username", "description", "state", "exitStatus", "resourcePool", "workspaceName"]


def cells(line):
    return [cell.strip() for cell in line.split("|")]


@every_noun
def test_list_has_the_columns_of_the_released_client(det, noun):
    lines = det(noun, "list").splitlines()
    columns = COLUMNS if noun != "tensorboard" else COLUMNS[:4] + ["experimentIds", "trialIds"] + COLUMNS[4:]
    assert cells(lines[0]) == columns
    rows = [dict(zip(columns, cells(line), strict=True)) for line in lines[2:]]
    assert [row["id"] for row in rows] == [OTHER, SIBLING, ID]  # by the time of their start
    assert rows[0]["state"] == "TERMINATED" and rows[0]["exitStatus"] == "allocation exited successfully"
    assert rows[0]["workspaceName"] == "missing workspace id 9" and rows[2]["workspaceName"] == "Uncategorized"
    assert noun != "tensorboard" or (rows[0]["experimentIds"], rows[0]["trialIds"]) == ("[7, 8]", "[]")


def test_list_asks_for_ones_own_unless_all_are_wanted(det, master):
    det("notebook")
    assert [q for _, path, q, _ in master.requests if path == "/api/v1/notebooks"] == [{"users": ["determined"]}]
    det("notebook", "ls", "-a", "-w", "Uncategorized")
    assert [q for _, path, q, _ in master.requests if path == "/api/v1/notebooks"][-1] == {"workspaceId": ["1"]}
    assert "workspace 'nowhere' not found" in det.run("notebook", "ls", "-w", "nowhere").stderr


def test_list_is_sorted_as_asked(det, master):
    assert det("cmd", "ls", "-q", "--order-by", "desc").split() == [ID, SIBLING, OTHER]
    assert det("cmd", "ls", "-q", "--sort-by", "id").split() == [ID, SIBLING, OTHER]
    assert det("cmd", "ls", "-q", "--sort-by", "description", "--order-by", "desc").split() == [SIBLING, ID, OTHER]  # equal ones keep their order
    assert det.run("cmd", "ls", "--sort-by", "size").returncode == 2


def test_list_as_csv_and_json(det):
    rows = list(csv.reader(io.StringIO(det("shell", "list", "--csv"))))
    assert rows[0] == COLUMNS and rows[-1][0] == ID and len(rows) == 4
    document = json.loads(det("shell", "list", "--json"))
    assert document[-1]["id"] == ID and document[-1]["state"] == "RUNNING" and document[-1]["workspaceName"] == "Uncategorized"
    assert document[-1]["agentUserGroup"] == {"user": "ann"}


@every_noun
def test_describe_and_config(det, noun):
    assert len(det(noun, "describe", ID).split("\n")) == 4 and len(det(noun, "describe", ID, "--csv").split("\n")) == 3
    assert json.loads(det(noun, "describe", "5e6f", "--json"))["exitStatus"] == "allocation exited successfully"
    assert det(noun, "config", "5e6f") == "entrypoint:\n- sleep\n- '1'\nresources:\n  slots: 0\n\n"


@every_noun
def test_kill_and_set_priority(det, master, noun):
    assert det(noun, "kill", SIBLING, "5e6f") == f"Killed {noun} {SIBLING}\nKilled {noun} {OTHER}\n"
    assert det(noun, "set", "priority", ID, "7") == f"Set priority of {noun} {ID} to 7\n"
    kind = NOUNS[noun]
    assert master.patches == [(kind, SIBLING, "kill", None), (kind, OTHER, "kill", None), (kind, ID, "set_priority", {"priority": 7})]


def test_kill_stops_at_an_error_unless_forced(det, master):
    gone = "00000000-0000-4000-8000-000000000000"
    done = det.run("shell", "kill", ID, gone, OTHER)
    assert done.returncode == 1 and done.stdout == f"Killed shell {ID}\n"
    assert f"shell '{gone}' not found" in done.stderr and f"Not killed, because of the error before it: shell {OTHER}" in done.stderr
    done = det.run("shell", "kill", "-f", gone, OTHER)
    assert done.returncode == 0 and done.stdout == f"Killed shell {OTHER}\n" and f"Skipped shell {gone}: " in done.stderr


def test_priority_that_the_master_refuses_is_an_error(det, master):
    master.failures[f"/api/v1/commands/{ID}/set_priority"] = fake_master.Refusal(400, "priority must be from 1 to 99, found 0")
    done = det.run("command", "set", "priority", ID, 0)
    assert done.returncode == 1 and "Failed to set the priority of a command: priority must be from 1 to 99" in done.stderr


@pytest.mark.parametrize("words", ["describe", "config", "kill", "logs", "set priority"])
def test_beginnings_of_ids(det, master, words):
    more = ["7"] if words == "set priority" else []
    assert det.run("notebook", *words.split(), "5E6F", *more).returncode == 0
    done = det.run("notebook", *words.split(), "1a2b", *more)
    assert done.returncode == 1 and f"'1a2b' is not unique, the ids of 2 notebooks begin with it: {ID}, {SIBLING}" in done.stderr
    done = det.run("notebook", *words.split(), "77", *more)
    assert done.returncode == 1 and "Notebook '77' not found: no id begins with it" in done.stderr
    assert det.run("notebook", *words.split(), "", *more).returncode == 1
    before = len(master.requests)
    det("notebook", *words.split(), ID, *more)
    assert not [r for r in master.requests[before:] if r[1] == "/api/v1/notebooks"]  # a whole id needs no list


def test_nothing_is_killed_if_one_beginning_is_wrong(det, master):
    assert det.run("notebook", "kill", ID, "77").returncode == 1
    assert not master.patches


def test_logs(det, master):
    out = det("tensorboard", "logs", "5e6f", "--tail", 2, "--search", "line", "--regex")
    assert out.count("line ") == 2 and out.endswith(f"Task log stream ended. To reopen log stream, run: det task logs -f {OTHER}\n")
    query = [r for r in master.requests if r[1] == f"/api/v1/tasks/{OTHER}/logs"][-1][2]
    assert query["searchText"] == ["line"] and query["enableRegex"] == ["true"] and query["limit"] == ["2"]
    assert "give --search, too" in det.run("tensorboard", "logs", ID, "--regex").stderr


@every_noun
def test_many_are_listed_on_a_terminal_and_completed(det, master, noun):
    master.every_launched[NOUNS[noun]] = [launched(NOUNS[noun], f"{n:08d}-0000-4000-8000-000000000000") for n in range(300)]
    assert len(det(noun, "list").splitlines()) == 302
    assert len(det("complete-ids", noun).split()) == 300
    master.every_launched[NOUNS[noun]][0]["state"] = "STATE_TERMINATED"
    assert len(det("complete-ids", noun).split()) == 299


@pytest.mark.parametrize("noun", NOUNS)
def test_usage_names_the_argument_as_the_released_client_does(det, noun):
    assert f"the following arguments are required: {noun}_id" in det.run(noun, "kill").stderr


def test_an_expired_login_is_one_sentence(det, master):
    master.tokens.clear()
    done = det.run("notebook", "list", DET_PASS="wrong")
    assert done.returncode == 1 and "wrong user name or password" in done.stderr
    done = det.run("notebook", "list", DET_USER=None, DET_PASS=None)
    assert done.returncode == 1 and "please log in with 'det user login" in done.stderr
