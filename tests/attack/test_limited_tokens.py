"""Tests what somebody may try who has found an access token with the scope read or submit (docs/security.md, Access tokens).
test_credentials.py tries every route with each scope."""
import json

import pytest
from support.cluster import error_of, wait_for
from support.launched import launch_id, shown

SECRET = "secret-of-data"
# The task writes its environment to a file, and sleeps until it is killed.
SCRIPT = """
import json, os, pathlib, time
told = pathlib.Path(os.environ["TOLD"])
told.with_suffix(".new").write_text(json.dumps(dict(os.environ)))
told.with_suffix(".new").rename(told)
time.sleep(3600)
"""


def new_token(c, scope):
    me = c.get("/api/v1/me").json["user"]["id"]
    reply = c.post("/api/v1/tokens", {"userId": me, "scope": f"TOKEN_SCOPE_{scope}"})
    assert reply.status == 200, reply
    return reply.json["token"]


def submit(c, name, token, **changes):
    """Starts an experiment with this token; returns its id and the login that its task has on behalf of the owner."""
    told = c.storage / name
    config = c.experiment_config(entrypoint=["python3", "-c", SCRIPT], environment={"environment_variables": [f"TOLD={told}"]}, **changes)
    reply = c.post("/api/v1/experiments", {"config": json.dumps(config), "activate": True}, token=token)
    assert reply.status == 200, reply
    wait_for(f"the task {name}", told.exists)
    return reply.json["experiment"]["id"], json.loads(told.read_text())["DET_USER_TOKEN"]


def may_rename(c, x, token):
    """Whether the token may do what needs the scope all."""
    reply = c.patch(f"/api/v1/experiments/{x}", {"name": "renamed"}, token=token)
    assert reply.status in (200, 403), reply
    return reply.status == 200


def test_somebody_reads_secrets_with_a_token_that_may_only_look(cluster):
    config = cluster.experiment_config(data={"secrets": {"key": SECRET}})
    x = cluster.post("/api/v1/experiments", {"config": json.dumps(config), "activate": False}).json["experiment"]["id"]
    shell, notebook = (launch_id(cluster, kind, resources={"slots": 64}) for kind in ("shell", "notebook"))
    secret = shown(cluster, notebook, "notebook")["serviceAddress"].split("token=")[1]
    assert "PRIVATE KEY" in shown(cluster, shell, "shell")["privateKey"]
    assert SECRET in cluster.get(f"/api/v1/experiments/{x}").body.decode()
    for scope in ("READ", "SUBMIT"):
        token = new_token(cluster, scope)
        for path in (f"experiments/{x}", "experiments", f"shells/{shell}", "shells", f"notebooks/{notebook}", "notebooks",
                     f"tasks/{shell}", f"tasks/{notebook}", "tasks"):
            reply = cluster.get(f"/api/v1/{path}", token=token)
            assert reply.status == 200, (path, reply)
            assert not any(word in reply.body.decode() for word in (SECRET, secret, "PRIVATE KEY")), (scope, path)
    assert SECRET in cluster.get(f"/api/v1/experiments/{x}", token=new_token(cluster, "ALL")).body.decode()


def test_somebody_reaches_a_port_of_a_task_with_a_token_that_may_only_look(cluster):
    """Whoever reaches a port of a task can act as the task does."""
    with_port = {"environment": {"proxy_ports": [{"proxy_port": 47231}]}}
    config = cluster.experiment_config(entrypoint=["sleep", "3600"], **with_port)
    x = cluster.post("/api/v1/experiments", {"config": json.dumps(config), "activate": True}).json["experiment"]["id"]
    [trial] = wait_for("the trial", lambda: cluster.trial_ids(x))
    task = cluster.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    wait_for("the task", lambda: cluster.experiment(x)["state"] == "STATE_RUNNING")
    path = f"/proxy/{task}:47231/"
    assert cluster.get(path).status not in (401, 403)
    assert cluster.get(path, token=new_token(cluster, "ALL")).status not in (401, 403)
    for token in (new_token(cluster, "READ"), new_token(cluster, "SUBMIT")):
        assert cluster.get(path, token=token).status == 403
        assert cluster.get(path, token=None, headers={"Cookie": f"auth={token}"}).status == 403
        assert cluster.get(path, token=token, headers={"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                                                       "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}).status == 403
    assert cluster.post(f"/api/v1/experiments/{x}/kill").status == 200


def test_somebody_submits_a_program_that_does_what_the_token_may_not(new_cluster):
    """The task's login has the scope of the token that submitted it, and so has what the task submits: after a restart of the master, too."""
    c = new_cluster()
    c.start_master()
    c.start_agent(slots=4)
    c.login("determined")
    token = new_token(c, "SUBMIT")
    mine, login = submit(c, "mine", c.token)
    x, limited = submit(c, "limited", token)
    child, limited_child = submit(c, "child", limited)
    assert may_rename(c, mine, login)
    assert not any(may_rename(c, mine, t) for t in (token, limited, limited_child))
    for t in (limited, limited_child):
        reply = c.request("DELETE", f"/api/v1/experiments/{mine}", token=t)
        assert "this task was submitted by an access token with the scope submit" in error_of(reply, 403)
    c.stop_master()
    c.start_master()
    c.login("determined")
    wait_for("the agent", lambda: c.get("/api/v1/agents").json["agents"])
    assert may_rename(c, x, login) and not any(may_rename(c, mine, t) for t in (token, limited, limited_child))
    # The token ends, and with it nothing that it has submitted.
    assert c.get("/api/v1/me", token=limited).status == 200
    for number in (mine, x, child):
        assert c.post(f"/api/v1/experiments/{number}/kill").status == 200


@pytest.mark.parametrize("kind", ["command", "generic"])
def test_somebody_launches_a_task_that_does_what_the_token_may_not(cluster, kind):
    told = cluster.storage / f"told-{kind}"
    config = {"entrypoint": ["python3", "-c", SCRIPT], "environment": {"environment_variables": [f"TOLD={told}"]}, "resources": {"slots": 0}}
    token = new_token(cluster, "SUBMIT")
    if kind == "command":
        reply = cluster.post("/api/v1/commands", {"config": config}, token=token)
    else:
        reply = cluster.post("/api/v1/generic-tasks", {"config": json.dumps(config)}, token=token)
    assert reply.status == 200, reply
    wait_for("the task", told.exists)
    x = cluster.create(activate=False)
    assert not may_rename(cluster, x, json.loads(told.read_text())["DET_USER_TOKEN"])


def test_a_token_that_may_only_submit_goes_on_with_an_experiment_of_its_owner(cluster):
    """To continue an experiment would run a program of the token's choice with a login that may do everything."""
    x = cluster.create(activate=False)
    reply = cluster.post("/api/v1/experiments/continue", {"id": x, "overrideConfig": "{}"}, token=new_token(cluster, "SUBMIT"))
    assert "the scope all" in error_of(reply, 403)
