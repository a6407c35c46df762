"""Questions about checkpoints: how fast they get where they are kept."""
import json
import os
import subprocess

from harness import ROOT, Row, directory, question

MIB, TURNS = 512, 7


@question
def checkpoint_upload():
    """How fast does a checkpoint get into a directory, compared to cp?"""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    with directory() as path:
        program = [ROOT / ".venv/bin/python", ROOT / "bench/checkpoint_copy.py", path, str(MIB), str(TURNS)]
        turns = json.loads(subprocess.run(program, capture_output=True, text=True, env=env, check=True).stdout.splitlines()[-1])
    cp = [t["cp"] for t in turns]
    yield Row("a checkpoint's upload to a directory, of cp -r and sync -f", [100 * t["ours"] / t["cp"] for t in turns], "%", "≥ 80")
    yield Row("… until it is on the disk", [t["ours"] for t in turns], "MiB/s", "", "cp -r; sync -f", cp)
    yield Row("… beside cp, which leaves it in memory", [t["ours"] for t in turns], "MiB/s", "", "cp -r", [t["bare"] for t in turns])
