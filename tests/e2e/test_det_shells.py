"""det shell against a real master and agent: ssh, scp and git through the master's one port, and what ends a session."""
import fcntl
import hashlib
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import termios

import pytest
from support.attackers import new_user
from support.cluster import BUILD, ROOT, TIMEOUT_S
from support.det import det, run_det
from support.waiting import wait_for

needs_ssh = pytest.mark.skipif(not shutil.which("ssh") or not os.access("/usr/sbin/sshd", os.X_OK), reason="OpenSSH's ssh and sshd are not installed")
pytestmark = needs_ssh


@pytest.fixture(scope="module")
def shell(cluster):
    """The id of a shell that runs, with Host entries for ssh."""
    tid = det(cluster, "shell", "start", "-d", "--config", "resources.slots=0").strip()
    assert run_det(cluster, "shell", "open", tid, "true").returncode == 0  # waits until it is ready
    out = det(cluster, "shell", "ssh-config")
    assert f"det-{tid[:8]}" in out
    yield tid
    run_det(cluster, "shell", "kill", tid)


def ssh(cluster, *words, program="ssh", **more):
    """A program of OpenSSH as the user of the cluster runs it."""
    return subprocess.run([program, "-F", cluster.dir / ".ssh" / "config", *words], capture_output=True, timeout=TIMEOUT_S,
                          env={"PATH": os.environ["PATH"], "HOME": str(cluster.dir)}, start_new_session=True, **more)


def test_start_opens_a_session_and_the_shell_goes_on(cluster):
    done = run_det(cluster, "shell", "start", "--config", "resources.slots=0", "--", "echo $((40 + 2)) $DET_TASK_TYPE; exit 7")
    lines = done.stdout.splitlines()
    tid = re.search(r"Launched shell \(id: (.*), name: .*\)", lines[0])[1]
    assert done.returncode == 7 and "42 SHELL" in lines and lines[-1] == f"To reconnect, run: det shell open {tid}", done
    assert run_det(cluster, "shell", "open", tid[:13], "echo again").stdout.splitlines()[0] == "again"
    assert "Server listening on" in det(cluster, "shell", "logs", tid)
    det(cluster, "shell", "kill", tid)
    wait_for("its end", lambda: tid not in det(cluster, "complete-ids", "shell"))
    done = run_det(cluster, "shell", "open", tid)
    assert done.returncode == 1 and f"Shell {tid} has ended" in done.stderr


def test_ssh_and_scp_by_name(cluster, shell, tmp_path):
    name = f"det-{shell[:8]}"
    done = ssh(cluster, name, "cat; exit 5", input=b"x" * 1_000_000)
    assert done.returncode == 5 and done.stdout == b"x" * 1_000_000, done.stderr
    data = os.urandom(1 << 20) * 100
    (tmp_path / "data").write_bytes(data)
    done = ssh(cluster, "-q", tmp_path / "data", f"{name}:copied", program="scp")
    assert done.returncode == 0, done.stderr
    seen = ssh(cluster, name, "md5sum copied; rm copied").stdout.split()
    assert seen[0].decode() == hashlib.md5(data).hexdigest()


