"""Tests byte streams at an agent whose master says what no master says: ports that are not the task's, broken frames, floods."""
import contextlib
import os
import signal
import subprocess
import sys

import pytest
from support.fake_master.agents import Agent
from support.ports import free_port
from support.streams import ACCEPT, CLOSE, CREDIT, DATA, END, OPEN, REFUSE, WINDOW, frame, parsed
from support.waiting import wait_for

ECHO = """import socket, sys, threading
def serve(c):
    while data := c.recv(65536):
        c.sendall(data)
    c.sendall(b"bye")
    c.close()
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("serving", flush=True)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
"""


@pytest.fixture
def agent(master, place):
    a = Agent(master, place / "agent").start()
    master.wait_agent()
    yield a
    for container in list(master.expected):
        if container not in master.done and master.connection:
            master.signal(container, signal.SIGKILL)
            master.finish(container)
    if a.process.poll() is None:
        assert a.kill(signal.SIGTERM) == 0, a.log_text()


# Listens, accepts, and reads nothing.
DEAF = """import socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
print("listening", flush=True)
kept = [s.accept() for _ in iter(int, 1)]
"""


@contextlib.contextmanager
def deaf_program(port, uid=None):
    """A program that is no process of a task, and that reads nothing."""
    as_user = {"user": uid, "group": uid, "extra_groups": []} if uid is not None and os.geteuid() == 0 else {}
    with subprocess.Popen([sys.executable, "-c", DEAF, str(port)], stdout=subprocess.PIPE, cwd="/", **as_user) as process:
        try:
            assert process.stdout.readline() == b"listening\n"
            yield
        finally:
            process.kill()


def idle_task(master, port):
    """Starts a task that listens nowhere; returns its container and the user that it runs as."""
    c = master.start(["sh", "-c", "id -u; sleep 1000"], proxyPorts=[port])
    master.wait(lambda: master.text(c))
    return c, int(master.text(c))


@pytest.fixture
def task(master, agent, place):
    """Starts a task that echoes at a port, and returns its container and the port."""
    (place / "echo.py").write_text(ECHO)
    port = free_port()
    c = master.start(["python3", str(place / "echo.py"), str(port)], proxyPorts=[port])
    master.wait(lambda: "serving" in master.text(c))
    return c, port


def send(master, *frames):
    for f in frames:
        master.connection.send_frame(2, f)


def answers(master, stream, kind):
    """Returns the bodies of all frames of one kind that have come for a stream."""
    return [body for k, s, body in map(parsed, list(master.frames)) if (k, s) == (kind, stream)]


def wait_answer(master, stream, kind):
    master.wait(lambda: answers(master, stream, kind))
    return answers(master, stream, kind)[0]


def test_the_hello_says_that_this_agent_carries_streams(master, agent):
    assert master.hellos[0][1]["streams"] is True


def test_a_stream_reaches_the_tasks_port_and_each_direction_ends_by_itself(master, task):
    container, port = task
    send(master, frame(OPEN, 1, f"{container}:{port}".encode()))
    assert wait_answer(master, 1, ACCEPT) == b""
    send(master, frame(DATA, 1, b"hello"))
    master.wait(lambda: b"".join(answers(master, 1, DATA)) == b"hello")
    send(master, frame(END, 1))
    wait_answer(master, 1, END)
    assert b"".join(answers(master, 1, DATA)) == b"hellobye"


@pytest.mark.parametrize("name, why", [
    ("{container}:22", "port 22 is not one of the task's proxy ports"),
    ("{container}:0", "a stream goes to CONTAINER:PORT"),
    ("{container}:{port}0000", "a stream goes to CONTAINER:PORT"),
    ("{container}", "a stream goes to CONTAINER:PORT"),
    ("other:{port}", "container other does not run on this agent"),
    ("../../etc/passwd:{port}", "does not run on this agent"),
])
def test_the_agent_refuses_what_is_not_the_tasks(master, task, name, why):
    container, port = task
    send(master, frame(OPEN, 1, name.format(container=container, port=port).encode()))
    assert why in wait_answer(master, 1, REFUSE).decode()


def test_a_port_of_another_task_is_refused(master, task):
    container, port = task
    other = master.start(["sh", "-c", "echo up; sleep 1000"], proxyPorts=[])
    master.wait(lambda: "up" in master.text(other))
    send(master, frame(OPEN, 1, f"{other}:{port}".encode()))
    assert "not one of the task's proxy ports" in wait_answer(master, 1, REFUSE).decode()


def test_a_port_at_which_nobody_listens_is_refused_in_words(master, agent):
    port = free_port()
    c = master.start(["sh", "-c", "echo up; sleep 1000"], proxyPorts=[port])
    master.wait(lambda: "up" in master.text(c))
    send(master, frame(OPEN, 1, f"{c}:{port}".encode()))
    assert f"no program answers at port {port}" in wait_answer(master, 1, REFUSE).decode()


