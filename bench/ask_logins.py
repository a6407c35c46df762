"""Questions about strangers at the door: what do a thousand logins a second with wrong passwords cost everybody else?"""
import http.client
import json
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
