"""det against a master that only answers: output, requests, errors and exit codes of each command."""
import base64
import hashlib
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import termios
import threading

import conftest
import pytest
from support.fake_master import clients as fake_master
from support.waiting import wait_for


def columns(table):
    return [[cell.strip() for cell in line.split("|")] for line in table.splitlines() if "|" in line]


# Logins


def test_the_library_starts_it_by_its_name_there(det):
    python = pathlib.Path(__file__).resolve().parents[2] / "python"
    done = det.run("-m", "determined.cli", "user", "whoami", program=sys.executable, PATH=str(conftest.BUILD), PYTHONPATH=str(python))
    assert done.stdout == det("user", "whoami") and done.returncode == 0, done.stderr


def test_login_is_kept_in_the_form_of_the_released_client(det, master):
    det("user", "whoami")
    store = json.loads((det.config / "auth.json").read_text())
    assert store == {"version": 2, "masters": {det.url: {"tokens": {"determined": fake_master.TOKEN}}}}
    assert (det.config / "auth.json").stat().st_mode & 0o777 == 0o600
    assert [path for _, path, _, _ in master.requests] == ["/info", "/api/v1/auth/login", "/api/v1/me"]


def test_login_asks_for_a_password_and_makes_the_user_active(det):
    done = det.run("user", "login", "determined", stdin=fake_master.PASSWORD + "\n", DET_USER=None, DET_PASS=None)
    assert done.returncode == 0, done.stderr
    assert "Password for user 'determined': " in done.stderr and fake_master.PASSWORD not in done.stdout + done.stderr
    store = json.loads((det.config / "auth.json").read_text())
    assert store["masters"][det.url]["active_user"] == "determined"
    assert det("user", "whoami", DET_USER=None, DET_PASS=None) == "You are logged in as user 'determined'\n"


def test_logout_drops_the_token_and_the_active_user(det, master):
    det.run("user", "login", "determined", stdin=fake_master.PASSWORD + "\n")
    det("user", "logout", DET_USER=None, DET_PASS=None)
    assert json.loads((det.config / "auth.json").read_text())["masters"][det.url] == {"tokens": {}}
    assert ("POST", "/api/v1/auth/logout") in [r[:2] for r in master.requests]


def test_stale_token_is_dropped_and_the_login_repeated(det, master):
    det.config.mkdir()
    (det.config / "auth.json").write_text(json.dumps({"version": 2, "masters": {det.url: {"tokens": {"determined": "stale"}}}}))
    det("user", "whoami")
    assert fake_master.TOKEN in (det.config / "auth.json").read_text()


def test_old_store_is_raised_and_a_broken_one_deleted(det):
    det.config.mkdir()
    (det.config / "auth.json").write_text(json.dumps({"version": 1, "masters": {"LOCALHOST:99": {"active_user": "a", "tokens": {"a": "t"}}}}))
    det("user", "whoami")
    store = json.loads((det.config / "auth.json").read_text())
    assert store["version"] == 2 and store["masters"]["http://localhost:99"] == {"active_user": "a", "tokens": {"a": "t"}}
    (det.config / "auth.json").write_text("nonsense")
    done = det.run("user", "whoami")
    assert done.returncode == 1 and "has been deleted" in done.stderr
    assert not (det.config / "auth.json").exists()


def test_without_any_login_it_says_what_to_do(det):
    done = det.run("agent", "list", DET_USER=None, DET_PASS=None)
    assert done.returncode == 1
    assert "Failed to list agents: Unauthenticated: please log in with 'det user login" in done.stderr


def test_wrong_password_is_an_error(det):
    done = det.run("user", "login", "determined", stdin="wrong\n")
    assert done.returncode == 1 and "wrong user name or password for 'determined'" in done.stderr


def test_token_of_a_task_is_used_as_it_is(det, master):
    det("user", "whoami", DET_PASS=None, DET_USER_TOKEN=fake_master.TOKEN)
    assert [path for _, path, _, _ in master.requests] == ["/info", "/api/v1/me"]


