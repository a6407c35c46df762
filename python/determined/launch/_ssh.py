"""How the chief's launcher reaches the other containers: an sshd in each, for this trial alone.

The platform may have put keys and sshd's configuration into ``$DET_RUN_DIR/ssh``. Where it has not, each launcher makes
itself a key, the public halves are exchanged by way of the master, and private ones stay where they are.

A process started over ssh finds the chief's environment, as Horovod and DeepSpeed export it; what is peculiar to its
own container is in a file that sshd names to it (``_container``).
"""

import os
import pathlib
import shlex
import shutil
import socket
import subprocess
import time
from typing import Dict, List

from determined import _info
from determined.launch import _command, _container, _peers, _supervisor

DEFAULT_PORT = "12350"
PEER_PATIENCE_S = 20.0
RETRY_S = 0.1
SSHD = "/usr/sbin/sshd"

# StrictModes: the directory itself is the user's alone; those above it may be the platform's.
_SSHD_CONFIG = """\
HostKey {key}
AuthorizedKeysFile {directory}/authorized_keys
AuthenticationMethods publickey
PasswordAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
AcceptEnv *
AllowTcpForwarding no
X11Forwarding no
PrintMotd no
PidFile none
MaxStartups 1024
MaxSessions 1024
"""
_SSH_CONFIG = """\
Host *
    IdentityFile {key}
    IdentitiesOnly yes
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
"""


def port() -> str:
    """The port of this trial's sshd; the platform chooses one for each trial of a machine."""
    return os.environ.get("DTRAIN_SSH_PORT") or DEFAULT_PORT


def directory() -> pathlib.Path:
    """Where keys and configurations lie."""
    return _info.run_dir() / "ssh"


def _write(path: pathlib.Path, text: str, mode: int = 0o600) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def _listen_address(address: str) -> str:
    """At the address that the others know and nowhere else, unless somebody translates it on the way here."""
    with socket.socket() as s:
        try:
            s.bind((address, 0))
        except OSError:
            return ""
    return f"ListenAddress {address}\n"


def _make(info: _info.ClusterInfo, env: Dict[str, str]) -> None:
    """Key, configurations, and an ``ssh`` on the path that uses them."""
    where = directory()
    where.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = where / "id_ed25519"
    if not key.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", info.allocation_id, "-f", key], check=True)
    public = key.with_suffix(".pub").read_text(encoding="utf-8")
    _write(where / "authorized_keys", "".join(_peers.all_gather(info, public)))
    listen = _listen_address(info.container_addrs[info.container_rank])
    _write(where / "sshd_config", _SSHD_CONFIG.format(key=key, directory=where) + listen)
    _write(where / "ssh_config", _SSH_CONFIG.format(key=key))
    ssh = shutil.which("ssh", path=os.environ.get("PATH")) or "ssh"
    (where / "bin").mkdir(exist_ok=True)
    _write(where / "bin" / "ssh", f'#!/bin/sh\nexec {ssh} -F {shlex.quote(str(where / "ssh_config"))} "$@"\n', 0o700)
    env["PATH"] = f"{where / 'bin'}{os.pathsep}{env['PATH']}"


def prepare(task: _command.Task, env: Dict[str, str]) -> None:
    """Have all in place that ssh between the containers needs; ``env`` is what the framework's launcher will get.

    Raises
    ------
    Refusal
        If this machine has no OpenSSH.
    """
    if (directory() / "sshd_config").exists():
        return
    missing = [name for name in ("ssh", "ssh-keygen", SSHD) if shutil.which(name) is None]
    if missing:
        raise _command.Refusal(
            f"this trial has containers on several machines, which reach each other by ssh; missing here: "
            f"{', '.join(missing)} (packages openssh-client and openssh-server)"
        )
    _make(task.info, env)


def remember_container(address: str) -> None:
    """Note for those who come in by ssh what is peculiar to this container, and where its supervisor listens."""
    local = directory() / "container.json"
    _write(local, _container.description(address))
    config = directory() / "sshd_config"
    text = config.read_text(encoding="utf-8")
    if _container.VARIABLE not in text:
        _write(config, f"{text}SetEnv {_container.VARIABLE}={local}\n")


def sshd(debug: bool = False) -> List[str]:
    """The command line of this trial's sshd."""
    if os.getuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # sshd wants this directory
    return [SSHD, "-p", port(), "-f", str(directory() / "sshd_config"), "-D", *(["-e"] if debug else [])]


def answers(address: str, number: int) -> bool:
    """Whether something that greets, as sshd does, listens there."""
    try:
        with socket.create_connection((address, number), timeout=1.0) as s:
            return bool(s.recv(1))
    except OSError:
        return False


def wait_for(addresses: List[str], number: int) -> None:
    """Wait until an sshd answers at all addresses.

    Raises
    ------
    Refusal
        If one does not within 20 seconds.
    """
    deadline = time.monotonic() + PEER_PATIENCE_S
    for address in addresses:
        while not answers(address, number):
            if time.monotonic() > deadline:
                raise _command.Refusal(f"no sshd answers at {address} port {number} after {PEER_PATIENCE_S:.0f} s")
            time.sleep(RETRY_S)


def become_daemon(info: _info.ClusterInfo) -> None:
    """Tell the master that this container ends only when it is told to: the chief's end is the trial's."""
    from determined import _routes

    resources = os.environ["DET_RESOURCES_ID"]
    _peers.session(info).send(_routes.mark_allocation_resources_daemon(info.allocation_id, resources))


def be_worker(task: _command.Task, env: Dict[str, str], plan: _supervisor.Plan, debug: bool = False) -> int:
    """Be another container than the chief's: its launcher comes in through an sshd here. Returns the exit status."""
    prepare(task, env)
    become_daemon(task.info)

    def sshd_for(address: str) -> List[str]:
        remember_container(address)
        return sshd(debug)

    return _supervisor.supervise(task.info.allocation_id, task.slots, plan, sshd_for, env)
