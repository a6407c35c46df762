"""Start a training script under DeepSpeed, in as many processes as the trial has slots.

``python3 -m determined.launch.deepspeed [[DEEPSPEED_OVERRIDES...] --] (--trial TRIAL | SCRIPT...)``

Runs in every container of the trial: the chief's starts ``deepspeed``, the others an sshd through which it gets there.
"""

import fcntl
import importlib.metadata
import os
import pathlib
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
from typing import Any, Dict, List, Tuple

from determined import _info, _linux, _process
from determined.launch import _command, _ssh, _supervisor

USAGE = "usage: deepspeed [[DEEPSPEED_OVERRIDES...] --] (--trial TRIAL | SCRIPT...)"
PLAN = _supervisor.Plan(on_fail=signal.SIGTERM, on_exit=signal.SIGTERM, grace_s=5.0, whole_tree=True)

# DeepSpeed's own, at which rank 0 of the processes meets the others.
MASTER_PORT = 29500
# DeepSpeed's launcher passes on what workers print, where they cannot reach the task's log themselves.
LAST_WORDS_S = 1.0
HOST_FILE_VARIABLE = "DET_DEEPSPEED_HOSTFILE_PATH"
ENV_FILE = ".deepspeed_env"
# Variables of the chief's container, not of the trial: the other machines have their own.
_NOT_EXPORTED = re.compile(
    r"BASH_FUNC_.*|OLDPWD|HOSTNAME|.*CUDA_VISIBLE_DEVICES|SLURM_PROCID|DET_SLOT_IDS|DET_AGENT_ID"
)
_PDSH_SSH_ARGS = "-o PasswordAuthentication=no -o StrictHostKeyChecking=no -p {port} -2 -a -x %h"

Version = Tuple[int, ...]


def version() -> Version:
    """Of the DeepSpeed that is installed.

    Raises
    ------
    Refusal
        If none is.
    """
    try:
        text = importlib.metadata.version("deepspeed")
    except importlib.metadata.PackageNotFoundError:
        raise _command.Refusal("DeepSpeed is not installed in this task's environment") from None
    return tuple(int(n) for n in re.findall(r"\d+", text.split("+")[0])[:3])


def split(args: List[str]) -> Tuple[List[str], List[str]]:
    """Options for DeepSpeed, which begin with a dash and end at ``--``, and the rest.

    >>> split(["--bind_cores_to_rank", "--", "python3", "train.py"])
    (['--bind_cores_to_rank'], ['python3', 'train.py'])
    >>> split(["python3", "train.py", "--", "x"])
    ([], ['python3', 'train.py', '--', 'x'])
    """
    if args[:1] == ["--"]:
        return [], args[1:]
    if args and args[0].startswith("-") and args[0] != "--trial":
        return _command.overrides_and_rest(args)
    return [], args


def write_host_file(task: _command.Task) -> str:
    """Addresses and slots of all containers, in rank order; returns the file's path.

    Containers of one machine may share /tmp: the first writes it, the others find it.

    Raises
    ------
    Refusal
        If the file is somebody else's.
    """
    path = f"/tmp/hostfile-{task.info.allocation_id}.txt"
    lines = [f"{a} slots={n}\n" for a, n in zip(task.info.container_addrs, task.info.container_slot_counts)]
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as e:
        raise _command.Refusal(f"{path}: cannot be written: {e.strerror}") from None
    with open(handle, "r+", encoding="utf-8") as f:
        if os.fstat(handle).st_uid != os.getuid():
            raise _command.Refusal(f"{path} belongs to somebody else")
        fcntl.flock(f, fcntl.LOCK_EX)
        if not f.read():
            f.writelines(lines)
    return path


def write_env_file(env: Dict[str, str], deepspeed: Version) -> None:
    """What DeepSpeed exports to the processes that it starts elsewhere: our environment, but for what is ours alone."""
    path = pathlib.Path(ENV_FILE)
    path.touch(mode=0o600)
    quote = shlex.quote if deepspeed >= (0, 6, 2) else str
    lines = [
        f"{name}={quote(value)}\n"
        for name, value in sorted(env.items())
        if not _NOT_EXPORTED.fullmatch(name) and "\n" not in value
    ]
    path.write_text("".join(lines), encoding="utf-8")


