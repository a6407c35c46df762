"""Tests determined-agent with a master that can be told to misbehave: tasks, storing logs exactly once, restarts, refusals."""

import json
import os
import pathlib
import signal
import tarfile
import tempfile
import time

import pytest
from support.fake_master import agents
from support.fake_master.agents import Agent
from support.machine_pids import machine_pids  # noqa: F401
from support.processes import alive
from support.waiting import wait_for

ROOT = os.geteuid() == 0


@pytest.fixture
def agent(master, place):
    a = Agent(master, place / "agent").start()
    master.wait_agent()
    yield a
    for container in list(master.expected):
        if container not in master.done and master.connection:
            master.ack_states = master.ack_logs = True
            master.signal(container, signal.SIGKILL)
            master.finish(container)
    if a.process.poll() is None:
        assert a.kill(signal.SIGTERM) == 0, a.log_text()


# ---- registration --------------------------------------------------------------------------------------------------------


def test_agent_says_who_it_is_and_what_it_has(master, agent):
    query, hello = master.hellos[0]
    assert query["id"] == "a1" and query["resource_pool"] == "default" and query["version"] and query["hostname"]
    (device,) = hello["devices"]
    assert device["id"] == 0 and device["type"] == "TYPE_CPU" and device["brand"].endswith("cores") and device["uuid"]
    assert (hello["agentId"], hello["containerRuntime"], hello["tasks"]) == ("a1", "auto", [])


def test_an_agent_of_another_version_than_the_master_says_so_once_and_goes_on(master, agent):
    wait_for("the link", lambda: "link.up" in agent.log_text())
    assert agent.log_text().replace('"', "").count("link.version master=0 agent=") == 1


def test_artificial_slots_are_offered_as_so_many_devices(master, place):
    a = Agent(master, place / "agent", artificial_slots=5).start()
    master.wait_agent()
    assert [d["id"] for d in master.hellos[0][1]["devices"]] == [0, 1, 2, 3, 4]
    a.kill(signal.SIGTERM)


@pytest.mark.parametrize("keys, words", [
    ({"slot_type": "cuda"}, ["cuda", "no such device"]),
    ({"container_runtime": "rkt"}, ["rkt", "process", "docker", "podman", "apptainer", "singularity", "auto"]),
    ({"master_host": ""}, ["master host must be provided"]),
    ({"token_file": "/no/such/token", "token": None}, ["token_file", "/no/such/token"]),
    ({"no_such_key": 1}, ["no_such_key"]),
])
def test_a_configuration_that_cannot_work_is_refused_with_a_sentence(master, place, keys, words):
    a = Agent(master, place / "agent", **keys).start()
    assert a.process.wait(60) != 0
    for word in words:
        assert word in a.log_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes directories in /run")
def test_the_mount_point_of_tasks_is_made_once_and_not_for_each_task(agent):
    assert os.path.isdir("/run/determined")


def test_two_agents_do_not_share_a_run_root(master, agent, place):
    other = Agent(master, place / "other", run_root=str(agent.root / "tasks")).start()
    assert other.process.wait(60) != 0
    assert "another agent uses" in other.log_text()


def test_agent_reconnects_for_ever_and_a_wrong_token_is_never_logged(master, place):
    port = master.port
    master.close()
    a = Agent(master, place / "agent", agent_reconnect_backoff=1).start()
    wait_for("a try that fails", lambda: "link.down" in a.log_text())
    assert a.process.poll() is None
    master.port = port
    master.open()
    master.wait_agent()
    master.drop()
    master.wait_agent(2)
    a.kill(signal.SIGTERM)
    a.keys["token"] = "wrong-secret"
    a.start()
    wait_for("the refusal in the log", lambda: "401" in a.log_text())
    assert a.process.poll() is None
    a.kill()
    assert "wrong-secret" not in a.log_text() and agents.TOKEN not in a.log_text()


