"""What single requests of the worst shapes cost everybody: processor time of the loop's longest turn, and memory."""
from harness import Row, question, running_master
from support.costs import Costs, can_measure
from support.hostile import SHAPES, Victim, carry_out

# Files need what they need: up to three times the body.
BRINGS_FILES = ("a file of", "files that are", "a hundred thousand files", "a configuration of 100 MB")


@question
def hostile_requests():
    """What does one request of an ordinary user, in the worst shape, take of the loop and of memory?"""
    if not can_measure():
        return
    with running_master() as cluster:
        victim = Victim(cluster)
        turns, growths = {}, {}
        for name in SHAPES:
            with Costs(cluster) as cost:
                reply = carry_out(victim, name)
            turns[name], growths[name] = cost.turn_s * 1000, cost.grown_bytes / 1e6
            print(f"  {name:<50} {reply.status if reply else 'cut':>4} {turns[name]:8.1f} ms {growths[name]:8.1f} MB", flush=True)
    files = [g for name, g in growths.items() if name.startswith(BRINGS_FILES)]
    others = [g for name, g in growths.items() if not name.startswith(BRINGS_FILES)]
    yield Row(f"{len(SHAPES)} hostile requests: longest turn of the loop (CPU)", [max(turns.values())], "ms", "≤ 50")
    yield Row("… the master's memory beyond what it had", [max(others)], "MB", "≤ 100")
    yield Row("… with 95 MiB of files, or as much text", [max(files)], "MB")
