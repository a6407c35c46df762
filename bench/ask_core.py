"""Questions about the core alone, with no network, store or agent around it."""
from ask_store import medians
from harness import Row, question


@question
def scheduling():
    """What does a pass of the scheduler cost with 10,000 agents of 8 slots and 100,000 waiting jobs?"""
    found = medians("sched_pass", 5)
    for kind, what in (("by priority", "by priority"), ("gangs", "gangs of 2 to 64"), ("by fair share", "by fair share")):
        yield Row(f"scheduling {what}: everything at once", found[f"{kind}: everything at once"], "ms", "≤ 2000")
        yield Row("… one job ended", found[f"{kind}: one ended"], "ms", "≤ 10")
        yield Row("… the worst of 200 such", found[f"{kind}: one ended, the worst"], "ms")
        yield Row("… placements", found[f"{kind}: placements"], "/s", "≥ 20000" if kind == "gangs" else "≥ 100000")
    yield Row("scheduling: one job moved in a queue of 100,000", found["one moved"], "ms", "≤ 1")
