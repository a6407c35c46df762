"""Tests /proxy/SERVICE/…: HTTP and WebSockets from a client through the master to a port of a trial, and back."""
import contextlib
import hashlib
import json
import os
import re
import select
import threading

import pytest
from support.attackers import new_user, token_of
from support.cluster import SANITIZED, wait_for
from support.ports import free_port
from support.processes import memory_kib
from support.visited import Visited, WebSocket, echoed, read_reply, read_until

PASSWORD = "Long-Enough-1"
HTML = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture(scope="module")
def visited(cluster):
    with Visited(cluster) as v:
        yield v


@pytest.fixture(scope="module")
def stranger(cluster):
    new_user(cluster, "stranger", PASSWORD)
    return token_of(cluster, "stranger", PASSWORD)


# ---- requests and answers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_method_path_and_query_arrive_as_they_were_sent(visited, method):
    body = b"what was sent" if method != "GET" else None
    got, headers = echoed(visited.ask("echo/a%20b//c%2Fd;e?x=%26&y&x=2", method, raw=body, headers={"X-Own": "kept", "Accept": "*/*"}))
    assert got["method"] == method and got["target"] == visited.path("echo/a%20b//c%2Fd;e?x=%26&y&x=2")
    assert headers["x-own"] == ["kept"] and headers["host"] == [f"127.0.0.1:{visited.c.port}"]
    assert got["n"] == len(body or b"") and got["sha256"] == hashlib.sha256(body or b"").hexdigest()


def test_the_default_service_is_reached_by_the_tasks_id(visited):
    reply = visited.c.get(f"/proxy/{visited.task}/echo", token=visited.token)
    assert echoed(reply)[0]["target"] == f"/proxy/{visited.task}/echo"


def test_an_address_without_its_last_slash_is_redirected(visited):
    reply = visited.c.get(f"/proxy/{visited.task}?x=1", token=visited.token)
    assert (reply.status, reply.headers["Location"]) == (308, f"/proxy/{visited.task}/?x=1")


@pytest.mark.parametrize("n", [0, 1, 65536, 5_000_000])
@pytest.mark.parametrize("how", ["sized", "chunked", "until-close"])
def test_answers_of_each_framing_arrive_whole(visited, how, n):
    reply = visited.ask(f"bytes?n={n}&how={how}")
    assert reply.status == 200 and len(reply.body) == n
    assert reply.headers.get("Content-Length") == (str(n) if how == "sized" else None)


def test_an_answer_to_head_has_the_headers_alone(visited):
    for how in ("sized", "chunked", "until-close"):
        reply = visited.ask(f"bytes?n=77&how={how}", "HEAD")
        assert (reply.status, reply.body) == (200, b"") and reply.headers.get("Content-Length") == ("77" if how == "sized" else None)


@pytest.mark.parametrize("status", [204, 304])
def test_answers_that_have_no_body_end_at_their_head(visited, status):
    reply = visited.raw(b"HTTP/1.1 %d X\r\nETag: w\r\nContent-Length: 5\r\n\r\nabcde" % status)
    assert (reply.status, reply.body, reply.headers["ETag"]) == (status, b"", "w")


def test_a_connection_serves_one_request_after_the_other(visited):
    with visited.connect() as c:
        for i in range(3):
            c.sendall(visited.head("POST", f"echo?{i}", Content_Length="3") + b"abc")
            reply = read_reply(c)
            assert json.loads(reply.read())["target"].endswith(f"?{i}") and not reply.will_close
        c.sendall(visited.head("GET", "echo?a") + visited.head("GET", "echo?b"))  # both at once
        assert [json.loads(read_reply(c).read())["target"][-1] for _ in range(1)] == ["a"]


