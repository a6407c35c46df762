"""det command run, notebook start, tensorboard start: what is sent, what is waited for, what is said."""
import json
import os
import signal
import subprocess
import threading

import conftest
import pytest
from support.fake_master import clients as fake_master
from support.fake_master.launched import ID, NEW, OTHER, allocation, paths
from support.fake_master.messages import message
from support.waiting import wait_for
from test_terminal import Terminal

ENDED = {"endTime": "2026-11-21T07:13:00Z"}


@pytest.fixture
def finished(master):
    """Commands end by themselves, with status 0."""
    master.looks = [{**ENDED, "allocations": [allocation(statusCode=0)]}]
    return master


@pytest.fixture
def project(tmp_path):
    directory = tmp_path / "project"
    (directory / "sub").mkdir(parents=True)
    (directory / "main.py").write_text("print(1)\n")
    (directory / ".detignore").write_text("*.log\n")
    (directory / "run.log").write_text("no\n")
    return directory


# What is sent


def test_a_command_is_launched_and_followed(det, finished):
    lines = det("cmd", "run", "echo", "-n", "a b").splitlines()
    assert lines[0] == f"Launched command (id: {NEW}, name: Command (quick-fox))." and "line 1" in lines[1]
    assert lines[-1] == f"Task log stream ended. To reopen log stream, run: det task logs -f {NEW}"
    assert finished.created == [{"config": {"entrypoint": ["echo", "-n", "a b"]}}]
    follow = [q for _, path, q, _ in finished.requests if path == f"/api/v1/tasks/{NEW}/logs"]
    assert follow == [{"follow": ["true"]}]