def test_the_end_of_the_task_closes_a_stream_that_its_program_left_open(master, agent, place):
    """The port's program is none of the task's processes, so that it goes on when the task is killed."""
    port = free_port()
    c, uid = idle_task(master, port)
    with deaf_program(port, uid):
        send(master, frame(OPEN, 1, f"{c}:{port}".encode()))
        wait_answer(master, 1, ACCEPT)
        master.signal(c, signal.SIGKILL)
        assert wait_answer(master, 1, CLOSE) == b"the task has ended"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: without it, all tasks run as the agent's user")
def test_a_port_that_another_user_has_taken_is_refused(master, agent):
    port = free_port()
    c, uid = idle_task(master, port)
    for squatter in (0, uid + 1):
        with deaf_program(port, squatter):
            send(master, frame(OPEN, 1 + squatter, f"{c}:{port}".encode()))
            assert (wait_answer(master, 1 + squatter, REFUSE).decode() ==
                    f"port {port} of the machine was taken by a program of another user (uid {squatter}; the task runs as uid {uid})")


def test_an_agent_that_is_started_again_still_knows_the_ports(master, agent, task):
    container, port = task
    agent.kill()
    agent.start()
    master.wait_agent(2)
    send(master, frame(OPEN, 1, f"{container}:{port}".encode()))
    wait_answer(master, 1, ACCEPT)


BROKEN = {
    "an unknown kind": frame(99, 1),
    "no head": b"abc",
    "a stream that was never opened": frame(DATA, 7, b"x"),
    "data before the accept": frame(DATA, 1, b"x"),
    "an accept of the wrong side": frame(ACCEPT, 1),
    "a number twice": frame(OPEN, 1, b"a:80"),
    "a name with a line of its own": frame(OPEN, 2, b"a\nb:80"),
    "a name without end": frame(OPEN, 2, b"a" * 1000),
    "more than a frame may have": frame(DATA, 1, b"x" * 40000),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_master_that_breaks_the_protocol_is_left_with_a_reason_and_tasks_go_on(master, task, what):
    container, port = task
    good = frame(OPEN, 1, f"{container}:{port}".encode())
    twice = what == "a number twice"
    if twice:
        send(master, good)
        wait_answer(master, 1, ACCEPT)
    send(master, BROKEN[what])
    master.wait(lambda: master.closes)
    assert "stream" in master.closes[0] or "frame" in master.closes[0]
    master.wait_agent(2)  # the agent comes back
    send(master, good)
    master.wait(lambda: len(answers(master, 1, ACCEPT)) == 1 + twice)


def test_data_beyond_the_window_ends_the_link(master, agent):
    """The task does not read, so that the agent can give no credit beyond what its buffers take."""
    port = free_port()
    c, uid = idle_task(master, port)
    with deaf_program(port, uid):
        send(master, frame(OPEN, 1, f"{c}:{port}".encode()))
        wait_answer(master, 1, ACCEPT)
        for _ in range(1000):
            try:
                send(master, frame(DATA, 1, b"x" * 32768))
            except (OSError, AttributeError):
                break
            if master.closes:
                break
        master.wait(lambda: master.closes)
        assert "more data than its window has room for" in master.closes[0]
        master.wait_agent(2)


def test_a_thousand_streams_that_nobody_reads_keep_logs_going(master, agent, task):
    container, port = task
    for i in range(1, 1001):
        send(master, frame(OPEN, i, f"{container}:{port}".encode()))
    master.wait(lambda: sum(parsed(f)[0] == ACCEPT for f in list(master.frames)) == 1000)
    for i in range(1, 1001):
        send(master, frame(DATA, i, b"y" * 20000))  # the echo fills what the window lets through; no credit is ever given
    c = master.start(["sh", "-c", "seq 1 20000; exit 4"])
    assert master.finish(c)["code"] == 4
    assert master.text(c).endswith("19999\n20000\n")


def test_bytes_wait_for_credit_and_none_is_lost(master, task):
    container, port = task
    data = os.urandom(3 * WINDOW)
    send(master, frame(OPEN, 1, f"{container}:{port}".encode()))
    wait_answer(master, 1, ACCEPT)
    sent = 0
    got = lambda: b"".join(answers(master, 1, DATA))  # noqa: E731
    room = lambda: WINDOW + sum(int.from_bytes(b, "little") for b in answers(master, 1, CREDIT))  # noqa: E731
    credit = WINDOW
    while len(got()) < len(data):
        n = min(32768, len(data) - sent, room() - sent)
        if n > 0:
            send(master, frame(DATA, 1, data[sent:sent + n]))
            sent += n
        if len(got()) == credit:  # the window is empty: the agent sends nothing more until we say so
            send(master, frame(CREDIT, 1, (10000).to_bytes(4, "little")))
            credit += 10000
        assert len(got()) <= credit
        wait_for("progress", lambda: len(got()) in (sent, credit) or room() > sent)
    assert got() == data
