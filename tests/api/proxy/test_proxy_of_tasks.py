"""Tests /proxy/ with tasks that users launch: commands with ports, and a notebook, in whose place a small server runs."""
import json
import os
import pathlib
import tempfile
import time
import urllib.parse
import venv

import pytest
from support.attackers import new_user, token_of
from support.cluster import wait_for
from support.ports import free_port
from support.visited import SERVER, WebSocket, echoed

HTML = {"Accept": "text/html"}


def launch(c, kind, config, **more):
    reply = c.post(f"/api/v1/{kind}s", {"config": {"resources": {"slots": 0}, **config}, **more})
    assert reply.status == 200, reply
    return reply.json[kind]


def log(c, task):
    return "".join(line["result"]["log"] for line in c.get(f"/api/v1/tasks/{task}/logs").lines)


class Task:
    """What Visited is for a trial, as far as WebSocket needs it."""

    def __init__(self, c, task):
        self.c, self.task, self.token = c, task, c.token

    def head(self, method, what, is_open, token, **headers):
        lines = [f"{method} /proxy/{self.task}/{what} HTTP/1.1", "Host: master"]
        return ("\r\n".join(lines + [f"{n.replace('_', '-')}: {v}" for n, v in headers.items()]) + "\r\n\r\n").encode()


@pytest.fixture(scope="module")
def environment():
    """A task's environment: a Python that has what notebooks and TensorBoards need, or says so, and a server in place of the program itself.

    It is not below pytest's own directory, which other accounts may not enter.
    """
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        yield make_environment(pathlib.Path(directory))


def make_environment(directory):
    venv.create(directory / "venv", symlinks=True)
    [packages] = (directory / "venv/lib").glob("python3*/site-packages")
    for name in ("jupyterlab", "ipykernel", "tensorboard", "boto3"):
        (packages / name).mkdir()
        (packages / name / "__init__.py").touch()
    path = directory / "python"
    path.write_text("#!/usr/bin/python3\nimport os, sys\nsys.argv[1:] = [os.environ['NOTEBOOK_PORT']]\n"
                    "print('JupyterLab answers on port 0', file=sys.stderr, flush=True)\n" + SERVER)
    path.chmod(0o755)
    directory.chmod(0o755)
    return {"python": str(directory / "venv"), "environment_variables": [f"DET_PYTHON_EXECUTABLE={path}"]}


@pytest.fixture(scope="module")
def notebook(cluster, environment):
    task = launch(cluster, "notebook", {"environment": environment})
    wait_for("the server", lambda: "serving" in log(cluster, task["id"]))
    yield task
    cluster.post(f"/api/v1/notebooks/{task['id']}/kill")


def test_a_port_of_a_command_is_reached(cluster, tmp_path):
    port = free_port()
    (tmp_path / "server.py").write_text(SERVER)
    os.chmod(tmp_path, 0o755)
    task = launch(cluster, "command", {"entrypoint": [f"python3 {tmp_path}/server.py {port}"],
                                       "environment": {"proxy_ports": [{"proxy_port": port}]}})["id"]
    path = f"/proxy/{task}:{port}/echo"
    reply = wait_for("an answer", lambda: (lambda r: r if r.status == 200 else None)(cluster.get(path)))
    assert echoed(reply)[0]["target"] == path
    assert "none of environment.proxy_ports" in cluster.get(f"/proxy/{task}/").json["message"]
    assert cluster.post(f"/api/v1/commands/{task}/kill").status == 200
    wait_for("its end", lambda: b"has ended: task was killed by the master" in cluster.get(path).body)
    assert cluster.get(path).status == 404


def test_a_notebook_is_reached_by_its_id_and_by_its_token_alone(cluster, notebook):
    address = notebook["serviceAddress"]
    token = urllib.parse.parse_qs(urllib.parse.urlparse(address).query)["token"][0]
    path = f"/proxy/{notebook['id']}/echo"
    assert echoed(cluster.get(path))[0]["target"] == path, "with a session"
    assert cluster.get(path, token=None).status == 401
    assert cluster.get(path + "?token=nonsense", token=None).status == 401
    reply = cluster.get(path + f"?token={token}", token=None, headers=HTML)
    got, _ = echoed(reply)
    assert got["target"].endswith(f"?token={token}"), "Jupyter asks for it, too"
    [cookie] = [c for c in reply.headers.get_all("Set-Cookie") if c.startswith("det_task_token")]
    assert f"Path=/proxy/{notebook['id']}/; HttpOnly; SameSite=Lax" in cookie
    got, headers = echoed(cluster.get(path, token=None, headers={"Authorization": f"token {token}"}))
    assert headers["authorization"] == [f"token {token}"]
    cookie = {"Cookie": cookie.split(";")[0] + "; own=1"}
    got, headers = echoed(cluster.get(path, token=None, headers=cookie))
    assert headers["cookie"] == ["own=1"]
    assert cluster.request("POST", path, token=None, raw=b"x", headers=cookie).status == 403, "a page of another origin could send this"
    assert cluster.request("POST", path, token=None, raw=b"x", headers={**cookie, "Sec-Fetch-Site": "same-origin"}).status == 200
    with WebSocket(Task(cluster, notebook["id"]), "websocket?token=" + token) as ws:
        ws.send(b"hello")
        assert (ws.status, ws.receive()) == (101, b"hello")


