"""Start a training script under ``torch.distributed``.

``python3 -m determined.launch.torch_distributed [[TORCH_OVERRIDES...] --] (--trial TRIAL | SCRIPT...)``

In a task of one slot, the script runs directly, in the environment that torchrun would give to a single worker.
"""

import os
import sys
from typing import Dict, List, Tuple

import determined as det
from determined import _process

USAGE = "usage: torch_distributed [[TORCH_OVERRIDES...] --] (--trial TRIAL | SCRIPT...)"
DEFAULT_PORT = "29400"


class UsageError(Exception):
    """The command line makes no sense."""


def parse(args: List[str]) -> Tuple[List[str], List[str]]:
    """Split the command line into options for torchrun and the script to run.

    >>> parse(["--max_restarts", "2", "--", "python3", "train.py"])
    (['--max_restarts', '2'], ['python3', 'train.py'])
    """
    overrides: List[str] = []
    if "--" in args:
        i = args.index("--")
        overrides, args = args[:i], args[i + 1 :]
    if args[:1] == ["--trial"]:
        if len(args) < 2:
            raise UsageError("argument --trial: expected one argument")
        if len(args) > 2:
            raise UsageError(f"extra arguments to --trial: {args[2:]}")
        return overrides, [sys.executable, "-m", "determined.exec.harness", args[1]]
    if not args:
        raise UsageError("empty script is not allowed")
    return overrides, args


def single_worker_environment(chief_ip: str) -> Dict[str, str]:
    """What torchrun tells the worker of a world of one."""
    return {
        "USE_TORCH_DISTRIBUTED": "True",
        "DET_CHIEF_IP": chief_ip,
        "RANK": "0",
        "LOCAL_RANK": "0",
        "GROUP_RANK": "0",
        "WORLD_SIZE": "1",
        "LOCAL_WORLD_SIZE": "1",
        "GROUP_WORLD_SIZE": "1",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": os.environ.get("C10D_PORT", DEFAULT_PORT),
    }


def main(args: List[str]) -> int:
    """Run the script; returns its exit status."""
    try:
        _, script = parse(args)
    except UsageError as e:
        print(f"{USAGE}\nerror: {e}", file=sys.stderr)
        return 1
    info = det.get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        print("error: torch_distributed runs in trials on a cluster only", file=sys.stderr)
        return 1
    slots = sum(info.container_slot_counts)
    if slots > 1:
        print(
            f"error: this task has {slots} slots; torch_distributed does not start several processes yet: "
            "set resources.slots_per_trial to 1",
            file=sys.stderr,
        )
        return 1
    return _process.run(script, env={**os.environ, **single_worker_environment(info.container_addrs[0])})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