def test_password_prompt_does_not_echo_on_a_terminal(det):
    pid, terminal = pty.fork()
    if pid == 0:
        env = {**det.environment, "TERM": "dumb"}
        env.pop("DET_PASS")
        os.execve(conftest.BUILD / "det", ["det", "user", "login", "determined"], env)
    seen = b""
    while b"Password for user" not in seen:
        seen += os.read(terminal, 1000)
    wait_for("the terminal to be silent", lambda: not termios.tcgetattr(terminal)[3] & termios.ECHO)
    os.write(terminal, fake_master.PASSWORD.encode() + b"\n")
    try:
        while data := os.read(terminal, 1000):
            seen += data
    except OSError:
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert fake_master.PASSWORD.encode() not in seen


# Users


def test_user_create_sends_the_hashed_password(det, master):
    det("user", "create", "ada", "--admin", "--password", "Lovelace1")
    body = master.created[0]
    assert body["user"]["username"] == "ada" and body["user"]["admin"] is True and body["isHashed"] is True
    assert body["password"] == hashlib.sha512(b"GubPEmmotfiK9TMD6ZdwLovelace1").hexdigest()


def test_user_create_refuses_a_weak_password(det, master):
    done = det.run("user", "create", "ada", "--password", "weak")
    assert done.returncode == 1 and "at least 8 characters" in done.stderr and not master.created


def test_change_password_asks_twice_and_logs_in_again(det, master):
    done = det.run("user", "change-password", stdin=f"{fake_master.PASSWORD}\n{fake_master.PASSWORD}\n")
    assert done.returncode == 0, done.stderr
    assert master.patches[0]["password"] == fake_master.PASSWORD_HASH and master.patches[0]["isHashed"] is True
    assert json.loads((det.config / "auth.json").read_text())["masters"][det.url]["active_user"] == "determined"
    done = det.run("user", "change-password", stdin="One12345\nTwo12345\n")
    assert done.returncode == 1 and "Passwords do not match" in done.stderr


def test_user_edit_names_what_it_changed(det, master):
    assert det("user", "edit", "determined", "--active", "false", "--display-name", "D") == "Changes made to the following fields: Display Name, Active\n"
    assert master.patches[0]["active"] is False and master.patches[0]["displayName"] == "D" and master.patches[0].get("admin") is None
    done = det.run("user", "edit", "nobody", "--active", "no")
    assert done.returncode == 1 and "user 'nobody' not found" in done.stderr


LINK = "user link-with-agent-user determined --agent-uid 1001 --agent-user ann --agent-gid 1002 --agent-group staff"


def test_user_is_linked_with_an_account_of_the_agents(det, master):
    assert det(*LINK.split()) == ""
    assert master.requests[-1][:2] == ("PATCH", "/api/v1/users/2")
    assert {key: value for key, value in master.patches[0].items() if value} == {
        "agentUserGroup": {"agentUid": 1001, "agentUser": "ann", "agentGid": 1002, "agentGroup": "staff"}}


def test_link_with_an_account_is_refused_unless_it_is_whole(det, master):
    done = det.run(*LINK.split()[:-4])
    assert done.returncode == 2 and "the following arguments are required: --agent-gid, --agent-group" in done.stderr
    done = det.run(*LINK.replace("1001", "-1").split())
    assert done.returncode == 2 and "argument --agent-uid: must be at least 0, not '-1'" in done.stderr
    done = det.run(*LINK.replace("determined", "nobody").split())
    assert done.returncode == 1 and "user 'nobody' not found" in done.stderr
    master.failures["/api/v1/users/2"] = fake_master.Refusal(400, "uid 1001 may not write to /srv/checkpoints")
    assert "Failed to link a user with an account on the agents: uid 1001 may not" in det.run(*LINK.split()).stderr
    assert not master.patches


# Lists


