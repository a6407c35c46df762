"""Attacks on the private keys of shells and the tokens of notebooks, which let in whoever has them."""
import json

import pytest
from support.cluster import Cluster, error_of, wait_for
from support.launched import launch_id, shown, wait_state

PASSWORD = "Long-Enough-1"


class World:
    """The owner has a shell and a notebook, which wait for slots. Mallory has a login and a running command."""

    def __init__(self, c):
        self.c = c
        c.login()
        reply = c.post("/api/v1/users", {"user": {"username": "mallory", "active": True}, "password": PASSWORD, "isHashed": False},
                       token=c.admin_token())
        assert reply.status == 200, reply
        self.mallory = c.login("mallory", PASSWORD, keep=False).json["token"]
        self.shell = launch_id(c, "shell", resources={"slots": 64})
        self.notebook = launch_id(c, "notebook", resources={"slots": 64})
        told = c.storage / "told"
        script = (f"import json, os, time; open('{told}.new', 'w').write(json.dumps(dict(os.environ))); "
                  f"os.rename('{told}.new', '{told}'); time.sleep(3600)")
        self.command = launch_id(c, token=self.mallory, entrypoint=["python3", "-c", script])
        wait_for("Mallory's command", told.exists)
        environment = json.loads(told.read_text())
        self.session, self.user_token = environment["DET_SESSION_TOKEN"], environment["DET_USER_TOKEN"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("keys")) as c:
        c.start_master()
        c.start_agent()
        yield World(c)


def tokens(world):
    return {"a login": world.mallory, "the session of a task": world.session, "the login of a task": world.user_token}


def test_a_person_reads_another_ones_private_key(world):
    assert "PRIVATE KEY" in shown(world.c, world.shell, "shell")["privateKey"]
    assert "PRIVATE KEY" in shown(world.c, world.shell, "shell", token=world.c.admin_token())["privateKey"]
    for what, token in tokens(world).items():
        for path in (f"shells/{world.shell}", "shells", f"tasks/{world.shell}", "tasks", "job-queues-v2?resourcePool=default"):
            reply = world.c.get(f"/api/v1/{path}", token=token)
            assert "PRIVATE KEY" not in reply.body.decode(), (what, path)
        assert shown(world.c, world.shell, "shell", token=token)["publicKey"].startswith("ssh-")


def test_a_person_reads_the_token_of_another_ones_notebook(world):
    address = shown(world.c, world.notebook, "notebook")["serviceAddress"]
    secret = address.split("token=")[1]
    for what, token in tokens(world).items():
        for path in (f"notebooks/{world.notebook}", "notebooks", f"tasks/{world.notebook}", "tasks"):
            assert secret not in world.c.get(f"/api/v1/{path}", token=token).body.decode(), (what, path)


@pytest.mark.parametrize("action", ["kill", "set_priority"])
def test_a_person_ends_or_moves_another_ones_shell(world, action):
    for token in (world.mallory, world.user_token):
        reply = world.c.post(f"/api/v1/shells/{world.shell}/{action}", {"priority": 1}, token=token)
        assert f"shell {world.shell} belongs to user 'determined'" in error_of(reply, 403)
    assert world.c.post(f"/api/v1/shells/{world.shell}/{action}", {"priority": 1}, token=world.session).status == 403
    job = shown(world.c, world.shell, "shell")["jobId"]
    reply = world.c.post("/api/v1/job-queues", {"updates": [{"jobId": job, "priority": 1}]}, token=world.mallory)
    assert "belongs to user 'determined'" in error_of(reply, 403)
    assert shown(world.c, world.shell, "shell")["state"] == "STATE_QUEUED"


def test_a_command_ends_itself_through_its_session(world):
    """The session of a task speaks for its allocation only, and does not act on the task as its owner does."""
    assert world.c.post(f"/api/v1/commands/{world.command}/kill", token=world.session).status == 403
    assert shown(world.c, world.command)["state"] == "STATE_RUNNING"
    assert world.c.post(f"/api/v1/allocations/{world.command}.1/ready", token=world.session).status == 200
    assert world.c.post(f"/api/v1/allocations/{world.shell}.1/ready", token=world.session).status == 403


def test_the_tokens_of_a_task_that_has_ended(world):
    assert world.c.post(f"/api/v1/commands/{world.command}/kill", token=world.mallory).status == 200
    wait_state(world.c, world.command, "TERMINATED")
    for token in (world.session, world.user_token):
        assert world.c.get("/api/v1/me", token=token).status == 401
