"""Agents that reach their master through a proxy, and past it where no_proxy says so; tasks that are told of the proxy, and an engine that pulls
through its own. The agent is in a network namespace; the proxy and the master are outside, at the address of the bridge. The proxy is once a
program of these tests, and once Tinyproxy, where that is installed."""
import itertools
import json
import re

import pytest
from support import engines
from support.certificates import Authority
from support.cluster import BUILD, PASSWORD, Cluster, wait_for
from support.experiments import log_of as log_of_experiment
from support.machines import machines, need_namespaces
from support.ports import free_port
from support.proxies import Proxy, Tinyproxy
from support.registry import Registry

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


USERS = {Proxy: "ann:pass word", Tinyproxy: "ann:pass-word"}  # Tinyproxy's configuration takes no space


@pytest.fixture(params=[Proxy, pytest.param(Tinyproxy, marks=pytest.mark.skipif(
    not Tinyproxy.is_installed(), reason="Tinyproxy is not installed (Debian's package tinyproxy-bin)"))], ids=["ours", "tinyproxy"])
def proxy(request, host):
    p = request.param(host.master, user=USERS[request.param])
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


def by_proxy(host, proxy, user=None):
    user = user or USERS[type(proxy)].replace(" ", "%20")
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
    # of a wrong password Tinyproxy says 401, which is a server's word
    wait_for("the refusal", lambda: re.search(r"does not connect to it: HTTP/1\.[01] 40[17] ", log_of(cluster, wrong)))
    assert "guess" not in log_of(cluster, wrong)
    nowhere = f"http://{host.master}:{free_port()}"
    alone = start(cluster, host, wait=False, http_proxy=nowhere, https_proxy=nowhere)
    wait_for("the failure", lambda: "the proxy" in log_of(cluster, alone) and "refused" in log_of(cluster, alone))


# ---- tasks ----


@pytest.fixture(scope="module")
def servers(host, tmp_path_factory):
    """A server for HTTP and one for HTTPS at the address of the bridge; what they serve is no matter."""
    place = tmp_path_factory.mktemp("server")
    authority = Authority(place / "authority")
    authority.sign(place / "crt", place / "key", f"IP:{host.master}")
    with Registry(host.master) as plain, Registry(host.master, tls=(place / "crt", place / "key")) as secret:
        yield plain, secret


def fetch(cluster, servers):
    """A task that asks both servers with curl, which goes by the variables of its environment."""
    plain, secret = servers
    x = cluster.create(entrypoint=["sh", "-c", f"curl -sS http://{plain.address}/v2/ && curl -sSk https://{secret.address}/v2/ && echo; env | grep -i _proxy"])
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of_experiment(cluster, x)
    log = log_of_experiment(cluster, x)
    assert "{}{}\n" in log
    return log


def test_tasks_go_through_the_proxy_that_they_are_told_of(cluster, host, proxy, servers):
    plain, secret = servers
    told = by_proxy(host, proxy)
    start(cluster, host, **told, no_proxy=f"10.0.0.0/30,{host.master}:{cluster.port}")
    log = fetch(cluster, servers)
    assert proxy.asked == [f"GET http://{plain.address}/v2/", f"CONNECT {secret.address}"]
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
        assert f"{name}={told['http_proxy']}\n" in log
    assert f"NO_PROXY=10.0.0.0/30,{host.master}:{cluster.port}\n" in log


def test_tasks_go_past_the_proxy_to_a_range_that_no_proxy_names(cluster, host, proxy, servers):
    start(cluster, host, **by_proxy(host, proxy), no_proxy=f"{host.master}/16")
    fetch(cluster, servers)
    assert proxy.asked == []


# ---- pulls ----


@pytest.mark.parametrize("excepted", [False, True], ids=["through", "past"])
def test_an_engine_pulls_through_the_proxy_of_its_own_service_and_past_it(cluster, host, proxy, servers, excepted):
    _, registry = servers
    name = registry.add(f"pulled-{excepted}-{type(proxy).__name__.lower()}:1".lower(), [engines.busybox_files()])
    address = by_proxy(host, proxy)["https_proxy"]
    try:
        engine = engines.make("docker", ["--insecure-registry", registry.address],
                              {"HTTPS_PROXY": address, "HTTP_PROXY": address, "NO_PROXY": f"{host.master}/24" if excepted else "192.168.0.0/16"})
    except engines.Missing as why:
        pytest.skip(str(why))
    try:
        start(cluster, host, container_runtime="docker", container_socket=engine.socket, task_program=engines.static_supervisor(BUILD),
              **by_proxy(host, proxy), no_proxy=host.master)
        x = cluster.create(entrypoint=["sh", "-c", "cat /in-image"], environment={"image": name})
        assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of_experiment(cluster, x)
        log = log_of_experiment(cluster, x)
        assert f"Image {name} is pulled" in log and "of the image" in log
        assert set(proxy.asked) == (set() if excepted else {f"CONNECT {registry.address}"})
        assert json.loads(engine.request("GET", "/info")[1])["HttpsProxy"]
    finally:
        for agent in list(cluster.agents):
            cluster.stop_agent(agent)
        engine.end()