def command(task: _command.Task, deepspeed: Version, overrides: List[str], worker: List[str]) -> List[str]:
    """DeepSpeed's command line."""
    several = task.nodes > 1
    # Trials of one machine have different ports of the platform; DeepSpeed's is as far from its usual one.
    offset = _command.given_port() - _command.C10D_PORT
    port = _command.free_port(task.chief_ip if several else "localhost", MASTER_PORT + offset)
    return [
        "deepspeed",
        *(["-H", f"/tmp/hostfile-{task.info.allocation_id}.txt"] if several else []),
        *("--master_addr", task.chief_ip if several else "localhost"),
        *(["--master_port", str(port)] if port != MASTER_PORT else []),
        *("--no_python", "--no_local_rank"),
        *(["--no_ssh_check"] if deepspeed > (0, 6, 4) else []),
        *overrides,
        "--",
        *("python3", "-m", *worker),
    ]


def _check_reachable_by_pdsh(task: _command.Task, overrides: List[str]) -> None:
    """DeepSpeed reaches machines by pdsh, unless it is told otherwise, and knows them by their addresses alone.

    Raises
    ------
    Refusal
        If it cannot do so here.
    """
    if any(word.startswith("--launcher") for word in overrides):
        return
    if shutil.which("pdsh") is None:
        raise _command.Refusal(
            "DeepSpeed starts its processes on several machines by pdsh, which this machine does not have: install the "
            "package pdsh, or choose another launcher of DeepSpeed (deepspeed --launcher ... --)"
        )
    addresses = task.info.container_addrs
    twice = next((address for address in addresses if addresses.count(address) > 1), None)
    if twice:
        raise _command.Refusal(
            f"this trial has two containers on the machine {twice}, and DeepSpeed knows machines by their addresses: "
            "run one agent on each machine, or start the script with determined.launch.torch_distributed"
        )


def _be_chief(
    task: _command.Task, deepspeed: Version, overrides: List[str], script: List[str], env: Dict[str, str]
) -> int:
    several = task.nodes > 1
    env["USE_DEEPSPEED"] = "1"
    if not _has_cuda():
        # On processors DeepSpeed starts a process for each part of the memory, unless it is told how many there are.
        env.setdefault("LOCAL_SIZE", str(task.slots))
    if several:
        env.setdefault(_info.TRIAL_KEY_VARIABLE, secrets.token_hex(32))
        _ssh.prepare(task, env)
        env["PDSH_SSH_ARGS"] = _PDSH_SSH_ARGS.format(port=_ssh.port())
        write_env_file(env, deepspeed)

    def deepspeed_for(address: str) -> List[str]:
        if several:
            _ssh.remember_container(address)
            # pdsh goes to every host by its address, to this one, too.
            sshd.append(subprocess.Popen(_ssh.sshd(), preexec_fn=_linux.die_with_parent))
            _ssh.wait_for(task.info.container_addrs, int(_ssh.port()))
        return command(task, deepspeed, overrides, _command.worker(address, "RANK", script))

    sshd: List[subprocess.Popen[Any]] = []
    plan = PLAN if several or overrides else PLAN._replace(done_s=LAST_WORDS_S)
    try:
        return _supervisor.supervise(task.info.allocation_id, task.slots, plan, deepspeed_for, env)
    finally:
        for process in sshd:
            process.kill()
            process.wait()


def _has_cuda() -> bool:
    return bool(shutil.which("nvidia-smi")) or os.path.exists("/dev/nvidiactl")


def main(args: List[str]) -> int:
    """Run the script in all slots; returns the exit status."""
    try:
        overrides, rest = split(args)
        script = _command.script_of(rest)
        task = _command.this_task("deepspeed")
        if task.slots == 0:
            raise _command.Refusal("deepspeed starts a process for each slot, and this task has none")
        deepspeed = version()
        if task.nodes > 1 and (0, 6, 1) <= deepspeed <= (0, 6, 4):
            raise _command.Refusal("DeepSpeed 0.6.1 to 0.6.4 cannot train on several machines: use a later one")
        if task.is_chief and task.nodes > 1:
            _check_reachable_by_pdsh(task, overrides)
        task = _command.among_others(task)
        env = {**_process.environment(), "DET_CHIEF_IP": task.chief_ip}
        if task.interface and "NCCL_SOCKET_IFNAME" not in env and _has_cuda():
            env["NCCL_SOCKET_IFNAME"] = task.interface
        if task.nodes > 1:
            env[HOST_FILE_VARIABLE] = write_host_file(task)
        if task.is_chief:
            return _be_chief(task, deepspeed, overrides, script, env)
        return _ssh.be_worker(task, env, PLAN)
    except (_command.UsageError, _command.Refusal) as e:
        return _command.refuse(USAGE, e)


if __name__ == "__main__":
    sys.exit(_command.run(main, USAGE, __doc__))
