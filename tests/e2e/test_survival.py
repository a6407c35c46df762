"""What survives kill -9 of each program: running tasks go on, and all that was acknowledged is there exactly once."""
import contextlib
import http.client
import os
import random
import signal
import subprocess
import threading
import time

from support.cluster import BUILD, wait_for
from support.experiments import (
    final_states,
    log_of,
    master_epoch,
    shell,
    task_lines,
    the_trial,
    wait_file,
    wait_no_supervisors,
    wait_slots_free,
)
from support.machine_pids import machine_pids  # noqa: F401
from support.processes import alive

# A task that reports by itself: what the master has acknowledged is written down, line by line.
REPORTER = r"""
import http.client, json, os, sys, time, uuid
from urllib.parse import urlsplit

place, steps, pause, lines = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
trial, run = int(os.environ["DET_TRIAL_ID"]), int(os.environ["DET_TRIAL_RUN_ID"])
master = urlsplit(os.environ["DET_MASTER"])
acknowledged = open(f"{place}/trial-{trial}", "a", buffering=1)

def post(path, body):
    while True:
        try:
            connection = http.client.HTTPConnection(master.hostname, master.port, timeout=10)
            connection.request("POST", path, json.dumps(body), {"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]})
            reply = connection.getresponse()
            text = reply.read()
            if reply.status == 200:
                return
            if reply.status not in (502, 503, 504):
                sys.exit(f"{path}: {reply.status} {text}")
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.02)

print("pid", os.getpid(), flush=True)
for step in range(1, steps + 1):
    while step == steps and os.path.exists(f"{place}/hold"):
        time.sleep(0.02)
    for line in range((step - 1) * lines, step * lines):
        print("line", line + 1, flush=True)
    group = "validation" if step % 5 == 0 else "training"
    post(f"/api/v1/trials/{trial}/metrics", {"group": group, "metrics": {"trialId": trial, "trialRunId": run, "stepsCompleted": step,
                                                                         "metrics": {"avgMetrics": {"loss": 1 / step}}}})
    print("metric", step, file=acknowledged)
    if step % 5 == 0:
        checkpoint = str(uuid.uuid4())
        post("/api/v1/checkpoints", {"uuid": checkpoint, "taskId": os.environ["DET_TASK_ID"],
                                     "allocationId": os.environ["DET_ALLOCATION_ID"], "resources": {"f": "1"},
                                     "metadata": {"steps_completed": step}, "state": "STATE_COMPLETED",
                                     "reportTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
        print("checkpoint", checkpoint, file=acknowledged)
    time.sleep(pause)
print("done", flush=True)
"""


def reporter(cluster, place, steps, pause, lines=1, **config):
    """An experiment that prints so many lines and reports metrics in each step."""
    return cluster.create(files={"reporter.py": REPORTER}, entrypoint=["python3", "reporter.py", *map(str, (place, steps, pause, lines))],
                          checkpoint_policy="none", **config)


@contextlib.contextmanager
def held(place):
    """Reporters go no further than to their last step: they run, however slow this machine is for the others."""
    (place / "hold").touch()
    yield
    (place / "hold").unlink()


def reports(cluster, trial_id):
    """Steps of all stored reports of a trial, one entry each."""
    lines = cluster.get(f"/api/v1/trials/metrics/trial_metrics?trialIds={trial_id}").lines
    return sorted(r["totalBatches"] for line in lines for r in line["result"]["metrics"] if not r["archived"])


def check_reporter(cluster, place, experiment, steps):
    """Everything acknowledged is there, everything is there once, and it all came from one run of the task."""
    trial = the_trial(cluster, experiment)
    lines = task_lines(cluster, trial["id"])
    assert lines[0].startswith("pid "), lines
    assert lines[1:] == [f"line {i}" for i in range(1, steps + 1)] + ["done"]
    said = [line.split() for line in (place / f"trial-{trial['id']}").read_text().splitlines()]
    assert [int(word) for kind, word in said if kind == "metric"] == list(range(1, steps + 1))
    assert reports(cluster, trial["id"]) == list(range(1, steps + 1))
    listed = [c["uuid"] for c in cluster.get(f"/api/v1/trials/{trial['id']}/checkpoints").json["checkpoints"]]
    assert sorted(listed) == sorted(word for kind, word in said if kind == "checkpoint")
    assert trial["restarts"] == 0


