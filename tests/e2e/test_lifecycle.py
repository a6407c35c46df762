"""Lives of experiments on the real programs: failures, kills, slots, logs."""
import json
import socket
import time

import pytest
from support.cluster import SANITIZED, wait_for
from support.experiments import Follower, log_of, shell, slots_used, task_lines, the_trial, wait_file, wait_line, wait_slots_free
from support.machine_pids import machine_pids  # noqa: F401
from support.processes import alive, memory_kib


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory that tasks and tests share."""
    return tmp_path_factory.mktemp("shared")


# ---- ends ----


def test_a_failing_trial_is_restarted_as_often_as_allowed_and_says_its_exit_code(cluster):
    x = shell(cluster, "echo run $DET_TRIAL_RUN_ID; exit 7", max_restarts=2)
    assert cluster.wait_experiment(x)["state"] == "STATE_ERROR"
    trial = the_trial(cluster, x)
    assert (trial["state"], trial["restarts"]) == ("STATE_ERROR", 2)  # the failure that is one too many restarts nothing
    assert task_lines(cluster, trial["id"]) == ["run 1", "run 2", "run 3"]
    log = log_of(cluster, x)
    assert log.count("exit code: 7") == 3, log
    allocations = cluster.get(f"/api/v1/tasks/{trial['taskId']}").json["task"]["allocations"]
    assert len(allocations) == 3
    assert all("exit code 7" in a["exitReason"] and a["statusCode"] == 7 for a in allocations), allocations


def test_a_trial_that_fails_once_goes_on_in_its_second_run(cluster, place):
    marker = place / "failed-once"
    x = shell(cluster, f"[ -e {marker} ] && exit 0; touch {marker}; exit 1", max_restarts=1)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    assert the_trial(cluster, x)["restarts"] == 1


def test_a_kill_ends_the_whole_tree_of_processes(cluster, place):
    pids = place / "tree"
    x = shell(cluster, f"setsid sh -c 'trap \"\" TERM; sleep 1000 & echo $$ $! >>{pids}; wait; sleep 1000' & echo $$ >>{pids}; wait; sleep 1000")
    wait_for("three pids", lambda: pids.exists() and len(pids.read_text().split()) == 3)
    tree = [int(p) for p in pids.read_text().split()]
    assert all(alive(p) for p in tree)
    assert cluster.post(f"/api/v1/experiments/{x}/kill").status == 200
    assert cluster.wait_experiment(x)["state"] == "STATE_CANCELED"
    wait_for("the end of its processes", lambda: not any(alive(p) for p in tree))
    wait_slots_free(cluster)


def test_a_queued_experiment_is_killed_at_once(cluster):
    big = shell(cluster, "true", slots=100)
    assert cluster.post(f"/api/v1/experiments/{big}/kill").status == 200
    assert cluster.wait_experiment(big)["state"] == "STATE_CANCELED"


PREEMPTIBLE = """
from determined import core

with core.init() as context:
    print("waiting for the signal", flush=True)
    while not context.preempt.should_preempt():
        pass
    print("asked to stop", flush=True)
"""


def test_cancel_is_seen_by_a_script_of_the_core_api(cluster):
    x = cluster.create(files={"script.py": PREEMPTIBLE.replace("pass", "__import__('time').sleep(0.01)")}, entrypoint="python3 script.py")
    wait_line(cluster, x, "waiting for the signal")
    assert cluster.post(f"/api/v1/experiments/{x}/cancel").status == 200
    assert cluster.wait_experiment(x)["state"] == "STATE_CANCELED"
    assert "asked to stop" in log_of(cluster, x)


INVALID_HP = """
import determined as det
from determined import core

with core.init() as context:
    context.train.report_early_exit(core.EarlyExitReason.INVALID_HP)
