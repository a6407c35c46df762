"""Tests what a task could do to who looks at it through the master, and what a visitor could do to others by means of the proxy."""
import base64
import contextlib
import json
import socket
import urllib.parse

import pytest
from support.attackers import new_user, token_of
from support.cluster import wait_for
from support.visited import Visited, WebSocket, echoed, read_reply

PASSWORD = "Long-Enough-1"
SANDBOX = "sandbox allow-scripts"


@pytest.fixture(scope="module")
def notebook(cluster):
    """A task of mallory, who wrote everything that it sends."""
    new_user(cluster, "mallory", PASSWORD)
    with Visited(cluster, token_of(cluster, "mallory", PASSWORD)) as v:
        yield v


def as_browser(token, **headers):
    return {"Cookie": f"theme=dark; auth={token}", "Accept": "text/html", **headers}


# ---- the visitor's credentials ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_open", [False, True])
def test_a_notebook_reads_the_session_of_its_visitor(cluster, notebook, is_open):
    """No header of the platform reaches the task, however it is spelt."""
    admin = cluster.admin_token()
    for headers in ({"Authorization": f"Bearer {admin}"}, {"Authorization": f"bearer  {admin}"}, {"Cookie": f"auth={admin}"},
                    {"Cookie": f"x=1;auth={admin}"}, {"Cookie": f'y="a;b"; AUTH = {admin}; auth={admin}'},
                    {"Authorization": f"Bearer {admin}", "Grpc-Metadata-x-user-token": admin, "grpc_metadata_y": admin}):
        reply = notebook.ask("echo", is_open=is_open, token=None, headers=headers)
        assert reply.status in (200, 401) and admin.encode() not in reply.body, headers
    with WebSocket(notebook, "echo", is_open, admin, Cookie=f"auth={admin}") as ws:
        assert ws.status == 200
        assert admin.encode() not in read_all(ws.connection)


def read_all(connection):
    connection.settimeout(5)
    data = b""
    with contextlib.suppress(TimeoutError):
        while piece := connection.recv(65536):
            data += piece
            if b'"sha256"' in data:
                break
    return data


def test_a_notebook_sets_the_cookie_of_the_platform(cluster, notebook):
    cookies = ["auth=stolen", "AUTH=stolen; Path=/", "=auth=stolen", "auth", "det_task_token=x", "a=b, auth=c", "\tauth=x"]
    answer = "HTTP/1.1 200 OK\r\n" + "".join(f"Set-Cookie: {c}\r\n" for c in cookies) + "Content-Length: 0\r\n\r\n"
    for is_open in (False, True):
        reply = notebook.raw(answer.encode(), is_open=is_open)
        assert reply.status == 200 and reply.headers.get_all("Set-Cookie") is None, reply.headers
    reply = notebook.raw(b"HTTP/1.1 200 OK\r\nset-cookie: own=1; Domain=example.org; Path=/; Secure\r\nContent-Length: 0\r\n\r\n")
    assert reply.headers.get_all("Set-Cookie") == [f"own=1; Secure; Path=/proxy/{notebook.service}/"]


def test_a_notebook_speaks_for_the_whole_origin(notebook):
    headers = ["Strict-Transport-Security: max-age=99999999", "Service-Worker-Allowed: /", 'Clear-Site-Data: "*"', 'Alt-Svc: h2="evil:443"',
               "Access-Control-Allow-Origin: http://evil.example", "Access-Control-Allow-Credentials: true", "NEL: {}", "Report-To: {}",
               "WWW-Authenticate: Basic realm=platform", "X-Accel-Redirect: /internal/secret", "X-Frame-Options: ALLOWALL"]
    answer = "HTTP/1.1 200 OK\r\n" + "\r\n".join(headers) + "\r\nX-Own: kept\r\nContent-Length: 0\r\n\r\n"
    reply = notebook.raw(answer.encode())
    assert reply.headers["X-Own"] == "kept" and reply.headers.get_all("X-Frame-Options") == ["SAMEORIGIN"]
    for line in headers[:-1]:
        assert line.split(":")[0] not in reply.headers, line