def task_pid(cluster, experiment):
    def look():
        lines = task_lines(cluster, the_trial(cluster, experiment)["id"])
        return int(lines[0].split()[1]) if lines else None
    return wait_for("the task's first line", look)


def running(new_cluster, slots=2, **agent):
    """A cluster of one agent. These tests kill programs more often than a healthy host does, so there is no quarantine."""
    cluster = new_cluster(config={"resource_manager": {"type": "agent", "quarantine": False}}).start_master()
    cluster.start_agent(slots=slots, **agent)
    cluster.login()
    return cluster


def gated(cluster, place, name="gate"):
    """Prints `before`, waits for its gate, prints `after`."""
    return shell(cluster, f"echo before; echo $$ >{place}/{name}.pid; while [ ! -e {place}/{name} ]; do sleep 0.02; done; echo after")


# ---- the master ----


def test_a_running_trial_does_not_notice_that_the_master_was_killed(new_cluster, tmp_path):
    cluster = running(new_cluster)
    with held(tmp_path):
        x = reporter(cluster, tmp_path, steps=60, pause=0.02)
        pid = task_pid(cluster, x)
        wait_for("some reports", lambda: len(reports(cluster, the_trial(cluster, x)["id"])) > 10)
        cluster.stop_master(signal.SIGKILL)
        time.sleep(0.3)  # the task goes on meanwhile, if it can
        assert alive(pid)
        cluster.start_master()
        assert cluster.experiment(x)["state"] == "STATE_RUNNING"
        assert alive(pid)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    check_reporter(cluster, tmp_path, x, 60)
    assert task_pid(cluster, x) == pid
    wait_slots_free(cluster)
    wait_no_supervisors(cluster)


LIBRARY = """
import time
from determined import core

with core.init() as context:
    for step in range(1, 31):
        context.train.report_training_metrics(step, {"loss": 1 / step})
        if step % 10 == 0:
            with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
                (path / "state").write_text(str(step))
        time.sleep(0.03)
"""


def test_the_library_rides_out_a_killed_master(new_cluster):
    cluster = running(new_cluster)
    x = cluster.create(files={"script.py": LIBRARY}, entrypoint="python3 script.py")
    trial = the_trial(cluster, x)["id"]
    wait_for("some reports", lambda: len(reports(cluster, trial)) > 5)
    cluster.stop_master(signal.SIGKILL)
    time.sleep(0.3)  # so that the library meets a master that is away
    cluster.start_master()
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    assert reports(cluster, trial) == list(range(1, 31))
    assert the_trial(cluster, x)["restarts"] == 0
    checkpoints = cluster.get(f"/api/v1/trials/{trial}/checkpoints").json["checkpoints"]
    assert all((cluster.storage / c["uuid"] / "state").exists() for c in checkpoints if c["state"] == "STATE_COMPLETED")
    assert max(c["metadata"]["steps_completed"] for c in checkpoints) == 30


class Creator(threading.Thread):
    """Creates small experiments for as long as it is let, whatever happens to the master; knows which were acknowledged."""

    def __init__(self, cluster, place, steps):
        super().__init__(daemon=True)
        self.cluster, self.place, self.steps = cluster, place, steps
        self.made, self.stop, self.failure = [], threading.Event(), None

    def run(self):
        while not self.stop.wait(0.15):
            try:
                self.create()
            except (OSError, http.client.HTTPException):
                continue  # the master is away; perhaps it made the experiment all the same
            except BaseException as e:  # noqa: B902 (shown by the test)
                self.failure = e
                return


    def create(self):
        self.made.append(reporter(self.cluster, self.place, self.steps, 0.01))


