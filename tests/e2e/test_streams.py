"""Tests byte streams from the master to ports of tasks: many at once, beside logs, and what ends them."""
import contextlib
import os
import signal
import socket
import subprocess

import pytest
from support.cluster import BUILD, Cluster, wait_for
from support.experiments import FINAL, shell, the_trial
from support.machines import machines, need_namespaces, need_packet_filter
from support.ports import free_port
from support.streams import SERVER, Client, configuration, port_of
from support.visited import Visited

MANY = 1000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("streams")) as c:
        c.start_master()
        c.start_agent(slots=8)
        c.login()
        yield c


@contextlib.contextmanager
def served(cluster, port=None, **more):
    """Runs a trial whose server echoes, and gives its experiment's id, its task and its port."""
    port = port or free_port()
    x = cluster.create(files={"server.py": SERVER}, config=configuration(cluster, port, **more))
    try:
        [trial] = cluster.trial_ids(x)
        wait_for("the trial's server", lambda: "serving" in cluster.trial_log(trial))
        yield x, trial, port_of(cluster, trial, port)
    finally:
        cluster.post(f"/api/v1/experiments/{x}/kill")
        cluster.wait_experiment(x)


def test_what_is_written_comes_back(cluster):
    with served(cluster) as (_, _, service), Client(cluster, service) as c:
        data = os.urandom(5_000_000)
        assert c.exchange(data) == data


def test_a_thousand_streams_at_once(cluster):
    with served(cluster) as (_, _, service), contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(cluster, service)) for _ in range(MANY)]
        assert cluster.metric("det_task_streams") == MANY
        for i, c in enumerate(clients):
            c.send(b"%d." % i)
        for i, c in enumerate(clients):
            want = b"%d." % i
            assert c.receive(len(want)) == want
    wait_for("all streams to go", lambda: cluster.metric("det_task_streams") == 0)


def test_a_reader_that_is_stuck_delays_no_log_and_no_other_stream(cluster):
    with served(cluster) as (_, trial, service), Client(cluster, service, receive_buffer=65536) as stuck:
        stuck.send(b"give 100000000")
        assert stuck.receive(1) == b"x"
        with Client(cluster, service) as c:
            c.send(b"say 20000")
            assert c.receive(4) == b"said"
        wait_for("the last of 20,000 lines", lambda: "line 19999" in cluster.trial_log(trial))
        assert len(stuck.receive_all()) == 100_000_000 - 1, "what waited is not lost"


def test_the_other_direction_goes_on_after_one_has_ended(cluster):
    with served(cluster) as (_, _, service), Client(cluster, service) as c:
        c.send(b"give 300000")
        assert c.receive_all() == b"x" * 300000
        assert c.close_code == 1000


def test_the_end_of_the_task_ends_its_streams(cluster):
    with served(cluster) as (x, _, service), Client(cluster, service) as c:
        assert c.exchange(b"hello") == b"hello"
        cluster.post(f"/api/v1/experiments/{x}/kill")
        assert c.receive_all() == b""
        assert c.closed
        cluster.wait_experiment(x)
        reply = Client.refused(cluster, service)
        assert reply[0] == 404 and "has ended" in reply[1]


def test_an_agent_that_is_killed_ends_its_streams_in_words_and_its_tasks_ports_are_reached_again(cluster):
    with served(cluster) as (_, _, service):
        with Client(cluster, service) as c:
            assert c.exchange(b"hello") == b"hello"
            cluster.stop_agent(signo=signal.SIGKILL)
            assert c.receive_all() == b""
            assert c.close_code == 1011 and "agent agent0 has lost its connection to the master" in c.close_why
        status, why = Client.refused(cluster, service)
        assert status == 503 and "agent agent0, on which the task runs, is not connected" in why
        cluster.start_agent(slots=8)
        with Client(cluster, service) as c:
            assert c.exchange(b"again") == b"again", "the agent has kept the task's ports"


def test_an_agent_that_is_stopped_says_so(cluster):
    with served(cluster) as (_, _, service):
        with Client(cluster, service) as c:
            assert c.exchange(b"hello") == b"hello"
            cluster.stop_agent()
            c.receive_all()
            assert c.close_code == 1011 and "agent agent0 was stopped or restarted" in c.close_why
        cluster.start_agent(slots=8)


def test_a_master_that_is_restarted_reaches_the_ports_again(cluster):
    with served(cluster) as (_, _, service):
        with Client(cluster, service) as c:
            assert c.exchange(b"hello") == b"hello"
            cluster.stop_master()
            c.receive_all()
            assert c.closed
        cluster.start_master()
        cluster.login()
        wait_for("the agent", lambda: Client.refused(cluster, service)[0] == 101)
        with Client(cluster, service) as c:
            assert c.exchange(b"again") == b"again"


def test_limits_are_told_in_words(tmp_path):
    with Cluster(tmp_path, config={"task_streams": {"per_task": 3, "per_agent": 5}}) as c:
        c.start_master()
        c.start_agent(slots=4)
        c.login()
        with served(c) as (_, _, one), served(c) as (_, _, other), contextlib.ExitStack() as stack:
            for _ in range(3):
                stack.enter_context(Client(c, one))
            status, why = Client.refused(c, one)
            assert status == 503 and "3 connections to this task are open" in why and "task_streams.per_task" in why
            for _ in range(2):
                stack.enter_context(Client(c, other))
            status, why = Client.refused(c, other)
            assert status == 503 and "5 connections to tasks of agent agent0 are open" in why and "task_streams.per_agent" in why


