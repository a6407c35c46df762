"""What attacks share that need an agent and nothing more: a real determined-agent with a master of the tests' own
(tests/support/fake_master/agents.py)."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.fake_master import agents  # noqa: E402
from support.waiting import wait_for  # noqa: E402

ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="only a root agent runs tasks as somebody else")
ALICE, BOB = 61101, 61102
TRIAL = {"taskType": "TASK_TYPE_TRIAL"}
TRIAL_ENV = ["DET_TASK_TYPE=TRIAL", "DET_TRIAL_ID=1", "DET_HPARAMS={}", "DET_EXPERIMENT_CONFIG={}"]


def owner(uid):
    """Returns the part of an order that links the task's owner to an account of the machine."""
    return {"user": {"user": f"u{uid}", "uid": uid, "group": f"u{uid}", "gid": uid}} if ROOT else {}


class Site:
    """An agent, its master, and a directory that everybody may enter."""

    def __init__(self, master, agent, path):
        self.master, self.agent, self.path = master, agent, path

    def start(self, script, uid=ALICE, **order):
        return self.master.start(["sh", "-c", script] if isinstance(script, str) else script, **{**owner(uid), **order})

    def run(self, script, uid=ALICE, **order):
        """Runs a task and returns everything that it printed."""
        container = self.start(script, uid, **order)
        self.master.finish(container)
        return self.master.text(container)

    def gone(self, container):
        wait_for("the removal of the task's directory", lambda: not (self.path / "agent/tasks" / container).exists())

    def directory_of(self, uid, name):
        path = self.path / name
        path.mkdir()
        if ROOT:
            os.chown(path, uid, uid)
        return path


@contextlib.contextmanager
def site(below="/var/tmp", **keys):
    """Starts an agent. Its directory is not in /tmp: a task has a /tmp of its own, which would hide files of the agent that a test wants
    to see hidden by other means."""
    with tempfile.TemporaryDirectory(dir=below) as directory:
        os.chmod(directory, 0o755)
        path = pathlib.Path(directory)
        master = agents.Master()
        # These tasks use no library. The default python_path, that of a source tree in /tmp, would show in the tasks' views.
        agent = agents.Agent(master, path / "agent", **{"python_path": str(path), **keys}).start()
        try:
            master.wait_agent()
            yield Site(master, agent, path)
            for container in set(master.expected) - set(master.done):
                master.signal(container, signal.SIGKILL)
                master.finish(container)
            assert agent.kill(signal.SIGTERM) == 0, agent.log_text()
        finally:
            if agent.process.poll() is None:
                agent.kill()
            master.close()


@contextlib.contextmanager
def as_user(uid, program):
    """Runs a process of this user on the machine itself, outside of any task: python3 with this program. It runs already when the
    context begins."""
    words = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"] if ROOT else []
    process = subprocess.Popen([*words, "/usr/bin/python3", "-c", "print('ready', flush=True)\n" + program], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
