"""Questions about shells: from a command of `det` to the first line of a session, beside ssh and sshd alone."""
import os
import pathlib
import shutil
import subprocess
import time

from harness import BUILD, Row, directory, question, running_master
from support.cluster import wait_for
from support.det import det, environment
from support.ports import free_port

SSHD = "/usr/sbin/sshd"
RUNS = 15
STARTS = 5


class Bare:
    """The machine's sshd as a shell runs it, with a key of its own, and the command of ssh that opens a session there."""

    def __init__(self, path):
        self.port = free_port()
        for name in ("host_key", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path / name], check=True)
        (path / "sshd_config").write_text(
            f"HostKey {path}/host_key\nAuthorizedKeysFile {path}/key.pub\nStrictModes no\nPidFile none\nUsePAM no\nUseDNS no\n"
            f"ListenAddress 127.0.0.1\nPort {self.port}\nPrintMotd no\nPrintLastLog no\nPermitRootLogin prohibit-password\n")
        pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.server = subprocess.Popen([SSHD, "-D", "-e", "-f", path / "sshd_config"], stderr=subprocess.DEVNULL)
        self.words = ["ssh", "-F", "/dev/null", "-tt", "-i", path / "key", "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no", "-o",
                      f"UserKnownHostsFile={path}/known_hosts", "-o", "LogLevel=ERROR", "-p", str(self.port), "127.0.0.1"]
        wait_for("sshd", lambda: subprocess.run([*self.words, "true"], stdin=subprocess.DEVNULL).returncode == 0)

    def stop(self):
        self.server.terminate()
        self.server.wait()


def first_line(words, env=None):
    """Seconds until a command of these words has printed a line that says `there`, and until it has ended."""
    began = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=env, start_new_session=True)
    for line in process.stdout:
        if line.strip() == b"there":
            break
    else:
        raise AssertionError(f"{words} ended with {process.wait()}")
    said = time.perf_counter() - began
    process.stdout.read()
    process.wait()
    return said, time.perf_counter() - began


@question
def shells():
    """How long from `det shell open` and `det shell start` until the session's first line, beside ssh alone?"""
    if not shutil.which("ssh") or not os.access(SSHD, os.X_OK):
        print("  skipped: OpenSSH's ssh and sshd are not installed")
        return
    with directory() as path, running_master() as cluster:
        cluster.start_agent(slots=0)
        # As for a person who has logged in: a login by password would cost a tenth of a second.
        env = {**environment(cluster), "DET_USER_TOKEN": cluster.token}
        env.pop("DET_PASS")
        bare = Bare(path)
        try:
            shell = det(cluster, "shell", "start", "-d", "--config", "resources.slots=0").strip()
            open_words = [BUILD / "det", "shell", "open", shell, "echo there"]
            first_line(open_words, env)
            pairs = [(first_line([*bare.words, "echo there"])[0], first_line(open_words, env)[0]) for _ in range(RUNS)]
            alone, ours = zip(*((a * 1000, b * 1000) for a, b in pairs))
            yield Row("det shell open on a running shell → first line", ours, "ms", "≤ 300", "ssh and sshd alone", alone)
            start_words = [BUILD / "det", "shell", "start", "--config", "resources.slots=0", "--", "echo there"]
            starts = [first_line(start_words, env)[0] for _ in range(STARTS)]
            yield Row("det shell start → first line", starts, "s", "≤ 1", "ssh and sshd alone", [a / 1000 for a in alone])
        finally:
            bare.stop()