def test_experiment_list_reads_all_pages_of_the_user(det, master):
    rows = columns(det("experiment", "list"))
    assert [row[0] for row in rows] == ["ID", "1", "2", "3"]
    assert rows[2][2:6] == ['a name, with "quotes"', "1", "RUNNING", "12.3%"]
    asked = [query for _, path, query, _ in master.requests if path == "/api/v1/experiments"]
    assert asked[0]["users"] == ["determined"] and asked[0]["archived"] == ["false"] and asked[1]["offset"] == ["2"]
    assert len(columns(det("e", "ls", "--pages", "1"))) == 3
    assert len(json.loads(det("e", "list", "--json"))) == 3
    det("e", "list", "-a")
    assert "users" not in master.requests[-1][2] and "archived" not in master.requests[-1][2]


def test_csv_has_carriage_returns(det, master):
    text = subprocess.run([conftest.BUILD / "det", "e", "list", "--csv"], capture_output=True, env=det.environment).stdout
    assert text.splitlines(keepends=True)[2].endswith(b"\r\n") and b'"a name, with ""quotes"""' in text


def test_slot_list_says_what_runs_where(det):
    rows = columns(det("slot", "list"))
    assert rows[1] == ["a", "default, gpu", "0", "True", "False", "FREE", "FREE", "cuda", "GPU"]
    assert rows[2][5:] == ["1.task-1.0", "Trial 1 (Experiment 1)", "cpu", "CPU × 2"]


def test_agent_and_slot_switches(det, master):
    assert det.run("agent", "disable", "b").stderr.endswith("Disabled agent b.\n")
    assert det.run("agent", "enable", "--all").stderr.endswith("Enabled agent a.\nEnabled agent b.\n")
    assert det("slot", "disable", "a", "0") == "Disabled slot 0 of agent a\n"
    assert "Tasks still in progress on draining nodes." in det("agent", "disable", "b", "--drain")
    assert "Agent b is labelled 'rack 3'." in det.run("agent", "label", "b", "rack 3").stderr
    assert "Agent b has no label any more." in det.run("agent", "label", "b", "").stderr
    assert [r[3] for r in master.requests if r[1] == "/api/v1/agents/b/label"] == [{"agentId": "b", "label": "rack 3"}, {"agentId": "b", "label": ""}]
    assert ("POST", "/api/v1/agents/a/slots/0/disable") in [r[:2] for r in master.requests]
    assert det.run("agent", "enable").returncode == 1


def test_job_list_cuts_ids_and_shows_names_as_they_are(det):
    rows = columns(det("job", "list"))
    assert rows[0][4] == "Priority" and rows[0][7] == "Status"
    assert rows[1][1:4] == ["01234567", "TYPE_EXPERIMENT", "digits"] and rows[1][5] == "2026-11-21 07:12:00+00:00"


def test_job_list_notes_below_the_table_why_jobs_wait(det):
    shown = det.run("job", "list")
    assert "none is free" not in shown.stdout
    [note] = [line for line in shown.stderr.splitlines() if line.startswith("fedcba98 ")]
    assert note == "fedcba98 needs 1 slot: none is free in pool default; may start at 2026-11-21 08:00:00+0000"
    assert "none is free" not in det.run("job", "list", "--csv").stderr
    summaries = [job["summary"] for job in json.loads(det("job", "list", "--json"))["jobs"]]
    assert [summary["reason"] for summary in summaries] == [None, "needs 1 slot: none is free in pool default"]


def test_json_is_sorted_and_has_null_for_what_is_absent(det):
    text = det("experiment", "describe", "1", "--json")
    document = json.loads(text)
    assert text == json.dumps(document, indent=2, sort_keys=True) + "\n"
    assert document[0]["experiment"]["externalExperimentId"] is None


@pytest.mark.parametrize("words", ["master info", "master config", "master logs", "workspace list", "project list Uncategorized", "resource-pool list",
                                   "task list", "user list", "version", "experiment config 1", "dev auth-token"])
def test_further_lists_answer(det, words):
    assert det(*words.split())


