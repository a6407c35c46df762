"""Questions about strangers at the door: what do a thousand logins a second with wrong passwords cost everybody else?"""
import contextlib
import ctypes
import http.client
import json
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import threading
import time

from harness import ROOT, Row, question, running_master
from support.cluster import PASSWORD, client_hash

RATE, SECONDS, TURNS = 1000, 10, 3
ADDRESSES = 500


def percentile(values, p):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * p / 100))]


def answered(connection, method, path, body, headers):
    connection.request(method, path, body=body, headers=headers)
    reply = connection.getresponse()
    reply.read()
    return reply.status


class Asker(threading.Thread):
    """One request after the other until told to stop, each with a pause behind it; how long each took, in ms."""

    def __init__(self, cluster, address, request, pause_s):
        super().__init__()
        self.connection = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=60, source_address=(address, 0))
        self.ask, self.pause_s, self.took, self.over = request, pause_s, [], threading.Event()

    def run(self):
        while not self.over.wait(self.pause_s):
            begin = time.perf_counter()
            status = answered(self.connection, *self.ask)
            assert status == 200, status
            self.took.append((time.perf_counter() - begin) * 1000)


def login(cluster, user):
    body = json.dumps({"username": user, "password": client_hash(PASSWORD), "isHashed": True})
    return "POST", "/api/v1/auth/login", body, {}


def under_load(cluster, addresses):
    """p99 of reads, of logins from where their user has been before, and of logins from where nobody has been."""
    read = "GET", "/api/v1/users", None, {"Authorization": f"Bearer {cluster.token}"}
    strangers = iter(f"127.0.20.{n}" for n in range(1, 250))
    askers = [Asker(cluster, "127.0.0.1", read, 0.005), Asker(cluster, "127.0.10.1", login(cluster, "determined"), 0.05)]
    new = []
    answered(askers[1].connection, *askers[1].ask)  # before the crowd comes: from now on its user is known there
    load = subprocess.Popen([sys.executable, ROOT / "bench/login_load.py", str(cluster.port), str(RATE), str(SECONDS), str(addresses)],
                            stdout=subprocess.PIPE, text=True)
    for a in askers:
        a.start()
    refused = 0
    while load.poll() is None:
        begin = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=60, source_address=(next(strangers), 0))
        if answered(connection, *login(cluster, "determined")) == 200:
            new.append((time.perf_counter() - begin) * 1000)
        else:
            refused += 1
        connection.close()
        time.sleep(0.1)
    for a in askers:
        a.over.set()
        a.join()
    said = json.loads(load.communicate()[0])
    print(f"  {said}, {len(askers[0].took)} reads, {len(askers[1].took)} logins, {len(new)} of {len(new) + refused} from new addresses",
          file=sys.stderr)
    return (percentile(askers[0].took, 99), percentile(askers[1].took, 99), percentile(new, 99), said["sent"] / said["seconds"],
            100 * refused / (len(new) + refused))


@question
def logins():
    """What do 1,000 hostile logins a second cost those who read, and those who log in?"""
    for addresses, whence in ((1, "one address"), (ADDRESSES, f"{ADDRESSES} addresses")):
        runs = []
        for _ in range(TURNS):
            with running_master() as cluster:
                runs.append(under_load(cluster, addresses))
        reads, known, new, rate, refused = map(list, zip(*runs))
        yield Row(f"logins with wrong passwords, from {whence}: sent", rate, "/s")
        yield Row("… reads of others meanwhile, p99", reads, "ms", "≤ 20")
        yield Row("… a login from where its user was before, p99", known, "ms", "≤ 2000")
        yield Row("… a login from an address never seen, p99", new, "ms", "≤ 2000")
        yield Row("… of those logins had to be tried again (503)", refused, "%")
    with running_master() as cluster:
        took = []
        for _ in range(20):
            begin = time.perf_counter()
            assert cluster.login().status == 200
            took.append((time.perf_counter() - begin) * 1000)
    yield Row("a login on an idle master", [statistics.median(took)], "ms")


# ---- logins of people, beside argon2id alone ----