def all_experiments(cluster):
    return [x["id"] for x in cluster.get("/api/v1/experiments?limit=-1").json["experiments"]]


def test_ten_kills_of_the_master_at_random_moments_lose_and_double_nothing(new_cluster, tmp_path):
    seed = int(os.environ.get("DET_TEST_SEED", random.SystemRandom().randrange(1 << 30)))
    print(f"DET_TEST_SEED={seed}")
    rng, steps = random.Random(seed), 12
    cluster = running(new_cluster, slots=3)
    creator = Creator(cluster, tmp_path, steps)
    creator.start()
    epochs = [master_epoch(cluster)]
    for _ in range(10):
        time.sleep(rng.uniform(0, 0.5))  # a moment chosen at random
        cluster.stop_master(signal.SIGKILL)
        cluster.start_master()
        epochs.append(master_epoch(cluster))
    creator.stop.set()
    creator.join()
    assert creator.failure is None, repr(creator.failure)
    assert epochs == list(range(epochs[0], epochs[0] + 11))
    there = all_experiments(cluster)
    assert creator.made and set(creator.made) <= set(there)
    assert set(final_states(cluster, there).values()) == {"STATE_COMPLETED"}
    for x in there:
        check_reporter(cluster, tmp_path, x, steps)
    wait_slots_free(cluster)
    wait_no_supervisors(cluster)


def test_a_task_that_ends_while_the_master_is_away_has_ended_after_its_restart(new_cluster, tmp_path):
    cluster = running(new_cluster)
    good, bad = gated(cluster, tmp_path, "good"), shell(cluster, f"while [ ! -e {tmp_path}/bad ]; do sleep 0.02; done; exit 3")
    pid = int(wait_file(tmp_path / "good.pid"))
    wait_for("the second task", lambda: cluster.experiment(bad)["state"] == "STATE_RUNNING")
    cluster.stop_master(signal.SIGKILL)
    (tmp_path / "good").touch()
    (tmp_path / "bad").touch()
    wait_for("the task's end", lambda: not alive(pid))
    cluster.start_master()
    assert final_states(cluster, [good, bad]) == {good: "STATE_COMPLETED", bad: "STATE_ERROR"}
    assert task_lines(cluster, the_trial(cluster, good)["id"]) == ["before", "after"]
    assert "exit code: 3" in log_of(cluster, bad)
    wait_slots_free(cluster)
    wait_no_supervisors(cluster)


def test_what_was_asked_before_the_master_was_killed_is_done_after_its_restart(new_cluster, tmp_path):
    cluster = running(new_cluster, slots=1)
    runs, waits = gated(cluster, tmp_path), shell(cluster, "echo ran at last")
    pid = int(wait_file(tmp_path / "gate.pid"))
    assert cluster.post(f"/api/v1/experiments/{runs}/kill").status == 200
    cluster.stop_master(signal.SIGKILL)
    cluster.start_master()
    assert final_states(cluster, [runs, waits]) == {runs: "STATE_CANCELED", waits: "STATE_COMPLETED"}
    assert not alive(pid)
    assert task_lines(cluster, the_trial(cluster, waits)["id"]) == ["ran at last"]


def test_sessions_and_settings_of_users_survive(new_cluster):
    cluster = new_cluster().start_master()
    cluster.login()
    cluster.stop_master(signal.SIGKILL)
    cluster.start_master()
    assert cluster.get("/api/v1/me").json["user"]["username"] == "determined"
    assert cluster.login("admin", keep=False).status == 200


def second_master(cluster):
    return subprocess.run([BUILD / "determined-master", "--config-file", cluster.dir / "master.yaml", "--data-dir", cluster.dir / "data",
                           "--port", "0"], capture_output=True, text=True, timeout=60)


def test_a_second_master_on_the_same_data_is_refused(new_cluster):
    cluster = new_cluster().start_master()
    refused = second_master(cluster)
    assert refused.returncode != 0
    assert f"another master runs on {cluster.dir}/data" in refused.stderr, refused.stderr
    assert cluster.get("/health", token=None).status == 200
    assert cluster.login().status == 200