def test_a_chunked_body_arrives_whole(visited):
    pieces = [os.urandom(n) for n in (1, 70000, 300000)]
    with visited.connect() as c:
        c.sendall(visited.head("POST", "echo", Transfer_Encoding="chunked"))
        for piece in pieces:
            c.sendall(b"%x;ignored=1\r\n%s\r\n" % (len(piece), piece))
        c.sendall(b"0\r\nX-Trailer: dropped\r\n\r\n")
        got = json.loads(read_reply(c).read())
    assert (got["n"], got["sha256"]) == (370001, hashlib.sha256(b"".join(pieces)).hexdigest())


def test_who_expects_100_is_told_by_the_task(visited):
    with visited.connect() as c:
        c.sendall(visited.head("POST", "echo", Content_Length="5", Expect="100-continue"))
        assert read_until(c, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        c.sendall(b"hello")
        assert json.loads(read_reply(c).read())["n"] == 5


def test_an_answer_that_comes_before_the_body_is_passed_on(visited):
    with visited.connect() as c:
        c.sendall(visited.head("POST", "early", Content_Length="100000000") + b"x" * 100)
        reply = read_reply(c)
        assert json.loads(reply.read()) == {"early": True} and reply.will_close, "what follows could not be told from the body"


def refused_upload(visited):
    """Sends a large body until nobody takes more of it, and returns the answer."""
    with visited.connect() as c:
        c.sendall(visited.head("POST", "refuse", Content_Length="1000000000"))
        with contextlib.suppress(ConnectionError):
            for _ in range(1000):
                c.sendall(bytes(1_000_000))
                if select.select([c], [], [], 0)[0]:
                    break
        reply = read_reply(c)
        return reply.status, reply.read()


def test_an_upload_that_the_task_refuses_shows_the_tasks_answer(visited):
    """The task answers and closes without reading the body: writing to it fails before or after its answer is read."""
    for _ in range(10):
        assert refused_upload(visited) == (413, b"too large for me")


def test_a_client_of_http_1_0_is_served(visited):
    with visited.connect() as c:
        c.sendall(visited.head("GET", "bytes?n=100&how=chunked").replace(b"HTTP/1.1", b"HTTP/1.0"))
        reply = read_reply(c)
        assert len(reply.read()) == 100 and reply.getheader("Transfer-Encoding") is None


def test_events_arrive_at_once_and_the_task_learns_that_the_client_has_left(visited):
    with visited.connect() as c:
        c.sendall(visited.head("GET", "events"))
        reply = read_reply(c)
        assert reply.getheader("Content-Type") == "text/event-stream" and reply.readline() == b"data: first\n"
        reply.close()
    wait_for("the task to learn", lambda: "the events have ended" in visited.log())
    with visited.connect() as c:
        c.sendall(visited.head("GET", "silent"))
        wait_for("the task to have the request", lambda: "silence begins" in visited.log())
    wait_for("the task to learn", lambda: "the silence has ended" in visited.log())


# ---- bodies of any size -------------------------------------------------------------------------------------------------


def test_a_large_download_for_a_slow_client_costs_no_memory(visited):
    n = 200_000_000
    before = memory_kib(visited.c.master.pid)
    with visited.connect() as c:
        c.sendall(visited.head("GET", f"bytes?n={n}&how=sized"))
        reply, got = read_reply(c), 0
        assert visited.ask("echo").status == 200, "others are served meanwhile"
        grown = memory_kib(visited.c.master.pid) - before
        while piece := reply.read(1 << 20):
            got += len(piece)
    assert got == n and (SANITIZED or grown < 20_000)


def test_a_large_upload_to_a_slow_task_costs_no_memory(visited):
    n, block = 200_000_000, os.urandom(1 << 20)
    before, most = memory_kib(visited.c.master.pid), 0
    with visited.connect() as c:
        c.sendall(visited.head("POST", "late?s=1", Content_Length=str(n)))

        def send():
            left = n
            while left:
                left -= c.send(block[:min(left, len(block))])

        sender = threading.Thread(target=send)
        sender.start()
        while sender.is_alive():
            most = max(most, memory_kib(visited.c.master.pid) - before)
            sender.join(0.05)
        assert json.loads(read_reply(c).read())["n"] == n
    assert SANITIZED or most < 20_000


# ---- WebSockets ---------------------------------------------------------------------------------------------------------


def test_a_websocket_carries_messages_both_ways(visited):
    with WebSocket(visited, Sec_WebSocket_Protocol="chat", Cookie="auth=x; own=1") as ws:
        assert ws.status == 101 and re.search(r"^sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=", ws.head, re.M | re.I), ws.head
        assert "stolen" not in ws.head
        for data in (b"x", os.urandom(60000), b"after"):
            ws.send(data)
            assert ws.receive() == data
    wait_for("the task to learn", lambda: "the websocket has ended" in visited.log())


def test_a_websocket_that_the_task_refuses_is_an_answer(visited):
    with WebSocket(visited, "echo") as ws:
        assert ws.status == 200, ws.head


def test_a_websocket_that_has_a_body_is_refused(visited):
    reply = visited.ask("websocket", raw=b"x", headers={"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x"})
    assert reply.status == 400 and "must not have a body" in reply.json["message"]


def test_closing_the_tasks_end_closes_the_clients(visited):
    with WebSocket(visited) as ws:
        ws.connection.shutdown(1)
        assert ws.connection.recv(1) == b""


# ---- who may come in ----------------------------------------------------------------------------------------------------


def test_an_unknown_service_is_not_found_before_anybody_is_asked(visited):
    for name in ("nobody", "1.x:80", f"{visited.task}:1", f"{visited.task}:x"):
        reply = visited.c.get(f"/proxy/{name}/", token=None)
        assert (reply.status, reply.json) == (404, {"message": f"service not found: {name}"})
        assert reply.json != visited.c.get(f"/proxy/{name}/").json, "people who are logged in learn why"


def test_programs_without_a_session_get_401_and_browsers_are_sent_to_log_in(visited):
    for token in (None, "nonsense", "det1.expired"):
        reply = visited.ask("echo?a=b&c", token=token)
        assert (reply.status, reply.json) == (401, {"message": "Unauthorized"})
        reply = visited.ask("echo?a=b&c", token=token, headers=HTML)
        assert reply.status == 303
        assert reply.headers["Location"] == f"/det/login?redirect=/proxy/{visited.task}%3A{visited.port}/echo%3Fa%3Db%26c"
        assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert visited.ask("echo", token=None, headers={"Authorization": f"Basic {visited.token}"}).status == 401


def test_a_task_session_opens_no_service(visited):
    """Tokens of tasks are for the API alone. DET_USER_TOKEN is a login of its owner."""
    header = {"Grpc-Metadata-x-allocation-token": f"Bearer {visited.token}"}
    assert visited.ask("echo", token=None, headers=header).status == 401


def test_the_cookie_opens_the_service(visited):
    got, headers = echoed(visited.ask("echo", token=None, headers={"Cookie": f"a=1; auth={visited.token}; b=2"}))
    assert headers["cookie"] == ["a=1; b=2"]


def test_another_users_service_is_not_found(visited, stranger):
    reply = visited.ask("echo", token=stranger)
    assert (reply.status, reply.json) == (404, {"message": f"service '{visited.service}' not found"})
    assert visited.ask("echo", token=visited.c.admin_token()).status == 200, "an admin may"


def test_an_unauthenticated_port_is_for_everybody(visited, stranger):
    for token in (None, stranger, "nonsense"):
        got, headers = echoed(visited.ask("echo", is_open=True, token=token, headers={"X-Key": "own"}))
        assert headers["x-key"] == ["own"] and ("authorization" in headers) == (token == "nonsense")
    own = {"Authorization": "Basic dXNlcjpwYXNz"}
    assert echoed(visited.ask("echo", is_open=True, token=None, headers=own))[1]["authorization"] == ["Basic dXNlcjpwYXNz"]


# ---- while the task does not answer -------------------------------------------------------------------------------------


def configuration(c, port, entrypoint):
    config = c.experiment_config(entrypoint=entrypoint, environment={"proxy_ports": [{"proxy_port": port}]})
    config["resources"]["slots_per_trial"] = 0
    return config


def service_of(c, experiment, port):
    [trial] = c.trial_ids(experiment)
    return f"/proxy/{c.get(f'/api/v1/trials/{trial}').json['trial']['taskId']}:{port}/"


def test_a_task_that_has_not_started_says_what_it_waits_for(cluster):
    port = free_port()
    config = configuration(cluster, port, "sleep 600")
    config["resources"]["slots_per_trial"] = 99
    config["resources"]["is_single_node"] = False
    x = cluster.create(config=config, activate=False)
    path = service_of(cluster, x, port)
    reply = cluster.get(path)
    assert reply.status == 503 and "is paused" in reply.json["message"] and reply.headers["Retry-After"] == "2"
    page = cluster.get(path, headers=HTML)
    assert page.status == 503 and page.headers["Content-Type"].startswith("text/html")
    assert b'http-equiv="refresh"' in page.body and b"is paused" in page.body
    assert cluster.post(f"/api/v1/experiments/{x}/activate").status == 200
    wait_for("the queue", lambda: "is queued" in cluster.get(path).json["message"])
    cluster.post(f"/api/v1/experiments/{x}/kill")
    cluster.wait_experiment(x)
    reply = cluster.get(path)
    assert reply.status == 404 and "has ended" in reply.json["message"]


def test_a_port_at_which_nobody_listens_yet_shows_the_last_line_of_the_log(cluster, visited):
    port = free_port()
    x = cluster.create(config=configuration(cluster, port, "echo 'still installing <b>jupyterlab</b>'; sleep 600"))
    path = service_of(cluster, x, port)
    [trial] = cluster.trial_ids(x)
    wait_for("the trial", lambda: "still installing" in cluster.trial_log(trial))
    reply = wait_for("the line", lambda: (lambda r: r if b"still installing" in r.body else None)(cluster.get(path)))
    assert reply.status == 502 and f"no program answers at its port {port}" in reply.json["message"]
    page = cluster.get(path, headers=HTML)
    assert page.status == 502 and b"still installing &lt;b&gt;jupyterlab&lt;/b&gt;" in page.body and b"refresh" in page.body
    cluster.post(f"/api/v1/experiments/{x}/kill")


def test_a_task_that_has_ended_says_how(cluster):
    port = free_port()
    x = cluster.create(config=configuration(cluster, port, "exit 7"))
    path = service_of(cluster, x, port)
    cluster.wait_experiment(x)
    for headers in ({}, HTML):
        reply = cluster.get(path, headers=headers)
        assert reply.status == 404 and b"non-zero exit code 7" in reply.body and b"refresh" not in reply.body


BROKEN = {
    "nothing": (b"", "has closed the connection without an answer"),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "the first line is not"),
    "half a head": (b"HTTP/1.1 200 OK\r\nX: ", "has closed the connection without an answer"),
    "bare line feeds": (b"HTTP/1.1 200 OK\nX: y\n\nx\r\n\r\n", "broken HTTP"),
    "two lengths": (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "more than one Content-Length"),
    "a negative length": (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Content-Length is not a number"),
    "a length and chunks": (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding where"),
    "an unknown coding": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "other than chunked"),
    "101 for nobody": (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "switched protocols"),
    "interim answers without end": (b"HTTP/1.1 100 Continue\r\n\r\n" * 17, "too many interim"),
    "a huge head": (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 99 + b"Y: " + b"z" * 40000 + b"\r\n\r\n", None),
}


@pytest.mark.parametrize("name", [name for name in BROKEN if BROKEN[name][1]])
def test_broken_http_from_the_task_is_a_bad_gateway(visited, name):
    answer, why = BROKEN[name]
    reply = visited.raw(answer)
    assert reply.status == 502 and why in reply.json["message"] and f"port {visited.port} of task {visited.task}" in reply.json["message"]
    page = visited.raw(answer, headers=HTML)
    assert page.status == 502 and b"refresh" not in page.body and page.headers["Content-Type"].startswith("text/html")


ODD = {  # answers that are unusual and right: what the client gets of them
    "in chunks": (b"HTTP/1.1 201 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 201, b"abc"),
    "with a length": (b"HTTP/1.1 200 X\r\nContent-Length: 3\r\n\r\nabc", 200, b"abc"),
    "with more than its length": (b"HTTP/1.1 200 X\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 X\r\n\r\n", 200, b"abc"),
    "of HTTP/1.0 until the end": (b"HTTP/1.0 200 X\r\n\r\nabc", 200, b"abc"),
    "of HTTP/1.0 with a length": (b"HTTP/1.0 404 X\r\nContent-Length: 3\r\n\r\nabc", 404, b"abc"),
    "after interim answers": (b"HTTP/1.1 100 X\r\n\r\nHTTP/1.1 103 X\r\nLink: </a>\r\n\r\nHTTP/1.1 200 X\r\nContent-Length: 3\r\n\r\nabc", 200, b"abc"),
    "without a body, and with one": (b"HTTP/1.1 204 X\r\n\r\nabc", 204, b""),
    "of a status without a name": (b"HTTP/1.1 299 \r\nContent-Length: 3\r\n\r\nabc", 299, b"abc"),
}


@pytest.mark.parametrize("how", ["raw", "drip"])
@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_arrives_in_one_piece_or_byte_by_byte(visited, name, how):
    answer, status, body = ODD[name]
    reply = visited.raw(answer, how)
    assert (reply.status, reply.body) == (status, body)


def test_broken_http_that_comes_byte_by_byte_is_a_bad_gateway(visited):
    for answer, why in (BROKEN["no HTTP"], BROKEN["two lengths"], BROKEN["a length and chunks"]):
        reply = visited.raw(answer, "drip")
        assert reply.status == 502 and why in reply.json["message"]


def test_an_answer_that_breaks_off_breaks_off_for_the_client(visited):
    for answer in (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
                   b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcdeXX"):
        with pytest.raises(Exception, match="IncompleteRead"):
            visited.raw(answer)


# ---- limits -------------------------------------------------------------------------------------------------------------


def test_limits_of_connections_headers_and_idleness(new_cluster):
    c = new_cluster(config={"proxy": {"connections_per_user": 2, "header_size": 8192, "idle_timeout": "2s"}})
    c.start_master()
    c.start_agent()
    c.login()
    with Visited(c) as v, contextlib.ExitStack() as open_ones:
        reply = v.raw(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 9000 + b"\r\n\r\n")
        assert reply.status == 502 and "proxy.header_size" in reply.json["message"]
        sockets = [open_ones.enter_context(WebSocket(v)) for _ in range(2)]
        reply = v.ask("echo")
        assert reply.status == 429 and "proxy.connections_per_user" in reply.json["message"]
        assert v.ask("echo", token=c.admin_token()).status == 200, "others are not concerned"
        assert [ws.connection.recv(1) for ws in sockets] == [b"", b""], "nothing has passed for two seconds"
        for what in ("silent", "endless-head"):
            reply = v.ask(what)
            assert reply.status == 504 and "proxy.idle_timeout" in reply.json["message"]


def refused_for(cluster, reason):
    return cluster.metric(f'det_proxy_refused_total{{reason="{reason}"}}')


def test_metrics_count_what_was_passed_on_and_what_was_not(new_cluster):
    c = new_cluster()
    c.start_master()
    c.start_agent()
    c.login()
    with Visited(c) as v:
        assert v.ask("echo", "POST", raw=b"x" * 1000).status == 200
        assert v.ask("bytes?n=5000&how=sized").status == 200
        assert v.raw(BROKEN["no HTTP"][0]).status == 502
        assert v.ask("echo", token=None).status == 401
        assert c.metric("det_proxy_requests_total") == 3 and c.metric("det_proxy_broken_total") == 1
        assert c.metric('det_proxy_bytes_total{direction="to_task"}') == 1000
        assert 5000 < c.metric('det_proxy_bytes_total{direction="from_task"}') < 7000
        with WebSocket(v) as ws:
            ws.send(b"hello")
            assert ws.receive() == b"hello" and c.metric("det_proxy_connections") == 1
        wait_for("the WebSocket's end", lambda: c.metric("det_proxy_connections") == 0)
        v.kill()
        c.wait_experiment(v.experiment)
        assert v.ask("echo").status == 404
        assert c.metric("det_proxy_requests_total") == 4, "the request that found no task was not passed on"
        assert [refused_for(c, why) for why in ("visitor", "not_ready", "limit", "late")] == [1, 1, 0, 0]


# ---- logging in ---------------------------------------------------------------------------------------------------------


def test_a_browser_without_a_session_logs_in_and_comes_back(visited):
    """What the page's script does: the login with the password as it was typed, and the cookie of its answer."""
    c = visited.c
    to = visited.ask("echo?a=b", token=None, headers=HTML).headers["Location"]
    page = c.get(to, token=None, headers=HTML)
    form = b"<form" in page.body or b"./assets/index-" in page.body  # the web interface has it, or the page of a master without that
    assert page.status == 200 and form and "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    login = c.request("POST", "/api/v1/auth/login", {"username": "determined", "password": c.password, "isHashed": False}, token=None,
                      headers={"Origin": c.url, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"})
    cookie = login.headers["Set-Cookie"].split(";")[0]
    assert visited.ask("echo?a=b", token=None, headers={**HTML, "Cookie": cookie}).status == 200


# ---- TLS, and the master's end ------------------------------------------------------------------------------------------


def test_over_tls_and_the_masters_end(new_cluster):
    c = new_cluster("tls")
    c.config["security"]["tls"] = {"self_signed": True}
    c.trust_any()
    c.start_master()
    c.login()
    c.start_agent(**{"security": {"tls": {"enabled": True, "skip_verify": True}}})
    with Visited(c) as v:
        data = os.urandom(3_000_000)
        got, headers = echoed(v.ask("echo", "POST", raw=data))
        assert (got["n"], got["sha256"]) == (len(data), hashlib.sha256(data).hexdigest()) and headers["x-forwarded-proto"] == ["https"]
        for how in ("sized", "chunked", "until-close"):
            assert len(v.ask(f"bytes?n=3000000&how={how}").body) == 3_000_000
        with contextlib.closing(c._connect(60)) as h:
            h.request("GET", v.path("events"), headers={"Authorization": f"Bearer {v.token}"})
            assert h.getresponse().readline() == b"data: first\n"
            c.stop_master()
        c.start_master()
        c.login()
        wait_for("the agent", lambda: v.ask("echo", token=c.token).status == 200)


def test_pythons_own_server_is_reached(cluster):
    """The server of the standard library, with its answers of HTTP/1.0, and its refusal of what it does not read."""
    port = free_port()
    line = (f'mkdir -p "www/proxy/$DET_TASK_ID:{port}/sub" && cd www && echo hello > "proxy/$DET_TASK_ID:{port}/sub/file.txt" && '
            f"exec python3 -m http.server {port} --bind 127.0.0.1")
    x = cluster.create(config=configuration(cluster, port, line))
    path = service_of(cluster, x, port)
    reply = wait_for("the server", lambda: (lambda r: r if r.status == 200 else None)(cluster.get(path)))
    assert b'<a href="sub/">' in reply.body
    assert cluster.get(path + "sub").headers["Location"] == path + "sub/"
    reply = cluster.get(path + "sub/file.txt")
    assert (reply.body, reply.headers["Content-Length"]) == (b"hello\n", "6")
    assert cluster.get(path + "sub/file.txt", headers={"If-Modified-Since": reply.headers["Last-Modified"]}).status == 304
    assert cluster.request("HEAD", path + "sub/file.txt").headers["Content-Length"] == "6"
    assert cluster.get(path + "nothing").status == 404
    assert cluster.post(path, raw=b"x" * 100).status == 501
    cluster.post(f"/api/v1/experiments/{x}/kill")
