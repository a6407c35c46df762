"""Start a TensorFlow script once on every machine of the trial, with ``TF_CONFIG`` set where there are several.

``python3 -m determined.launch.tensorflow [--port PORT] (--trial TRIAL | [--] SCRIPT...)``

A Trial class gets a process for each slot instead, with the variables that torchrun uses (RANK, WORLD_SIZE …): there is
nothing of torch in that, and ``determined.keras`` connects the processes itself.
"""

import argparse
import json
import sys
from typing import Dict, List, NamedTuple

from determined import _info, _process
from determined.launch import _command, _peers, _supervisor

USAGE = "usage: tensorflow [--port PORT] (--trial TRIAL | [--] SCRIPT...)"


class Options(NamedTuple):
    """The command line: the port at which workers meet, what runs, and whether once for each slot."""

    port: str
    script: List[str]
    each_slot: bool


def parse(args: List[str]) -> Options:
    """Read the command line.

    >>> parse(["--port", "3333", "--", "python3", "train.py", "--x"])
    Options(port='3333', script=['python3', 'train.py', '--x'], each_slot=False)
    """
    parser = argparse.ArgumentParser(prog="tensorflow", description="Start a TensorFlow script.")
    parser.add_argument("--port", type=int, default=_command.given_port())
    parser.add_argument("--trial", help="a Trial class, module:Class")
    parser.add_argument("script", metavar="SCRIPT", nargs=argparse.REMAINDER)
    options = parser.parse_args(args)
    script = options.script[1:] if options.script[:1] == ["--"] else options.script
    if options.trial is not None:
        script = ["--trial", options.trial, *script]
    return Options(str(options.port), _command.script_of(script), each_slot=script[:1] == ["--trial"])


def tf_config(task: _command.Task, port: str) -> str:
    """What TensorFlow wants to know of a cluster of workers."""
    workers = [f"{address}:{port}" for address in task.info.container_addrs]
    return json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": task.info.container_rank}})


def _in_each_slot(task: _command.Task, script: List[str], env: Dict[str, str]) -> int:
    counts, node = task.info.container_slot_counts, task.info.container_rank
    if task.slots == 0:
        raise _command.Refusal("tensorflow --trial starts a process for each slot, and this task has none")
    env = {
        **env,
        "WORLD_SIZE": str(sum(counts)),
        "LOCAL_WORLD_SIZE": str(task.slots),
        "GROUP_RANK": str(node),
        "GROUP_WORLD_SIZE": str(task.nodes),
    }
    spawn = ["python3", "-m", "determined.launch._spawn", str(sum(counts[:node])), str(task.slots), "--"]
    return _supervisor.supervise(
        task.info.allocation_id,
        task.slots,
        _supervisor.Plan(),
        lambda address: [*spawn, "python3", "-m", *_command.worker(address, "RANK", script)],
        env,
    )


def main(args: List[str]) -> int:
    """Run the script; returns its exit status."""
    try:
        options = parse(args)
        task = _command.among_others(_command.this_task("tensorflow"))
        env: Dict[str, str] = {**_process.environment(), "DET_CHIEF_IP": task.chief_ip}
        if task.nodes > 1:
            env[_info.TRIAL_KEY_VARIABLE], _ = _peers.agree(task.info, int(options.port))
        if options.each_slot:
            return _in_each_slot(task, options.script, env)
    except (_command.UsageError, _command.Refusal) as e:
        return _command.refuse(USAGE, e)
    script = options.script
    if task.nodes > 1:
        env["TF_CONFIG"] = tf_config(task, options.port)
        script = _command.wrapped(str(task.info.container_rank), script)
    return _process.run(script, env)


if __name__ == "__main__":
    sys.exit(_command.run(main, USAGE, __doc__))