def test_a_lost_master_is_told_to_the_hook_and_the_agent_goes_on(master, place):
    mark = place / "lost"
    a = Agent(master, place / "agent", agent_reconnect_attempts=2, hooks={"on_connection_lost": ["touch", str(mark)]}).start()
    master.wait_agent()
    port = master.port
    master.close()
    wait_for("the hook", mark.exists)
    master.port = port
    master.open()
    master.wait_agent(2)
    a.kill(signal.SIGTERM)


def test_a_lower_epoch_is_refused_even_after_a_restart(master, agent):
    master.epoch = 7
    master.drop()
    master.wait_agent(2)
    wait_for("epoch 7 in the log", lambda: "epoch=7" in agent.log_text())
    master.epoch = 6
    master.connection.send(signal={"containerId": "x", "signal": 9})
    wait_for("the refusal of epoch 6", lambda: "link.old_epoch epoch=6 seen=7" in agent.log_text())
    agent.kill()
    agent.start()
    wait_for("more refusals", lambda: agent.log_text().count("link.old_epoch") > 2)
    master.epoch = 8
    wait_for("epoch 8 in the log", lambda: "epoch=8" in agent.log_text())


def test_agent_leaves_when_the_master_will_never_take_it(master, agent):
    master.connection.send(refused={"reason": 'resource pool "default" does not exist', "fatal": True})
    assert agent.process.wait(60) != 0
    assert 'resource pool \\"default\\" does not exist' in agent.log_text() or "does not exist" in agent.log_text()


# ---- tasks ---------------------------------------------------------------------------------------------------------------


def test_task_runs_and_everything_is_told_in_order(master, agent):
    master.context = agents.tgz({"hello.txt": "from the context\n"})
    c = master.start(["cat hello.txt; echo oops >&2; exit 3"])
    exit = master.finish(c)
    assert (exit["kind"], exit["code"]) == ("EXIT_KIND_EXITED", 3)
    assert master.states_of(c) == ["STATE_PULLING", "STATE_STARTING", "STATE_RUNNING", "STATE_TERMINATED"]
    assert master.text(c, "stdout") == "from the context\n" and master.text(c, "stderr") == "oops\n"
    wait_for("the removal of the task's directory", lambda: agent.task_dirs() == [])
    assert ("/api/v1/tasks/1.task/context_directory", "Bearer session") in master.requests


def test_a_list_is_executed_as_it_stands(master, agent):
    c = master.start(["printf", "%s|", "a b", "$HOME", "*"])
    master.finish(c)
    assert master.text(c) == "a b|$HOME|*|"


def test_environment_is_that_of_the_contract(master, agent):
    c = master.start(["env -0 | sort -z | tr '\\0' '\\n'"], more_env=["MINE=user's", "DET_AGENT_ID=forged"])
    master.finish(c)
    env = dict(line.split("=", 1) for line in master.text(c).splitlines() if "=" in line)
    run = env["DET_RUN_DIR"]
    expected = {
        "DET_MASTER": f"http://127.0.0.1:{master.port}", "DET_MASTER_HOST": "127.0.0.1", "DET_MASTER_ADDR": "127.0.0.1",
        "DET_MASTER_PORT": str(master.port), "DET_MASTER_ID": "m-1", "DET_CLUSTER_ID": master.cluster, "DET_AGENT_ID": "a1",
        "DET_CONTAINER_ID": c, "DET_SLOT_IDS": "[0]", "DET_TASK_ID": "1.task", "DET_WORKDIR": f"{run}/workdir",
        "PYTHONUSERBASE": f"{run}/pythonuserbase", "MINE": "user's", "PWD": f"{run}/workdir", "DET_PYTHON_EXECUTABLE": "python3",
    }
    assert {k: env.get(k) for k in expected} == expected
    assert env["PATH"].startswith(f"{run}/pythonuserbase/bin:")
    assert env["PYTHONPATH"].endswith("/python") and not any(k.startswith("DET_TOKEN") for k in env)


