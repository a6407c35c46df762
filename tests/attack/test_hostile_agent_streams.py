"""Tests byte streams at a master whose agent an attacker controls: broken frames, floods, reasons that forge lines, silence; and an agent of
an older version, which knows no streams."""
import socket
import struct
import threading

import pytest
from hostile_agent import HostileAgent, Refused
from support.cluster import Cluster, wait_for
from support.processes import memory_kib
from support.streams import (
    ACCEPT,
    CLOSE,
    CREDIT,
    DATA,
    END,
    OPEN,
    REFUSE,
    WINDOW,
    Client,
    configuration,
    frame,
    parsed,
    port_of,
    upgrade_request,
)

PORT = 8080


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("streams")) as c:
        c.start_master()
        c.login("determined")
        yield c


class Evil(HostileAgent):
    """An agent that says of each task that it runs, and opens streams as a test likes."""

    def __init__(self, cluster, **hello):
        super().__init__(cluster)
        self.hello(**{"streams": True, **hello}).welcome()

    def run_task(self):
        """Creates an experiment, takes its order, and returns the service's name."""
        self.experiment = self.cluster.create(config=configuration(self.cluster, PORT))
        order = self.hear_until("start")
        assert order["proxyPorts"] == [PORT]
        [trial] = self.cluster.trial_ids(self.experiment)
        self.container = order["containerId"]
        for state in ("STATE_PULLING", "STATE_STARTING", "STATE_RUNNING"):
            self.send(state={"containerId": self.container, "allocationId": order["allocationId"], "state": state, "address": "127.0.0.1"})
        service = port_of(self.cluster, trial, PORT)
        wait_for("the trial to run", lambda: self.cluster.experiment(self.experiment)["state"] == "STATE_RUNNING")
        return service

    def put(self, *frames):
        for f in frames:
            self.send_message(2, f)

    def asked(self):
        """Returns the number of the stream that the master opens next."""
        while True:
            kind, stream, body = parsed(self.hear_binary())
            if kind == OPEN:
                assert body == f"{self.container}:{PORT}".encode()
                return stream

    def __exit__(self, *exc):
        self.cluster.post(f"/api/v1/experiments/{self.experiment}/kill")
        self.close()
        self.cluster.request("DELETE", "/api/v1/agents/evil", token=self.cluster.admin_token())


class Opening:
    """A client that opens a stream in a thread of its own."""

    def __init__(self, cluster, service):
        self.client, self.failure = None, None

        def run():
            try:
                self.client = Client(cluster, service)
            except AssertionError as refused:
                self.failure = str(refused)

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def end(self):
        self.thread.join(60)
        return self.client


def opened(evil, service):
    """Returns the number of a stream that is open, and its client."""
    opening = Opening(evil.cluster, service)
    stream = evil.asked()
    evil.put(frame(ACCEPT, stream))
    return stream, opening.end()


@pytest.mark.parametrize("what, bad", {
    "an unknown kind": lambda s: frame(77, s),
    "no head": lambda s: b"x",
    "a stream of its own": lambda s: frame(OPEN, s + 1, b"master:22"),
    "a stream that nobody opened": lambda s: frame(DATA, s + 5, b"x"),
    "an accept twice": lambda s: frame(ACCEPT, s),
    "a refusal after the accept": lambda s: frame(REFUSE, s, b"no"),
    "credit without end": lambda s: frame(CREDIT, s, struct.pack("<I", 0xFFFFFFFF)),
    "data without data": lambda s: frame(DATA, s),
    "a reason without end": lambda s: frame(CLOSE, s, b"x" * 10_000),
    "a frame of a megabyte": lambda s: frame(DATA, s, b"x" * 1_000_000),
}.items())
def test_an_agent_breaks_the_protocol_of_streams(cluster, what, bad):
    with Evil(cluster) as evil:
        stream, client = opened(evil, evil.run_task())
        evil.put(bad(stream))
        with pytest.raises(Refused) as closed:
            while True:
                evil.hear()
        assert "stream" in str(closed.value) or "frame" in str(closed.value)
        client.receive_all()
        assert client.close_code == 1011 and "agent evil was cut off" in client.close_why
    assert cluster.get("/api/v1/master").status == 200


def test_an_agent_sends_more_than_the_window(cluster):
    """The client does not read. The master keeps what the window lets through, says at the next byte that the agent breaks the protocol,
    and leaves it some seconds to close the connection."""
    with Evil(cluster) as evil:
        stream, client = opened(evil, evil.run_task())
        before = memory_kib(cluster.master.pid)
        with pytest.raises((Refused, OSError)):
            while cluster.master.poll() is None:
                evil.put(frame(DATA, stream, b"x" * 32768))
        assert memory_kib(cluster.master.pid) - before < 100_000
        client.sock.close()
    assert "more data than its window has room for" in cluster.master_log()
    assert cluster.get("/api/v1/master").status == 200