# Experiments


@pytest.mark.parametrize("verb, word", [("activate", "Activated"), ("pause", "Paused"), ("cancel", "Canceled"), ("kill", "Killed"),
                                        ("archive", "Archived"), ("unarchive", "Unarchived")])
def test_experiment_changes_of_state(det, master, verb, word):
    assert det("experiment", verb, 1) == f"{word} experiment 1\n"
    assert master.requests[-1][:2] == ("POST", f"/api/v1/experiments/1/{verb}")


def test_experiment_wait_tells_by_exit_code(det, master):
    assert det.run("e", "wait", 1, "--polling-interval", 0).returncode == 0
    master.states = ["STATE_ERROR"]
    assert det.run("e", "wait", 1).returncode == 1


def test_experiment_describe_writes_files(det, tmp_path):
    det("e", "describe", "1,7", "--metrics", "--outdir", tmp_path)
    assert (tmp_path / "trials.csv").read_text().count("Trial ID") == 1
    lines = (tmp_path / "workloads.csv").read_text().splitlines()
    assert lines[0] == ("Trial ID,# of Batches,State,Report Time,Training Metric: loss,Checkpoint State,Checkpoint Report Time,"
                        "Validation State,Validation Report Time,Validation Metric: accuracy")
    assert lines[2] == "1,100,,2026-11-21 07:12:52+0000,0.5,COMPLETED,2026-11-21 07:12:52+0000,COMPLETED,2026-11-21 07:12:51+0000,0.9625"


def test_labels_names_and_deletion(det, master):
    assert det("e", "label", "add", 1, "c") == "Added label 'c' to experiment 1\n"
    assert master.patches[-1]["labels"] == ["b", "a", "c"]
    det("e", "label", "remove", 1, "b")
    assert master.patches[-1]["labels"] == ["a"] and master.patches[-1]["name"] is None
    assert det("e", "set", "name", 1, "new") == "Set name of experiment 1 to 'new'\n"
    assert det("e", "delete", 1, stdin="n\n").endswith("Aborting experiment deletion.\n")
    assert det("e", "delete", 1, "--yes") == "Deletion of experiment 1 is in progress\n"


def test_download_model_def(det, tmp_path):
    det("e", "download-model-def", 1, "--output-dir", tmp_path)
    assert (tmp_path / "experiment_1_model_def.tgz").read_bytes() == b"hello world!"


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    (root / "pkg" / "__pycache__").mkdir(parents=True)
    (root / "config.yaml").write_text("name: digits  # a comment\nentrypoint: model_def:Digits\n")
    (root / "model_def.py").write_text("print('héllo')\n")
    (root / "pkg" / "a.py").write_text("")
    (root / "pkg" / "a.pyc").write_text("x")
    (root / "pkg" / "__pycache__" / "b.txt").write_text("x")
    (root / "data.bin").write_bytes(bytes(range(256)) * 1000)
    (root / "notes.txt").write_text("x")
    (root / ".detignore").write_text("*.txt\n")
    return root


def test_create_sends_configuration_and_files(det, master, project):
    out = det("experiment", "create", project / "config.yaml", project)
    assert out.endswith("Created experiment 7\n")
    body = master.created[0]
    assert body["config"] == (project / "config.yaml").read_text() and body["activate"] is True
    files = {f["path"]: f for f in body["modelDefinition"]}
    assert list(files) == ["pkg", "config.yaml", "data.bin", "model_def.py", "pkg/a.py"]
    assert files["pkg"]["type"] == 53 and files["model_def.py"]["type"] == 48
    assert base64.b64decode(files["data.bin"]["content"]) == (project / "data.bin").read_bytes()
    assert files["model_def.py"]["mode"] == (project / "model_def.py").stat().st_mode
    assert files["model_def.py"]["mtime"] == str(int((project / "model_def.py").stat().st_mtime))