@pytest.fixture
def home():
    """Makes a directory outside of /tmp, since a task may have a /tmp of its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        path = pathlib.Path(directory)
        path.chmod(0o755)
        yield path


def test_packages_in_the_home_are_not_hidden_without_a_word(master, agent, home):
    local = home / ".local"
    (local / "lib/python3.11/site-packages").mkdir(parents=True)
    for more, hidden in (([], True), ([f"PYTHONUSERBASE={local}"], False)):
        c = master.start(["echo $PYTHONUSERBASE"], more_env=[f"HOME={home}", *more])
        master.finish(c)
        assert ("are hidden from this task" in master.text(c, "stderr")) == hidden
        assert (master.text(c, "stdout").strip() == str(local)) != hidden


def test_trial_finds_its_files(master, agent):
    master.context = agents.tgz({"train.py": "x = 1\n"})
    env = ["DET_TASK_TYPE=TRIAL", "DET_TRIAL_ID=7", "DET_EXPERIMENT_ID=3", "DET_TRIAL_SEED=99", "DET_TRIAL_RUN_ID=2",
           'DET_HPARAMS={"lr":0.1,"net":{"depth":3}}', 'DET_EXPERIMENT_CONFIG={"name":"e","debug":true}', "DET_STEPS_COMPLETED=40"]
    script = ('cd $DET_RUN_DIR; cat info/cluster.json; echo; cat info/trial.json; echo; cat info/rendezvous.json; echo; '
              'cat info/resources.json; echo; command -v python3; ls train/model workdir; readlink train/logs/stdout.log; '
              'stat -c "%a" . info workdir train train/model train/entrypoint.sh task-setup.sh')
    c = master.start([script], taskType="TASK_TYPE_TRIAL", more_env=env, deviceIds=[0])
    assert master.finish(c)["code"] == 0, master.text(c)
    lines = master.text(c).splitlines()
    cluster, trial, rendezvous, resources = (json.loads(x) for x in lines[:4])
    assert cluster["master_url"] == f"http://127.0.0.1:{master.port}" and cluster["session_token"] == "session"
    assert cluster["slot_ids"] == [0] and cluster["latest_checkpoint"] is None and cluster["task_type"] == "TRIAL"
    assert (trial["trial_id"], trial["experiment_id"], trial["trial_seed"], trial["trial_run_id"]) == (7, 3, 99, 2)
    assert trial["hparams"] == {"lr": 0.1, "net": {"depth": 3}} and trial["debug"] is True and trial["steps_completed"] == 40
    assert trial["inter_node_network_interface"] is None
    assert rendezvous == {"container_addrs": ["127.0.0.1"], "container_rank": 0, "container_slot_counts": [1]}
    assert resources == {"gpu_uuids": []}
    assert lines.count("train.py") == 2
    assert lines[-8].startswith("/proc/") and lines[-8].endswith("/fd/1")
    assert lines[-7:] == ["700", "755", "700", "700", "700", "744", "744"]
    master.wait(lambda: any("acceleratorData" in p for p, _ in master.posts))
    master.wait(lambda: any(p.endswith("/environment") for p, _ in master.posts))
    [told] = [body for p, body in master.posts if p.endswith("/environment")]
    assert told["containerId"] == c and told["python"]["seenByAgent"] and told["python"]["executable"] == lines[4]
    assert told["host"]["hostname"] and told["host"]["kernel"] == os.uname().release
    assert [d["id"] for d in told["host"]["devices"]] == [0] and told["host"]["processors"] >= 1


def test_trial_class_goes_through_our_library(master, agent):
    c = master.start(["model_def:MyTrial"], taskType="TASK_TYPE_TRIAL", more_env=["DET_PYTHON_EXECUTABLE=/bin/echo"])
    master.finish(c)
    assert master.text(c) == "-m determined.exec.launch\n"
    c = master.start(["model_def:MyTrial"], taskType="TASK_TYPE_TRIAL", more_env=["DET_PYTHON_EXECUTABLE=/no/python"])
    assert master.finish(c)["code"] == 1
    assert "DET_PYTHON_EXECUTABLE" in master.text(c, "stderr")


def test_startup_hook_is_sourced_before_the_command(master, agent):
    master.context = agents.tgz({"startup-hook.sh": "FROM_HOOK=yes; export FROM_HOOK; greet() { echo bash; }; greet\n"})
    c = master.start(["echo hook said $FROM_HOOK"])
    master.finish(c)
    assert master.text(c, "stdout") == "bash\nhook said yes\n"
    assert "FROM_HOOK=yes" in master.text(c, "stderr")
    master.context = agents.tgz({"startup-hook.sh": "false\n"})
    c = master.start(["echo never"])
    assert master.finish(c)["code"] == 1 and master.text(c, "stdout") == ""


OWN = 2000000 + agents.OWNER


@pytest.mark.skipif(not ROOT, reason="an agent that is not root runs tasks as itself")
@pytest.mark.parametrize("ids, says", [
    ({"uid": -1, "gid": -1}, "uid -1 and gid -1"),
    ({"uid": -1, "gid": 12345}, "uid -1"),
    ({"uid": 12345, "gid": -1}, "gid -1"),
    ({"uid": 0, "gid": -1}, "gid -1"),
    ({"uid": 12345, "gid": 0}, "linked to group 0"),
    ({"uid": OWN + 1, "gid": 12345}, "task_uids"),
    ({"uid": 12345, "gid": OWN + 1}, "task_uids"),
    ({"uid": 0, "gid": OWN + 1}, "task_uids"),
    ({"uid": 0, "gid": 0, "ownerId": 0}, "which user"),
    ({"uid": 0, "gid": 0, "ownerId": -5}, "which user"),
    ({"uid": 0, "gid": 0, "ownerId": 1000000}, "task_uids.count"),
])
def test_the_agent_itself_refuses_ids_that_are_none_or_belong_to_somebody_else(master, agent, ids, says):
    c = master.start(["id"], user={"user": "x", "ownerId": agents.OWNER, **ids})
    exit = master.finish(c)
    # What no agent would accept is refused for good. Another agent may have other ranges of ids, or may run tasks with root's group.
    of_this_agent = says.startswith("task_uids") or says == "linked to group 0"
    assert exit["kind"] == ("EXIT_KIND_START_FAILED" if of_this_agent else "EXIT_KIND_REFUSED") and says in exit["text"], exit
    assert master.text(c) == "" and "STATE_RUNNING" not in master.states_of(c)


@pytest.mark.skipif(not ROOT, reason="an agent that is not root runs tasks as itself")
def test_a_user_without_an_account_has_a_name_a_home_and_an_entry_in_the_user_database(master, agent):
    c = master.start(["python3", "-c", "import getpass, os, pwd; print(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_name, os.getuid(), "
                      "os.getgid(), os.getgroups(), os.path.expanduser('~') == os.getcwd(), pwd.getpwnam('root').pw_uid)"])
    master.finish(c)
    assert master.text(c) == f"somebody somebody {OWN} {OWN} [{OWN}] True 0\n"
    for odd in ("root", "a/../b", "-x", "", "x" * 80, "a:0:0"):
        c = master.start(["id -un; echo $USER"], user={"ownerId": agents.OWNER, "owner": odd})
        master.finish(c)
        assert master.text(c).split() == [f"det-{agents.OWNER}"] * 2, odd


def test_what_cannot_be_executed_never_was_running(master, agent):
    c = master.start(["true"], workDir="/no/such/directory")
    exit = master.finish(c)
    assert (exit["kind"], exit["code"]) == ("EXIT_KIND_REFUSED", 127) and "/no/such/directory" in exit["text"]
    assert "/no/such/directory" in master.text(c, "stderr")
    assert master.states_of(c) == ["STATE_PULLING", "STATE_STARTING", "STATE_TERMINATED"]


@pytest.mark.skipif(not ROOT, reason="an agent that is not root runs tasks as itself")
def test_task_never_runs_as_root_unless_allowed(master, agent, place):
    c = master.start(["id -un; id -u; touch mine; stat -c %U mine; ls $DET_RUN_DIR/.. 2>&1 | head -1; cat $DET_RUN_DIR/../supervisor/spec"])
    master.finish(c)
    out = master.text(c, "stdout").splitlines()
    assert out[:3] == ["somebody", str(OWN), "somebody"]
    assert "ermission denied" in master.text(c)
    user = {"user": "someone", "uid": 12345, "group": "some", "gid": 12346, "ownerId": agents.OWNER}
    c = master.start(["id -u; id -g; id -G"], user=user)
    master.finish(c)
    assert master.text(c).split() == ["12345", "12346", "12346"]
    c = master.start(["id -u"], user={"user": "root", "uid": 0, "group": "root", "gid": 0, "ownerId": agents.OWNER})
    master.finish(c)
    assert master.text(c).strip() == str(OWN)
    agent.kill(signal.SIGTERM)
    agent.keys["allow_root_tasks"] = True
    agent.start()
    master.wait_agent(2)
    c = master.start(["id -u"], user={"user": "root", "uid": 0, "group": "root", "gid": 0})
    master.finish(c)
    assert master.text(c).strip() == "0"


def test_files_of_the_order_go_beneath_the_task_and_nowhere_else(master, agent):
    file = {"path": "/run/determined/ssh/id_rsa", "mode": 0o600, "content": "a2V5"}
    c = master.start(["cat $DET_RUN_DIR/ssh/id_rsa; stat -c %a $DET_RUN_DIR/ssh/id_rsa"], files=[file])
    master.finish(c)
    assert master.text(c).splitlines() == ["key600"]
    for path in ["/etc/det-must-not-exist", "/run/determined/../../det-must-not-exist", "/run/determinedx"]:
        c = master.start(["true"], files=[dict(file, path=path)])
        exit = master.finish(c)
        assert exit["kind"] == "EXIT_KIND_REFUSED" and "file" in exit["text"]


def link_to(target):
    info = tarfile.TarInfo("link")
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info


def test_a_hostile_context_fails_the_task_with_the_members_name(master, agent):
    master.context = agents.tgz({"../escape": "x"})
    exit = master.finish(master.start(["true"]))
    assert exit["kind"] == "EXIT_KIND_REFUSED" and "../escape" in exit["text"]
    master.context = agents.tgz({"link": link_to("/etc/passwd")})
    assert "leads outside" in master.finish(master.start(["true"]))["text"]
    master.context = b"no archive at all"
    assert "not a gzipped tar" in master.finish(master.start(["true"]))["text"]


def test_a_master_that_is_busy_is_asked_again_for_the_context(master, agent):
    master.broken_requests = 2
    master.context = agents.tgz({"a": "here\n"})
    c = master.start(["cat a"])
    assert master.finish(c)["code"] == 0
    assert master.text(c) == "here\n"


@pytest.mark.parametrize("master_is", ["busy", "silent"])
def test_an_agent_that_is_asked_to_stop_does_not_wait_for_a_context(master, agent, master_is):
    """In earlier versions the agent ended only after all attempts, which took a minute, or after the request's ten minutes."""
    if master_is == "busy":
        master.broken_requests = 1000
    else:
        master.context_may_go.clear()
    master.start(["true"])
    master.wait(lambda: any("context_directory" in path for path, _ in master.requests))
    try:
        assert agent.kill(signal.SIGTERM) == 0
    finally:
        master.context_may_go.set()


