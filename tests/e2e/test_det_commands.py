"""det command run and its relatives against a real master and agent: files, output, statuses, Ctrl-C, the queue, and the released client."""
import json
import re
import signal
import subprocess

import pytest
from support.cluster import BUILD, TIMEOUT_S
from support.det import RELEASED, det, environment, run_det
from support.waiting import wait_for


def launched_id(text):
    return re.search(r"Launched \w+ \(id: (.*), name: .*\)", text)[1]


def zero_slots(*words):
    return ["command", "run", "--config", "resources.slots=0", *words]


def test_output_and_status_come_back(cluster):
    done = run_det(cluster, *zero_slots("sh", "-c", "echo out; echo err >&2; exit 3"))
    lines = done.stdout.splitlines()
    assert done.returncode == 3 and lines[0].startswith("Launched command (id: "), done
    assert any(line.endswith("|| INFO: out") or line.endswith(" out") for line in lines) and any(line.endswith("err") for line in lines), done.stdout
    task = launched_id(done.stdout)
    assert lines[-1] == f"Task log stream ended. To reopen log stream, run: det task logs -f {task}"
    row = json.loads(det(cluster, "command", "describe", task[:13], "--json"))
    assert row["state"] == "TERMINATED" and row["exitStatus"] and row["workspaceName"] == "Uncategorized"
    assert run_det(cluster, *zero_slots("true")).returncode == 0


def test_files_arrive(cluster, tmp_path):
    context = tmp_path / "context"
    (context / "sub").mkdir(parents=True)
    (context / "sub" / "run.sh").write_text("#!/bin/sh\ncat data.txt; exit 4\n")
    (context / "sub" / "run.sh").chmod(0o755)
    (tmp_path / "data.txt").write_text("größer\n")
    done = run_det(cluster, *zero_slots("-c", str(context), "-i", str(tmp_path / "data.txt"), "sub/run.sh"))
    assert done.returncode == 4 and "größer" in done.stdout, done


def test_a_killed_command_is_told_so(cluster, tmp_path):
    with open(tmp_path / "out", "wb") as out:
        running = subprocess.Popen([BUILD / "det", *zero_slots("sh", "-c", "echo begun; sleep 600")], stdout=out, stderr=subprocess.PIPE,
                                   env=environment(cluster), text=True)
    wait_for("the command", lambda: "begun" in (tmp_path / "out").read_text())
    task = launched_id((tmp_path / "out").read_text())
    assert task in det(cluster, "cmd", "list", "-q").split() and task in det(cluster, "complete-ids", "command").split()
    assert det(cluster, "command", "kill", task) == f"Killed command {task}\n"
    err = running.communicate(timeout=TIMEOUT_S)[1]
    assert running.returncode != 0, err
    assert det(cluster, "command", "kill", task) == f"Killed command {task}\n"  # again: nothing happens
    assert task not in det(cluster, "complete-ids", "command").split()


def test_control_c_leaves_the_command_running(cluster, tmp_path):
    with open(tmp_path / "out", "wb") as out:
        running = subprocess.Popen([BUILD / "det", *zero_slots("sh", "-c", "echo begun; sleep 600")], stdout=out, stderr=subprocess.PIPE,
                                   env=environment(cluster), text=True)
    wait_for("the command", lambda: "begun" in (tmp_path / "out").read_text())
    task = launched_id((tmp_path / "out").read_text())
    running.send_signal(signal.SIGINT)
    assert f"to end it: det command kill {task}" in running.communicate(timeout=TIMEOUT_S)[1] and running.returncode == 3
    assert json.loads(det(cluster, "command", "describe", task, "--json"))["state"] == "RUNNING"
    det(cluster, "command", "kill", task)


def test_one_that_waits_can_be_moved_and_killed(cluster):
    task = det(cluster, "command", "run", "-d", "--config", "resources.slots=2", "sleep", "600").strip()
    other = det(cluster, "command", "run", "-d", "--config", "resources.slots=2", "sleep", "600").strip()
    assert det(cluster, "command", "set", "priority", other, 30) == f"Set priority of command {other} to 30\n"
    assert run_det(cluster, "command", "set", "priority", other, 1000).returncode == 1
    assert det(cluster, "cmd", "kill", task, other).count("Killed command") == 2


@pytest.mark.parametrize("words, status, said", [
    (["--config", "resources.slots=x", "true"], 1, "resources.slots"), (["--config", "nonsense=1", "true"], 1, "nonsense"),
    (["--template", "none", "true"], 1, "none"), (["--config", "resources.resource_pool=nowhere", "true"], 1, "nowhere"),
])
def test_what_the_master_refuses(cluster, words, status, said):
    done = run_det(cluster, "command", "run", *words)
    assert done.returncode == status and said in done.stderr and "Launched" not in done.stdout, done


def test_the_released_client_does_the_same(cluster):
    if not RELEASED.is_file():
        pytest.skip("the released client is not installed (.venv-compat)")

    def released(*words):
        return subprocess.run([RELEASED, *words], env=environment(cluster), capture_output=True, text=True, timeout=TIMEOUT_S)

    done = released(*zero_slots("echo", "from 0.38.1"))
    assert done.returncode == 0 and "from 0.38.1" in done.stdout, done
    task = launched_id(done.stdout)
    for words in (["list"], ["list", "--csv"], ["describe", task], ["describe", task, "--json"]):
        assert released("command", *words).stdout == det(cluster, "command", *words), words
    # the released det breaks long texts of YAML into lines
    assert released("command", "config", task[:20]).stdout.split() == det(cluster, "command", "config", task[:20]).split()
    assert released("command", "kill", task).stdout == f"Killed command {task}\n"