def test_create_with_options(det, master, project, tmp_path):
    extra = tmp_path / "extra"
    extra.mkdir()
    (extra / "x").write_text("1")
    det("e", "create", project / "config.yaml", "-i", extra, "-i", project / "data.bin", "--config", "resources.slots_per_trial=2", "--config", "labels=a,b",
        "--paused", "--project_id", 5, "--template", "t")
    body = master.created[0]
    assert body["activate"] is False and body["projectId"] == 5 and body["template"] == "t"
    assert [f["path"] for f in body["modelDefinition"]] == ["extra", "extra/x", "data.bin"]
    assert body["config"] == "entrypoint: model_def:Digits\nlabels:\n- a\n- b\nname: digits\nresources:\n  slots_per_trial: 2\n"


def test_create_follows_the_first_trial(det, project):
    out = det("e", "create", project / "config.yaml", "-f")
    assert "Waiting for first trial to begin...\nFollowing first trial with ID 1\n[2026" in out
    assert out.endswith("line 5\nTrial log stream ended. To reopen log stream, run: det trial logs -f 1\n")


def test_create_refuses_what_it_cannot_send(det, master, project, tmp_path):
    with open(project / "big", "wb") as f:
        f.truncate(96 << 20)
    assert "maximum allowed size" in det.run("e", "create", project / "config.yaml", project).stderr
    assert "non-existent-path' doesn't exist" in det.run("e", "create", project / "config.yaml", tmp_path / "non-existent-path").stderr
    missing = det.run("e", "create", tmp_path / "none.yaml")
    assert missing.returncode == 2 and "No such file or directory" in missing.stderr
    (project / "bad.yaml").write_text("a: [1\nb: 2\n")
    assert "bad.yaml:2:2: " in det.run("e", "create", project / "bad.yaml").stderr
    (project / "list.yaml").write_text("- a\n")
    assert det.run("e", "create", project / "list.yaml").returncode == 2
    (project / "big").unlink()
    assert "duplicate path detected" in det.run("e", "create", project / "config.yaml", project, "-i", project / "pkg").stderr
    assert not master.created


def test_links_are_followed_for_files_only(det, master, project):
    (project / "link.py").symlink_to(project / "model_def.py")
    (project / "loop").symlink_to(project)
    (project / "nowhere").symlink_to(project / "gone")
    out = det("e", "create", project / "config.yaml", project)
    files = {f["path"]: f for f in master.created[0]["modelDefinition"]}
    assert base64.b64decode(files["link.py"]["content"]) == (project / "model_def.py").read_bytes()
    assert files["loop"]["type"] == 53 and not any(path.startswith("loop/") for path in files)
    assert "Skipped" in out and "nowhere" in out


# Trials, logs, checkpoints


def test_logs_from_the_front_the_end_and_filtered(det, master):
    assert det("trial", "logs", 1, "--tail", 2).splitlines()[:2] == [line["message"].rstrip("\n") for line in master.lines[-2:]]
    assert "line 1" in det("experiment", "logs", 1, "--head", 1)
    det("task", "logs", "1.task-1", "--level", "WARNING", "--rank-id", 0, "--rank-id", 3, "--timestamp-after", "2026-11-21T07:12:03Z", "--source", "a b")
    query = master.requests[-1][2]
    assert query["levels"] == ["LOG_LEVEL_WARNING", "LOG_LEVEL_ERROR", "LOG_LEVEL_CRITICAL"] and query["rankIds"] == ["0", "3"]
    assert query["timestampAfter"] == ["2026-11-21T07:12:03Z"] and query["sources"] == ["a b"]
    assert json.loads(det("trial", "logs", 1, "--head", 1, "--json").rsplit("Trial log", 1)[0])["rankId"] is None


def test_followed_logs_survive_a_dropped_connection(det, master):
    master.drop_after = 3
    out = det("trial", "logs", 1, "-f")
    assert [line.split("INFO: ")[1] for line in out.splitlines() if "INFO" in line] == [f"line {i}" for i in range(1, 6)]


