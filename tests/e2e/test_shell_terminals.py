"""Shells at a terminal, in tasks that do not run as root: the machine's /dev/pts may be mounted in any way."""
import fcntl
import os
import pwd
import re
import select
import shutil
import struct
import subprocess
import tempfile
import termios

import pytest
from support import namespaces
from support.cluster import BUILD, TIMEOUT_S, Cluster
from support.det import det, environment, run_det
from support.machine_pids import machine_pids  # noqa: F401
from support.waiting import wait_for

pytestmark = [
    pytest.mark.skipif(not shutil.which("ssh") or not os.access("/usr/sbin/sshd", os.X_OK), reason="OpenSSH's ssh and sshd are not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start agents as other users, and agents that give tasks an account")]


class Terminal:
    """A terminal of a person who runs `det shell open`."""

    def __init__(self, cluster, shell, rows=33, columns=77):
        self.ours, self.theirs = os.openpty()
        self.seen = b""
        self.resize(rows, columns)
        self.process = subprocess.Popen([BUILD / "det", "shell", "open", shell], stdin=self.theirs, stdout=self.theirs, stderr=self.theirs,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                        env={**environment(cluster), "TERM": "xterm"})
        os.close(self.theirs)

    def resize(self, rows, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, line):
        os.write(self.ours, line.encode() + b"\n")
        return self

    def wait(self, pattern):
        """Reads until the pattern has been printed, and returns the match. The shell echoes what is typed, so a pattern must not be in it."""
        while not (found := re.search(pattern.encode(), self.seen)):
            ready, _, _ = select.select([self.ours], [], [], TIMEOUT_S)
            assert ready, self.seen
            try:
                self.seen += os.read(self.ours, 10000)
            except OSError:
                raise AssertionError(f"the session ended: {self.seen.decode()}") from None
        self.seen = self.seen[found.end():]
        return found

    def close(self):
        """What a terminal emulator does when its window is closed."""
        os.close(self.ours)
        return self.process.wait(TIMEOUT_S)


@pytest.fixture(scope="module", params=["of the platform's own uid", "of an agent that is not root"])
def cluster(request):
    namespaces.need("root" if "platform" in request.param else "nobody")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        with Cluster(directory) as c:
            c.start_master()
            if "platform" in request.param:
                c.start_agent(slots=0, allow_root_tasks=False)
            else:
                start_agent_of(c, pwd.getpwnam("games"))
            c.login()
            yield c


def start_agent_of(c, who):
    home = c.dir / "agent0"
    home.mkdir()
    (home / "join.token").write_text((c.dir / "data/agent.token").read_text())
    for path in (home, home / "join.token"):
        os.chown(path, who.pw_uid, who.pw_gid)
    c.start_agent(prefix=["setpriv", f"--reuid={who.pw_uid}", f"--regid={who.pw_gid}", "--clear-groups"], slots=0, allow_root_tasks=False,
                  token_file=str(home / "join.token"))


@pytest.fixture(scope="module")
def shell(cluster):
    tid = det(cluster, "shell", "start", "-d", "--config", "resources.slots=0").strip()
    assert run_det(cluster, "shell", "open", tid, "true").returncode == 0
    yield tid
    run_det(cluster, "shell", "kill", tid)


def test_a_session_has_a_terminal_that_follows_the_size_of_the_persons_own(cluster, shell):
    terminal = Terminal(cluster, shell)
    terminal.type("echo on=$(tty) uid=$(id -u) size=$(stty size | tr ' ' x)")
    found = terminal.wait(r"on=(/dev/pts/\d+) uid=(\d+) size=33x77")
    assert int(found[2]) != 0
    terminal.type("trap 'echo now=$(stty size | tr \" \" x)' WINCH; echo trap=set$((1))").wait("trap=set1")
    terminal.resize(20, 111)
    terminal.wait("now=20x111")
    terminal.type("exit 3").wait("To reconnect")
    assert terminal.process.wait(TIMEOUT_S) == 3
    terminal.close()


def test_a_terminal_that_is_closed_in_mid_stream_ends_its_session_alone(cluster, shell):
    other = Terminal(cluster, shell)
    first = other.type("echo other=$(tty)").wait(r"other=/dev/pts/(\d+)")[1].decode()
    closed = Terminal(cluster, shell)
    pid = int(closed.type("echo pid=$$ on=$(tty)").wait(r"pid=(\d+) on=/dev/pts/\d+")[1])
    closed.type("yes $((1000000 + 1))").wait("1000001\r\n1000001")
    assert closed.close() != 0
    gone = f"kill -0 {pid} 2>/dev/null || ls /dev/pts"

    def two_are_left():
        """`det shell open` opens a terminal for a command, too: there are two besides ptmx. Which number that one gets depends on when the
        terminals of earlier sessions were given back, so that it may be lower than the other's."""
        names = run_det(cluster, "shell", "open", shell, gone).stdout.split("To reconnect")[0].split()
        return len(names) == 3 and {first, "ptmx"} <= set(names)

    wait_for("the end of the session's processes and of its terminal; those of the machine do not show", two_are_left)
    other.type("echo still=$((40 + 2))").wait("still=42")
    other.type("exit").wait("To reconnect")
    other.close()
