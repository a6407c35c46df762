"""Tests det deploy ssh with an ssh that does nothing, or runs the script here. tests/e2e/test_deploy_ssh.py has a real one."""
import shutil
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

    def make(without):
        there = tmp_path / "programs of the host"
        there.mkdir()
        for name in {"sh", "id", "mkdir", "mktemp", "chmod", "rm", "mv", "ln", "tar", "gzip", "sort", "cut", "cat", "find", "xargs", "sha256sum", "stat"} - {without}:
            (there / name).symlink_to(shutil.which(name))
        (ssh / "ssh").write_text(f"#!/bin/sh\nfor LAST; do :; done\nPATH='{there}'\neval \"$LAST\"\n")

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


@pytest.mark.parametrize("without", ["find", "xargs", "sha256sum", "stat"])
def test_a_host_without_a_program_that_the_scripts_need_is_left_as_it_is(det, master, bare_host, ssh, tmp_path, without):
    bare_host(without)
    done = det.run("deploy", "ssh", "--master-host", "10.0.0.1", "--directory", tmp_path / "there", "node1", PATH=f"{ssh}:{det.environment['PATH']}")
    assert done.returncode == 1 and f"install {without} on this machine" in done.stderr, done
    assert "failed on node1" in done.stderr
    assert not list((tmp_path / "there").iterdir())