def test_rendezvous_of_several_nodes_is_the_masters_answer(master, agent):
    master.rendezvous = {"addresses": ["10.0.0.1", "10.0.0.2"], "rank": 1, "slots": [4, 2]}
    c = master.start(["cat $DET_RUN_DIR/info/rendezvous.json"], rendezvous=True)
    master.finish(c)
    assert json.loads(master.text(c)) == {"container_addrs": ["10.0.0.1", "10.0.0.2"], "container_rank": 1,
                                          "container_slot_counts": [4, 2]}
    assert master.states_of(c) == ["STATE_PULLING", "STATE_STARTING", "STATE_RUNNING", "STATE_TERMINATED"]


# ---- signals -------------------------------------------------------------------------------------------------------------


def test_kill_ends_a_tree_whose_grandchild_has_detached(master, agent):
    c = master.start(["setsid sh -c 'echo $$; exec sleep 1000' & echo $$; wait; sleep 1000"])
    master.wait(lambda: len(master.lines.get(c, {})) == 2)
    pids = [int(x) for x in master.text(c).split()]
    master.signal(c, signal.SIGKILL)
    exit = master.finish(c)
    assert (exit["kind"], exit["code"], exit["signal"]) == ("EXIT_KIND_SIGNALED", 137, 9)
    assert not any(alive(p) for p in pids)


