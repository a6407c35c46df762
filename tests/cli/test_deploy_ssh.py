"""Tests det deploy ssh with an ssh that does nothing, or runs the script here. tests/e2e/test_deploy_ssh.py has a real one."""
import os
import pwd
import re
import shutil
import socket
import subprocess

import pytest
from conftest import BUILD
from support.fake_master.messages import message
from support.waiting import wait_for


@pytest.fixture
def ssh(tmp_path):
    """A directory for PATH."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ssh").write_text("#!/bin/sh\ncat >/dev/null\n")
    (tmp_path / "bin/ssh").chmod(0o755)
    return tmp_path / "bin"


@pytest.fixture
def bare_host(ssh, tmp_path):
    """Makes ssh run the script here, with no programs but those of a small host."""

    def make(*without):
        without = set(without)
        there = tmp_path / "programs of the host"
        there.mkdir()
        for name in {"sh", "id", "mkdir", "mktemp", "chmod", "rm", "mv", "ln", "tar", "gzip", "sort", "cut", "cat", "find", "xargs", "sha256sum", "stat", "flock", "date"} - without:
            (there / name).symlink_to(shutil.which(name))
        (ssh / "ssh").write_text(f"#!/bin/sh\nfor LAST; do :; done\nPATH='{there}'\neval \"$LAST\"\n")
        return there

    return make


def node(registered):
    return message("agent.v1.Agent", id="node1", enabled=True, registeredTime=registered, resourcePools=["default"], slotStats=message("agent.v1.SlotStats"))


def looks(master):
    return sum(r[:2] == ("GET", "/api/v1/agents") for r in master.requests)


@pytest.mark.parametrize("before", ["2026-11-21T07:00:00Z", None])
def test_an_agent_that_was_there_before_is_not_taken_for_the_new_one(det, master, ssh, before):
    master.every_agent = [node(before)]
    environment = {**det.environment, "PATH": f"{ssh}:{det.environment['PATH']}"}
    deploying = subprocess.Popen([BUILD / "det", "deploy", "ssh", "--master-host", "10.0.0.1", "node1"], env=environment, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for("it to look a few times", lambda: looks(master) >= 4 or deploying.poll() is not None)
    assert deploying.poll() is None, deploying.communicate()
    master.every_agent = [node("2026-11-21T07:00:05Z")]
    out, err = deploying.communicate(timeout=60)
    assert (deploying.returncode, out) == (0, "Agent 'node1' is up.\n"), err


@pytest.mark.parametrize("without", ["find", "xargs", "sha256sum", "stat", "flock"])
def test_a_host_without_a_program_that_the_scripts_need_is_left_as_it_is(det, master, bare_host, ssh, tmp_path, without):
    bare_host(without)
    done = det.run("deploy", "ssh", "--master-host", "10.0.0.1", "--directory", tmp_path / "there", "node1", PATH=f"{ssh}:{det.environment['PATH']}")
    assert done.returncode == 1 and f"install {without} on this machine" in done.stderr, done
    assert "failed on node1" in done.stderr
    assert not list((tmp_path / "there").iterdir())


def test_an_agent_that_connects_anew_while_programs_are_copied_is_not_taken_for_the_new_one(det, master, bare_host, ssh, tmp_path):
    """The old agent is a process that stops when the test lets it, so that det has its answer before."""
    there = bare_host("tar")
    for name in ("readlink", "nohup", "setsid", "rmdir", "sleep"):
        (there / name).symlink_to(shutil.which(name))
    (there / "tar").write_text(f"#!/bin/sh\n: >'{tmp_path}/begun'\nwhile [ ! -e '{tmp_path}/go' ]; do sleep 0.05; done\n"
                               "for LAST; do :; done\nfor P in determined-agent determined-task; do printf '#!/bin/sh\\n' >\"$LAST/$P\"; chmod 755 \"$LAST/$P\"; done\n")
    (there / "tar").chmod(0o755)
    (tmp_path / "old").mkdir()
    shutil.copy(shutil.which("dash") or shutil.which("sh"), tmp_path / "old/determined-agent")
    old = subprocess.Popen([tmp_path / "old/determined-agent", "-c", f"trap '' TERM; : >'{tmp_path}/runs'; while [ ! -e '{tmp_path}/stop' ]; do sleep 0.05; done"])
    wait_for("the old agent", (tmp_path / "runs").exists)
    (tmp_path / "there").mkdir()
    (tmp_path / "there/agent.pid").write_text(f"{old.pid}\n")
    master.every_agent = [node("2026-11-21T07:00:00Z")]
    environment = {**det.environment, "PATH": f"{ssh}:{det.environment['PATH']}"}
    deploying = subprocess.Popen([BUILD / "det", "deploy", "ssh", "--master-host", "10.0.0.1", "--directory", tmp_path / "there", "node1"], env=environment, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_for("it to copy", (tmp_path / "begun").exists)
        assert looks(master) == 1
        master.every_agent = [node("2026-11-21T07:00:05Z")]
        (tmp_path / "go").touch()
        wait_for("it to look before the old agent is stopped", lambda: looks(master) == 2 or deploying.poll() is not None)
        (tmp_path / "stop").touch()
        old.wait(60)
        wait_for("it to look a few times", lambda: looks(master) >= 5 or deploying.poll() is not None)
        assert deploying.poll() is None, deploying.communicate()
        master.every_agent = [node("2026-11-21T07:00:10Z")]
        out, err = deploying.communicate(timeout=60)
        assert (deploying.returncode, out) == (0, "Agent 'node1' is up.\n"), err
    finally:
        for name in ("go", "stop"):
            (tmp_path / name).touch()
        old.wait(60)
        deploying.kill()
        deploying.wait(60)


@pytest.fixture
def deploy(det, bare_host, ssh, tmp_path):
    """Deploys to a host whose tar waits for a file `go` and fails then, so that no agent is started."""
    there = bare_host("tar")
    (there / "tar").write_text(f"#!/bin/sh\n: >'{tmp_path}/begun'\nwhile [ ! -e '{tmp_path}/go' ]; do {shutil.which('sleep')} 0.05; done\necho 'the archive is cut off' >&2\nexit 1\n")
    (there / "tar").chmod(0o755)
    words = ["deploy", "ssh", "--master-host", "10.0.0.1", "--directory", tmp_path / "there"]
    environment = {**det.environment, "PATH": f"{ssh}:{det.environment['PATH']}"}
    started = []

    def start(*more):
        started.append(subprocess.Popen([BUILD / "det", *words, *more, "node1"], env=environment, text=True, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return started[-1]

    yield start
    (tmp_path / "go").touch()
    for process in started:
        process.wait(60)


def test_of_two_who_deploy_to_a_host_at_once_the_second_is_told_who_is_at_work(deploy, tmp_path):
    first = deploy()
    wait_for("the first to unpack", (tmp_path / "begun").exists)
    before = sorted(p.name for p in (tmp_path / "there").iterdir())
    for more in ([], ["--down"]):
        second = deploy(*more)
        _, said = second.communicate(timeout=60)
        assert second.returncode == 1 and "failed on node1" in said, said
        holder = rf"another det deploy ssh works in {tmp_path}/there of this machine: {pwd.getpwuid(os.getuid()).pw_name} on {socket.gethostname()}, since \d+-\d+-\d+ [\d:]+ UTC\."
        assert re.search(holder, said) and "Nothing was changed: wait until that one is done, then repeat the command" in said, said
        assert sorted(p.name for p in (tmp_path / "there").iterdir()) == before
    (tmp_path / "go").touch()
    assert "the archive is cut off" in first.communicate(timeout=60)[1]
    # the lock ends with its holder, however that ends
    assert "the archive is cut off" in deploy().communicate(timeout=60)[1]
    assert [p.name for p in (tmp_path / "there").iterdir()] == ["deploy.lock"] and (tmp_path / "there/deploy.lock").read_text() == ""
    assert deploy("--down").communicate(timeout=60)[0] == "Agent 'node1' is down.\n"


def test_the_lock_of_one_who_was_killed_holds_nobody_up(deploy, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there/deploy.lock").write_text("ann on laptop, since 2026-11-23 10:00:00 UTC\n")
    assert deploy("--down").communicate(timeout=60)[0] == "Agent 'node1' is down.\n"
    assert (tmp_path / "there/deploy.lock").read_text() == ""
