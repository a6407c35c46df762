"""Stand-ins for horovodrun and deepspeed: start what they are told to, here and by ssh, as the real ones do.

Neither can be had in every environment, and what our launchers do for them (keys, sshd, environment, addresses) is
the same for all. Called by the name of the one it stands for.
"""

import os
import shlex
import subprocess
import sys
import time

HOROVOD_SSH = ["ssh", "-o", "PasswordAuthentication=no", "-o", "StrictHostKeyChecking=no"]


def by_ssh(ssh, host, exports, command):
    env = " ".join(f"{name}={shlex.quote(value)}" for name, value in exports.items())
    line = f"cd {shlex.quote(os.getcwd())} >/dev/null 2>&1; env {env} {shlex.join(command)}"
    return subprocess.Popen([*ssh, host, line], stdin=subprocess.DEVNULL)


def wait(processes):
    while any(p.poll() is None for p in processes):
        if any(p.poll() for p in processes):
            for p in processes:
                p.terminate()
        time.sleep(0.05)
    return int(any(p.returncode for p in processes))


def horovodrun(args):
    command = args[args.index("--") + 1 :]
    hosts = [h.split(":") for h in args[args.index("-H") + 1].split(",")]
    ssh = [*HOROVOD_SSH, "-p", args[args.index("-p") + 1]]
    processes, rank = [], 0
    for host, slots in hosts:
        for _ in range(int(slots)):
            env = {**os.environ, "HOROVOD_RANK": str(rank)}
            local = host == "localhost"
            processes.append(subprocess.Popen(command, env=env) if local else by_ssh(ssh, host, env, command))
            rank += 1
    return wait(processes)


def deepspeed(args):
    command = args[args.index("--") + 1 :]
    with open(args[args.index("-H") + 1], encoding="utf-8") as f:
        hosts = [line.split(" slots=") for line in f.read().splitlines()]
    with open(".deepspeed_env", encoding="utf-8") as f:
        exports = dict(shlex.split(line)[0].split("=", 1) for line in f)
    ssh = ["ssh", *[w for w in os.environ["PDSH_SSH_ARGS"].split() if w not in ("-2", "-a", "-x", "%h")]]
    processes, rank = [], 0
    for host, slots in hosts:
        for _ in range(int(slots)):
            processes.append(by_ssh(ssh, host, {**exports, "RANK": str(rank)}, command))
            rank += 1
    return wait(processes)


if __name__ == "__main__":
    name = os.path.basename(sys.argv[0])
    sys.exit({"horovodrun": horovodrun, "deepspeed": deepspeed}[name](sys.argv[1:]))
