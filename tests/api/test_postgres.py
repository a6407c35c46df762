"""The master on a PostgreSQL server that goes away and comes back."""
import threading

import pytest
from support import postgres
from support.cluster import wait_for

pytestmark = pytest.mark.skipif(not postgres.is_installed(), reason="no PostgreSQL is installed")


@pytest.fixture
def server():
    with postgres.Server() as s:
        yield s


@pytest.fixture
def master(server, new_cluster):
    c = new_cluster(config={"db": server.new_database()})
    c.start_master()
    c.login()
    return c


def write(master, key):
    setting = {"settings": [{"storagePath": "p", "key": key, "value": "1"}]}
    return master.request("POST", "/api/v1/users/setting", setting, timeout=60).status


def keys(master):
    reply = wait_for("reads", lambda: (r := master.request("GET", "/api/v1/users/setting")).status == 200 and r, 30)
    return [s["key"] for s in reply.json["settings"]]


def test_a_start_without_the_server_says_which_database_and_keeps_the_password(server, new_cluster):
    c = new_cluster(config={"db": {**server.new_database(), "password": "s3cret"}})
    server.stop()
    c.start_master(wait=False)
    assert c.master.wait(20) != 0
    c.master = None
    assert "opening the database postgresql://postgres@/det1?host=" in c.master_log()
    assert "s3cret" not in c.master_log()


def test_what_is_written_while_the_server_is_away_is_there_when_it_is_back(server, master):
    statuses = []
    server.stop()
    waiting = threading.Thread(target=lambda: statuses.append(write(master, "waits")))
    waiting.start()
    wait_for("the master to see it", lambda: "store.away" in master.master_log(), 30)
    assert write(master, "refused") == 503
    assert master.request("GET", "/api/v1/users/setting").status == 503
    assert master.request("GET", "/health").json["database"] == "down"
    server.start()
    waiting.join(60)
    assert statuses == [200]
    assert keys(master) == ["waits"]
    assert "store.recovered" in master.master_log()


def test_restarts_of_the_server_under_load_lose_nothing_that_was_acknowledged(server, master):
    acknowledged, stop = [], threading.Event()

    def load(worker):
        for i in range(1000000):
            if stop.is_set():
                return
            if write(master, f"w{worker}-{i}") == 200:
                acknowledged.append(f"w{worker}-{i}")
            else:
                stop.wait(0.05)

    threads = [threading.Thread(target=load, args=(n,)) for n in range(3)]
    for t in threads:
        t.start()
    for _ in range(3):
        wait_for("writes", lambda before=len(acknowledged): len(acknowledged) > before + 20, 30)
        server.stop()
        server.start()
    stop.set()
    for t in threads:
        t.join(60)
    assert len(acknowledged) > 60
    assert set(acknowledged) <= set(keys(master))
    assert master.master.poll() is None
