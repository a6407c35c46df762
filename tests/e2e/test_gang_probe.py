"""The probe of a gang on hosts that are network namespaces: a host that nobody reaches, two hosts of which nobody can say which is bad, a link that
is slow, and an all-reduce."""
import contextlib
import re
import subprocess

import pytest
from support.cluster import Cluster, wait_for
from support.experiments import log_of, the_trial, wait_line, wait_slots_free
from support.hosts import apart, over, start_on
from support.light_python import shared_light_python

SCRIPT = "print('the program of the trial runs', flush=True)"
RUNS = "the program of the trial runs"


@pytest.fixture
def cluster(hosts, tmp_path):
    pools = [{"pool_name": "default", "task_container_defaults": {"gang_probe": True, "gang_probe_min_bandwidth": "1 MiB"}}]
    with Cluster(tmp_path, config={"resource_pools": pools}) as c:
        start_on(c, hosts, 3)
        yield c


@contextlib.contextmanager
def unreachable(hosts, i):
    """A host that reaches the master, and has no way to the other hosts."""
    others = [a for k, a in enumerate(hosts.addresses) if k != i]
    for address in others:
        subprocess.run(["ip", "-n", hosts.names[i], "route", "add", "blackhole", f"{address}/32"], check=True)
    try:
        yield
    finally:
        for address in others:
            subprocess.run(["ip", "-n", hosts.names[i], "route", "del", "blackhole", f"{address}/32"], check=True)


@contextlib.contextmanager
def slow(hosts, i):
    """A host that sends 64 kB in a second."""
    words = ["tc", "-n", hosts.names[i], "qdisc", "{}", "dev", "eth0", "root", "tbf", "rate", "512kbit", "burst", "16kb", "latency", "5s"]
    if subprocess.run([w.format("add") for w in words], capture_output=True).returncode:
        pytest.skip("this machine's network namespaces cannot be made slow (tc)")
    try:
        yield
    finally:
        subprocess.run([w.format("del") for w in words[:8]], check=True)


def reason(cluster, host):
    return cluster.get(f"/api/v1/agents/{host}").json["agent"].get("disabledReason", "")


def wait_runs(cluster, x, n):
    """Waits until the trial has been placed n times."""
    wait_for(f"run {n}", lambda: log_of(cluster, x).count("crashed: agent failed to launch the container") >= n)


def test_hosts_that_are_fit_are_measured_and_the_trial_runs(cluster):
    x = over(cluster, 3, SCRIPT)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    log = log_of(cluster, x)
    assert log.count("gang probe: 3 machines reach each other; the slowest link, from host") == 3 and log.count(RUNS) == 3, log
    assert float(re.search(r"all of that took ([\d.]+) s", log)[1]) <= 5.0, log


def test_the_machines_add_up_numbers_where_the_task_has_pytorch(cluster):
    pytest.importorskip("torch")
    x = over(cluster, 2, SCRIPT, DET_PYTHON_EXECUTABLE=shared_light_python())
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    log = log_of(cluster, x)
    assert log.count("an all-reduce of 1 MiB is right") == 2 and log.count(RUNS) == 2, log


def test_a_trial_on_one_host_is_not_probed(cluster):
    x = over(cluster, 1, SCRIPT)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    assert "gang probe" not in log_of(cluster, x)


def test_a_host_that_the_others_do_not_reach_is_named_and_put_into_quarantine(cluster, hosts):
    with unreachable(hosts, 2):
        x = over(cluster, 3, SCRIPT)
        wait_for("the quarantine", lambda: reason(cluster, "host2"))
        said = reason(cluster, "host2")
        assert said.startswith("quarantine: ") and "The fault is that of host2: the machines of this trial do not reach each other" in said
    log = log_of(cluster, x)
    assert re.search(r"crashed: agent failed to launch the container: The fault is that of host2: .*rank \d on host\d does not reach rank \d on host2", log)
    assert "this does not count against max_restarts" in log and RUNS not in log
    assert reason(cluster, "host0") == reason(cluster, "host1") == ""
    assert cluster.post("/api/v1/agents/host2/enable", token=cluster.admin_token()).status == 200
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    assert the_trial(cluster, x)["restarts"] == 0 and log_of(cluster, x).count(RUNS) == 3
    wait_slots_free(cluster)


def test_of_two_hosts_that_do_not_reach_each_other_none_is_blamed(cluster, hosts):
    cluster.stop_agent("host2")
    with apart(hosts):
        x = over(cluster, 2, SCRIPT)
        wait_runs(cluster, x, 3)
    log = log_of(cluster, x)
    assert re.search("It is not clear which of host[01], host[01] is at fault: the machines of this trial do not reach each other: rank", log), log
    assert reason(cluster, "host0") == reason(cluster, "host1") == ""
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    assert the_trial(cluster, x)["restarts"] == 0


def test_a_slow_link_fails_the_probe(cluster, hosts):
    with slow(hosts, 1):
        x = over(cluster, 3, SCRIPT)
        log = wait_line(cluster, x, "crashed: agent failed to launch the container")
    assert "on host1 to rank" in log and RUNS not in log, log
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)


# Reports what it likes, as a program of a user may try to.
ACCUSING = """
import json, urllib.request
import determined as det
i = det.get_cluster_info()
for body in [{"report": ""}, {"report": "x" * 4097}, {"report": "two\\nlines"}, {"failed": True, "badAgents": [i.agent_id], "report": "it is bad"}]:
    q = urllib.request.Request(f"{i.master_url}/api/v1/allocations/{i.allocation_id}/gang_probe", method="POST", data=json.dumps(body).encode(),
                               headers={"Authorization": f"Bearer {i.session_token}"})
    try:
        urllib.request.urlopen(q)
        print("taken", flush=True)
    except OSError as e:
        print("answer", e.code, e.read().decode(), flush=True)
"""


@pytest.mark.parametrize("n, why", [(2, "was reported already"), (1, "is not probed")])
def test_a_task_cannot_accuse_machines_once_the_probe_is_over_or_where_there_is_none(cluster, n, why):
    x = over(cluster, n, ACCUSING)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    log = log_of(cluster, x)
    assert log.count("answer") == 4 * n and "taken" not in log, log
    assert log.count("must have 1 to 4096 bytes, found 0") == log.count("found 4097") == log.count("one line without control") == n, log
    assert log.count(why) == n, log
    assert all(reason(cluster, f"host{i}") == "" for i in range(3))
