"""Clocks that are set forward and back by a day while everything runs: nothing ends early, nothing waits for the old time."""
import pathlib
import struct

import pytest
from support.cluster import BUILD, SANITIZED, wait_for
from support.experiments import shell, task_lines, the_trial, wait_file, wait_slots_free
from support.machine_pids import machine_pids  # noqa: F401
from support.processes import alive

DAY_S = 24 * 3600
SHIM = BUILD / "tests/support/clock_shim.so"

pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer's library must be the first that is loaded")


class Clock:
    """The wall clock of the programs that are started with `env`."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.set(0)
        self.env = {"LD_PRELOAD": str(SHIM), "DET_TEST_CLOCK": str(self.path)}

    def set(self, by_s):
        if self.path.exists():
            with open(self.path, "r+b") as f:  # in place: programs have mapped it
                f.write(struct.pack("=q", by_s))
        else:
            self.path.write_bytes(struct.pack("=q", by_s))


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path / "clock")


@pytest.fixture
def running(new_cluster, clock):
    c = new_cluster(env=clock.env).start_master()
    c.start_agent(slots=2)
    c.login()
    return c


def start_deaf_task(cluster, place, timeout_s):
    """A task that does not hear that it is to stop, and dies of the time-out only: its experiment and its process. The master knows that
    the task runs: one that is still being started would be killed at once when the experiment is paused."""
    script = f"echo $$ >{place}/pid; trap '' TERM; while :; do sleep 0.05; done"
    x = shell(cluster, script, preemption_timeout=timeout_s)
    pid = int(wait_file(place / "pid"))
    wait_for("the start of the task", lambda: "have started" in cluster.trial_log(the_trial(cluster, x)["id"]))
    return x, pid


def test_a_jump_forward_ends_no_wait_early(running, clock, tmp_path):
    x, pid = start_deaf_task(running, tmp_path, timeout_s=3600)
    assert running.post(f"/api/v1/experiments/{x}/pause").status == 200
    wait_for("the request to stop", lambda: "gracefully terminating" in running.trial_log(the_trial(running, x)["id"]))
    clock.set(DAY_S)
    y = shell(running, "echo on the next day")  # events of all kinds happen meanwhile
    assert running.wait_experiment(y)["state"] == "STATE_COMPLETED"
    assert "clock.set by_s=86400" in running.master_log()
    assert alive(pid)
    assert running.post(f"/api/v1/experiments/{x}/kill").status == 200
    assert running.wait_experiment(x)["state"] == "STATE_CANCELED"
    wait_slots_free(running)


def test_a_jump_back_makes_no_wait_longer(running, clock, tmp_path):
    x, pid = start_deaf_task(running, tmp_path, timeout_s=2)
    assert running.post(f"/api/v1/experiments/{x}/pause").status == 200
    clock.set(-DAY_S)
    wait_for("the end of the task that did not hear", lambda: not alive(pid))
    assert running.post(f"/api/v1/experiments/{x}/kill").status == 200
    assert running.wait_experiment(x)["state"] == "STATE_CANCELED"
    wait_slots_free(running)


@pytest.mark.parametrize("by_s", [DAY_S, -DAY_S])
def test_sessions_tasks_and_logs_go_on(running, clock, tmp_path, by_s):
    gate = tmp_path / "gate"
    x = shell(running, f"echo before; while [ ! -e {gate} ]; do sleep 0.02; done; echo after")
    wait_for("the first line", lambda: task_lines(running, the_trial(running, x)["id"]) == ["before"])
    clock.set(by_s)
    assert running.get("/api/v1/me").status == 200
    assert running.login("admin", keep=False).status == 200
    gate.touch()
    assert running.wait_experiment(x)["state"] == "STATE_COMPLETED"
    trial = the_trial(running, x)
    assert task_lines(running, trial["id"]) == ["before", "after"]
    assert trial["restarts"] == 0
    assert running.metric("det_uptime_seconds") >= 0
    running.stop_master()  # and what it wrote on the other day is read back
    running.start_master()
    assert running.get("/api/v1/me").status == 200
    wait_for("the agent", lambda: running.agent_is_up("agent0"))
    y = shell(running, "echo again")
    assert running.wait_experiment(y)["state"] == "STATE_COMPLETED"


def test_a_deadline_of_another_day_is_not_waited_for_after_a_restart(running, clock, tmp_path):
    clock.set(DAY_S)
    x, pid = start_deaf_task(running, tmp_path, timeout_s=2)
    assert running.post(f"/api/v1/experiments/{x}/pause").status == 200
    running.stop_master(9)
    clock.set(0)
    running.start_master()
    wait_for("the end of the task that did not hear", lambda: not alive(pid))


def test_an_agent_does_not_mind(running, clock, tmp_path):
    """An agent's retries and time-outs go by the monotonic clock: it connects again at once."""
    for by_s in (DAY_S, -DAY_S):
        running.stop_master()
        clock.set(by_s)
        running.start_master()
        wait_for("the agent", lambda: running.agent_is_up("agent0"))  # for two minutes at most, and not for a day