def test_the_page_of_a_notebook_acts_as_an_admin_who_looks_at_it(cluster, notebook):
    """The page of somebody else gets an origin of its own, so that a browser sends no cookie with what its scripts ask for; and without a
    cookie, or with a foreign origin, the API does nothing."""
    admin = cluster.admin_token()
    page = notebook.ask("echo", token=None, headers=as_browser(admin))
    assert page.status == 200 and page.headers["Content-Security-Policy"].startswith(SANDBOX)
    assert "allow-same-origin" not in page.headers["Content-Security-Policy"] and "top-navigation" not in page.headers["Content-Security-Policy"]
    own = notebook.ask("echo", token=None, headers=as_browser(notebook.token))
    assert "Content-Security-Policy" not in own.headers, "a task has its owner's rights anyway"
    for who in ({}, as_browser(admin), as_browser(notebook.token)):
        page = notebook.ask("echo", is_open=True, token=None, headers=who)
        expected = who == as_browser(notebook.token)
        assert ("Content-Security-Policy" not in page.headers) == expected, who
    # What such a page can still send: requests without the cookie, or top-level ones, with the origin null
    for path in ("/api/v1/users", notebook.path("echo")):
        reply = cluster.request("POST", path, token=None, raw=b"{}",
                                headers={"Cookie": f"auth={admin}", "Origin": "null", "Content-Type": "application/json"})
        assert reply.status == 403, reply


def test_the_tasks_own_policy_weakens_the_sandbox(cluster, notebook):
    reply = notebook.raw(b"HTTP/1.1 200 OK\r\nContent-Security-Policy: sandbox allow-same-origin allow-scripts\r\nContent-Length: 0\r\n\r\n",
                         token=cluster.admin_token())
    policies = reply.headers.get_all("Content-Security-Policy")
    assert len(policies) == 2 and any("allow-same-origin" not in p for p in policies), "a browser applies all of them"


def test_an_answer_from_the_master_itself_runs_the_tasks_script(cluster, notebook):
    reply = notebook.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: <script>\r\n\r\n", headers=as_browser(notebook.token), token=None)
    assert reply.status == 502 and reply.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert b"<script>" not in reply.body


# ---- pages of other origins ---------------------------------------------------------------------------------------------


