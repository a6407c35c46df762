"""Tests what det deploy ssh takes for an agent that has come, with an ssh that does nothing. tests/e2e/test_deploy_ssh.py has a real one."""
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