def test_a_master_that_is_asked_to_stop_stops_soon_and_loses_nothing(new_cluster, tmp_path):
    cluster = running(new_cluster)
    x = reporter(cluster, tmp_path, steps=50, pause=0.01)
    trial = the_trial(cluster, x)["id"]
    follower = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=60)
    follower.request("GET", f"/api/v1/trials/{trial}/logs?follow=true", headers={"Authorization": f"Bearer {cluster.token}"})
    wait_for("some reports", lambda: len(reports(cluster, trial)) > 5)
    start = time.monotonic()
    assert cluster.stop_master() == 0
    print(f"stopped in {(time.monotonic() - start) * 1000:.0f} ms")
    with contextlib.suppress(OSError, http.client.HTTPException):
        follower.getresponse().read()
    follower.close()
    cluster.start_master()
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    check_reporter(cluster, tmp_path, x, 50)


# ---- the agent ----


def test_a_task_goes_on_when_its_agent_is_killed_and_is_taken_over_by_the_next(new_cluster, tmp_path):
    cluster = running(new_cluster)
    with held(tmp_path):
        x = reporter(cluster, tmp_path, steps=40, pause=0.02)
        pid = task_pid(cluster, x)
        cluster.stop_agent(signo=signal.SIGKILL)
        time.sleep(0.2)  # the task goes on meanwhile, if it can
        assert alive(pid)
        cluster.start_agent(slots=2)
        assert alive(pid)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    check_reporter(cluster, tmp_path, x, 40)
    wait_slots_free(cluster)
    wait_no_supervisors(cluster)


def test_a_task_that_ends_without_its_agent_is_reported_by_the_next(new_cluster, tmp_path):
    cluster = running(new_cluster)
    x = gated(cluster, tmp_path)
    pid = int(wait_file(tmp_path / "gate.pid"))
    cluster.stop_agent(signo=signal.SIGKILL)
    (tmp_path / "gate").touch()
    wait_for("the task's end", lambda: not alive(pid))
    cluster.start_agent(slots=2)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    assert task_lines(cluster, the_trial(cluster, x)["id"]) == ["before", "after"]
    wait_no_supervisors(cluster)


def test_a_kill_that_met_an_agent_that_was_away_reaches_it_as_soon_as_it_is_back(new_cluster, tmp_path):
    """Said before the welcome it was not heard, and came again after 30 s only."""
    cluster = running(new_cluster)
    x = gated(cluster, tmp_path)
    pid = int(wait_file(tmp_path / "gate.pid"))
    cluster.stop_agent(signo=signal.SIGKILL)
    wait_for("the master to notice", lambda: "agent.disconnected" in cluster.master_log())
    assert cluster.post(f"/api/v1/experiments/{x}/kill").status == 200
    cluster.start_agent(slots=2)
    assert cluster.wait_experiment(x, timeout_s=20)["state"] == "STATE_CANCELED"
    assert not alive(pid)


def test_ten_kills_of_the_agent_at_random_moments_lose_and_double_nothing(new_cluster, tmp_path):
    seed = int(os.environ.get("DET_TEST_SEED", random.SystemRandom().randrange(1 << 30)))
    print(f"DET_TEST_SEED={seed}")
    rng, steps = random.Random(seed), 12
    cluster = running(new_cluster, slots=3)
    creator = Creator(cluster, tmp_path, steps)
    creator.start()
    for _ in range(10):
        time.sleep(rng.uniform(0, 0.4))  # a moment chosen at random
        cluster.stop_agent(signo=signal.SIGKILL)
        cluster.start_agent(slots=3)
    creator.stop.set()
    creator.join()
    assert creator.failure is None, repr(creator.failure)
    assert set(final_states(cluster, creator.made).values()) == {"STATE_COMPLETED"}
    for x in creator.made:
        check_agent_kills(cluster, x, steps)
    wait_slots_free(cluster)
    wait_no_supervisors(cluster)