def test_a_page_of_another_origin_sends_something_to_my_notebook(cluster, notebook):
    cookie = {"Cookie": f"auth={notebook.token}"}
    for foreign in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"}, {}):
        assert notebook.ask("echo", "POST", token=None, raw=b"x", headers={**cookie, **foreign}).status == 403, foreign
        with WebSocket(notebook, token="none", **{k.replace("-", "_"): v for k, v in {**cookie, **foreign}.items()}) as ws:
            assert ws.status == 403, foreign
    for foreign in ({"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        assert notebook.ask("echo", "POST", raw=b"x", headers=foreign).status == 200, "a token in a header proves enough"
        reply = notebook.ask("echo", "POST", is_open=True, token=None, raw=b"x", headers={**cookie, **foreign})
        assert reply.status == 200 and "auth" not in str(echoed(reply)[1].get("cookie")), "open ports are for pages of all origins"
    own = {**cookie, "Origin": cluster.url, "Content-Type": "multipart/form-data; boundary=x"}
    assert notebook.ask("echo", "POST", token=None, raw=b"x", headers=own).status == 200


# ---- what a task may be made to believe ---------------------------------------------------------------------------------


def test_a_visitor_pretends_to_be_somebody_else_to_the_task(notebook):
    lies = {"X-Real-IP": "6.6.6.6", "X-Forwarded-For": "6.6.6.6", "X_Forwarded_For": "6.6.6.6", "Forwarded": "for=6.6.6.6",
            "X-Forwarded-Proto": "https", "Connection": "X-Own, Host"}
    got, headers = echoed(notebook.ask("echo", headers=lies))
    assert headers["x-real-ip"] == headers["x-forwarded-for"] == ["127.0.0.1"] and headers["x-forwarded-proto"] == ["http"]
    assert "forwarded" not in headers and "x_forwarded_for" not in headers and len(headers["host"]) == 1


# ---- one request that is two --------------------------------------------------------------------------------------------

SMUGGLED = b"GET /proxy/x/admin HTTP/1.1\r\nHost: h\r\n\r\n"
REQUESTS = {
    "a length and chunks": [b"Content-Length: 5", b"Transfer-Encoding: chunked"],
    "two lengths": [b"Content-Length: 0", b"Content-Length: 41"],
    "a length twice": [b"Content-Length: 41", b"Content-Length: 41"],
    "a list of lengths": [b"Content-Length: 0, 41"],
    "a signed length": [b"Content-Length: +0"],
    "a hidden coding": [b"Transfer-Encoding : chunked"],
    "an odd coding": [b"Transfer-Encoding: xchunked"],
    "a folded coding": [b"Transfer-Encoding:\r\n chunked"],
    "two codings": [b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"],
    "a bare line feed": [b"X: y\nContent-Length: 0"],
    "a bare return": [b"X: y\rContent-Length: 0"],
    "a second host": [b"Host: evil"],
    "a blank in a name": [b"X y: z"],
    "a NUL": [b"X: \x00"],
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_hides_another_one(notebook, name):
    head = notebook.head("POST", "echo")[:-2] + b"\r\n".join(REQUESTS[name]) + b"\r\n\r\n"
    with notebook.connect() as c:
        c.sendall(head + b"0\r\n\r\n" + SMUGGLED)
        reply = read_reply(c)
        assert reply.status in (400, 501) and reply.will_close, (reply.status, reply.read())
        reply.read()
        assert c.recv(1) == b"", "what follows is not read as a request"


@pytest.mark.parametrize("chunk", [b"-1\r\n", b"0x5\r\nhello\r\n", b"5\nhello\r\n", b"5\r\nhelloX0\r\n\r\n", b"fffffffffffffffff\r\n", b"\r\n", b"5;a\nb\r\n",
                                   b"0\r\nX: y\n\r\n"])
def test_broken_chunks_of_a_request_reach_the_task_as_something_else(notebook, chunk):
    with notebook.connect() as c:
        c.sendall(notebook.head("POST", "late?s=0", Transfer_Encoding="chunked") + b"3\r\nabc\r\n" + chunk + SMUGGLED)
        reply = read_reply(c)
        assert reply.status == 400 and reply.will_close and b"chunked" in reply.read()


ANSWERS = {
    "more than its length": (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", b"ok"),
    "more than its chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", b"ok"),
    "a body of 204": (b"HTTP/1.1 204 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", b""),
    "a header in a header": (b"HTTP/1.1 200 OK\r\nX: y\xe5\x98\x8d\xe5\x98\x8aSet-Cookie: auth=x\r\nContent-Length: 2\r\n\r\nok", b"ok"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_hides_another_one_for_the_next_request(notebook, name):
    answer, body = ANSWERS[name]
    what = "raw?b64=" + urllib.parse.quote(base64.b64encode(answer).decode(), safe="")
    with notebook.connect() as c:
        c.sendall(notebook.head("GET", what) + notebook.head("GET", "echo?next"))
        reply = read_reply(c)
        assert reply.read() == body and "Set-Cookie" not in reply.headers
        reply = read_reply(c)
        assert reply.status == 200 and json.loads(reply.read())["target"].endswith("echo?next")


# ---- what does not end ----------------------------------------------------------------------------------------------------


def test_connections_that_do_nothing_keep_others_out(cluster, notebook):
    """Requests that never get an answer, and uploads that never end, of a user who may have many."""
    with contextlib.ExitStack() as stack:
        for i in range(200):
            c = stack.enter_context(notebook.connect())
            c.sendall(notebook.head("GET", "silent") if i % 2 else notebook.head("POST", "echo", Content_Length="99999") + b"x")
        assert notebook.ask("echo").status == 200
        assert cluster.get("/health", token=None).status == 200
        assert cluster.login(keep=False).status == 200


def test_a_visitor_of_an_open_port_reads_the_tasks_log(cluster, notebook):
    """The page of a task that does not answer shows its log to its owner alone."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    config = cluster.experiment_config(entrypoint="echo the password is 1234; sleep 600",
                                       environment={"proxy_ports": [{"proxy_port": port, "unauthenticated": True}]})
    config["resources"]["slots_per_trial"] = 0
    x = cluster.create(config=config)
    [trial] = cluster.trial_ids(x)
    wait_for("the log", lambda: "the password" in cluster.trial_log(trial))
    path = f"/proxy/{cluster.get(f'/api/v1/trials/{trial}').json['trial']['taskId']}:{port}/"
    for token in (None, notebook.token):
        for headers in ({}, {"Accept": "text/html"}):
            reply = cluster.get(path, token=token, headers=headers)
            assert reply.status == 502 and b"1234" not in reply.body
    assert b"1234" in cluster.get(path).body
    cluster.post(f"/api/v1/experiments/{x}/kill")
