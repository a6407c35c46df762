"""Tests what strangers may try with logins (docs/security.md, Accounts and logins). They use other addresses of the loopback network."""
import contextlib
import json
import os
import pathlib
import re
import socket
import threading
import time

import pytest
from support.attackers import admin_token, all_at_once, login_from, new_user, request_from
from support.cluster import PASSWORD, client_hash, wait_for

FREE, FREE_OF_ADDRESS = 5, 20  # so many failures are free: of one account from one address, and of one address


def checked(cluster):
    """Returns how many passwords were checked and found wrong."""
    return cluster.master_log().count("user.login_refused")


def guess_until_refused(cluster, address, user, headers=lambda i: None):
    """Sends wrong passwords one after the other, and returns how many were checked, and the refusal. On a slow machine a pause may be
    over before the next password is sent; one more is then checked, and the next pause is twice as long."""
    for i in range(FREE + 6):
        reply = login_from(cluster, address, user, f"guess {i}", headers(i))
        if reply.status == 429:
            return i, reply
        assert reply.status == 401, reply
    raise AssertionError(f"{i + 1} guesses, and nobody minds")


def test_passwords_of_one_account_are_tried_one_after_the_other(master):
    guesses, reply = guess_until_refused(master, "127.0.1.1", "admin")
    assert guesses >= FREE
    wait_s = int(reply.headers["Retry-After"])
    assert wait_s >= 1
    assert reply.json["error"] == {"code": 8, "reason": "ResourceExhausted",
                                   "error": f"too many failed logins to this account from your address; try again in {wait_s} s"}
    # The account's owner, at another address, is not affected; and a login that waits as long as it was told is let in.
    assert login_from(master, "127.0.1.2", "admin", PASSWORD).status == 200
    wait_for("the end of the pause", lambda: login_from(master, "127.0.1.1", "admin", PASSWORD).status == 200)
    assert login_from(master, "127.0.1.1", "admin", "wrong").status == 401, "a success has forgotten the failures"


def test_many_guesses_at_once_are_no_more_than_one_after_the_other(master):
    before = checked(master)
    replies = all_at_once([lambda i=i: login_from(master, "127.0.1.3", "determined", f"guess {i}") for i in range(24)])
    assert {r.status for r in replies} <= {401, 429, 503} and 429 in {r.status for r in replies}
    assert FREE <= checked(master) - before <= FREE + 4


def test_an_account_is_locked_out_by_failing_on_purpose(master):
    """The failures come from forty addresses, again and again. The account's owner can still log in from an address without failures."""
    new_user(master, "victim", "Victim-Passw0rd")
    for turn in range(2):
        all_at_once([lambda host=host: [login_from(master, f"127.0.2.{host}", "victim", "wrong") for _ in range(2)] for host in range(1, 11)])
        assert login_from(master, f"127.0.3.{turn + 1}", "victim", "Victim-Passw0rd").status == 200


def test_one_password_is_tried_on_many_accounts(master):
    before, begin = checked(master), time.monotonic()
    replies = [login_from(master, "127.0.1.4", f"somebody{i}", "Password1") for i in range(FREE_OF_ADDRESS + 8)]
    given_back = int((time.monotonic() - begin) / 10) + 1
    assert [r.status for r in replies[:FREE_OF_ADDRESS]] == [401] * FREE_OF_ADDRESS
    refused = [r for r in replies if r.status == 429]
    assert refused and "from your address" in refused[0].json["error"]["error"]
    assert checked(master) - before <= FREE_OF_ADDRESS + given_back


def test_neighbours_behind_one_address_lock_each_other_out(master):
    """A user who has logged in from an address can log in from there, whatever others try."""
    assert login_from(master, "127.0.1.5", "admin", PASSWORD).status == 200
    numbers = iter(range(1000))
    wait_for("a refusal", lambda: login_from(master, "127.0.1.5", f"somebody{next(numbers)}", "Password1").status == 429)
    assert login_from(master, "127.0.1.5", "admin", PASSWORD).status == 200


