#!/usr/bin/env python3
"""How long from the master's StartTask to the user's first line, as the master sees it? (agent, supervisor, shell: all of ours)

Runs the real determined-agent and determined-task against the tests' master; prints the median and the worst of the runs, for
a warm agent: a plain command, and a trial with a small context. Usage: bench/task_start.py [runs]
"""

import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests"))
from support.fake_master import agents  # noqa: E402

runs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
TRIAL = ["DET_TASK_TYPE=TRIAL", "DET_HPARAMS={}", "DET_EXPERIMENT_CONFIG={}"]


def measure(master, name, argv, **order):
    times = []
    for _ in range(runs):
        begin = time.monotonic()
        container = master.start(argv, **order)
        master.wait(lambda: master.lines.get(container))
        times.append((time.monotonic() - begin) * 1000)
        master.finish(container)
    print(f"task start, {name}: median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms of {runs}")


with tempfile.TemporaryDirectory() as place:
    pathlib.Path(place).chmod(0o711)
    master = agents.Master()
    agent = agents.Agent(master, pathlib.Path(place) / "agent").start()
    try:
        master.wait_agent()
        master.context = agents.tgz({f"file{i}.py": "x = 1\n" * 100 for i in range(20)})
        measure(master, "command without context", ["echo hello"], fetchContext=False)
        measure(master, "trial with a context of 20 files", ["echo hello"], taskType="TASK_TYPE_TRIAL", more_env=TRIAL)
    finally:
        agent.kill(15)
        master.close()
