"""Tests what commands, shells and other tasks that are no trials are started with: what the configuration asks for is what the program
finds."""
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile

import pytest
from support.cluster import THREAD_SANITIZED, Cluster, error_of, wait_for
from support.launched import file_of, launch_id, log_of, master_log_of, wait_state

PATH_OF_SSHD = os.environ["PATH"] + ":/usr/sbin"


@pytest.fixture
def cluster(new_cluster):
    c = new_cluster().start_master()
    c.start_agent(slots=2)
    c.login()
    return c


def log(c, task):
    return "".join(line + "\n" for line in log_of(c, task))


def run(c, files=(), **config):
    """Runs a command to its end, and returns its output."""
    task = launch_id(c, files=files, **config)
    end = wait_state(c, task, "TERMINATED")
    assert end["exitStatus"] == "allocation exited successfully", log(c, task)
    return log(c, task)


def test_a_command__finds_its_context_its_variables_and_its_hook(cluster):
    text = run(cluster, entrypoint=["sh", "-c", "cat data/words; echo $GREETING; ls; echo $HOOKED $DET_TASK_TYPE"],
               environment={"environment_variables": ["GREETING=good day"]},
               files=[file_of("data/words", "from the context\n"), file_of("startup-hook.sh", "export HOOKED=yes\n")])
    assert "from the context\n" in text and "good day\n" in text and "startup-hook.sh\n" in text and "yes COMMAND\n" in text


def test_a_command__of_one_word_is_a_line_for_the_shell_and_of_several_is_executed_as_it_stands(cluster):
    assert "a b\n" in run(cluster, entrypoint=["echo a b | cat"])
    assert "a b\n" in run(cluster, entrypoint="echo a b | cat")
    assert "a | $HOME\n" in run(cluster, entrypoint=["echo", "a", "|", "$HOME"])


def test_a_command__begins_in_its_work_dir_and_sees_its_mounts(cluster, tmp_path):
    (tmp_path / "host").mkdir()
    (tmp_path / "host/seen").write_text("through the mount\n")
    mounts = [{"host_path": str(tmp_path / "host"), "container_path": "/opt", "read_only": True}]
    text = run(cluster, entrypoint=["pwd; cat /opt/seen; touch /opt/x || echo refused"], bind_mounts=mounts, work_dir="/usr")
    assert "/usr\n" in text and "through the mount\n" in text and "refused\n" in text
    assert run(cluster, entrypoint=["echo $(basename $(pwd)) $(basename $DET_WORKDIR)"]).count("workdir workdir\n") == 1


def test_a_command__runs_with_the_python_that_its_configuration_names(cluster):
    """The interpreter of the tests has pytest."""
    line = "python3 -c 'import pytest, sys; print(sys.prefix)'"
    assert run(cluster, entrypoint=[line], environment={"python": sys.executable}).endswith(f"{sys.prefix}\n")
    reply = cluster.post("/api/v1/commands", {"config": {"entrypoint": ["true"], "environment": {"python": "bin/python3"}}})
    assert "<config>.environment.python" in error_of(reply, 400)


def test_a_command__has_its_slots_on_one_agent(cluster):
    assert "[0,1]\n" in run(cluster, entrypoint=["echo $DET_SLOT_IDS"], resources={"slots": 2})
    assert "[]\n" in run(cluster, entrypoint=["echo $DET_SLOT_IDS"])


def test_a_command__whose_work_dir_does_not_exist_is_refused(cluster):
    task = launch_id(cluster, entrypoint=["true"], work_dir="/no/such/place")
    wait_state(cluster, task, "TERMINATED")
    assert "/no/such/place" in "".join(master_log_of(cluster, task) + log_of(cluster, task))


def test_the_configuration__is_refused_as_a_whole_and_nothing_starts(cluster):
    reply = cluster.post("/api/v1/commands", {"config": {"entrypont": ["true"], "resources": {"slots": "many"}}})
    text = error_of(reply, 400)
    assert 'unknown field "entrypont"; did you mean "entrypoint"?' in text and "<config>.resources.slots" in text
    text = error_of(cluster.post("/api/v1/commands", {"config": {"entrypoint": ["true"], "work_dir": "/w"}, "files": [file_of("a", "b")]}), 400)
    assert "cannot be set together with a context directory" in text
    assert cluster.get("/api/v1/commands").json["commands"] == []


def test_the_effective_configuration__has_the_entry_of_commands_and_the_defaults(cluster):
    task = launch_id(cluster, entrypoint=["sleep", "60"], resources={})
    config = cluster.get(f"/api/v1/commands/{task}").json["config"]
    assert config["entrypoint"] == ["/run/determined/command-entrypoint.sh", "sleep", "60"]
    assert re.fullmatch(r"Command \(\w+-\w+-\w+\)", config["description"])
    assert config["resources"]["slots"] == 1 and config["resources"]["resource_pool"] == "default"
    assert cluster.post(f"/api/v1/commands/{task}/kill", {}).status == 200


# ---- shells ----------------------------------------------------------------------------------------------------------