def released_links(task, address):
    """Both forms of what "det notebook start" of release 0.38.1 opens (make_interactive_task_url in determined/cli/ntsc.py)."""
    wait = f"/det/wait/jupyter-lab/{task}?eventUrl={address}/jupyter-lab/{task}/events&serviceAddr={address}"
    return f"/det/interactive/{task}/jupyter-lab/a%20notebook/default/{urllib.parse.quote_plus(wait)}?currentSlotsExceeded=false", wait


def test_links_of_the_released_client_lead_to_the_task(cluster, notebook):
    for link in released_links(notebook["id"], notebook["serviceAddress"]):
        reply = cluster.get(link, token=None)
        assert (reply.status, reply.headers["Location"]) == (303, notebook["serviceAddress"]), link
    for link in released_links(notebook["id"], f"/proxy/{notebook['id']}/"):
        assert cluster.get(link, token=None).headers["Location"] == f"/proxy/{notebook['id']}/", "a TensorBoard's has no token"


@pytest.mark.parametrize("address", ["https://evil.example/?token=a", "//evil.example/", "/proxy/other/?token=stolen", "/det/login?redirect=//evil",
                                     "", "%0d%0aSet-Cookie:%20a=b"])
def test_links_of_the_released_client_lead_nowhere_else(cluster, address):
    for link in released_links("12-ab", address):
        reply = cluster.get(link, token=None)
        assert (reply.status, reply.headers["Location"]) == (303, "/proxy/12-ab/"), link
        assert "Set-Cookie" not in reply.headers


def test_a_link_of_the_released_client_with_a_strange_id_is_not_found(cluster):
    for link in released_links("..%2f..%2fdet", "/"):
        assert cluster.get(link, token=None).status == 404, link


def test_the_token_of_a_notebook_opens_nothing_else(cluster, notebook, environment):
    token = urllib.parse.parse_qs(urllib.parse.urlparse(notebook["serviceAddress"]).query)["token"][0]
    other = launch(cluster, "notebook", {"environment": environment})
    for ask in ({"path": f"/proxy/{other['id']}/echo?token={token}"}, {"path": "/api/v1/me", "headers": {"Authorization": f"Bearer {token}"}},
                {"path": f"/proxy/{other['id']}/echo", "headers": {"Cookie": f"det_task_token={token}"}},
                {"path": f"/proxy/{notebook['id']}/echo", "headers": {"Authorization": f"Bearer {token}"}}):
        assert cluster.get(token=None, **ask).status == 401, ask
    cluster.post(f"/api/v1/notebooks/{other['id']}/kill")


def test_the_token_of_a_notebook_ends_with_its_owners_account(cluster, environment):
    user_id = new_user(cluster, "leaver", "Long-Enough-1")
    was, cluster.token = cluster.token, token_of(cluster, "leaver", "Long-Enough-1")
    try:
        task = launch(cluster, "notebook", {"environment": environment})
    finally:
        cluster.token = was
    path = f"/proxy/{task['id']}/echo?" + urllib.parse.urlparse(task["serviceAddress"]).query
    wait_for("the server", lambda: cluster.get(path, token=None).status == 200)
    assert cluster.patch(f"/api/v1/users/{user_id}", {"active": False}, token=cluster.admin_token()).status == 200
    assert cluster.get(path, token=None).status == 401
    cluster.post(f"/api/v1/notebooks/{task['id']}/kill", token=cluster.admin_token())


def test_a_notebook_that_is_used_is_not_idle(cluster, environment):
    """With activity through the proxy it outlives its idle time, and without it ends."""
    task = launch(cluster, "notebook", {"idle_timeout": "3s", "environment": environment})["id"]
    path = f"/proxy/{task}/echo"
    wait_for("the server", lambda: cluster.get(path).status == 200)

    def state():
        return cluster.get(f"/api/v1/notebooks/{task}").json["notebook"]["state"]

    end = time.monotonic() + 9
    while time.monotonic() < end:
        assert cluster.get(path).status == 200
        time.sleep(0.5)  # a visitor who comes back twice a second
    assert state() == "STATE_RUNNING"
    wait_for("its end", lambda: state() == "STATE_TERMINATED")


def test_a_tensorboard_of_nobody_asks_a_browser_to_log_in(cluster, notebook):
    reply = cluster.get(f"/proxy/{notebook['id']}/lab", token=None, headers=HTML)
    assert (reply.status, reply.headers["Location"]) == (303, f"/det/login?redirect=/proxy/{notebook['id']}/lab")
    assert json.dumps(reply.headers.get("Set-Cookie")) == "null"


def test_a_shells_port_asks_for_its_key_and_not_for_a_session(cluster):
    """The tunnel of release 0.38.1 shows no token."""
    task = launch(cluster, "shell", {})["id"]
    path = f"/proxy/{task}/"
    reply = wait_for("the shell", lambda: (lambda r: r if r.status == 400 else None)(cluster.get(path, token=None)))
    assert "carries TCP" in reply.json["message"], "without a WebSocket"

    def banner():
        with WebSocket(Task(cluster, task), "") as ws:
            return ws.receive() if ws.status == 101 else b""

    assert wait_for("sshd", banner).startswith(b"SSH-2.0-")
    cluster.post(f"/api/v1/shells/{task}/kill")
