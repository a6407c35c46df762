"""Start a training script under ``torch.distributed``, in as many processes as the trial has slots.

``python3 -m determined.launch.torch_distributed [[TORCH_OVERRIDES...] --] (--trial TRIAL | SCRIPT...)``

Runs in every container of the trial. The script finds torchrun's environment (RANK, WORLD_SIZE …), from which
``core.DistributedContext.from_torch_distributed()`` and ``torch.distributed.init_process_group()`` build theirs.
"""

import sys
from typing import List

from determined import _info, _process
from determined.launch import _command, _peers, _supervisor

USAGE = "usage: torch_distributed [[TORCH_OVERRIDES...] --] (--trial TRIAL | SCRIPT...)"


def torchrun(task: _command.Task, port: int, overrides: List[str], worker: List[str]) -> List[str]:
    """torchrun's command line, the same in every container but for its rank.

    ``worker`` begins with the name of a module. What the user overrides comes last, where it wins.
    """
    return [
        *("python3", "-m", "torch.distributed.run"),
        *("--nnodes", str(task.nodes)),
        *("--nproc_per_node", str(task.slots)),
        *("--node_rank", str(task.info.container_rank)),
        *("--max_restarts", "0"),
        *("--master_addr", task.chief_ip if task.nodes > 1 else "localhost"),
        *("--master_port", str(port)),
        "--module",
        *overrides,
        *worker,
    ]


def main(args: List[str]) -> int:
    """Run the script in all slots of this container; returns the exit status."""
    try:
        overrides, rest = _command.overrides_and_rest(args)
        script = _command.script_of(rest)
        task = _command.this_task("torch_distributed")
        if task.slots == 0:
            raise _command.Refusal("torch_distributed starts a process for each slot, and this task has none")
        task = _command.among_others(task)
        env = {**_process.environment(), "USE_TORCH_DISTRIBUTED": "True", "DET_CHIEF_IP": task.chief_ip}
        port = _command.given_port()
        if task.is_chief:
            port = _command.free_port(task.chief_ip if task.nodes > 1 else "localhost", port)
        if task.nodes > 1:
            env[_info.TRIAL_KEY_VARIABLE], port = _peers.agree(task.info, port)
    except (_command.UsageError, _command.Refusal) as e:
        return _command.refuse(USAGE, e)
    return _supervisor.supervise(
        task.info.allocation_id,
        task.slots,
        # What the user has told torchrun may ask it for work at the end, such as keeping logs.
        _supervisor.Plan(done_s=0.0 if task.nodes == 1 and not overrides else None),
        lambda address: torchrun(task, port, overrides, _command.worker(address, "RANK", script)),
        env,
    )


if __name__ == "__main__":
    sys.exit(_command.run(main, USAGE, __doc__))
