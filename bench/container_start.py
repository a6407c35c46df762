#!/usr/bin/env python3
"""How long a task in a container takes beside a bare `docker run` of the same image, in the same run, by turns.

From the master's StartTask to the user's first line as the master sees it, beside the first line of `docker run`; then 20 tasks at once
until all of them have ended, beside 20 `docker run` at once; and the lines of one task's output that arrive in a second.
The engine is started here, with a small image (tests/support/engines.py). Usage: bench/container_start.py [runs]
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests"))
from support import engines  # noqa: E402
from support.fake_master import agents  # noqa: E402

runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
AT_ONCE, LINES = 20, 1000000
ORDER = {"image": engines.IMAGE, "more_container": {"imageNamed": True, "networkMode": "host"}, "fetchContext": False}


def bare(engine, *words):
    return subprocess.Popen(["docker", "-H", f"unix://{engine.socket}", "run", "--rm", "--network=host", engines.IMAGE, *words],
                            stdout=subprocess.PIPE)


def first_line_bare(engine):
    begin = time.monotonic()
    process = bare(engine, "echo", "hello")
    process.stdout.readline()
    took = time.monotonic() - begin
    process.wait()
    return took * 1000


def first_line(master):
    begin = time.monotonic()
    container = master.start(["echo hello"], **ORDER)
    master.wait(lambda: master.lines.get(container))
    took = time.monotonic() - begin
    master.finish(container)
    return took * 1000


def all_ended_bare(engine):
    begin = time.monotonic()
    for process in [bare(engine, "echo", "hello") for _ in range(AT_ONCE)]:
        process.communicate()
    return time.monotonic() - begin


def all_ended(master):
    begin = time.monotonic()
    for container in [master.start(["echo hello"], **ORDER) for _ in range(AT_ONCE)]:
        master.finish(container)
    return time.monotonic() - begin


def lines_a_second(master):
    container = master.start([f"seq 1 {LINES}"], **ORDER)
    master.wait(lambda: master.lines.get(container))
    begin = time.monotonic()
    master.finish(container)
    assert len(master.lines[container]) == LINES
    return LINES / (time.monotonic() - begin)


def tell(name, ours, theirs, unit):
    a, b = statistics.median(ours), statistics.median(theirs)
    print(f"{name}: task {a:.{0 if unit == 'ms' else 2}f} {unit}, docker run {b:.{0 if unit == 'ms' else 2}f} {unit}, {a / b:.2f} ×, "
          f"medians of {len(ours)}")


with tempfile.TemporaryDirectory() as place:
    engine = engines.start("docker")
    pathlib.Path(place).chmod(0o711)
    master = agents.Master()
    agent = agents.Agent(master, pathlib.Path(place) / "agent", container_runtime="docker", container_socket=engine.socket).start()
    try:
        master.wait_agent()
        first_line(master), first_line_bare(engine)  # so that both are warm
        both = [(first_line(master), first_line_bare(engine)) for _ in range(runs)]
        tell("first line", [a for a, _ in both], [b for _, b in both], "ms")
        both = [(all_ended(master), all_ended_bare(engine)) for _ in range(3)]
        tell(f"{AT_ONCE} at once, until the last has ended", [a for a, _ in both], [b for _, b in both], "s")
        print(f"lines of a task's output: {lines_a_second(master):,.0f}/s")
    finally:
        agent.kill(15)
        master.close()
