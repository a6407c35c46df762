"""Questions about the core and about permissions alone, with no network, store or agent around them."""
import re
import subprocess

from ask_store import medians
from harness import BUILD, Row, question

SEEDS = (3, 7, 11)  # of the largest size, whose pools differ
SECONDS = 15


@question
def scheduling():
    """What does a pass of the scheduler cost with 10,000 agents of 8 slots and 100,000 waiting jobs?"""
    found = medians("sched_pass", 5)
    for kind, what in (("by priority", "by priority"), ("gangs", "gangs of 2 to 64"), ("by fair share", "by fair share"),
                       ("gangs by fair share", "gangs of 2 to 64 by fair share")):
        yield Row(f"scheduling {what}: everything at once", found[f"{kind}: everything at once"], "ms", "≤ 2000")
        yield Row("… one job ended", found[f"{kind}: one ended"], "ms", "≤ 10")
        yield Row("… the worst of 200 such", found[f"{kind}: one ended, the worst"], "ms")
        yield Row("… placements", found[f"{kind}: placements"], "/s", "≥ 20000" if kind.startswith("gangs") else "≥ 100000")
    for kind in ("by priority", "gangs", "by fair share", "gangs by fair share"):
        kind = f"quotas of 1000 users, {kind}"
        yield Row(f"scheduling, {kind}: one job ended", found[f"{kind}: one ended"], "ms")
        yield Row("… of a pass without quotas", found[f"{kind}: one ended, of a pass without quotas"], "×", "≤ 1.2")
    yield Row("scheduling a full pool of 1,000 agents, 8,000 gangs that others are stopped for: everything at once",
              found["full: everything at once"], "ms", "≤ 2000")
    yield Row("… one that was stopped has gone", found["full: one ended"], "ms", "≤ 10")
    yield Row("… the worst of 200 such", found["full: one ended, the worst"], "ms")
    for kind in ("without needs, by priority", "with needs, by priority", "without needs, by fair share", "with needs, by fair share"):
        yield Row(f"scheduling 10,000 jobs of 1 to 8 slots on 1,000 agents, {kind}: one job ended", found[f"{kind}: one ended"], "ms")
    yield Row("scheduling: one job moved in a queue of 100,000", found["one moved"], "ms", "≤ 1")


def events_an_hour(seed, seconds):
    """Of CPU time, by the soak itself; a run that takes longer ends there."""
    subprocess.run(["ninja", "-C", str(BUILD), "tests/sim/soak"], check=True, stdout=subprocess.DEVNULL)
    text = subprocess.run([BUILD / "tests/sim/soak", "--seed", str(seed), "--seconds", str(seconds)], check=True, capture_output=True,
                          text=True).stdout
    return float(re.search(r"([\d.e+]+) an hour", text)[1])


@question
def simulation():
    """How many events of the simulated cluster are checked in an hour of CPU time, with 1,000 agents and 10,000 jobs?"""
    yield Row("simulated events an hour of CPU time, 1,000 agents, 10,000 jobs", [events_an_hour(seed, SECONDS) for seed in SEEDS], "/h",
              "≥ 10000000")


@question
def permissions():
    """What does a check of a permission cost with 10,000 users, 1,000 groups and 100,000 roles given?"""
    found = medians("permission_check", 5)
    yield Row("permissions: a check", found["a check"], "µs", "≤ 2")
    yield Row("… the first of a user", found["the first check of a user"], "µs")
    yield Row("… a role given, and the check that follows", found["a change"], "µs")
    yield Row("permissions loaded when the master starts", found["loading"], "ms")