def stored_hash(cluster):
    """The hash of a password as the store has it, which names what it costs to check it."""
    with contextlib.closing(sqlite3.connect(f"file:{cluster.dir}/data/determined.db?mode=ro", uri=True)) as db:
        return db.execute("SELECT password_hash FROM users WHERE username = 'determined'").fetchone()[0]


def bare_checks(encoded, seconds):
    """How often libargon2 alone checks that password in a second, on one thread, and the processor's time of one check in ms."""
    argon2 = ctypes.CDLL("libargon2.so.1")
    wire = client_hash(PASSWORD).encode()
    n, begin, cpu = 0, time.perf_counter(), time.thread_time()
    while time.perf_counter() - begin < seconds:
        assert argon2.argon2id_verify(encoded.encode(), wire, len(wire)) == 0
        n += 1
    return n / (time.perf_counter() - begin), (time.thread_time() - cpu) * 1000 / n


def cpu_s(cluster):
    """Of all threads of the master; on a machine that others use, too, it says more than the time on the clock."""
    tasks = pathlib.Path(f"/proc/{cluster.master.pid}/task")
    return sum(int((t / "schedstat").read_text().split()[0]) for t in tasks.iterdir()) / 1e9


def logins_of_people(cluster, people, seconds):
    """How many logins a second the master answers, if so many people log in at once, each again and again, and its processors' time
    for one login in ms."""
    done, cpu, over = [], cpu_s(cluster), time.perf_counter() + seconds

    def log_in(n):
        connection = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=60, source_address=(f"127.0.30.{n + 1}", 0))
        while time.perf_counter() < over:
            assert answered(connection, *login(cluster, "determined")) == 200
            done.append(n)
        connection.close()

    threads = [threading.Thread(target=log_in, args=(n,)) for n in range(people)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return len(done) / seconds, (cpu_s(cluster) - cpu) * 1000 / len(done)


@question
def login_rate():
    """How many people can log in each second, and how many could if there were only argon2id?"""
    with running_master() as cluster:
        encoded = stored_hash(cluster)
        cost = encoded.split("$")[3]
        logins_of_people(cluster, 2, 1)
        runs, bare = [], []
        for _ in range(TURNS):
            bare.append(bare_checks(encoded, 4))
            runs.append(logins_of_people(cluster, 8, 6))
    (rates, cpu), (bare_rates, bare_cpu) = zip(*runs), zip(*bare)
    yield Row(f"logins of 8 people at once ({cost})", list(rates), "/s", "≥ 10", "argon2id alone, one thread", list(bare_rates))
    yield Row("… time of the master's processors for one", list(cpu), "ms", "", "argon2id alone", list(bare_cpu))


# ---- a list of many users ----

USERS = 10000


@question
def list_of_users():
    """How long does the list of 10,000 users take, all of it and a page?"""
    with running_master() as cluster:
        cluster.stop_master()
        with contextlib.closing(sqlite3.connect(cluster.dir / "data/determined.db")) as db, db:
            db.execute("INSERT INTO users (id, username, display_name, admin, active, remote, modified_us) "
                       "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?) "
                       "SELECT n + 100, printf('user%05d', n), printf('User %d', n * 7919 % 10007), 0, 1, 0, 1700000000000000 FROM c", (USERS,))
        cluster.start_master()
        cluster.login()
        connection = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=60)
        headers = {"Authorization": f"Bearer {cluster.token}"}

        def took(path, clock=time.perf_counter):
            answered(connection, "GET", path, None, headers)
            runs = []
            for _ in range(20):
                begin = clock()
                assert answered(connection, "GET", path, None, headers) == 200
                runs.append((clock() - begin) * 1000)
            return runs

        yield Row(f"GET /users with {USERS} users, all of them", took("/api/v1/users"), "ms", "≤ 20")
        yield Row("… time of the master's processors for it", took("/api/v1/users", lambda: cpu_s(cluster)), "ms")
        yield Row("… a page of 100, by name", took("/api/v1/users?sortBy=SORT_BY_NAME&limit=100&offset=5000"), "ms", "≤ 20")
        yield Row("… those whose name has a text", took("/api/v1/users?name=user0999"), "ms", "≤ 20")