def test_failing_is_forgiven_to_who_says_to_come_from_elsewhere(master):
    """Anybody can write X-Forwarded-For, so it counts only if a proxy of ours has sent it."""
    guess_until_refused(master, "127.0.1.6", "admin", lambda i: {"X-Forwarded-For": f"192.0.2.{i}"})


def test_behind_a_proxy_its_clients_are_counted(new_cluster):
    cluster = new_cluster()
    cluster.config["security"]["trusted_proxies"] = ["127.0.0.7", "10.1.0.0/16"]
    cluster.start_master()

    def through(client):
        return login_from(cluster, "127.0.0.7", "admin", "wrong", {"X-Forwarded-For": client}).status

    # The entries before the proxy's own one were written by the client. A second proxy of ours is skipped.
    guesses, _ = guess_until_refused(cluster, "127.0.0.7", "admin", lambda i: {
        "X-Forwarded-For": f"192.0.2.{i}, 198.51.100.1" + (", 10.1.0.9" if i % 2 else "")})
    assert guesses >= FREE
    assert through("198.51.100.2") == 401
    # All addresses of an IPv6 /64 count as one client.
    guesses, _ = guess_until_refused(cluster, "127.0.0.7", "admin", lambda i: {"X-Forwarded-For": f"2001:db8::{i}"})
    assert guesses >= FREE
    assert through("2001:db8:0:1::1") == 401


def test_wrong_ranges_of_proxies_start_no_master(new_cluster):
    cluster = new_cluster()
    cluster.config["security"]["trusted_proxies"] = ["10.0.0.0/40"]
    cluster.start_master(wait=False)
    assert wait_for("the end of the master", lambda: cluster.master.poll()) == 1
    assert "security.trusted_proxies[0]" in cluster.master_log() and "10.0.0.0/40" in cluster.master_log()
    cluster.master = None


# ---- the queue ----