def test_files_and_options_make_the_request(det, finished, project, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("description: from file\nresources:\n  slots: 3\nbind_mounts:\n- {host_path: /a, container_path: /b}\n")
    included = tmp_path / "data.txt"
    included.write_text("data")
    out = det("command", "run", "-c", project, "-i", included, "--config-file", config, "--config", "resources.slots=1", "-v", "/x:/y",
              "--template", "base", "-w", "Uncategorized", "python3", "main.py", "--epochs", "3")
    sent = finished.created[0]
    assert sent["config"] == {"description": "from file", "resources": {"slots": 1}, "entrypoint": ["python3", "main.py", "--epochs", "3"],
                              "bind_mounts": [{"host_path": "/a", "container_path": "/b"}, {"host_path": "/x", "container_path": "/y"}]}
    assert sent["templateName"] == "base" and sent["workspaceId"] == 1
    assert [f["path"] for f in sent["files"]] == ["sub", "main.py", "data.txt"]
    assert out.splitlines()[0] == "Preparing files to send to master... 15.0B and 3 files"


def test_the_entrypoint_of_the_configuration_wins(det, finished, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("entrypoint: ./run.sh\n")
    det("command", "run", "--config-file", config, "ignored")
    det("command", "run", "--config", "entrypoint=hostname -f")
    det("command", "run", "--template", "base")  # perhaps the template has one
    assert [c["config"].get("entrypoint") for c in finished.created] == ["./run.sh", "hostname -f", None]


def test_detach_prints_the_id_alone(det, master, project):
    for words in ("command run -d -c {} true", "notebook start -d -c {}", "shell start -d -c {}", "tensorboard start -d -c {} 7"):
        assert det(*words.format(project).split()) == f"{NEW}\n"


def test_a_tensorboard_needs_experiments_or_trials(det, master):
    done = det.run("tensorboard", "start")
    assert done.returncode == 2 and "Either experiment_ids or trial_ids must be specified" in done.stderr and not master.created
    det("tensorboard", "start", 7, 8, "-t", 41, 42, "-d")
    assert master.created == [{"config": {}, "experimentIds": [7, 8], "trialIds": [41, 42]}]


def test_preview_starts_nothing(det, master):
    assert det("notebook", "start", "--preview", "--config", "resources.slots=2") == "entrypoint:\n- sleep\n- '1'\nresources:\n  slots: 0\n\n"
    assert master.created == [{"config": {"resources": {"slots": 2}}, "preview": True}]


@pytest.mark.parametrize("words, status, said", [
    ("command run", 2, "name what to run"),
    ("command run -c /nonexistent true", 1, "Path '/nonexistent' doesn't exist"),
    ("command run -c /etc/hostname true", 1, "context path '/etc/hostname' must be a directory; a single file can be sent with --include"),
    ("command run -i /nonexistent true", 1, "Path '/nonexistent' doesn't exist"),
    ("command run -v /data true", 2, "--volume /data: expected HOST_PATH:CONTAINER_PATH"),
    ("command run -v :/data true", 2, "--volume :/data: expected HOST_PATH:CONTAINER_PATH"),
    ("command run --config bind_mounts=x -v /a:/b true", 0, ""),  # a single value is made a list
    ("command run --config novalue true", 1, "expected key=value"),
    ("command run --config-file /nonexistent true", 2, "can't open '/nonexistent'"),
    ("command run -w nowhere true", 1, "workspace 'nowhere' not found"),
    ("notebook start -c /nonexistent", 1, "Path '/nonexistent' doesn't exist"),
    ("tensorboard start x", 2, "invalid int value: 'x'"),
])
def test_mistakes(det, finished, words, status, said):
    done = det.run(*words.split())
    assert done.returncode == status and said in done.stderr, done
    assert status == 0 or not finished.created


@pytest.mark.parametrize("text, said", [
    ("resources: {slots: 1\n", "broken.yaml:2:1: "), ("- a list\n", "invalid config file"), ("a: 1\na: 2\n", "broken.yaml:2:")])
def test_broken_yaml_is_told_with_its_place(det, master, tmp_path, text, said):
    path = tmp_path / "broken.yaml"
    path.write_text(text)
    for words in ("command run", "notebook start", "shell start", "tensorboard start 7"):
        done = det.run(*words.split()[:2], "--config-file", path, *words.split()[2:], *(["true"] if "run" in words else []))
        assert done.returncode in (1, 2) and said in done.stderr and not master.created


def test_the_masters_mistakes_are_told_with_their_place(det, master, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("resources:\n  slots: -3\n")
    master.failures["/api/v1/commands"] = fake_master.Refusal(400, "<config>.resources.slots: must be at least 0, found -3")
    done = det.run("command", "run", "--config-file", path, "true")
    assert done.returncode == 1 and f"{path}:2:10: <config>.resources.slots: must be at least 0" in done.stderr


def test_a_context_over_the_limit_is_not_sent(det, master, tmp_path):
    big = tmp_path / "big"
    big.mkdir()
    with open(big / "file", "wb") as f:
        f.truncate(100_000_000)
    done = det.run("command", "run", "-c", big, "true")
    assert done.returncode == 1 and "exceed the maximum allowed size of 95.0MB" in done.stderr and not master.created


def test_warnings_go_to_stderr(det, finished):
    finished.launch_more = {"warnings": ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"], "configWarnings": ["shm_size has no effect: tasks are processes"]}
    done = det.run("command", "run", "true")
    assert "Warning: shm_size has no effect: tasks are processes.\n" in done.stderr
    assert "Warning: no agent of its resource pool can hold this command now; it waits for one that can." in done.stderr
    assert "Warning" not in done.stdout


# How it ends


@pytest.mark.parametrize("more, status, said", [
    ({"statusCode": 0}, 0, ""), ({"statusCode": 3, "exitReason": "resources failed with non-zero exit code: 3"}, 3, ""), ({"statusCode": 137}, 137, ""),
    ({"exitReason": "the agent a7 is lost"}, 1, f"command {NEW} did not run to its end: the agent a7 is lost"),
    ({}, 1, f"command {NEW} did not run to its end"),
])
def test_the_status_of_the_command_is_that_of_det(det, master, more, status, said):
    master.looks = [{"allocations": [allocation()]}, {**ENDED, "allocations": [allocation(**more)]}]  # the log's end comes a little earlier
    done = det.run("command", "run", "true")
    assert done.returncode == status and said in done.stderr, done


def test_the_last_allocation_counts(det, master):
    master.looks = [{**ENDED, "allocations": [allocation(number=10, statusCode=4), allocation(number=9, statusCode=0)]}]
    assert det.run("command", "run", "true").returncode == 4


@pytest.mark.parametrize("words, path, hint", [
    ("command run sleep 99", f"/api/v1/tasks/{NEW}/logs", f"To reopen the log stream, run: det task logs -f {NEW}; to end it: det command kill {NEW}"),
    ("notebook start", f"/api/v1/tasks/{NEW}", f"The notebook goes on. To open it later, run: det notebook open {NEW}; to end it: det notebook kill {NEW}"),
    (f"shell logs -f {ID}", f"/api/v1/tasks/{ID}/logs", f"to end it: det shell kill {ID}"),
])
def test_an_interrupted_command_says_how_to_go_on(det, master, words, path, hint):
    master.stall = threading.Event()
    master.looks = [{"allocations": []}]
    running = subprocess.Popen([conftest.BUILD / "det", *words.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=det.environment, text=True)
    wait_for("the request", lambda: len(paths(master, path)) > ("start" in words))
    wait_for("its first words", lambda: running.stdout.readline())
    running.send_signal(signal.SIGINT)
    assert hint in running.communicate()[1] and running.returncode == 3
    master.stall.set()


# Until it is ready


def test_a_notebook_is_waited_for_and_its_address_printed(det, master):
    master.looks = [{"allocations": []}, {"allocations": [allocation(isReady=False)]}, {"allocations": [allocation(isReady=True)]}]
    url = f"{master.url}/proxy/{NEW}/?token=T"
    assert det("notebook", "start", "--no-browser").splitlines() == [
        f"Launched notebook (id: {NEW}, name: Notebook (quick-fox)).", "Waiting for notebook to become ready", f"notebook (id: {NEW}) is ready.",
        f"Jupyter Notebook is running at: {url}", f"Connect to remote Jupyter server: {url}"]


def test_a_pipe_is_told_states_and_reasons_once(det, master):
    master.every_launched["notebooks"][0].update(state="STATE_QUEUED", jobId="fedcba9876543210")
    master.looks = [{"allocations": []}] * 30 + [{"allocations": [allocation(isReady=True)]}]
    done = det.run("notebook", "open", ID, "--no-browser")
    assert done.stderr.count("Notebook is QUEUED: needs 1 slot: none is free in pool default\n") == 1, done.stderr


def test_a_terminal_sees_the_newest_line_of_the_log(det, master):
    master.version = subprocess.run([conftest.BUILD / "det", "--version"], capture_output=True, text=True).stdout.split()[1]
    master.every_launched["notebooks"][0]["state"] = "STATE_STARTING"
    line = message("api.v1.TaskLogsResponse", id="9", taskId=ID, log="still installing \x1b[2Jjupyterlab\n", message="m", timestamp="2026-11-21T07:12:01Z")
    master.lines = [line]
    master.looks = [{"allocations": []}]
    shown = Terminal(det, "notebook", "open", ID, "--no-browser", columns=60)
    shown.wait_for("Notebook is STARTING · still installing [2Jjupyterlab")
    master.looks = [{"allocations": [allocation(isReady=True)]}]
    text = shown.end()
    assert "\x1b[2J" not in shown.seen.decode() and f"notebook (id: {ID}) is ready." in text and shown.status == 0


def test_a_task_that_ends_while_it_is_opened(det, master):
    master.looks = [{"allocations": []}, {"allocations": [], **ENDED}]
    master.every_launched["tensorboards"][2]["exitStatus"] = "no such experiment"
    done = det.run("tensorboard", "open", OTHER)
    assert done.returncode == 1
    assert f"TensorBoard {OTHER} has ended before it was ready: no such experiment; its whole log: det tensorboard logs {OTHER}" in done.stderr
    assert [line.split("INFO: ")[1] for line in done.stderr.splitlines() if "INFO" in line] == [f"line {n}" for n in range(1, 6)]


def test_a_master_that_restarts_is_waited_for(det, master):
    master.looks = [{"allocations": []}] * 3
    running = subprocess.Popen([conftest.BUILD / "det", "notebook", "open", ID, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=det.environment, text=True)
    wait_for("its first look", lambda: paths(master, f"/api/v1/tasks/{ID}"))
    master.failures["/api/v1/tasks/"] = fake_master.Refusal(503, "starting")
    before = len(paths(master, f"/api/v1/tasks/{ID}"))
    wait_for("a look in vain", lambda: len(paths(master, f"/api/v1/tasks/{ID}")) > before)
    master.failures.clear()
    master.looks = [{"allocations": [allocation(isReady=True)]}]
    out, err = running.communicate()
    assert running.returncode == 0 and "is running at" in out, err


# The address


def test_a_port_that_answers_a_little_later(det, master):
    master.port_statuses = [502, 502, 200]
    assert "Tensorboard is running at: " in det("tensorboard", "open", ID, "--no-browser")


def test_a_port_that_never_answers(det, master):
    master.port_statuses = [502]
    done = det.run("notebook", "open", ID)
    assert done.returncode == 1 and "is running at" not in done.stdout
    assert f"Notebook {ID} says that it is ready, but nothing answers at its port: connection refused." in done.stderr


def test_the_browser_gets_the_address(det, master, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/opened.new && mv {tmp_path}/opened.new {tmp_path}/opened\n')
    browser.chmod(0o755)
    opened = tmp_path / "opened"
    url = f"{master.url}/proxy/{ID}/"
    det("tensorboard", "open", ID, BROWSER=f"/nonexistent/browser:{browser} --new-window")
    assert wait_for("the browser", lambda: opened.exists() and opened.read_text()) == f"--new-window\n{url}\n"
    opened.unlink()
    det("tensorboard", "open", ID, BROWSER=f"{browser} --url=%s -x")
    assert wait_for("the browser", lambda: opened.exists() and opened.read_text()) == f"--url={url}\n-x\n"
    opened.unlink()
    det("tensorboard", "open", ID, "--no-browser", BROWSER=str(browser))
    done = det.run("tensorboard", "open", ID)
    assert done.returncode == 0 and "There is no browser here; open the address in yours." in done.stderr and not opened.exists()


@pytest.mark.parametrize("words", ["command run true", "notebook start", "shell start", "tensorboard start 7", f"notebook open {ID}", "command list"])
def test_wrong_masters(det, words):
    done = det.run(*words.split(), DET_MASTER="http://127.0.0.1:1")
    assert done.returncode == 1 and "Master not found at http://127.0.0.1:1" in done.stderr
    done = det.run(*words.split(), DET_MASTER="ftp://master")
    assert done.returncode == 2 and "a master speaks http:// or https://, not ftp://" in done.stderr


def test_the_request_is_json_that_others_read(det, finished, project):
    """Names and texts with everything that has to be escaped."""
    (project / 'a "quoted" name').write_bytes(bytes(range(256)))
    det("command", "run", "-c", project, "--template", 'base"x', 'printf "%s\n"', "größer")
    sent = json.loads(json.dumps(finished.created[0]))
    assert sent["templateName"] == 'base"x' and sent["config"]["entrypoint"] == ['printf "%s\n"', "größer"]
    assert 'a "quoted" name' in [f["path"] for f in sent["files"]]
    assert os.listdir(project)