"""


def test_invalid_hyperparameters_end_a_trial_without_an_error(cluster):
    x = cluster.create(files={"script.py": INVALID_HP}, entrypoint="python3 script.py", max_restarts=3)
    state = cluster.wait_experiment(x)["state"]
    trial = the_trial(cluster, x)
    assert (state, trial["state"], trial["restarts"]) == ("STATE_COMPLETED", "STATE_COMPLETED", 0)


def test_a_pause_before_the_task_listens_and_an_activate_run_it_again(cluster, place):
    runs = place / "runs"
    x = shell(cluster, f"echo $DET_TRIAL_RUN_ID >>{runs}; [ $DET_TRIAL_RUN_ID = 2 ] || sleep 1000",
              preemption_timeout=1)
    wait_file(runs)
    assert cluster.post(f"/api/v1/experiments/{x}/pause").status == 200
    wait_slots_free(cluster)  # the task does not listen: it is killed at its preemption timeout
    assert cluster.experiment(x)["state"] == "STATE_PAUSED"
    assert cluster.post(f"/api/v1/experiments/{x}/activate").status == 200
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    assert runs.read_text().split() == ["1", "2"]


# ---- slots ----


def holding(cluster, place, name, slots=1):
    """An experiment that runs until its gate is opened."""
    return shell(cluster, f"echo $DET_SLOT_IDS >{place}/{name}.started; while [ ! -e {place}/{name}.gate ]; do sleep 0.02; done",
                 slots=slots, name=name)


def open_gate(place, name):
    (place / f"{name}.gate").touch()


def test_the_third_of_three_waits_for_one_of_two_slots(cluster, place):
    first, second = holding(cluster, place, "one"), holding(cluster, place, "two")
    ids = wait_file(place / "one.started"), wait_file(place / "two.started")
    assert sorted(ids) == ["[0]", "[1]"]
    third = holding(cluster, place, "three")
    assert cluster.experiment(third)["state"] == "STATE_QUEUED"
    assert not (place / "three.started").exists()
    open_gate(place, "one")
    assert cluster.wait_experiment(first)["state"] == "STATE_COMPLETED"
    assert wait_file(place / "three.started") == ids[0]
    open_gate(place, "two")
    open_gate(place, "three")
    assert {cluster.wait_experiment(x)["state"] for x in (second, third)} == {"STATE_COMPLETED"}
    wait_slots_free(cluster)


def test_two_slots_per_trial_take_both_and_none_takes_none(cluster, place):
    both = holding(cluster, place, "both", slots=2)
    assert wait_file(place / "both.started") == "[0,1]"
    none = holding(cluster, place, "none", slots=0)
    assert wait_file(place / "none.started") == "[]"
    assert slots_used(cluster) == 2
    open_gate(place, "none")
    open_gate(place, "both")
    assert {cluster.wait_experiment(x)["state"] for x in (both, none)} == {"STATE_COMPLETED"}


def test_what_is_too_big_waits_with_a_warning_until_an_agent_fits(new_cluster):
    cluster = new_cluster().start_master()
    cluster.start_agent(slots=1)
    cluster.login()
    reply = cluster.post("/api/v1/experiments", {
        "config": json.dumps(cluster.experiment_config(
            entrypoint=["sh", "-c", "echo $DET_SLOT_IDS"], resources={"slots_per_trial": 4})), "activate": True})
    assert reply.status == 200 and reply.json["warnings"] == ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"], reply
    x = reply.json["experiment"]["id"]
    assert cluster.experiment(x)["state"] == "STATE_QUEUED"
    cluster.start_agent("big", slots=4)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    assert task_lines(cluster, the_trial(cluster, x)["id"]) == ["[0,1,2,3]"]


def test_a_drained_agent_finishes_what_it_has_and_takes_nothing_new(new_cluster, tmp_path):
    cluster = new_cluster().start_master()
    cluster.start_agent(slots=2)
    cluster.login("admin")
    running = holding(cluster, tmp_path, "running")
    wait_file(tmp_path / "running.started")
    assert cluster.post("/api/v1/agents/agent0/disable", {"drain": True}).status == 200
    waiting = holding(cluster, tmp_path, "waiting")
    open_gate(tmp_path, "running")
    assert cluster.wait_experiment(running)["state"] == "STATE_COMPLETED"
    assert cluster.experiment(waiting)["state"] == "STATE_QUEUED"
    assert not (tmp_path / "waiting.started").exists()
    assert cluster.post("/api/v1/agents/agent0/enable").status == 200
    open_gate(tmp_path, "waiting")
    assert cluster.wait_experiment(waiting)["state"] == "STATE_COMPLETED"


def test_a_disabled_agent_gives_its_tasks_up_and_they_run_again_elsewhere(new_cluster, tmp_path):
    cluster = new_cluster().start_master()
    cluster.start_agent(slots=1)
    cluster.login("admin")
    x = holding(cluster, tmp_path, "moved")
    wait_file(tmp_path / "moved.started")
    (tmp_path / "moved.started").unlink()
    assert cluster.post("/api/v1/agents/agent0/disable", {"drain": False}).status == 200
    cluster.start_agent("agent1", slots=1)
    wait_file(tmp_path / "moved.started")
    open_gate(tmp_path, "moved")
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    assert the_trial(cluster, x)["restarts"] == 0


# ---- logs ----


def test_a_followed_log_comes_while_the_task_runs_and_ends_with_it(cluster, place):
    x = shell(cluster, f"echo first; while [ ! -e {place}/go ]; do sleep 0.02; done; echo last")
    follower = Follower(cluster, the_trial(cluster, x)["id"])
    follower.wait("first")
    assert not follower.ended
    (place / "go").touch()
    follower.wait_end()
    assert "last" in follower.lines
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"


def test_twenty_thousand_lines_arrive_once_and_in_order(cluster):
    x = shell(cluster, "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done")
    follower = Follower(cluster, the_trial(cluster, x)["id"])
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    follower.wait_end()
    expected = [f"line {i}" for i in range(20000)]
    assert task_lines(cluster, the_trial(cluster, x)["id"]) == expected
    assert [line for line in follower.lines if line.startswith("line ")] == expected


def test_a_last_line_without_newline_and_bytes_that_are_no_text_are_kept(cluster):
    x = shell(cluster, r"printf 'caf\303\251\n\377bad\nno newline'")
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    assert task_lines(cluster, the_trial(cluster, x)["id"]) == ["café", "\ufffdbad", "no newline"]


def test_a_reader_that_does_not_read_hurts_nobody_and_costs_no_memory(new_cluster):
    cluster = new_cluster().start_master()
    cluster.login()
    trial = the_trial(cluster, cluster.create(activate=False))
    sleepy = []
    for _ in range(8):
        sock = socket.create_connection(("127.0.0.1", cluster.port))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.sendall(f"GET /api/v1/trials/{trial['id']}/logs?follow=true HTTP/1.1\r\nHost: x\r\n"
                     f"Authorization: Bearer {cluster.token}\r\n\r\n".encode())
        sleepy.append(sock)
    follower = Follower(cluster, trial["id"])
    # In small portions, each of which wakes all who follow: 16 MB, eight times over, if the master kept them for the sleepers.
    for i in range(400):
        lines = [{"taskId": trial["taskId"], "log": "x" * 20000 + "\n"} for _ in range(2)] + [{"taskId": trial["taskId"], "log": f"{i}\n"}]
        assert cluster.post("/api/v1/task/logs", {"logs": lines}).status == 200
    follower.wait("399")
    assert [line for line in follower.lines if len(line) < 100] == [str(i) for i in range(400)]
    assert SANITIZED or memory_kib(cluster.master.pid) < 64 * 1024
    for sock in sleepy:
        sock.close()
    assert cluster.post(f"/api/v1/experiments/{trial['experimentId']}/kill").status == 200
    follower.wait_end()


def test_from_create_to_the_first_line(cluster, place):
    """Prints the latency (pytest -s); bench/ measures it properly."""
    waits = []
    for i in range(5):
        start = time.monotonic()
        x = shell(cluster, f"date +%s.%N >{place}/first{i}")
        wait_file(place / f"first{i}")
        waits.append(time.monotonic() - start)
        assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    print(f"\ncreate → first line: {', '.join(f'{w * 1000:.0f}' for w in waits)} ms")