needs_ssh = pytest.mark.skipif(not shutil.which("sshd", path=PATH_OF_SSHD) or not shutil.which("ssh"), reason="openssh-server is not installed")

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start agents as other users, and agents that give tasks an account")


class Session:
    """What it takes to log in to a shell, directly at its port on this machine."""

    def __init__(self, c, task, directory):
        self.port = wait_for("sshd's line", lambda: self.find_port(c, task))
        self.shell = c.get(f"/api/v1/shells/{task}").json["shell"]
        self.key = directory / "key"
        self.key.write_text(self.shell["privateKey"])
        self.key.chmod(0o600)

    @staticmethod
    def find_port(c, task):
        found = re.search(r"Server listening on 127\.0\.0\.1 port (\d+)\.", log(c, task))
        state = c.get(f"/api/v1/shells/{task}").json["shell"]["state"]
        assert found or state != "STATE_TERMINATED", log(c, task)
        return found and found[1]

    def run(self, command, key=None, user=None):
        return subprocess.run(
            ["ssh", "-F", "/dev/null", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
             "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "LogLevel=ERROR", "-i", key or self.key, "-p", self.port,
             f"{user or self.shell['agentUserGroup']['user']}@127.0.0.1", command],
            capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


@needs_ssh
def test_a_shell__lets_its_owner_in_and_has_the_tasks_environment(cluster, tmp_path):
    task = launch_id(cluster, "shell", resources={"slots": 1}, environment={"environment_variables": ["WORDS=it's two\nlines"]},
                     files=[file_of("sent", "with the shell\n"), file_of("startup-hook.sh", "export HOOKED=yes\n")])
    session = Session(cluster, task, tmp_path)
    assert 3200 <= int(session.port) <= 3599
    said = session.run('cat sent; echo "$WORDS"; echo $HOOKED $DET_TASK_TYPE $DET_MASTER $DET_SLOT_IDS; id -un')
    assert said.returncode == 0, said.stderr
    assert said.stdout == f"with the shell\nit's two\nlines\nyes SHELL {cluster.url} [0]\n{session.shell['agentUserGroup']['user']}\n"
    # the task's tokens are in the environment, so that programs of the platform work
    whoami = session.run(f"{cluster.programs}/det user whoami")
    assert whoami.returncode == 0 and "determined" in whoami.stdout, whoami.stderr


@needs_ssh
def test_a_shell__lets_nobody_else_in(cluster, tmp_path):
    first = Session(cluster, launch_id(cluster, "shell"), tmp_path)
    (tmp_path / "second").mkdir()
    second = Session(cluster, launch_id(cluster, "shell"), tmp_path / "second")
    assert first.port != second.port, "two shells on one machine have two ports"
    assert first.run("echo in").stdout == "in\n"
    refused = second.run("echo in", key=first.key)
    assert refused.returncode == 255 and "in" not in refused.stdout.split()
    assert "Permission denied (publickey)" in refused.stderr


@needs_ssh
def test_a_shell__listens_at_the_machines_addresses_only_if_the_master_connects_directly(new_cluster):
    c = new_cluster(config={"task_streams": {"route": "direct"}}).start_master()
    c.start_agent()
    c.login()
    task = launch_id(c, "shell")
    wait_for("sshd's line", lambda: re.search(r"Server listening on 0\.0\.0\.0 port \d+\.", log(c, task)))


@pytest.fixture
def open_directory():
    """A directory that every user can pass through."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield directory


@needs_ssh
@needs_root
def test_a_shell__under_an_account_of_the_platform_has_its_name(open_directory, tmp_path):
    with Cluster(open_directory) as c:
        c.start_master().start_agent(allow_root_tasks=False)
        c.login()
        session = Session(c, launch_id(c, "shell"), tmp_path)
        assert session.shell["agentUserGroup"]["user"] == "determined"
        said = session.run("id -un; umask; pwd; echo $HOME | grep -c workdir")
        assert said.stdout == "determined\n0022\n/run/determined/workdir\n1\n", said.stderr


@needs_ssh
@needs_root
@pytest.mark.skipif(THREAD_SANITIZED, reason="a supervisor with the thread sanitizer makes no user namespace")
def test_a_shell__of_an_agent_that_is_not_root_is_entered_by_the_agents_name(open_directory, tmp_path):
    """The account `games` of Debian has the login shell nologin, as accounts of services have."""
    games = pwd.getpwnam("games")
    with Cluster(open_directory) as c:
        c.start_master()
        home = c.dir / "agent0"
        home.mkdir()
        (home / "join.token").write_text((c.dir / "data/agent.token").read_text())
        for path in (home, home / "join.token"):
            os.chown(path, games.pw_uid, games.pw_gid)
        c.start_agent(prefix=["setpriv", f"--reuid={games.pw_uid}", f"--regid={games.pw_gid}", "--clear-groups"], allow_root_tasks=False,
                      token_file=str(home / "join.token"))
        c.login()
        session = Session(c, launch_id(c, "shell"), tmp_path)
        assert session.shell["agentUserGroup"]["user"] == "games"
        said = session.run("id -un; echo $DET_TASK_TYPE")
        assert said.stdout == "games\nSHELL\n", said.stderr
