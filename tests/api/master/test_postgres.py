"""Tests the master with a PostgreSQL server that stops, comes back, refuses, hangs, or has no space left."""
import concurrent.futures
import os
import signal
import threading

import pytest
from support import postgres
from support.certificates import Authority
from support.cluster import wait_for
from support.ports import free_port

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


@pytest.fixture
def in_background():
    """Returns a function that calls another one on a thread of its own; the result is a future."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        yield pool.submit


def write(master, *key, value="1"):
    """Stores settings with these keys in one transaction; returns the status."""
    settings = {"settings": [{"storagePath": "p", "key": k, "value": value} for k in key]}
    return master.request("POST", "/api/v1/users/setting", settings, timeout=60).status


def keys(master):
    reply = wait_for("reads", lambda: (r := master.request("GET", "/api/v1/users/setting")).status == 200 and r, 30)
    return sorted(s["key"] for s in reply.json["settings"])


def wait_for_log(master, text):
    wait_for(f"{text} in the master's log", lambda: text in master.master_log(), 60)


class Load:
    """Three clients that write as fast as they get answers. `acknowledged` has the keys whose writes were acknowledged."""

    def __init__(self, master):
        self.master, self.acknowledged, self.stop = master, [], threading.Event()
        self.threads = [threading.Thread(target=self._write, args=(n,)) for n in range(3)]

    def _write(self, worker):
        i = 0
        while not self.stop.is_set():
            i += 1
            if write(self.master, f"w{worker}-{i}") == 200:
                self.acknowledged.append(f"w{worker}-{i}")
            else:
                self.stop.wait(0.05)

    def wait_for_more(self, n):
        before = len(self.acknowledged)
        wait_for("writes", lambda: len(self.acknowledged) > before + n, 60)

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for t in self.threads:
            t.join(60)


# ---- a server that cannot be reached ----

def test_a_start_without_the_server_says_which_database_and_keeps_the_password(server, new_cluster):
    c = new_cluster(config={"db": {**server.new_database(), "password": "s3cret"}})
    server.stop()
    said = refused(c)
    assert "opening the database postgresql://postgres@/det1?host=" in said
    assert "s3cret" not in said


def test_what_is_written_while_the_server_is_away_is_there_when_it_is_back(server, master, in_background):
    server.stop()
    waiting = in_background(write, master, "waits")
    wait_for_log(master, "store.away action=retry reason=")
    assert write(master, "refused") == 503
    assert master.request("GET", "/api/v1/users/setting").status == 503
    assert master.request("GET", "/health").json["database"] == "down"
    server.start()
    assert waiting.result(60) == 200
    assert keys(master) == ["waits"]
    assert "store.recovered" in master.master_log()


def test_a_server_that_stops_while_nothing_is_written_is_told_by_health(server, master):
    assert master.request("GET", "/health").json["database"] == "up"
    server.stop()
    wait_for("the probe", lambda: master.request("GET", "/health").json["database"] == "down", 20)
    assert master.request("GET", "/health").status == 503
    server.start()
    wait_for("the probe", lambda: master.request("GET", "/health").status == 200, 60)
    assert "store.unreadable reason=" in master.master_log() and "store.readable" in master.master_log()


def test_restarts_of_the_server_under_load_lose_nothing_that_was_acknowledged(server, master):
    with Load(master) as load:
        for _ in range(3):
            load.wait_for_more(20)
            server.stop()
            server.start()
    assert len(load.acknowledged) > 60
    assert set(load.acknowledged) <= set(keys(master))
    assert master.master.poll() is None


def test_connections_that_are_cut_under_load_lose_nothing_that_was_acknowledged(server, master):
    with Load(master) as load:
        for _ in range(10):
            load.wait_for_more(5)
            server.cut_connections(master.config["db"]["name"])
    assert set(load.acknowledged) <= set(keys(master))
    assert master.master.poll() is None


# ---- what the server refuses ----

def refused(cluster):
    """Starts a master that refuses to start, and returns what it prints."""
    cluster.start_master(wait=False)
    assert cluster.master.wait(60) != 0
    cluster.master = None
    return cluster.master_log()


def ordinary_user(server, **options):
    """Returns a configuration whose user is no superuser, since limits do not hold for superusers."""
    db = server.new_database()
    words = " ".join(f"{key} {value}" for key, value in options.items())
    server.sql(f"CREATE ROLE det LOGIN PASSWORD 'r1ght' {words}")
    server.sql(f"ALTER DATABASE {db['name']} OWNER TO det")
    return {**db, "user": "det"}


def test_a_wrong_password_is_said_and_not_shown(server, new_cluster):
    db = ordinary_user(server)
    (server.dir / "data/pg_hba.conf").write_text("local all postgres trust\nlocal all all scram-sha-256\n")
    server.sql("SELECT pg_reload_conf()")
    said = refused(new_cluster("wrong", config={"db": {**db, "password": "wr0ng"}}))
    assert 'password authentication failed for user "det": check db.user and db.password' in said
    assert "wr0ng" not in said
    assert "no password supplied: set db.password" in refused(new_cluster("none", config={"db": db}))
    c = new_cluster("right", config={"db": {**db, "password": "r1ght"}}).start_master()
    assert c.login().status == 200


def test_the_way_to_the_server_is_encrypted_and_its_certificate_verified(server, new_cluster, tmp_path):
    authority, other = Authority(tmp_path / "authority"), Authority(tmp_path / "other", "Somebody Else")
    data = server.dir / "data"
    authority.sign(data / "server.crt", data / "server.key", names="DNS:localhost")
    (data / "server.key").chmod(0o600)
    postgres.give_to_postgres(data)
    (data / "pg_hba.conf").write_text("local all all trust\nhostssl all all 127.0.0.1/32 trust\n")
    db = server.new_database()
    server.stop()
    server.settings.update(ssl="on", listen_addresses="127.0.0.1")
    server.port = free_port()
    server.start()

    def config(host, ssl_mode, **more):
        return {"db": {**db, "host": host, "port": server.port, "ssl_mode": ssl_mode, **{k: str(v) for k, v in more.items()}}}

    trusted = {"ssl_root_cert": authority.cert}
    assert "no encryption" in refused(new_cluster("plain", config=config("127.0.0.1", "disable")))
    assert "certificate verify failed" in refused(new_cluster("other", config=config("localhost", "verify-full", ssl_root_cert=other.cert)))
    assert 'does not match host name "127.0.0.1"' in refused(new_cluster("name", config=config("127.0.0.1", "verify-full", **trusted)))
    for name, host, mode in (("any", "127.0.0.1", "require"), ("ca", "127.0.0.1", "verify-ca"), ("full", "localhost", "verify-full")):
        c = new_cluster(name, config=config(host, mode, **(trusted if mode != "require" else {}))).start_master()
        assert c.login().status == 200
        assert server.sql("SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
                          f" WHERE datname = '{db['name']}' AND client_addr IS NOT NULL") == "t"
        c.stop_master()


def test_too_few_connections_are_said_with_the_number_that_is_needed(server, new_cluster):
    said = refused(new_cluster(config={"db": ordinary_user(server, CONNECTION="LIMIT 2")}))
    assert 'too many connections for role "det": the master needs four connections' in said


def test_a_database_that_is_not_there_is_said_with_the_command_that_makes_it(server, new_cluster):
    said = refused(new_cluster(config={"db": {**server.new_database(), "name": "nowhere"}}))
    assert 'database "nowhere" does not exist: check db.name and db.user (createdb -E UTF8 -T template0 NAME)' in said


def test_a_standby_is_read_and_written_when_it_becomes_the_primary(server, master, new_cluster, in_background):
    assert write(master, "before") == 200
    server.stop(signal.SIGINT)
    (server.dir / "data/standby.signal").touch()
    server.start()
    assert keys(master) == ["before"]
    waiting = in_background(write, master, "waits")
    wait_for_log(master, "store.away")
    assert "it takes no writes, db.host must name the primary" in master.master_log()
    assert write(master, "refused") == 503
    said = refused(new_cluster("another", config={"db": master.config["db"]}))
    assert "it takes no writes, db.host must name the primary" in said
    server.sql("SELECT pg_promote()")
    assert waiting.result(60) == 200
    assert keys(master) == ["before", "waits"]


# ---- a server that can be reached, but does not answer or store ----

def test_a_server_that_says_nothing_is_given_up_in_time(server, new_cluster, in_background):
    db = server.new_database()
    server.sql(f"ALTER DATABASE {db['name']} SET statement_timeout = '500ms'")
    c = new_cluster(config={"db": db}).start_master()
    c.login()
    with server.frozen():
        waiting = in_background(write, c, "waits")
        wait_for_log(c, "store.away")
        assert write(c, "refused") == 503
        assert c.request("GET", "/api/v1/users/setting").status == 503
        assert c.request("GET", "/health").json["database"] == "down"
    assert waiting.result(60) == 200
    assert keys(c) == ["waits"]


def test_a_lock_that_somebody_holds_is_waited_for(server, new_cluster, in_background):
    db = server.new_database()
    server.sql(f"ALTER DATABASE {db['name']} SET lock_timeout = '100ms'")
    c = new_cluster(config={"db": db}).start_master()
    c.login()
    with postgres.Session(server, db["name"]) as session:
        session.tell("BEGIN; LOCK TABLE user_settings;")
        waiting = in_background(write, c, "waits")
        wait_for_log(c, "store.away")
        assert "stays locked by somebody else" in c.master_log()
        session.tell("COMMIT;")
    assert waiting.result(60) == 200
    assert keys(c) == ["waits"]


def test_lines_that_can_not_be_stored_in_time_are_not_let_go_of(server, new_cluster, tmp_path):
    db = server.new_database()
    server.sql(f"ALTER DATABASE {db['name']} SET statement_timeout = '300ms'")
    c = new_cluster(config={"db": db}).start_master()
    c.start_agent()
    c.login()
    gate = tmp_path / "gate"
    x = c.create(entrypoint=["sh", "-c", f"echo first; while [ ! -e {gate} ]; do sleep 0.05; done; seq 100"])
    [trial] = wait_for("the trial", lambda: c.trial_ids(x))
    wait_for("the first line", lambda: "first" in c.trial_log(trial))
    with postgres.Session(server, db["name"]) as session:
        session.tell("BEGIN; LOCK TABLE container_log_marks;")
        gate.touch()
        wait_for_log(c, "the database took more than 0.3 s for one statement")
        session.tell("COMMIT;")
    assert c.wait_experiment(x)["state"] == "STATE_COMPLETED"
    assert [line for line in c.trial_log(trial).splitlines() if line.isdigit()] == [str(n) for n in range(1, 101)]


@pytest.fixture
def small_disk(server):
    try:
        disk = postgres.SmallDisk(server, "24m")
    except postgres.NotPossible as why:
        pytest.skip(f"a small file system can't be mounted here: {why}")
    with disk:
        yield disk
        server.stop()  # the server must be stopped before its disk is removed


def test_a_full_disk_refuses_writes_answers_reads_and_passes_by_itself(server, small_disk, new_cluster, in_background):
    c = new_cluster(config={"db": server.new_database(f"--tablespace={small_disk.name}")}).start_master()
    c.login()
    assert write(c, "before") == 200
    with small_disk.filled():
        waiting = in_background(write, c, "waits", "waits, too", "waits as well", "waits like them", value=os.urandom(125000).hex())
        wait_for_log(c, "store.full")
        assert write(c, "refused") == 503
        assert keys(c) == ["before"]
    assert waiting.result(60) == 200
    assert keys(c) == ["before", "waits", "waits as well", "waits like them", "waits, too"]
    assert "store.recovered" in c.master_log()


# ---- SIGTERM ----

def test_a_stop_while_the_server_is_away_is_quick_and_no_failure(server, master, in_background):
    assert write(master, "before") == 200
    server.stop()
    lost = [in_background(write, master, key) for key in ("a", "b", "c")]
    wait_for_log(master, "store.away")
    assert master.stop_master() == 0
    assert "master.stop_forced" in master.master_log() and "reason=the_store_is_not_there" in master.master_log()
    # No client was told that its write is stored. Each either lost its connection, or was refused because the master knew of the trouble by
    # then.
    assert all(f.exception(60) or f.result() == 503 for f in lost)
    server.start()
    master.start_master()
    assert keys(master) == ["before"]
