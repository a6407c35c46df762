"""Start a training script under Horovod, in as many processes as the trial has slots.

``python3 -m determined.launch.horovod [[HOROVOD_OVERRIDES...] --] [--autohorovod] (--trial TRIAL | SCRIPT...)``

Runs in every container of the trial: the chief's starts ``horovodrun``, the others an sshd through which it gets there.
With ``--autohorovod`` a trial of one slot runs the script as it is.
"""

import importlib.util
import os
import secrets
import signal
import sys
from typing import Dict, List

from determined import _info, _network, _process
from determined.launch import _command, _ssh, _supervisor

USAGE = "usage: horovod [[HOROVOD_OVERRIDES...] --] [--autohorovod] (--trial TRIAL | SCRIPT...)"

# horovodrun, mpirun and Slurm each name it in their own way.
RANK_VARIABLES = "HOROVOD_RANK,OMPI_COMM_WORLD_RANK,PMI_RANK"
# The directory gives way to TMPDIR, which is the task's own where /tmp is the machine's.
AUTOTUNE_LOG = "/tmp/autotune_log.csv"
START_TIMEOUT_S = "1200"
GLOO_TIMEOUT_S = "240"
# horovodrun passes on what workers print, where they cannot reach the task's log themselves.
LAST_WORDS_S = 1.0
SSHD_PLAN = _supervisor.Plan(on_fail=signal.SIGTERM, on_exit=signal.SIGTERM, whole_tree=True)


def _hosts(task: _command.Task) -> str:
    """``localhost:4,10.0.0.2:4``: the chief is always here."""
    names = ["localhost", *task.info.container_addrs[1:]]
    return ",".join(f"{name}:{slots}" for name, slots in zip(names, task.info.container_slot_counts))


def _fusion(task: _command.Task) -> List[str]:
    optimizations = task.config.get_optimizations_config()
    if optimizations.get("auto_tune_tensor_fusion"):
        directory, name = os.path.split(AUTOTUNE_LOG)
        return ["--autotune", "--autotune-log-file", os.path.join(os.environ.get("TMPDIR") or directory, name)]
    threshold, cycle = (
        optimizations.get("tensor_fusion_threshold", 64),
        optimizations.get("tensor_fusion_cycle_time", 1),
    )
    return ["--fusion-threshold-mb", str(threshold), "--cycle-time-ms", str(cycle)]


def _optional(task: _command.Task, overrides: List[str]) -> List[str]:
    """What configuration and command line add. The former may hold the latter already, from a launch before."""
    given = [str(word) for word in (task.config.get("data") or {}).get("__det_dtrain_args") or []]
    more = [*overrides, *(["--mpi-args=-v --display-map"] if task.debug else [])]
    return given if more and given[-len(more) :] == more else given + more


def _end_of_options() -> List[str]:
    """Horovod hands a ``--`` on to env(1), which takes it for the program; what stands in for Horovod may need one."""
    return [] if importlib.util.find_spec("horovod") is not None else ["--"]


def horovodrun(task: _command.Task, overrides: List[str], worker: List[str]) -> List[str]:
    """horovodrun's command line. What the user overrides comes last, where it wins."""
    # Without an interface, horovodrun would look for a network that all machines have, and take the loopback's.
    interface = _network.interface(task.info)
    return [
        "horovodrun",
        *("-np", str(sum(task.info.container_slot_counts))),
        *("-p", _ssh.port()),
        *("-H", _hosts(task)),
        *("--start-timeout", START_TIMEOUT_S),
        *("--gloo-timeout-seconds", GLOO_TIMEOUT_S),
        *(["--network-interface", interface] if interface else []),
        *_fusion(task),
        *("--cache-capacity", "1024", "--no-hierarchical-allreduce", "--no-hierarchical-allgather"),
        *(["--verbose"] if task.debug else []),
        *_optional(task, overrides),
        *_end_of_options(),
        *("python3", "-m", *worker),
    ]


def _be_chief(task: _command.Task, overrides: List[str], script: List[str], env: Dict[str, str]) -> int:
    env["USE_HOROVOD"] = "1"
    # horovodrun would take SLURM_JOBID for a reason to start processes by Slurm.
    env.pop("SLURM_JOBID", None)
    if task.nodes > 1:
        env.setdefault(_info.TRIAL_KEY_VARIABLE, secrets.token_hex(32))
        _ssh.prepare(task, env)
    _ssh.wait_for(task.peers, int(_ssh.port()))
    return _supervisor.supervise(
        task.info.allocation_id,
        task.slots,
        _supervisor.Plan(on_fail=signal.SIGINT, done_s=LAST_WORDS_S if task.nodes == 1 and not overrides else None),
        lambda address: horovodrun(task, overrides, _command.worker(address, RANK_VARIABLES, script)),
        env,
    )


def main(args: List[str]) -> int:
    """Run the script in all slots; returns the exit status."""
    try:
        overrides, rest = _command.overrides_and_rest(args)
        auto = rest[:1] == ["--autohorovod"]
        script = _command.script_of(rest[auto:])
        task = _command.this_task("horovod")
        env = _process.environment()
        if auto and task.nodes == 1 and task.slots <= 1:
            return _process.run(script, env)
        if task.slots == 0:
            raise _command.Refusal("horovod starts a process for each slot, and this task has none")
        task = _command.among_others(task)
        env["DET_CHIEF_IP"] = task.chief_ip
        if task.is_chief:
            return _be_chief(task, overrides, script, env)
        return _ssh.be_worker(task, env, SSHD_PLAN, task.debug)
    except (_command.UsageError, _command.Refusal) as e:
        return _command.refuse(USAGE, e)


if __name__ == "__main__":
    sys.exit(_command.run(main, USAGE, __doc__))
