"""det task create, fork, pause, unpause, kill, config and tree against a real master and agent, and the same by the released client."""
import json
import subprocess

import pytest
from support.cluster import TIMEOUT_S, wait_for
from support.det import RELEASED, det, environment, run_det

CONFIG = "entrypoint: {}\nresources: {{slots: 0}}\npreemption_timeout: 1\n"


def config(tmp_path, entrypoint, name="task.yaml"):
    path = tmp_path / name
    path.write_text(CONFIG.format(json.dumps([entrypoint])))
    return path


def created(text):
    [line] = [line for line in text.splitlines() if line.startswith("Created task ")]
    return line.split()[-1]


def shown(cluster, task):
    return cluster.get(f"/api/v1/tasks/{task}").json["task"]


def wait_state(cluster, task, state):
    wait_for(f"task {task} in {state}", lambda: shown(cluster, task)["taskState"] == f"GENERIC_TASK_STATE_{state}")


def wait_ready(cluster, task):
    wait_for(f"task {task} to run", lambda: any(a["isReady"] and not a.get("endTime") for a in shown(cluster, task)["allocations"]))


def released(cluster, *words):
    if not RELEASED.is_file():
        pytest.skip("the released client is not installed (.venv-compat)")
    done = subprocess.run([RELEASED, *map(str, words)], env=environment(cluster), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done
    return done.stdout


def test_a_followed_task_shows_its_output_and_how_it_ended(cluster, tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "x.txt").write_text("sent with it\n")
    done = run_det(cluster, "task", "create", config(tmp_path, "cat x.txt"), "-c", tmp_path / "files", "-f")
    assert done.returncode == 0 and "sent with it" in done.stdout and "COMPLETED" in done.stderr, done
    fork = run_det(cluster, "task", "fork", created(done.stdout), "-f")
    assert fork.returncode == 0 and "sent with it" in fork.stdout, fork
    failed = run_det(cluster, "task", "create", config(tmp_path, "exit 3"), "-f")
    assert failed.returncode == 1 and "ERROR" in failed.stderr and "3" in failed.stderr, failed


def test_pausing_and_killing_a_tree(cluster, tmp_path):
    path = config(tmp_path, "sleep 1000")
    root = created(det(cluster, "task", "create", path))
    child = created(det(cluster, "task", "create", path, "-p", root))
    for task in (root, child):
        wait_ready(cluster, task)
    assert det(cluster, "task", "pause", root) == f"Paused task: {root}\n"
    for task in (root, child):
        wait_state(cluster, task, "PAUSED")
    assert det(cluster, "task", "tree", child) == f"{root} PAUSED\n  {child} PAUSED *\n"
    assert det(cluster, "task", "unpause", root) == f"Unpaused task: {root}\n"
    assert det(cluster, "task", "kill", child, "--root") == f"Sucessfully killed task: {child}\n"
    for task in (root, child):
        wait_state(cluster, task, "CANCELED")
    assert json.loads(det(cluster, "task", "config", root, "--json"))["preemption_timeout"] == 1


def test_mistakes_are_told_with_their_place(cluster, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("resources: {slots: 0}\nentrypoint: 7\n")
    done = run_det(cluster, "task", "create", path)
    assert done.returncode == 1 and f"{path}:2" in done.stderr, done
    assert "not found" in run_det(cluster, "task", "pause", "none-such").stderr


def test_the_released_client_does_the_same(cluster, tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "x.txt").write_text("from 0.38.1\n")
    out = released(cluster, "task", "create", config(tmp_path, "cat x.txt"), "-c", tmp_path / "files", "-f")
    first = created(out)
    assert "from 0.38.1" in out
    assert "from 0.38.1" in released(cluster, "task", "fork", first, "-f")
    root = created(released(cluster, "task", "create", config(tmp_path, "sleep 1000")))
    child = created(released(cluster, "task", "create", config(tmp_path, "sleep 1000"), "-p", root, "--inherit_context"))
    for task in (root, child):
        wait_ready(cluster, task)
    assert released(cluster, "task", "pause", root) == f"Paused task: {root}\n"
    for task in (root, child):
        wait_state(cluster, task, "PAUSED")
    assert released(cluster, "task", "unpause", root) == f"Unpaused task: {root}\n"
    assert "preemption_timeout: 1" in released(cluster, "task", "config", root)
    assert root in released(cluster, "task", "list")
    assert released(cluster, "task", "kill", child, "--root") == f"Sucessfully killed task: {child}\n"
    for task in (root, child):
        wait_state(cluster, task, "CANCELED")
