"""kill -9, again and again, under load: nothing acknowledged is lost or doubled, no process is orphaned, no slot leaks.

DET_FAULT_KILLS says how often (default 10; `make faults`: 200), DET_TEST_DB on which engine, DET_TEST_SEED repeats a run.
The last line of each test counts.
"""
import contextlib
import os
import random
import signal
import time

import pytest
from e2e.test_survival import Creator, check_agent_kills, left_over, running
from fault.journal import Load
from support import postgres
from support.cluster import wait_for
from support.experiments import final_states, log_of, wait_no_supervisors, wait_slots_free

KILLS = int(os.environ.get("DET_FAULT_KILLS", "10"))
ENGINE = os.environ.get("DET_TEST_DB", "sqlite")


@pytest.fixture
def rng():
    seed = int(os.environ.get("DET_TEST_SEED", random.SystemRandom().randrange(1 << 30)))
    print(f"DET_TEST_SEED={seed}")
    return random.Random(seed)


def wait_progress(load, what=5):
    before = load.done()
    wait_for("something to be acknowledged", lambda: load.done() >= before + what)


def say(text):
    print(f"\nfaults: {ENGINE}: {text}")


def end_all(cluster):
    """Nothing runs any more, nothing is left of what ran."""
    wait_slots_free(cluster)
    wait_no_supervisors(cluster)
    wait_for("the end of all tasks' processes", lambda: not left_over())


def test_kills_of_the_master(new_cluster, tmp_path, rng):
    cluster = running(new_cluster, slots=2)
    load, creator = Load(cluster), Creator(cluster, tmp_path, steps=3)
    creator.start()
    for _ in range(KILLS):
        wait_progress(load)
        time.sleep(rng.uniform(0, 0.2))  # a moment chosen at random
        cluster.stop_master(signal.SIGKILL)
        cluster.start_master()
        if len(creator.made) > 40 + KILLS // 4:
            creator.stop.set()  # enough to wait for at the end
    creator.stop.set()
    creator.join()
    load.finish()
    assert creator.failure is None, repr(creator.failure)
    counts = load.check()
    ran = created_and_activated(cluster)
    assert set(creator.made) <= set(ran)
    assert set(final_states(cluster, ran).values()) == {"STATE_COMPLETED"}
    end_all(cluster)
    say(f"{KILLS} kills of the master; acknowledged of sent: {counts}; {len(ran)} trials ran, none twice")


def created_and_activated(cluster):
    """The creator's; those of the load stay paused. In one request: there are thousands."""
    everything = cluster.get("/api/v1/experiments?limit=-1").json["experiments"]
    return [x["id"] for x in everything if x["name"] == "test" and x["state"] != "STATE_PAUSED"]


def is_supervisor(pid):
    with open(f"/proc/{pid}/comm") as name:
        return name.read().startswith("determined-task")


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rsplit(")", 1)[1].split()[1])


def supervisor_pids(cluster):
    """Not their children that are about to become a task: to kill one of those is to kill the task, which counts as its own end."""
    found = []
    for pid in cluster.supervisors():
        with contextlib.suppress(OSError):
            if is_supervisor(pid) and not is_supervisor(parent_of(pid)):
                found.append(pid)
    return found


def kill_some(cluster, rng, counts):
    what = rng.choice(["agent", "supervisor", "both"])
    if what != "agent":
        pids = supervisor_pids(cluster)
        if pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rng.choice(pids), signal.SIGKILL)
                counts["supervisor"] += 1
    if what != "supervisor":
        cluster.stop_agent(signo=signal.SIGKILL)
        counts["agent"] += 1
        cluster.start_agent(slots=3)


def test_kills_of_agent_and_supervisors(new_cluster, tmp_path, rng):
    cluster = running(new_cluster, slots=3)
    counts = {"agent": 0, "supervisor": 0}
    creator, load = Creator(cluster, tmp_path, steps=5), Load(cluster)
    creator.start()
    while sum(counts.values()) < KILLS:
        time.sleep(rng.uniform(0, 0.3))  # a moment chosen at random
        kill_some(cluster, rng, counts)
        if len(creator.made) > 40 + KILLS // 4:
            creator.stop.set()
    creator.stop.set()
    creator.join()
    load.finish()
    assert creator.failure is None, repr(creator.failure)
    acknowledged = load.check()
    states = final_states(cluster, creator.made)
    assert [log_of(cluster, x) for x, state in states.items() if state != "STATE_COMPLETED"] == []
    for x in creator.made:
        check_agent_kills(cluster, x, 5)
    end_all(cluster)
    say(f"{counts['agent']} kills of the agent, {counts['supervisor']} of supervisors; {len(creator.made)} trials ran to their end; "
        f"acknowledged of sent: {acknowledged}")


@pytest.mark.skipif(ENGINE != "postgres" or not postgres.is_installed(), reason="is about a PostgreSQL server: DET_TEST_DB=postgres")
def test_postgres_stopped_and_started_under_load(new_cluster, rng):
    with postgres.Server(fsync="on", full_page_writes="on") as server:
        cluster = new_cluster(config={"db": server.new_database()}).start_master()
        cluster.login()
        load = Load(cluster)
        times = max(3, KILLS // 10)
        for _ in range(times):
            wait_progress(load)
            time.sleep(rng.uniform(0, 0.2))  # a moment chosen at random
            server.stop()
            time.sleep(rng.uniform(0, 0.3))  # a moment chosen at random
            server.start()
        wait_progress(load)
        load.finish()
        wait_for("reads", lambda: cluster.get("/api/v1/me").status == 200 and cluster.metric("det_epoch") > 0)
        say(f"{times} crashes of PostgreSQL; acknowledged of sent: {load.check()}")
        assert cluster.master.poll() is None
        cluster.stop_master()
