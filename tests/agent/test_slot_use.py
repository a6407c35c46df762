"""Tests what the agent tells of the use of slots: only of tasks for which the master asks, and as they really use them."""
import signal

import pytest
from support.fake_master.agents import Agent
from support.gpu_stubs import NvidiaStub

WATCH = {"everyMs": 200, "belowPercent": 2}
SLEEP = ["sleep 1000"]


@pytest.fixture
def agent(master, place):
    a = Agent(master, place / "agent", artificial_slots=2)
    yield a
    if a.process and a.process.poll() is None:
        a.kill(signal.SIGTERM)


def idle_ms(master, container):
    """For how long the slots were idle, as the agent has told last; None: it has told nothing of this container."""
    told = master.uses[-1].get(container) if master.uses else None
    return int(told.get("idleMs", 0)) if told else None


def wait_idle(master, container, ms):
    master.wait(lambda: (idle_ms(master, container) or 0) > ms)


def wait_used(master, container):
    """Waits for two reports in a row that say that the slots were used within the last moments."""
    seen = len(master.uses)
    master.wait(lambda: len(master.uses) > seen + 1 and all(int(u.get(container, {}).get("idleMs", 10_000)) < 1000 for u in master.uses[-2:]))


def test_what_does_nothing_is_idle_and_what_computes_is_not(master, agent):
    agent.start()
    master.wait_agent()
    assert master.hellos[0][1]["tellsUse"] is True
    idle = master.start(SLEEP, watchUse=WATCH)
    busy = master.start(["while :; do :; done"], deviceIds=[1], watchUse=WATCH)
    unasked = master.start(SLEEP, deviceIds=[])
    wait_idle(master, idle, 2000)
    assert idle_ms(master, busy) < 2000
    assert not any(unasked in told for told in master.uses)
    master.signal(idle, signal.SIGKILL)
    master.finish(idle)
    seen = len(master.uses)
    master.wait(lambda: len(master.uses) > seen + 1)
    assert set(master.uses[-1]) == {busy}
    master.signal(busy, signal.SIGKILL)
    master.finish(busy)


def test_an_agent_that_was_restarted_goes_on_and_one_without_its_master_counts_on(master, agent):
    agent.start()
    master.wait_agent()
    idle = master.start(SLEEP, watchUse=WATCH)
    wait_idle(master, idle, 1500)
    before, seen = idle_ms(master, idle), len(master.uses)
    master.drop()
    master.wait_agent(2)
    master.wait(lambda: len(master.uses) > seen)
    assert int(master.uses[seen][idle]["idleMs"]) >= before
    agent.kill()
    agent.start()
    master.wait_agent(3)
    seen = len(master.uses)
    master.wait(lambda: len(master.uses) > seen)
    assert int(master.uses[seen][idle].get("idleMs", 0)) < before  # the time has begun anew
    wait_idle(master, idle, before)
    master.signal(idle, signal.SIGKILL)
    master.finish(idle)


def test_of_gpus_their_own_word_counts(master, place):
    stub = NvidiaStub(place, "count=2 busy=0")
    a = Agent(master, place / "agent")
    a.environment = stub.environment
    try:
        a.start()
        master.wait_agent()
        c = master.start(["while :; do :; done"], deviceIds=[1], watchUse=WATCH)
        wait_idle(master, c, 1000)  # the processors do not matter
        stub.tell("count=2 busy=2")
        wait_used(master, c)
        stub.tell("count=2 busy=1")
        wait_idle(master, c, 1000)
        stub.tell("count=2 busy=0 lost=1")
        master.wait(lambda: master.uses[-1][c].get("problem") == "GPU 1 does not answer")
        master.signal(c, signal.SIGKILL)
        master.finish(c)
    finally:
        a.kill(signal.SIGTERM)


def test_an_instance_of_a_gpu_does_not_tell(master, place):
    a = Agent(master, place / "agent")
    a.environment = NvidiaStub(place, "count=1 mig=0").environment
    try:
        a.start()
        master.wait_agent()
        c = master.start(SLEEP, watchUse=WATCH)
        master.wait(lambda: master.uses and master.uses[-1][c].get("problem"))
        assert master.uses[-1][c]["problem"] == "GPU 0 (MIG-00000000-0001) does not tell how busy it is"
        master.signal(c, signal.SIGKILL)
        master.finish(c)
    finally:
        a.kill(signal.SIGTERM)