def test_terminate_reaches_the_task(master, agent):
    c = master.start(["trap 'echo saving; exit 0' TERM; echo ready; while :; do sleep 0.05; done"])
    master.wait(lambda: master.text(c))
    master.signal(c, signal.SIGTERM)
    assert master.finish(c)["code"] == 0
    assert master.text(c, "stdout") == "ready\nsaving\n"


def test_signal_to_an_unknown_container_is_answered(master, agent):
    master.signal("nobody", signal.SIGKILL)
    assert "unknown container" in master.finish("nobody")["text"]


# ---- logs and restarts ---------------------------------------------------------------------------------------------------


def test_a_hundred_thousand_lines_arrive_once_although_the_agent_is_killed_in_between(master, agent):
    c = master.start(["seq 1 50000; sleep 0.3; seq 50001 100000; exit 5"])
    for n in range(2, 4):
        master.wait(lambda: master.stored(c) > 10000 * n)
        agent.kill()
        agent.start()
        master.wait_agent(n)
    assert master.finish(c)["code"] == 5
    assert master.text(c) == "".join(f"{i}\n" for i in range(1, 100001))
    assert sorted(master.lines[c]) == list(range(1, 100001))
    assert master.twice == []


def test_exit_that_happens_while_no_agent_runs_is_delivered(master, agent, place):
    c = master.start([f"echo $$; while [ ! -e {place}/go ]; do sleep 0.05; done; echo done; exit 6"])
    master.wait(lambda: master.text(c))
    pid = int(master.text(c))
    agent.kill()
    (place / "go").touch()
    wait_for("the end of the task", lambda: not alive(pid))
    agent.start()
    assert master.finish(c)["code"] == 6
    assert master.text(c) == f"{pid}\ndone\n"