def test_an_agent_forges_lines_by_its_reasons(cluster):
    with Evil(cluster) as evil:
        service = evil.run_task()
        answer = []
        thread = threading.Thread(target=lambda: answer.append(Client.refused(cluster, service)))
        thread.start()
        evil.put(frame(REFUSE, evil.asked(), b"no\nerror forged=1\xff\r\n"))
        thread.join(60)
        [(status, why)] = answer
        assert status == 502 and "\n" not in why and "no error forged=1" in why
    assert "\nerror forged=1" not in cluster.master_log()


def test_an_agent_never_answers(cluster):
    """The client gives up, and the agent is told that nobody waits any more."""
    with Evil(cluster) as evil:
        service = evil.run_task()
        with socket.create_connection(("127.0.0.1", cluster.port)) as impatient:
            impatient.sendall(upgrade_request(cluster, service))
            stream = evil.asked()
        kind, number, _ = parsed(evil.hear_binary())
        assert (kind, number) == (CLOSE, stream)
        evil.put(frame(ACCEPT, stream), frame(DATA, stream, b"late"), frame(END, stream))  # late frames harm nobody
        other, client = opened(evil, service)
        evil.put(frame(DATA, other, b"hello"))
        assert client.receive(5) == b"hello"


def test_an_agent_keeps_visitors_waiting_for_ever(tmp_path):
    """The agent neither accepts nor refuses a stream: the visitor is told, and so is the agent."""
    with Cluster(tmp_path, config={"task_streams": {"connect_timeout": "1s"}}) as c:
        c.start_master()
        c.login("determined")
        with Evil(c) as evil:
            service = evil.run_task()
            status, why = Client.refused(c, service)
            assert status == 504 and "the agent has not answered within 1 s" in why
            stream = evil.asked()
            kind, number, _ = parsed(evil.hear_binary())
            assert (kind, number) == (CLOSE, stream)
            evil.put(frame(ACCEPT, stream), frame(DATA, stream, b"late"))  # late frames harm nobody
            other, client = opened(evil, service)
            evil.put(frame(DATA, other, b"hello"))
            assert client.receive(5) == b"hello"
            assert c.metric('det_proxy_refused_total{reason="late"}') == 1 and c.metric("det_proxy_tcp_total") == 1


def test_an_agent_does_not_take_what_clients_send(cluster):
    """The agent gives no credit: the client has to wait, and the master keeps a bounded part."""
    with Evil(cluster) as evil:
        stream, client = opened(evil, evil.run_task())
        before = memory_kib(cluster.master.pid)
        client.sock.settimeout(2)
        with pytest.raises(TimeoutError):
            for _ in range(1000):
                client.send(b"x" * 65536)
        assert memory_kib(cluster.master.pid) - before < 30_000
        got = 0
        while got < WINDOW:
            kind, number, body = parsed(evil.hear_binary())
            assert (kind, number) == (DATA, stream)
            got += len(body)
        assert got == WINDOW


def test_an_agent_of_an_older_version_is_told_apart(cluster):
    with Evil(cluster, streams=False, version="0.0.9") as old:
        status, why = Client.refused(cluster, old.run_task())
        assert status == 502
        assert "agent evil, on which the task runs, is of version 0.0.9, which carries no connections to tasks" in why
        assert "task_streams.route: direct" in why
        old.put(frame(DATA, 1, b"x"))
        with pytest.raises(Refused) as closed:
            while True:
                old.hear()
        assert "did not say that it carries streams" in str(closed.value)


def test_an_agent_opens_the_ports_of_anothers_task(cluster):
    """Only the agent that runs a container is asked for its ports."""
    with Evil(cluster) as evil:
        service = evil.run_task()
        with HostileAgent(cluster, agent_id="evil2") as second:
            second.hello(streams=True).welcome()
            stream, client = opened(evil, service)
            evil.put(frame(DATA, stream, b"mine"))
            assert client.receive(4) == b"mine"
            second.send_message(2, frame(DATA, stream, b"forged"))
            with pytest.raises(Refused):
                while True:
                    second.hear()
            evil.put(frame(END, stream))
            assert client.receive_all() == b""


def test_frames_and_messages_of_the_link_do_not_hinder_each_other(cluster):
    """While the client does not read, log lines of the same agent are stored and acknowledged."""
    with Evil(cluster) as evil:
        stream, _ = opened(evil, evil.run_task())
        evil.put(*[frame(DATA, stream, b"x" * 32768)] * (WINDOW // 32768))
        [trial] = cluster.trial_ids(evil.experiment)
        task = cluster.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
        evil.send(logs={"containerId": evil.container, "allocationId": f"{task}.1", "taskId": task, "firstSeq": "1",
                        "lines": [{"timestamp": "2026-01-01T00:00:00Z", "stdtype": "stdout", "level": "LOG_LEVEL_INFO", "log": "a line\n"}]})
        assert evil.hear_until("logsAck")["seq"] == "1"
        assert "a line" in cluster.trial_log(trial)