def test_the_direct_route_reaches_the_port_without_the_link(tmp_path):
    with Cluster(tmp_path, config={"task_streams": {"route": "direct"}}) as c:
        c.start_master()
        c.start_agent()
        c.login()
        with served(c) as (_, _, service):
            with Client(c, service) as client:
                data = os.urandom(1_000_000)
                assert client.exchange(data) == data
            with Client(c, service) as client:
                c.stop_agent(signo=signal.SIGKILL)
                assert client.exchange(b"no agent needed") == b"no agent needed"
            c.start_agent()


def listening(within):
    """Addresses of this machine, other than those of its loopback interface, at which anybody listens."""
    text = subprocess.run([*within, "cat", "/proc/net/tcp", "/proc/net/tcp6"], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in text.splitlines() if ":" in line.split()[1]]
    loopback = ("0100007F:", "00000000000000000000000001000000:")
    return [row[1] for row in rows if row[3] == "0A" and not row[1].startswith(loopback)]


def test_an_agent_behind_a_wall_is_reached(tmp_path):
    """No port of the agent's machine is open to others: the task listens on 127.0.0.1 of a network namespace. With a packet filter: below."""
    need_namespaces()
    with machines(1) as hosts, Cluster(tmp_path) as c:
        c.start_master(bind_host="0.0.0.0")
        c.start_agent(prefix=hosts.within(0), master_host=hosts.master)
        c.login()
        with served(c) as (_, _, service):
            port = int(service.rsplit(":", 1)[1])
            assert listening(hosts.within(0)) == []
            with pytest.raises(OSError):
                socket.create_connection((hosts.addresses[0], port), timeout=5)
            with Client(c, service) as client:
                data = os.urandom(1_000_000)
                assert client.exchange(data) == data


LISTENER = """
import socket, sys
s = socket.create_server(("0.0.0.0", int(sys.argv[1])))
print("listening", flush=True)
while True:
    s.accept()[0].close()
"""


@contextlib.contextmanager
def listener(within, port):
    """A program that listens at all addresses of a machine."""
    with subprocess.Popen([*within, "python3", "-c", LISTENER, str(port)], stdout=subprocess.PIPE, text=True) as p:
        try:
            assert p.stdout.readline() == "listening\n"
            yield
        finally:
            p.kill()


def answers(address, port):
    try:
        with socket.create_connection((address, port), timeout=2):
            return True
    except TimeoutError:  # a packet filter drops; without one a closed port refuses at once
        return False


def test_tasks_are_reached_with_every_inbound_port_of_the_agents_machine_closed(tmp_path):
    """nftables of the agent's machine, a network namespace, drops whatever comes in from outside and begins something. A port that was open to
    all before shows that it does. The agent connects through it, connects again when the master was restarted, and a task's ports are reached
    over HTTP and as raw bytes."""
    need_packet_filter()
    with machines(1) as hosts, Cluster(tmp_path) as c:
        within, port = hosts.within(0), free_port()
        with listener(within, port):
            assert answers(hosts.addresses[0], port)
            hosts.close_inbound(0)
            assert hosts.dropped(0) and not answers(hosts.addresses[0], port)
            c.start_master(bind_host="0.0.0.0")
            c.start_agent(prefix=within, master_host=hosts.master)
            c.login()
            with served(c) as (_, _, service):
                with Client(c, service) as client:
                    data = os.urandom(1_000_000)
                    assert client.exchange(data) == data
                c.stop_master()
                c.start_master(bind_host="0.0.0.0")
                c.login()
                wait_for("the agent", lambda: Client.refused(c, service)[0] == 101)
                with Client(c, service) as client:
                    assert client.exchange(b"again") == b"again"
            with Visited(c) as v:
                assert v.ask("echo").status == 200
            assert not answers(hosts.addresses[0], port), "the wall still stands"


def test_a_task_that_ends_by_itself_gives_its_last_bytes(cluster):
    """The server sends five megabytes and the task ends at once; none of them is lost, though they wait for a slow client."""
    port = free_port()
    with served(cluster, port) as (x, _, service), Client(cluster, service, receive_buffer=65536) as c:
        c.send(b"last 5000000")
        wait_for("the end", lambda: cluster.experiment(x)["state"] in FINAL)
        assert len(c.receive_all()) == 5_000_000


def test_a_port_that_the_configuration_does_not_name_is_refused(cluster):
    with served(cluster) as (_, _, service):
        task = service.rsplit(":", 1)[0]
        status, why = Client.refused(cluster, f"{task}:{cluster.port}")
        assert status == 404 and "not among environment.proxy_ports" in why


def test_the_program_det_carries_much(cluster, tmp_path):
    """The whole way of `det experiment create --publish`, whose other tests are in tests/api/proxy/test_publish.py."""
    from support.publishing import Publisher, exchange
    with Publisher(cluster, tmp_path, BUILD / "det") as p:
        p.wait_serving()
        with p.connect() as c:
            data = os.urandom(2_000_000)
            assert exchange(c, data) == data


def test_shell_tasks_without_ports_take_no_stream(cluster):
    x = shell(cluster, "echo up; sleep 600")
    wait_for("the trial", lambda: "up" in cluster.trial_log(the_trial(cluster, x)["id"]))
    status, why = Client.refused(cluster, f"{the_trial(cluster, x)['taskId']}:80")
    assert status == 404 and "not among environment.proxy_ports" in why
    cluster.post(f"/api/v1/experiments/{x}/kill")
    cluster.wait_experiment(x)
