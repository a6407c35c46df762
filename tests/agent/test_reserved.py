"""Tests what an agent says that its machine has for tasks that ask for cores or memory."""
import os
import signal

import pytest
from support.fake_master.agents import Agent

CORES = len(os.sched_getaffinity(0))
PAGE = os.sysconf("SC_PAGE_SIZE")
MEMORY = os.sysconf("SC_PHYS_PAGES") * PAGE


@pytest.fixture
def start(master, place):
    """Starts an agent with this `reserved` and returns what its hello offers, and the agent."""
    started = []

    def begin(**keys):
        a = Agent(master, place / "agent", **keys).start()
        started.append(a)
        master.wait_agent()
        hello = master.hellos[-1][1]
        return hello.get("cpus", 0), int(hello.get("memoryBytes", 0)), a

    yield begin
    for a in started:
        if a.process and a.process.poll() is None:
            a.kill(signal.SIGTERM)


def test_all_cores_and_nine_tenths_of_the_memory_are_offered(start):
    cpus, memory, agent = start()
    assert cpus == CORES and MEMORY * 0.899 < memory < MEMORY * 0.901
    assert f"agent.offers cpus={CORES} of={CORES} memory_mib={memory >> 20}" in agent.log_text()


def test_what_is_reserved_is_not_offered(start):
    assert start(reserved={"cpus": 0.25, "memory": "1 GiB"})[:2] == (CORES - 0.25, MEMORY - (1 << 30))


def test_who_reserves_more_than_there_is_offers_nothing(start):
    assert start(reserved={"cpus": 5000, "memory": MEMORY + 1})[:2] == (0, 0)


@pytest.mark.parametrize("reserved, said", [({"cpus": -1}, "reserved.cpus"), ({"memory": "much"}, "reserved.memory"), ({"cores": 1}, "cores")])
def test_a_reserve_that_is_none_ends_the_agent_with_the_key(master, place, reserved, said):
    a = Agent(master, place / "agent", reserved=reserved).start()
    assert a.process.wait(60) != 0 and said in a.log_text()