def check_agent_kills(cluster, experiment, steps):
    """An agent that dies while it prepares a task takes this start along; the trial is then run again, which counts for nothing."""
    trial = the_trial(cluster, experiment)
    lines = task_lines(cluster, trial["id"])
    last = max(i for i, line in enumerate(lines) if line.startswith("pid "))
    assert lines[last + 1:] == [f"line {i}" for i in range(1, steps + 1)] + ["done"]
    assert reports(cluster, trial["id"]) == list(range(1, steps + 1))
    assert trial["restarts"] == 0


def test_both_killed_and_the_task_goes_on(new_cluster, tmp_path):
    cluster = running(new_cluster)
    with held(tmp_path):
        x = reporter(cluster, tmp_path, steps=40, pause=0.02)
        ends = gated(cluster, tmp_path)
        pid, other = task_pid(cluster, x), int(wait_file(tmp_path / "gate.pid"))
        cluster.stop_master(signal.SIGKILL)
        cluster.stop_agent(signo=signal.SIGKILL)
        (tmp_path / "gate").touch()
        wait_for("the other task's end", lambda: not alive(other))
        assert alive(pid)
    cluster.start_master()
    cluster.start_agent(slots=2)
    assert final_states(cluster, [x, ends]) == {x: "STATE_COMPLETED", ends: "STATE_COMPLETED"}
    check_reporter(cluster, tmp_path, x, 40)
    assert task_lines(cluster, the_trial(cluster, ends)["id"]) == ["before", "after"]
    wait_slots_free(cluster)
    wait_no_supervisors(cluster)


# ---- everything at once ----

MARK = f"31415.{os.getpid():09d}"  # seconds of sleep by which the processes of these tasks are told from all others


def act(cluster, rng, made):
    """One request of a user, which may meet a master that is away."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        what = rng.choice(["create", "create", "pause", "activate", "kill", "cancel"])
        if what == "create" or not made:
            script = rng.choice(["true", "exit 1", f"sleep {MARK}", f"setsid sleep {MARK} & sleep 0.1", "sleep 0.05; echo done"])
            made.append(shell(cluster, script, max_restarts=1, preemption_timeout=1))
        else:
            cluster.post(f"/api/v1/experiments/{rng.choice(made)}/{what}")


def left_over():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline") as line:
                if MARK in line.read() and alive(pid):
                    found.append(int(pid))
    return found


def kill_all(cluster):
    for x in all_experiments(cluster):
        assert cluster.post(f"/api/v1/experiments/{x}/kill").status == 200


def test_no_slot_and_no_process_is_lost_whatever_users_do_while_programs_are_killed(new_cluster):
    seed = int(os.environ.get("DET_TEST_SEED", random.SystemRandom().randrange(1 << 30)))
    print(f"DET_TEST_SEED={seed}")
    rng = random.Random(seed)
    cluster, made = running(new_cluster, slots=4), []
    for _ in range(8):
        for _ in range(rng.randrange(1, 12)):
            act(cluster, rng, made)
            time.sleep(rng.uniform(0, 0.03))  # a moment chosen at random
        which = rng.choice(["master", "agent", "both"])
        if which != "agent":
            cluster.stop_master(signal.SIGKILL)
        if which != "master":
            cluster.stop_agent(signo=signal.SIGKILL)
        if which != "agent":
            cluster.start_master()
        if which != "master":
            cluster.start_agent(slots=4)
    assert set(made) <= set(all_experiments(cluster))
    kill_all(cluster)
    assert set(final_states(cluster, all_experiments(cluster)).values()) <= {"STATE_CANCELED", "STATE_COMPLETED", "STATE_ERROR"}
    wait_slots_free(cluster)
    wait_no_supervisors(cluster)
    wait_for("the end of all tasks' processes", lambda: not left_over())
    last = shell(cluster, "echo still works", slots=4)
    assert cluster.wait_experiment(last)["state"] == "STATE_COMPLETED"