def test_trial_describe_and_kill(det, master):
    master.trial_state = "STATE_RUNNING"
    assert det("trial", "kill", 1, 2) == "Killed trial 1\nKilled trial 2\n"
    master.trial_state = "STATE_COMPLETED"
    assert det("trial", "kill", 1) == "Trial 1 has ended already (COMPLETED); nothing was changed\n"
    assert '"width": 3' in det("trial", "describe", 1)
    assert len(json.loads(det("trial", "describe", 1, "--json"))["workloads"]) == 4


def test_checkpoints_are_listed_and_downloaded(det, master, tmp_path):
    source = tmp_path / "storage" / fake_master.CHECKPOINT / "sub"
    source.mkdir(parents=True)
    (source / "weights").write_bytes(b"w" * 100000)
    rows = columns(det("experiment", "list-checkpoints", 1))
    assert rows[1][:5] == ["1", "100", "COMPLETED", "0.9625", fake_master.CHECKPOINT] and rows[1][6] == "2.0KB"
    assert rows == columns(det("trial", "list-checkpoints", 1)) == columns(det("checkpoint", "list", 1))
    assert det("trial", "download", 1, "--latest", "-q", "-o", tmp_path / "got") == f"{tmp_path}/got\n"
    assert (tmp_path / "got" / "sub" / "weights").read_bytes() == b"w" * 100000
    assert json.loads((tmp_path / "got" / "metadata.json").read_text())["steps_completed"] == 100
    assert det("checkpoint", "download", fake_master.CHECKPOINT, "-o", tmp_path / "got2").startswith(f"Local checkpoint path:\n{tmp_path}/got2 \n")
    assert "not found" in det.run("checkpoint", "describe", "nonsense").stderr


def test_checkpoint_that_is_elsewhere_is_an_error(det):
    done = det.run("checkpoint", "download", fake_master.CHECKPOINT)
    assert done.returncode == 1 and "mount the storage" in done.stderr


# Errors


def test_errors_of_the_master_are_told_with_the_command(det, master):
    done = det.run("e", "describe", 99)
    assert done.returncode == 1 and "Failed to describe experiments: experiment '99' not found" in done.stderr and done.stdout == ""
    master.failures["/api/v1/agents"] = fake_master.Refusal(403, "no")
    assert "Forbidden(no): Please contact your administrator" in det.run("agent", "list").stderr
    master.failures["/api/v1/agents"] = fake_master.Refusal(500, "broken")
    assert "Failed to list agents: broken" in det.run("agent", "list").stderr


def test_master_that_restarts_is_asked_again(det, master):
    master.failures["/api/v1/agents"] = fake_master.Refusal(503, "starting")
    threading.Timer(0.3, master.failures.clear).start()
    assert "default" in det("agent", "list")


def test_no_master(det, tmp_path):
    done = det.run("agent", "list", DET_MASTER="http://127.0.0.1:1")
    assert done.returncode == 1 and "Master not found at http://127.0.0.1:1." in done.stderr


@pytest.mark.parametrize("version, said", [
    ("999.0.1", "is 999.0.1, newer than this det, which is"), ("0.0.9", "is 0.0.9, older than this det, which is"),
    ("nightly", "the master is nightly: consider bringing both to the same version"),
    (None, "is release 0.38.1 of the predecessor, this is det"),
])
def test_master_of_another_version_is_told_and_asked(det, master, version, said):
    master.program_version = version
    done = det.run("user", "whoami")
    assert done.returncode == 0 and said in done.stderr and "You are logged in" in done.stdout


def test_master_of_the_same_version_is_not_mentioned(det, master):
    master.program_version = det("--version").split()[1]
    assert det.run("user", "whoami").stderr == ""


@pytest.mark.parametrize("status, said", [
    (404, "something else answers there (GET /info has status 404, and no version of a master). Look at the address, which is from DET_MASTER."),
    (503, "is not ready: GET /info is answered with status 503"),
])
def test_what_is_no_master_is_told_from_one_that_is_not_there(det, master, status, said):
    master.failures["/"] = fake_master.Refusal(status, "no")
    done = det.run("dev", "auth-token")
    assert done.returncode == 1 and said in done.stderr and "Master not found" not in done.stderr and "version" not in done.stderr.replace(said, "")


