"""det task create, fork, kill, pause, unpause, config and tree."""
import json

import pytest
from support.fake_master import clients as fake_master
from support.fake_master.launched import ID, NEW, OTHER, SIBLING, allocation

ENDED = {"endTime": "2026-11-21T07:13:00Z"}


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "task.yaml"
    path.write_text("entrypoint: ./run.sh # comment\n")
    return path


def test_create_sends_the_text_and_the_files(det, master, config, tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "run.sh").write_text("true\n")
    out = det("task", "create", config, "-c", tmp_path / "files", "--project_id", 3, "--fork", ID, "-p", OTHER, "--no_pause")
    assert out.endswith(f"\nCreated task {NEW}\n")
    sent = master.created[0]
    assert [f["path"] for f in sent.pop("contextDirectory")] == ["run.sh"]
    assert sent == {"config": config.read_text(), "projectId": 3, "forkedFrom": ID, "parentId": OTHER, "noPause": True}
    det("task", "create", config, "--config", "resources.slots=0", "-p", OTHER, "--inherit_context")
    assert master.created[1] == {"contextDirectory": [], "config": "entrypoint: ./run.sh\nresources:\n  slots: 0\n", "parentId": OTHER,
                                 "inheritContext": True}


def test_fork(det, master):
    assert det("task", "fork", ID) == f"Created task {NEW}\n"
    assert master.created == [{"contextDirectory": [], "config": "", "forkedFrom": ID}]


@pytest.mark.parametrize("state, more, status, said", [
    ("COMPLETED", ENDED, 0, "COMPLETED\n"), ("PAUSED", {}, 0, "PAUSED\n"), ("CANCELED", ENDED, 1, "CANCELED\n"),
    ("ERROR", {**ENDED, "allocations": [allocation(exitReason="exit code 3")]}, 1, "ERROR: exit code 3\n")])
@pytest.mark.parametrize("words", ["create", "fork"])
def test_followed_tasks_say_how_they_ended(det, master, config, words, state, more, status, said):
    master.generic_tasks[NEW] = {"taskState": f"GENERIC_TASK_STATE_{state}", "allocations": [], **more}
    done = det.run("task", words, config if words == "create" else ID, "-f")
    assert done.returncode == status and f"Task {NEW}: {said}" in done.stderr and f"det task logs -f {NEW}" in done.stdout


def test_changes(det, master):
    assert det("task", "kill", ID) == f"Sucessfully killed task: {ID}\n"
    assert det("task", "kill", ID, "--root") == f"Sucessfully killed task: {ID}\n"
    assert det("task", "pause", ID) == f"Paused task: {ID}\n"
    assert det("task", "unpause", ID) == f"Unpaused task: {ID}\n"
    assert [(tid, what) for tid, what, _ in master.patches] == [(ID, "kill"), (ID, "kill"), (ID, "pause"), (ID, "unpause")]
    assert master.patches[1][2] == {"taskId": ID, "killFromRoot": True}


def test_config(det):
    assert det("task", "config", ID) == "entrypoint:\n- sleep\n- '1'\nresources:\n  slots: 0\n\n"
    assert json.loads(det("task", "config", ID, "--json")) == {"entrypoint": ["sleep", "1"], "resources": {"slots": 0}}


def test_tree(det, master):
    state = {"allocations": [], "taskState": "GENERIC_TASK_STATE_ACTIVE"}
    master.generic_tasks = {ID: {**state, "childIds": [OTHER, NEW]}, OTHER: {**state, "parentId": ID, "childIds": [SIBLING]},
                            SIBLING: {**state, "parentId": OTHER, "taskState": "GENERIC_TASK_STATE_PAUSED"},
                            NEW: {**state, "parentId": ID, "forkedFrom": OTHER}}
    assert det("task", "tree", SIBLING) == (f"{ID} ACTIVE\n  {OTHER} ACTIVE\n    {SIBLING} PAUSED *\n  {NEW} ACTIVE, forked from {OTHER}\n")
    tree = json.loads(det("task", "tree", ID, "--json"))
    assert tree["id"] == ID and [c["id"] for c in tree["children"]] == [OTHER, NEW] and tree["children"][0]["children"][0]["state"] == "PAUSED"


def test_a_circle_of_parents_ends(det, master):
    state = {"allocations": [], "taskState": "GENERIC_TASK_STATE_ACTIVE"}
    master.generic_tasks = {ID: {**state, "parentId": OTHER, "childIds": []}, OTHER: {**state, "parentId": ID, "childIds": []}}
    assert ID in det("task", "tree", ID) or OTHER in det("task", "tree", ID)


@pytest.mark.parametrize("words, status, said", [
    ("create /nonexistent", 2, "can't open '/nonexistent'"), ("create CONFIG -c /nonexistent", 1, "Path '/nonexistent' doesn't exist"),
    ("create CONFIG --inherit_context", 2, "--inherit_context uses the files of the parent; name it by --parent"),
    ("create CONFIG --inherit_context -p x -c /", 2, "leave out --context and --include"),
    ("create CONFIG --config novalue", 1, "expected key=value"),
])
def test_mistakes(det, master, config, words, status, said):
    done = det.run("task", *(str(config) if word == "CONFIG" else word for word in words.split()))
    assert done.returncode == status and said in done.stderr and not master.created


def test_the_masters_mistakes_are_told_with_their_place(det, master, config):
    master.failures["/api/v1/generic-tasks"] = fake_master.Refusal(400, "<config>.entrypoint (line 1, column 13): must not be empty")
    assert f"{config}:1:13: <config>.entrypoint: must not be empty" in det.run("task", "create", config).stderr