def test_agent_that_is_asked_to_stop_leaves_its_tasks(master, agent):
    c = master.start(["echo $$; sleep 1000"])
    master.wait(lambda: master.text(c))
    assert agent.kill(signal.SIGTERM) == 0
    assert alive(int(master.text(c)))
    agent.start()
    master.wait_agent(2)
    assert [t["state"] for t in master.hellos[1][1]["tasks"]] == ["STATE_RUNNING"]
    master.signal(c, signal.SIGKILL)
    assert master.finish(c)["code"] == 137


def test_end_is_told_again_until_it_is_acknowledged(master, agent):
    master.ack_states = False
    c = master.start(["echo x; exit 2"])
    master.wait(lambda: "STATE_TERMINATED" in master.states_of(c))
    agent.kill()
    agent.start()
    master.wait(lambda: master.states_of(c).count("STATE_TERMINATED") == 2)
    assert agent.task_dirs()
    master.ack_states = True
    master.drop()
    assert master.finish(c)["code"] == 2
    wait_for("the removal of the task's directory", lambda: agent.task_dirs() == [])
    assert master.twice == []


def test_logs_that_are_not_acknowledged_hold_the_task_back(master, agent, place):
    master.ack_logs = False
    mark = place / "mark"
    place.chmod(0o777)
    c = master.start([f"yes {'x' * 900} | head -c 100000000; touch {mark}"])
    time.sleep(2)  # a wrong agent needs this time to start the task: no message says that a task is held back
    assert not mark.exists()
    assert master.log_bytes < 4 << 20
    master.ack_logs = True
    master.lines[c] = {}
    master.drop()
    assert master.finish(c)["code"] == 0
    assert len(master.text(c)) == 100000000
    assert mark.exists()


