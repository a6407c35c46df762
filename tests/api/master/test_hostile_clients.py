"""Tests clients that send too slowly or too much, or that leave: they cost little, and everybody else is served meanwhile."""
import contextlib
import os
import re
import socket
import struct
import subprocess

import pytest
from support.cluster import SANITIZED, wait_for
from support.det import run_det
from support.processes import memory_kib

MIB = 1024 * 1024
STRANGERS_MAX_KIB = 64 * 1024  # the requests of clients without an account may hold so much, all together
KIB_PER_CONNECTION = 16


@pytest.fixture
def fresh(new_cluster):
    """Starts a master that only this test uses, since its memory is measured."""
    c = new_cluster().start_master()
    c.login()
    return c


def connect(cluster, stack, text=b""):
    sock = stack.enter_context(socket.create_connection(("127.0.0.1", cluster.port), timeout=60))
    sock.sendall(text)
    return sock


def check_served(cluster):
    assert cluster.get("/api/v1/me").status == 200
    assert cluster.login("admin", keep=False).status == 200


def check_memory(cluster, before_kib, allowed_kib):
    if not SANITIZED:
        grown = memory_kib(cluster.master.pid) - before_kib
        print(f"the master grew by {grown} KiB, allowed are {allowed_kib}")
        assert grown < allowed_kib


def push(sock, data):
    """Sends as much as the server takes. A server that has received enough answers and closes the connection."""
    with contextlib.suppress(OSError):
        sock.settimeout(0.2)
        while data:
            data = data[sock.send(data):]


def test_heads_that_never_end_hold_no_more_than_is_allowed(fresh):
    before = memory_kib(fresh.master.pid)
    head = b"GET /api/v1/me HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 60000
    with contextlib.ExitStack() as stack:
        for _ in range(1400):  # 80 MiB
            push(connect(fresh, stack), head)
        check_served(fresh)
        check_memory(fresh, before, STRANGERS_MAX_KIB + 1400 * KIB_PER_CONNECTION)
    check_served(fresh)


def test_heads_of_a_byte_now_and_then_hinder_nobody(fresh):
    before = memory_kib(fresh.master.pid)
    with contextlib.ExitStack() as stack:
        slow = [connect(fresh, stack, b"GET /api/v1/me HT") for _ in range(300)]
        slow += [connect(fresh, stack, b"POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{") for _ in range(300)]
        for _ in range(5):
            for sock in slow:
                sock.sendall(b"x")
            check_served(fresh)
        check_memory(fresh, before, 600 * KIB_PER_CONNECTION)