def begin_login(cluster, address, user):
    body = json.dumps({"username": user, "password": client_hash("wrong"), "isHashed": True}).encode()
    s = socket.create_connection(("127.0.0.1", cluster.port), source_address=(address, 0))
    s.sendall(b"POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return s


def test_logins_that_nobody_waits_for_are_checked_all_the_same(new_cluster):
    cluster = new_cluster()
    cluster.start_master(use_template=False)  # whose passwords cost little to check
    cluster.login("admin")
    with contextlib.ExitStack() as connections:
        for i in range(1, 31):
            connections.enter_context(begin_login(cluster, f"127.0.4.{i}", "admin"))
        wait_for("the queue", lambda: cluster.metric("det_password_queue") > 10)
    wait_for("the end of the queue", lambda: cluster.metric("det_password_queue") == 0)
    assert checked(cluster) < 30


@contextlib.contextmanager
def crowd(cluster):
    """Forty logins at a time are sent, from ten thousand addresses, as long as the context lasts. This is more than the queue can hold."""
    over = threading.Event()
    statuses = set()

    def stranger(n):
        for turn in range(10000):
            if over.is_set():
                return
            with contextlib.suppress(OSError):
                statuses.add(login_from(cluster, f"127.5.{n}.{turn % 250 + 1}", "admin", "wrong").status)

    threads = [threading.Thread(target=stranger, args=(n,)) for n in range(40)]
    for t in threads:
        t.start()
    try:
        wait_for("a full queue", lambda: 503 in statuses)
        yield
    finally:
        over.set()
        for t in threads:
            t.join()
    assert statuses <= {401, 429, 503}


def test_a_crowd_of_strangers_keeps_people_out(new_cluster):
    """Users who have logged in from their address before go first, and so do users who are logged in and change a password."""
    cluster = new_cluster()
    cluster.start_master(use_template=False)  # whose passwords cost little to check
    assert login_from(cluster, "127.0.0.9", "admin", PASSWORD).status == 200
    token = admin_token(cluster)
    with crowd(cluster):
        for _ in range(3):
            assert login_from(cluster, "127.0.0.9", "admin", PASSWORD).status == 200
        body = {"user": {"username": "ann", "active": True}, "password": client_hash("Ann-Passw0rd"), "isHashed": True}
        assert cluster.post("/api/v1/users", body, token=token).status == 200


def test_a_crowd_of_strangers_holds_up_what_has_no_password(new_cluster):
    """Sends a large body, which a worker decodes, and requests that readers serve."""
    cluster = new_cluster()
    cluster.start_master(use_template=False)  # whose passwords cost little to check
    cluster.login("determined")
    big = {"settings": [{"storagePath": "p", "key": f"k{i}", "value": "x" * 100} for i in range(500)]}
    with crowd(cluster):
        for _ in range(3):
            before = checked(cluster)
            assert cluster.post("/api/v1/users/setting", big).status == 200
            assert cluster.get("/api/v1/users").status == 200
            assert checked(cluster) - before < 32, "did not wait for the queue"


# ---- what the time of an answer reveals ----

def lane_cpu_ns(cluster):
    """Returns the processor time of the thread that checks passwords. This is what the time of an answer consists of, without the noise
    of the machine."""
    for task in pathlib.Path(f"/proc/{cluster.master.pid}/task").iterdir():
        if (task / "comm").read_text().strip() == "det-password":
            return int((task / "schedstat").read_text().split()[0])
    raise AssertionError("no thread checks passwords")


def test_the_time_of_an_answer_tells_which_accounts_exist(new_cluster):
    cluster = new_cluster()
    cluster.start_master(use_template=False)  # whose passwords cost little to check
    new_user(cluster, "there", "There-Passw0rd")
    new_user(cluster, "blank", None)
    new_user(cluster, "elsewhere", None, remote=True)
    gone = new_user(cluster, "inactive", "Inactive-Passw0rd")
    assert cluster.patch(f"/api/v1/users/{gone}", {"active": False}, token=admin_token(cluster)).status == 200
    took = {}
    for i, name in enumerate(["there", "missing", "blank", "elsewhere", "inactive", "a name with \u0430 letter that none has"]):
        before = lane_cpu_ns(cluster)
        for _ in range(3):
            assert login_from(cluster, f"127.0.6.{i + 1}", name, "wrong").status == 401
        took[name] = lane_cpu_ns(cluster) - before
    assert max(took.values()) < 3 * min(took.values()), took
    # No account has the empty password, so the answer comes without a check, whatever the user name is.
    before = lane_cpu_ns(cluster)
    replies = {name: login_from(cluster, "127.0.6.9", name, "") for name in took}
    assert {r.status for r in replies.values()} == {401} and len({r.body for r in replies.values()}) == 1
    assert lane_cpu_ns(cluster) - before < min(took.values()) / 3


# ---- the first login ----

@pytest.mark.parametrize("attempt", range(3))
def test_the_first_login_after_health_fails(new_cluster, attempt):
    cluster = new_cluster()
    cluster.start_master(expect_accounts=False)
    assert cluster.login("admin").status == 200
    assert cluster.login("determined").status == 200


def test_who_has_seen_health_cannot_read_the_first_password(new_cluster):
    cluster = new_cluster(password="")
    cluster.start_master(expect_accounts=False)
    password = (cluster.dir / "data/initial_password").read_text().strip()
    assert cluster.login("admin", password).status == 200


def test_a_renamed_admin_is_made_again_at_the_next_start(new_cluster):
    cluster = new_cluster()
    cluster.start_master()
    assert cluster.patch("/api/v1/users/1", {"username": "root"}, token=admin_token(cluster)).status == 200
    cluster.stop_master()
    cluster.start_master(expect_accounts=False)
    assert cluster.login("root").status == 200
    assert cluster.login("admin", keep=False).status == 401
    assert "accounts.failed" not in cluster.master_log()


# ---- the log ----

def test_no_login_is_written_to_the_log_with_what_was_typed(master):
    login_from(master, "127.0.1.9", 'evil" user=admin\nuser.login user=admin', "S3cret-Guess")
    log = master.master_log()
    assert "S3cret-Guess" not in log and client_hash("S3cret-Guess") not in log
    assert not re.search(r"^user\.login user=admin", log, re.M)
    assert os.linesep + "user.login" not in log
    assert request_from(master, "127.0.1.9", "GET", "/health").status == 200