def test_task_that_the_master_does_not_expect_is_killed_and_removed(master, agent):
    c = master.start(["echo $$; sleep 1000"])
    master.wait(lambda: master.text(c))
    del master.expected[c]
    master.drop()
    wait_for("the end of the task", lambda: not alive(int(master.text(c))))
    wait_for("the removal of the task's directory", lambda: agent.task_dirs() == [])
    assert c not in master.done


def test_task_that_is_gone_is_told_as_lost(master, agent):
    master.expected["never-was"] = {}
    master.drop()
    exit = master.finish("never-was")
    assert exit["kind"] == "EXIT_KIND_LOST" and "gone" in exit["text"]


def test_a_killed_supervisor_is_told_as_lost_with_all_that_was_written(master, agent):
    c = master.start(["echo $PPID; echo $$; exec sleep 1000"])
    master.wait(lambda: len(master.lines.get(c, {})) == 2)
    supervisor, task = (int(x) for x in master.text(c).split())
    os.kill(supervisor, signal.SIGKILL)
    assert master.finish(c)["kind"] == "EXIT_KIND_LOST"
    assert not alive(task)


@pytest.mark.parametrize("key", ["debug", "container_auto_remove_disabled"])
def test_directories_of_ended_tasks_are_kept_when_asked_and_nobodys_tasks_any_more(master, place, key):
    a = Agent(master, place / "agent", **{key: True}).start()
    master.wait_agent()
    c = master.start(["echo x > $DET_WORKDIR/left"])
    master.finish(c)
    kept = a.root / "tasks" / f".ended-{c}"
    wait_for("the file that is kept", kept.exists)
    assert (kept / "run/workdir/left").read_text() == "x\n"
    a.kill(signal.SIGTERM)
    a.start()
    master.wait_agent(2)
    assert master.hellos[-1][1]["tasks"] == [] and kept.exists()
    a.kill(signal.SIGTERM)


def test_an_agent_killed_while_it_prepares_leaves_no_half_task(master, agent):
    master.broken_requests = 1000
    unwanted, expected = master.start(["echo never"]), master.start(["echo never"])
    wait_for("two tasks' directories", lambda: len(agent.task_dirs()) == 2)
    agent.kill()
    del master.expected[unwanted]
    agent.start()
    exit = master.finish(expected)
    assert exit["kind"] == "EXIT_KIND_LOST" and exit["text"] == "the agent ended before it had started the task"
    wait_for("the removal of the task's directory", lambda: agent.task_dirs() == [])
    assert unwanted not in master.done and "adopt" not in agent.log_text()


def test_what_a_dead_supervisor_left_ends_although_no_master_can_be_reached(master, agent):
    c = master.start(["echo $PPID; env -i setsid sleep 1000 & echo $!; echo $$; exec sleep 1000"])
    master.wait(lambda: len(master.lines.get(c, {})) == 3)
    supervisor, *left = (int(x) for x in master.text(c).split())
    agent.kill()
    port = master.port
    master.close()
    os.kill(supervisor, signal.SIGKILL)
    wait_for("the end of one process", lambda: [alive(p) for p in left].count(True) == 1)
    agent.start()
    wait_for("the end of all processes", lambda: not any(alive(p) for p in left))
    master.port = port
    master.open()
    assert master.finish(c)["kind"] == "EXIT_KIND_LOST"


@pytest.mark.skipif(not ROOT or not os.path.isdir("/sys/fs/cgroup/memory"), reason="needs root and a cgroup v1 memory controller")
def test_memory_limit_is_kept_and_told(master, agent):
    hog = "exec python3 -c 'x = bytearray(300 << 20); print(len(x))'"
    c = master.start([hog], limits={"memoryBytes": str(64 << 20), "pids": 50, "cpus": 1.5})
    exit = master.finish(c)
    assert (exit["kind"], exit["code"]) == ("EXIT_KIND_OUT_OF_MEMORY", 137)
    assert "memory" in exit["text"]
    wait_for("the removal of the control group", lambda: not os.path.exists(f"/sys/fs/cgroup/memory/determined/{c}"))