@pytest.mark.skipif(not shutil.which("rsync"), reason="rsync is not installed")
def test_rsync_by_name_copies_both_ways_and_sends_only_what_changed(cluster, shell, tmp_path):
    here = tmp_path / "tree"
    (here / "below").mkdir(parents=True)
    (here / "below/large").write_bytes(os.urandom(3_000_000))
    (here / "small").write_text("one\n")

    def rsync(*words):
        done = subprocess.run(["rsync", "-a", "--stats", "-e", f"ssh -F {cluster.dir}/.ssh/config", *words], capture_output=True, text=True,
                              timeout=TIMEOUT_S, env={"PATH": os.environ["PATH"], "HOME": str(cluster.dir)}, start_new_session=True)
        assert done.returncode == 0, done.stderr
        return int(re.search(r"Total bytes sent: ([\d,]+)", done.stdout)[1].replace(",", ""))

    there = f"det-{shell[:8]}:rsynced"
    assert rsync(f"{here}/", there) > 3_000_000
    (here / "small").write_text("two\n")
    assert rsync("--checksum", f"{here}/", there) < 100_000
    rsync(f"{there}/", tmp_path / "back")
    assert (tmp_path / "back/below/large").read_bytes() == (here / "below/large").read_bytes() and (tmp_path / "back/small").read_text() == "two\n"


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_git_clones_and_pushes_by_name(cluster, shell, tmp_path):
    env = {"PATH": os.environ["PATH"], "HOME": str(cluster.dir), "GIT_SSH_COMMAND": f"ssh -F {cluster.dir}/.ssh/config", "GIT_CONFIG_GLOBAL": "/dev/null",
           **{f"GIT_{who}_{what}": "tests@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}

    def git(*words):
        done = subprocess.run(["git", *words], capture_output=True, text=True, timeout=TIMEOUT_S, env=env, start_new_session=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    place = ssh(cluster, f"det-{shell[:8]}", "git init -q --bare repository && cd repository && pwd").stdout.decode().strip()
    git("clone", "-q", f"det-{shell[:8]}:{place}", tmp_path / "first")
    (tmp_path / "first/file").write_text("content\n")
    git("-C", tmp_path / "first", "add", "file")
    git("-C", tmp_path / "first", "commit", "-q", "-m", "a file")
    git("-C", tmp_path / "first", "push", "-q", "origin", "HEAD:refs/heads/main")
    git("clone", "-q", "-b", "main", f"det-{shell[:8]}:{place}", tmp_path / "second")
    assert (tmp_path / "second/file").read_text() == "content\n"


def test_the_shown_command_works_without_det(cluster, shell):
    line = det(cluster, "shell", "show-ssh-command", shell, "--", "echo", "pasted").strip()
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=TIMEOUT_S, start_new_session=True, stdin=subprocess.DEVNULL,
                          env={"PATH": os.environ["PATH"], "HOME": str(cluster.dir)})
    assert done.returncode == 0 and done.stdout.strip() == "pasted", done


def test_a_session_at_a_terminal(cluster, shell):
    """The shell has the terminal's size, and the terminal its settings when ssh has ended."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    before = termios.tcgetattr(theirs)
    session = subprocess.Popen([BUILD / "det", "shell", "open", shell], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                               preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                               env={"PATH": os.environ["PATH"], "HOME": str(cluster.dir), "DET_MASTER": cluster.url, "DET_USER": "determined",
                                    "DET_PASS": cluster.password, "TERM": "xterm"})
    os.write(ours, b"stty size; exit 3\n")  # read when the shell is there
    seen = b""
    while b"To reconnect" not in seen:
        seen += os.read(ours, 10000)
    assert session.wait(TIMEOUT_S) == 3 and b"33 77" in seen, seen
    assert termios.tcgetattr(theirs) == before
    os.close(theirs)
    os.close(ours)


def test_a_shell_that_is_killed_under_a_session(cluster):
    tid = det(cluster, "shell", "start", "-d", "--config", "resources.slots=0").strip()
    session = subprocess.Popen([BUILD / "det", "shell", "open", tid, "echo in it; sleep 600"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={"PATH": os.environ["PATH"], "HOME": str(cluster.dir), "DET_MASTER": cluster.url, "DET_USER": "determined",
                                    "DET_PASS": cluster.password}, start_new_session=True)
    wait_for("the session", lambda: "in it" in session.stdout.readline())
    det(cluster, "shell", "kill", tid)
    _, err = session.communicate(timeout=TIMEOUT_S)
    assert session.returncode == 255, err


def test_the_released_client_opens_it(cluster, shell):
    program = pathlib.Path(os.environ.get("DET_RELEASED_CLIENT", ROOT / ".venv-compat" / "bin" / "det"))
    if not program.is_file():
        pytest.skip("the released client is not installed (.venv-compat)")
    done = subprocess.run([program, "shell", "open", shell, "echo from 0.38.1"], capture_output=True, text=True, timeout=TIMEOUT_S, start_new_session=True,
                          env={"PATH": os.environ["PATH"], "HOME": str(cluster.dir), "DET_MASTER": cluster.url, "DET_USER": "determined",
                               "DET_PASS": cluster.password})
    assert done.returncode == 0 and "from 0.38.1" in done.stdout, done


def test_another_user_gets_no_key(cluster, shell):
    new_user(cluster, "stranger-of-shells", cluster.password)
    done = run_det(cluster, "shell", "open", shell, "true", user="stranger-of-shells")
    assert done.returncode == 1 and "the master does not give the key of shell" in done.stderr, done
    done = run_det(cluster, "shell", "kill", shell, user="stranger-of-shells")
    assert done.returncode == 1 and "Forbidden" in done.stderr, done