def test_planned_commands_say_so(det, master):
    rows = json.loads((pathlib.Path(__file__).parents[2] / "contract" / "cli.json").read_text())["commands"]
    planned = [row["path"] for row in rows if not row.get("served") and not row.get("args")
               and not any(other["path"].startswith(f"{row['path']} ".lstrip()) for other in rows if other is not row)]
    if not planned:
        pytest.skip("no command is planned any more")
    done = det.run(*planned[0].split())
    assert done.returncode == 1 and f"'det {planned[0]}' is planned" in done.stderr and not master.requests


def test_help_and_version_need_no_master(det):
    for words in ([], ["--help"], ["trial"], ["e", "create", "-h"], ["experiment", "help"], ["deploy", "local", "cluster-up", "--help"]):
        assert det(*words, DET_MASTER="http://127.0.0.1:1").startswith("usage: det")
    assert det("--version").startswith("det ")


def test_output_into_a_closed_pipe_ends_quietly(det):
    done = subprocess.run(f"{conftest.BUILD / 'det'} e list | true", shell=True, env=det.environment, capture_output=True, text=True)
    assert done.stderr.count("\n") <= 1


# Certificates


def test_unknown_certificate_is_shown_and_accepted_once(det, tls_server):
    url = tls_server.url.replace("127.0.0.1", "localhost")
    refused = det.run("user", "whoami", DET_MASTER=url, stdin="n\n")
    assert refused.returncode == 1 and "could not be verified" in refused.stderr
    digest = subprocess.run(["openssl", "x509", "-noout", "-fingerprint", "-sha256", "-in", tls_server.certificate[0]], capture_output=True, text=True).stdout
    assert digest.strip().split("=")[1].lower() in refused.stdout
    assert "You are logged in" in det("user", "whoami", DET_MASTER=url, stdin="y\n")
    assert det("user", "whoami", DET_MASTER=url) == "You are logged in as user 'determined'\n"
    assert list(json.loads((det.config / "certs.json").read_text())) == [url]


def test_certificate_file_or_noverify_by_environment(det, tls_server):
    url = tls_server.url.replace("127.0.0.1", "localhost")
    assert det("user", "whoami", DET_MASTER=url, DET_MASTER_CERT_FILE=str(tls_server.certificate[0]))
    assert det("user", "whoami", DET_MASTER=url, DET_MASTER_CERT_FILE="NoVerify")
    wrong = det.run("user", "whoami", DET_MASTER=url, DET_MASTER_CERT_FILE="/etc/hostname")
    assert wrong.returncode == 1 and not (det.config / "certs.json").exists()


# On a terminal


def test_large_upload_shows_its_progress_on_a_terminal_only(det, project):
    (project / "data.bin").write_bytes(os.urandom(8 << 20))
    ours, theirs = pty.openpty()
    command = [conftest.BUILD / "det", "experiment", "create", project / "config.yaml", project]
    done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=det.environment)
    os.close(theirs)
    seen = b""
    try:
        while data := os.read(ours, 10000):
            seen += data
    except OSError:
        pass
    assert b"Created experiment 7" in done.communicate()[0] and done.returncode == 0
    assert b"Uploading [" in seen and b"100% of 10.7MB" in seen
    assert "Uploading" not in det.run("experiment", "create", project / "config.yaml", project).stderr


def test_interrupt_has_its_own_exit_code(det, master):
    master.states = ["STATE_RUNNING"]
    waiting = subprocess.Popen([conftest.BUILD / "det", "experiment", "wait", "1"], stderr=subprocess.PIPE, env=det.environment)
    wait_for("its first question", lambda: any(path == "/api/v1/experiments/1" for _, path, _, _ in master.requests))
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait() == 3
