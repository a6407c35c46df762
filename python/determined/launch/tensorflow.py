"""Start a TensorFlow script once on every machine of the trial, with ``TF_CONFIG`` set where there are several.

``python3 -m determined.launch.tensorflow [--port PORT] [--] SCRIPT...``
"""

import argparse
import json
import os
import sys
from typing import Dict, List, Tuple

from determined import _info, _process
from determined.launch import _command, _peers

USAGE = "usage: tensorflow [--port PORT] [--] SCRIPT..."


def parse(args: List[str]) -> Tuple[str, List[str]]:
    """The port at which workers meet, and the script.

    >>> parse(["--port", "3333", "--", "python3", "train.py", "--x"])
    ('3333', ['python3', 'train.py', '--x'])
    """
    parser = argparse.ArgumentParser(prog="tensorflow", description="Start a TensorFlow script.")
    parser.add_argument("--port", type=int, default=int(os.environ.get("C10D_PORT") or _command.C10D_PORT))
    parser.add_argument("script", metavar="SCRIPT", nargs=argparse.REMAINDER)
    options = parser.parse_args(args)
    script = options.script[1:] if options.script[:1] == ["--"] else options.script
    if not script:
        raise _command.UsageError("empty script is not allowed")
    return str(options.port), script


def tf_config(task: _command.Task, port: str) -> str:
    """What TensorFlow wants to know of a cluster of workers."""
    workers = [f"{address}:{port}" for address in task.info.container_addrs]
    return json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": task.info.container_rank}})


def main(args: List[str]) -> int:
    """Run the script; returns its exit status."""
    try:
        port, script = parse(args)
        task = _command.this_task("tensorflow")
    except (_command.UsageError, _command.Refusal) as e:
        return _command.refuse(USAGE, e)
    env: Dict[str, str] = {**_process.environment(), "DET_CHIEF_IP": task.chief_ip}
    if task.nodes > 1:
        env["TF_CONFIG"] = tf_config(task, port)
        env[_info.TRIAL_KEY_VARIABLE] = _peers.common_key(task.info)
        script = _command.wrapped(str(task.info.container_rank), script)
    return _process.run(script, env)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
