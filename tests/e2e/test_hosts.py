"""Agents on several hosts: a task over two of them, a cable that is pulled and put back, an agent that is killed, a host that does not come
back, and one that comes back with another address. Hosts are network namespaces; no test needs PyTorch."""
import contextlib
import os
import re
import signal
import subprocess

import pytest
from support.cluster import Cluster, wait_for
from support.experiments import log_of, the_trial, wait_no_supervisors
from support.hosts import COUNTING, LAUNCHER, apart, counted, open_place, over, pulled, start, start_on
from support.light_python import light_python

# Rank 1 sends 2 MB to rank 0 at the address that the cluster names. Each rank says what it knows.
MEETING = """
import os, socket, sys, time
import determined as det
info = det.get_cluster_info()
print("rank", info.container_rank, "of", ",".join(info.container_addrs), flush=True)
if info.container_rank == 0:
    with socket.create_server(("0.0.0.0", 31999)) as server:
        connection, peer = server.accept()
        n = 0
        while part := connection.recv(65536):
            n += len(part)
        print("heard", n, "bytes of", peer[0], flush=True)
else:
    while True:
        try:
            with socket.create_connection((info.container_addrs[0], 31999), timeout=5) as s:
                s.sendall(b"x" * 2_000_000)
            break
        except OSError:
            time.sleep(0.05)
"""

@pytest.fixture(scope="module")
def cluster(hosts, tmp_path_factory):
    directory = tmp_path_factory.mktemp("hosts")
    env = {"PATH": f"{os.path.dirname(light_python(directory / 'python'))}:{os.environ['PATH']}"}
    pools = [{"pool_name": "default", "agent_reconnect_wait": "2s"}]
    with Cluster(directory, env=env, config={"resource_pools": pools}) as c:
        start_on(c, hosts, 2)
        yield c


@pytest.fixture
def place(tmp_path):
    return open_place(tmp_path)


def received(hosts, i):
    """Bytes that have come in at the host's cable."""
    shown = subprocess.run([*hosts.within(i), "cat", "/sys/class/net/eth0/statistics/rx_bytes"], capture_output=True, text=True, check=True)
    return int(shown.stdout)


@contextlib.contextmanager
def second_cable(hosts):
    """A cable from host 0 to host 1, with addresses that the master does not know; yields these."""
    addresses = [f"10.199.{os.getpid() % 250}.{i + 1}" for i in (0, 1)]
    words = ["ip", "link", "add", "fast0", "netns", hosts.names[0], "type", "veth", "peer", "name", "fast1", "netns", hosts.names[1]]
    subprocess.run(words, check=True)
    try:
        for i, address in enumerate(addresses):
            for more in (["addr", "add", f"{address}/24", "dev", f"fast{i}"], ["link", "set", f"fast{i}", "up"]):
                subprocess.run(["ip", "-n", hosts.names[i], *more], check=True)
        yield addresses
    finally:
        subprocess.run(["ip", "-n", hosts.names[0], "link", "del", "fast0"], check=True)


def meet(cluster, hosts, of, launcher=""):
    """Runs a task over two hosts that talk to each other, and checks that they talked by the given addresses."""
    before = [received(hosts, i) for i in range(3)]
    x = over(cluster, 2, MEETING, launcher)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    log = log_of(cluster, x)
    named = re.search(r"rank 0 of (\S+)", log)[1].split(",")
    assert sorted(named) == sorted(of), log
    assert f"heard 2000000 bytes of {named[1]}" in log, log
    if named[0] not in hosts.addresses[:2]:
        return
    assert max(received(hosts, i) - before[i] for i in range(3)) > 2_000_000, "the bytes did not come by the cable"


def lines_of(cluster, experiment, rank):
    return [int(n) for n in re.findall(rf"line 1 {rank} (\d+)", log_of(cluster, experiment))]


def check_each_line_came_once(cluster, experiment, place):
    (place / "end").write_text("")
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED", log_of(cluster, experiment)
    for rank in (0, 1):
        assert lines_of(cluster, experiment, rank) == list(range(1, counted(place, rank) + 1))


def test_a_task_over_two_hosts_talks_by_their_addresses(cluster, hosts):
    meet(cluster, hosts, hosts.addresses[:2])


def test_hosts_that_reach_each_other_by_another_network_than_the_masters_find_it(cluster, hosts):
    meet(cluster, hosts, hosts.addresses[:2], LAUNCHER)
    with second_cable(hosts) as fast, apart(hosts):
        meet(cluster, hosts, fast, LAUNCHER)


def test_hosts_that_do_not_reach_each_other_are_named(cluster, hosts):
    with apart(hosts):
        x = over(cluster, 2, MEETING, LAUNCHER)
        assert cluster.wait_experiment(x)["state"] == "STATE_ERROR"
    log = log_of(cluster, x)
    assert re.search(r"rank [01] on host[01] does not reach rank [01] on host[01] at any address: eth0 10\.", log), log
    assert "dtrain_network_interface" in log and "heard" not in log


def test_a_cable_that_is_pulled_and_put_back_loses_no_line(cluster, hosts, place):
    x = over(cluster, 2, COUNTING, PLACE=place)
    wait_for("both ranks", lambda: counted(place, 0) > 5 and counted(place, 1) > 5)
    with pulled(hosts, 1):
        reached = [counted(place, r) for r in (0, 1)]
        wait_for("both to go on", lambda: all(counted(place, r) > reached[r] + 50 for r in (0, 1)))
    check_each_line_came_once(cluster, x, place)


def test_an_agent_that_is_killed_leaves_the_task_to_the_next_one(cluster, hosts, place):
    x = over(cluster, 2, COUNTING, PLACE=place)
    wait_for("both ranks", lambda: counted(place, 0) > 5 and counted(place, 1) > 5)
    cluster.stop_agent("host1", signal.SIGKILL)
    start(cluster, hosts, 1)
    reached = [counted(place, r) for r in (0, 1)]
    wait_for("both to go on", lambda: all(counted(place, r) > reached[r] + 10 for r in (0, 1)))
    check_each_line_came_once(cluster, x, place)


def test_a_host_that_comes_back_with_another_address_is_reached_there(cluster, hosts):
    cluster.stop_agent("host1")
    old, new = hosts.addresses[1], hosts.addresses[1].rsplit(".", 1)[0] + ".77"
    for words in (["del", f"{old}/24"], ["add", f"{new}/24"]):
        subprocess.run([*hosts.within(1), "ip", "addr", *words, "dev", "eth0"], check=True)
    start(cluster, hosts, 1)
    meet(cluster, hosts, [hosts.addresses[0], new])


def test_a_host_that_is_gone_for_good_is_replaced_by_another(cluster, hosts, place):
    x = over(cluster, 2, COUNTING, PLACE=place)
    wait_for("both ranks", lambda: counted(place, 0) > 5 and counted(place, 1) > 5)
    cluster.agents.pop("host1")
    for pid in subprocess.run(["ip", "netns", "pids", hosts.names[1]], capture_output=True, text=True, check=True).stdout.split():
        with contextlib.suppress(OSError):
            os.kill(int(pid), signal.SIGKILL)
    wait_for("the host to be lost", lambda: "lostTime" in cluster.get("/api/v1/agents/host1").json["agent"])
    start(cluster, hosts, 2)
    wait_for("the trial to go on with the other host", lambda: counted(place, 0, run=2) > 5 and counted(place, 1, run=2) > 5)
    (place / "end").write_text("")
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    assert the_trial(cluster, x)["restarts"] == 0, "the loss of a host is no failure of the trial"
    wait_no_supervisors(cluster)
