"""det top: the cluster on one screen, drawn again until q or a signal; once in a pipe."""
import fcntl
import os
import re
import signal
import struct
import termios

import pytest
from support.fake_master import clients as fake_master
from test_terminal import Terminal, same_version  # noqa: F401  (a fixture)

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


@pytest.fixture
def screen(det):
    """A command that draws on a terminal, once its first picture is there."""

    def start(*words, until, **more):
        t = Terminal(det, *words, **more)
        t.wait_for(until)
        return t

    return start


def pictures(t):
    """The pictures on the screen: text without codes, each as a list of lines."""
    drawn = t.seen.split(LEAVE)[0].decode().split("\x1b[H")[1:]
    return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", p).replace("\r", "").split("\n") for p in drawn]


def wait_for_pictures(t, n):
    while len(pictures(t)) < n:
        assert t.read(), t.seen


def assert_left(t):
    """The terminal has its own screen, its cursor and its settings again."""
    assert t.seen.count(ENTER) == t.seen.count(LEAVE) == 1
    tail = t.seen[t.seen.rindex(b"\x1b[H"):]
    assert LEAVE in tail and b"\x1b[?25h" in tail and b"\x1b[?7h" in tail
    assert t.after == t.settings


def end(t):
    """Reads until the command has ended, and keeps the settings that the terminal then has."""
    while t.read():
        pass
    t.status, t.after = t.process.wait(), termios.tcgetattr(t.ours)
    os.close(t.ours)


def test_a_pipe_gets_it_once_and_plain(det):
    shown = det("top")
    assert "\x1b" not in shown
    assert shown.startswith("Agents: 2  Slots: 1/2 [#####     ]  Running: 1  Waiting: 1\n")
    assert re.search(r"^ a +\| default, gpu +\| 0/1 \[ {10}\] +\| +0 \| up$", shown, re.M)
    assert re.search(r"^ +1 \| digits +\| determined +\| 1/1 +\| 42% \[####      \]$", shown, re.M)
    assert re.search(r"letters .*needs 1 slot: none is free in pool default$", shown, re.M)


@pytest.mark.parametrize("columns, rows", [(60, 15), (80, 24), (120, 40)])
def test_it_fits_the_screen(screen, master, columns, rows):
    agent = master.agents(None, {}, None)["agents"][0]
    master.every_agent = [agent | {"id": f"a-node-with-a-long-name-{i}"} for i in range(50)]
    t = screen("top", until="Waiting", columns=columns, rows=rows)
    os.write(t.ours, b"q")
    end(t)
    assert t.status == 0
    [picture, *_] = pictures(t)
    assert len(picture) <= rows and max(map(len, picture)) <= columns
    text = "\n".join(picture)
    assert "more: det agent list" in text and "Running:" in text and "digits" in text


def test_q_leaves_and_the_terminal_is_as_before(screen):
    t = screen("top", until="Waiting")
    os.write(t.ours, b"x")  # any other key changes nothing
    os.write(t.ours, b"q")
    end(t)
    assert t.status == 0
    assert_left(t)


@pytest.mark.parametrize("signo, status", [(signal.SIGINT, 3), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)])
def test_signals_leave_and_the_terminal_is_as_before(screen, signo, status):
    t = screen("top", until="Waiting")
    os.kill(t.process.pid, signo)
    end(t)
    assert t.status == status
    assert_left(t)


def test_ctrl_c_is_a_key_of_the_terminal(screen):
    t = screen("top", until="Waiting", controlling=True)
    os.write(t.ours, b"\x03")
    end(t)
    assert t.status == 3
    assert_left(t)


def test_it_is_drawn_again(screen, master):
    t = screen("top", "--interval", 1, until="digits")
    master.job_name = "another name"
    t.wait_for("another name")
    os.write(t.ours, b"q")
    end(t)
    assert t.status == 0 and len(pictures(t)) >= 2


def test_another_size_of_the_terminal_is_drawn_at_once(screen):
    t = screen("top", "--interval", 1000, until="Waiting", columns=120)
    fcntl.ioctl(t.ours, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
    os.kill(t.process.pid, signal.SIGWINCH)
    wait_for_pictures(t, 2)
    os.write(t.ours, b"q")
    end(t)
    assert t.status == 0
    assert max(map(len, pictures(t)[-1])) <= 60 and len(pictures(t)[-1]) <= 20
    assert_left(t)


def test_a_master_that_restarts_is_waited_for(screen, master):
    t = screen("top", "--interval", 1, until="Waiting")
    master.failures["/api/v1/agents"] = fake_master.Refusal(503, "restarting")
    t.wait_for("The master does not answer; trying again")
    while "Waiting" not in "\n".join(pictures(t)[-1]):  # the last picture stays
        assert t.read(), t.seen
    master.failures.clear()
    n = len(pictures(t))
    wait_for_pictures(t, n + 2)
    os.write(t.ours, b"q")
    end(t)
    assert t.status == 0 and "trying again" not in "\n".join(pictures(t)[-1])


def test_an_error_leaves_the_screen_and_is_said(screen, master):
    t = screen("top", "--interval", 1, until="Waiting")
    master.failures["/api/v1/agents"] = fake_master.Refusal(403, "not for you")
    end(t)
    assert t.status == 1 and "not for you" in " ".join(t.text().split("\x1b[?1049l")[1].split())
    assert_left(t)


def test_a_terminal_that_can_do_nothing_gets_it_once(screen):
    t = screen("top", until="Waiting", TERM="dumb")
    end(t)
    assert t.status == 0 and b"\x1b" not in t.seen
