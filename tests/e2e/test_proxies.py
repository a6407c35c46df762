"""Agents that reach their master through a proxy, which is a real one for CONNECT, and past it where no_proxy says so. The agent is in a
network namespace; the proxy and the master are outside, at the address of the bridge."""
import itertools

import pytest
from support.cluster import PASSWORD, Cluster, wait_for
from support.machines import machines, need_namespaces
from support.ports import free_port
from support.proxies import Proxy

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def host():
    need_namespaces()
    with machines(1) as made:
        yield made


@pytest.fixture(scope="module", params=[False, True], ids=["http", "https"])
def shared(request, host, tmp_path_factory):
    security = {"initial_user_password": PASSWORD, **({"tls": {"self_signed": True}} if request.param else {})}
    with Cluster(tmp_path_factory.mktemp("proxies"), config={"security": security}) as c:
        if request.param:
            c.trust_any()
        c.start_master(bind_host="0.0.0.0")
        c.login("admin")
        yield c


@pytest.fixture
def cluster(shared):
    yield shared
    for name in list(shared.agents):
        shared.stop_agent(name)


@pytest.fixture
def proxy(host):
    p = Proxy(host.master, user="ann:pass word")
    yield p
    p.close()


def start(cluster, host, wait=True, **options):
    """Starts an agent of a new id, which it returns: a join token lets in new agents only."""
    name = f"agent{next(NUMBERS)}"
    token = cluster.post("/api/v1/join-tokens", {}).json["token"]
    cluster.start_agent(name, wait=wait, token_file="", token=token, prefix=host.within(0), master_host=host.master, **options)
    return name


def log_of(cluster, name):
    return (cluster.dir / f"{name}.log").read_text()


def by_proxy(host, proxy, user="ann:pass%20word"):
    address = f"http://{user}@{host.master}:{proxy.port}"
    return {"http_proxy": address, "https_proxy": address}


def test_an_agent_reaches_its_master_through_a_proxy_and_its_tasks_run(cluster, host, proxy):
    start(cluster, host, **by_proxy(host, proxy), no_proxy="10.0.0.0/30,192.168.0.0/16,lab.example")
    assert proxy.asked[0] == f"CONNECT {host.master}:{cluster.port}"
    x = cluster.create(entrypoint=["python3", "-c", "print('hello')"], files={"a.py": ""})
    wait_for("the context to be fetched", lambda: len(proxy.asked) > 1)
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"


@pytest.mark.parametrize("range_of", ["{0}/24", "{0}", "10.0.0.0/8", "*"])
def test_no_proxy_excepts_the_master_by_address_and_range(cluster, host, proxy, range_of):
    start(cluster, host, **by_proxy(host, proxy), no_proxy=range_of.format(host.master))
    assert proxy.asked == [] and proxy.refused == 0


def test_a_proxy_that_refuses_or_is_not_there_is_named(cluster, host, proxy):
    wrong = start(cluster, host, wait=False, **by_proxy(host, proxy, user="ann:guess"))
    wait_for("the refusal", lambda: "does not connect to it: HTTP/1.1 407" in log_of(cluster, wrong))
    assert "guess" not in log_of(cluster, wrong)
    nowhere = f"http://{host.master}:{free_port()}"
    alone = start(cluster, host, wait=False, http_proxy=nowhere, https_proxy=nowhere)
    wait_for("the failure", lambda: "the proxy" in log_of(cluster, alone) and "refused" in log_of(cluster, alone))