@pytest.mark.parametrize("framing", ["Content-Length: 104857600", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("credentials", ["", "Authorization: Bearer det1.nobodysnobodysnobodysnobodysnobodysnobodysno\r\n"])
def test_bodies_of_100_mb_without_credentials_are_refused_before_they_are_read(fresh, framing, credentials):
    """A made-up token counts as no token: the user matters, not that there is a token."""
    before = memory_kib(fresh.master.pid)
    head = f"POST /api/v1/experiments HTTP/1.1\r\nHost: x\r\n{credentials}{framing}\r\n\r\n".encode()
    body = b"%x\r\n" % (100 * MIB) + b"x" * (2 * MIB) if "chunked" in framing else b"x" * (2 * MIB)
    with contextlib.ExitStack() as stack:
        socks = [connect(fresh, stack, head) for _ in range(50)]
        for sock in socks:
            push(sock, body)
        check_memory(fresh, before, STRANGERS_MAX_KIB)
        check_served(fresh)
        for sock in socks:
            sock.settimeout(60)
            with contextlib.suppress(ConnectionError):
                assert sock.recv(12) == b"HTTP/1.1 413"


def test_answers_that_strangers_do_not_read_are_bounded(fresh):
    before = memory_kib(fresh.master.pid)
    pipeline = b"GET /api/v1/nothing-of-this-name HTTP/1.1\r\nHost: x\r\n\r\n" * 4000
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            sock = stack.enter_context(socket.socket())
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.connect(("127.0.0.1", fresh.port))
            push(sock, pipeline)
        check_memory(fresh, before, STRANGERS_MAX_KIB)
        check_served(fresh)


# ---- clients that leave ----


def leave(sock, how):
    if how == "reset":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif how == "half":
        sock.shutdown(socket.SHUT_WR)
    sock.close()


def get(cluster, path):
    return f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {cluster.token}\r\n\r\n".encode()


def open_files(cluster):
    return len(os.listdir(f"/proc/{cluster.master.pid}/fd"))


@pytest.mark.parametrize("how", ["reset", "close", "half"])
def test_clients_that_leave_amid_a_stream_leave_nothing_behind(fresh, how):
    experiment = fresh.create(activate=False)
    trial = fresh.get(f"/api/v1/trials/{fresh.trial_ids(experiment)[0]}").json["trial"]
    for i in range(20):  # 10 MB, far more than the sockets hold
        logs = [{"taskId": trial["taskId"], "log": f"{i}.{j} " + "x" * 5000 + "\n"} for j in range(100)]
        assert fresh.post("/api/v1/task/logs", {"logs": logs}).status == 200
    before = open_files(fresh)
    with contextlib.ExitStack() as stack:
        for n in range(60):
            follow = "true" if n % 2 else "false"
            sock = connect(fresh, stack, get(fresh, f"/api/v1/trials/{trial['id']}/logs?follow={follow}"))
            if n % 3:
                assert sock.recv(1 + 7000 * (n % 5))
            leave(sock, how)
        wait_for("their files to be closed", lambda: open_files(fresh) <= before)
        check_served(fresh)
    lines = fresh.get(f"/api/v1/trials/{trial['id']}/logs").lines
    assert [line["result"]["log"].split()[0] for line in lines] == [f"{i}.{j}" for i in range(20) for j in range(100)]


def test_clients_that_leave_amid_a_long_poll_or_an_upload(fresh):
    before = open_files(fresh)
    with contextlib.ExitStack() as stack:
        upload = f"POST /api/v1/experiments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {fresh.token}\r\nContent-Length: 5000000\r\n\r\n"
        for how in ["reset", "close", "half"] * 10:
            leave(connect(fresh, stack, upload.encode() + b"{" * 100000), how)
            leave(connect(fresh, stack, get(fresh, "/api/v1/trials/1/logs?follow=true")), how)
        wait_for("their files to be closed", lambda: open_files(fresh) <= before)
    check_served(fresh)


def test_connections_are_watched_for_ends_that_nobody_tells(fresh):
    """A client whose machine is gone never closes its connection. After a minute of silence the kernel asks whether the client is still
    there."""
    with contextlib.ExitStack() as stack:
        sock = connect(fresh, stack, b"GET /api/v1/me")
        peer = sock.getsockname()[1]
        check_served(fresh)
        shown = subprocess.run(["ss", "-tnoH", f"sport = :{fresh.port} and dport = :{peer}"], capture_output=True, text=True, check=False)
        if shown.returncode:
            pytest.skip("ss (iproute2) is not installed")
        assert re.search(r"timer:\(keepalive,", shown.stdout), shown.stdout


# ---- unusual log lines ----


def test_a_line_of_10_mb_with_nul_bytes_and_broken_utf8_goes_all_the_way(new_cluster):
    c = new_cluster().start_master()
    c.start_agent()
    c.login()
    script = r"""
import sys
out = sys.stdout.buffer
out.write(b"first\n" + b"\x00\xff\xc3(\xed\xa0\x80" * 10 + b"\n")
out.write(b"a" * 10_000_000 + b"\n" + "ä€𝄞\n".encode() + b"no end of line")
"""
    x = c.create(files={"talk.py": script}, entrypoint=["python3", "talk.py"])
    assert c.wait_experiment(x)["state"] == "STATE_COMPLETED"
    lines = [line["result"] for line in c.get(f"/api/v1/trials/{c.trial_ids(x)[0]}/logs").lines]
    text = "".join(line["log"] for line in lines if line.get("source") == "task")
    assert text.startswith("first\n") and text.endswith("\nä€𝄞\nno end of line")
    assert text.count("a") == 10_000_000
    odd = text.split("\n")[1]
    assert odd == "\0\ufffd\ufffd(\ufffd\ufffd\ufffd" * 10
    shown = run_det(c, "trial", "logs", c.trial_ids(x)[0])
    assert odd in shown.stdout
    assert max(len(line["log"].encode()) for line in lines) <= MIB
