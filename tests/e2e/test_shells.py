"""Shells: stock OpenSSH, with the master's proxy in between."""
import hashlib
import os
import shutil
import signal
import subprocess
import sys

import pytest
from support import interactive
from support.cluster import BUILD, wait_for
from support.interactive import Task
from support.machine_pids import machine_pids  # noqa: F401

needs_ssh = pytest.mark.skipif(not shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin"), reason="openssh-server is not installed")
pytestmark = needs_ssh


@pytest.fixture
def cluster(new_cluster):
    c = new_cluster(env=interactive.environment()).start_master()
    c.start_agent(slots=1)
    c.login()
    return c


class Shell(Task):
    """A shell, and OpenSSH's programs set up to reach it."""

    def __init__(self, cluster, directory):
        reply = cluster.post("/api/v1/shells", {"config": {"resources": {"slots": 0}}})
        assert reply.status == 200, reply
        self.cluster, self.plural, self.singular = cluster, "shells", "shell"
        self.id = reply.json["shell"]["id"]
        self.wait_ready()
        key = directory / "key"
        key.write_text(self.get()["privateKey"])
        key.chmod(0o600)
        user = self.get()["agentUserGroup"]["user"]
        self.config = directory / "ssh_config"
        self.config.write_text(
            f"Host it\n User {user}\n IdentityFile {key}\n IdentitiesOnly yes\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n"
            f" LogLevel ERROR\n ProxyCommand {BUILD}/det shell tunnel {self.id}\n")
        self.env = {**os.environ, "DET_MASTER": cluster.url, "DET_USER": "determined", "DET_USER_TOKEN": cluster.token,
                    "HOME": str(directory)}

    def run(self, program, *words, check=True, **options):
        done = subprocess.run([program, "-F", self.config, *map(str, words)], env=self.env, capture_output=True, text=True, timeout=120,
                              **options)
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout

    def ssh(self, command, **options):
        return self.run("ssh", "it", command, **options)


@pytest.fixture
def shell(cluster, tmp_path):
    return Shell(cluster, tmp_path)


def test_a_session__begins_in_the_work_directory_with_the_tasks_environment(shell):
    assert shell.ssh("[ . -ef /run/determined/workdir ] && echo here").strip() == "here"
    assert shell.ssh("echo $DET_TASK_ID").strip() == shell.id
    assert shell.ssh("python3 -c 'import determined; print(determined.get_cluster_info().task_type)'").strip() == "SHELL"
    assert "determined" in shell.ssh("det user whoami")


def test_a_session_with_a_terminal__has_the_same_environment(shell):
    said = shell.run("ssh", "-tt", "it", input="[ . -ef /run/determined/workdir ] && echo in-$(basename $PWD); echo task=$DET_TASK_ID; "
                     "which python3; exit\n")
    assert "in-workdir" in said and f"task={shell.id}" in said and os.path.dirname(sys.executable) in said


def test_a_hundred_megabytes__are_copied_both_ways(shell, tmp_path):
    file = tmp_path / "file"
    file.write_bytes(os.urandom(1 << 20) * 100)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    shell.run("scp", file, "it:copy")
    assert shell.ssh("sha256sum copy").split()[0] == digest
    shell.run("scp", "it:copy", tmp_path / "back")
    assert hashlib.sha256((tmp_path / "back").read_bytes()).hexdigest() == digest


def test_the_status_of_a_command__is_passed_on(shell):
    done = subprocess.run(["ssh", "-F", shell.config, "it", "exit 7"], env=shell.env, timeout=120)
    assert done.returncode == 7


def test_a_shell__survives_the_master_and_the_agent(shell, cluster):
    shell.ssh("echo still-here >file; setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $! >pid")
    for stop, start in [(cluster.stop_master, cluster.start_master), (cluster.stop_agent, cluster.start_agent)]:
        stop(signo=signal.SIGKILL)
        start()
        wait_for("the shell's answer", lambda: "still-here" in shell.ssh("cat file && kill -0 $(cat pid)", check=False))
