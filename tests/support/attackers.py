"""What the tests of attacks share: requests from other addresses of this machine, users with accounts, and the store, read and changed
without the master."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import sqlite3

from support import postgres
from support.cluster import TIMEOUT_S, Reply, client_hash


def request_from(cluster, address, method, path, body=None, headers=None, timeout=TIMEOUT_S):
    """Sends a request without credentials as Cluster.request does, from another address of the loopback network (127.0.0.0/8)."""
    connection = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=timeout, source_address=(address, 0))
    try:
        connection.request(method, path, body=None if body is None else json.dumps(body).encode(), headers=headers or {})
        reply = connection.getresponse()
        return Reply(reply.status, reply.headers, reply.read())
    finally:
        connection.close()


def login_from(cluster, address, user, password, headers=None):
    body = {"username": user, "password": client_hash(password), "isHashed": True}
    return request_from(cluster, address, "POST", "/api/v1/auth/login", body, headers)


def all_at_once(calls):
    """Calls functions on threads side by side, and returns their results in the order of the functions."""
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as threads:
        return [future.result() for future in [threads.submit(call) for call in calls]]


def admin_token(cluster):
    return cluster.admin_token()


def new_user(cluster, name, password, **fields):
    """Makes a user as an admin, and returns the user's id."""
    reply = cluster.post("/api/v1/users", {"user": {"username": name, "active": True, **fields},
                                           "password": client_hash(password) if password else "", "isHashed": bool(password)},
                         token=admin_token(cluster))
    assert reply.status == 200, reply
    return reply.json["user"]["id"]


def token_of(cluster, name, password):
    reply = cluster.login(name, password, keep=False)
    assert reply.status == 200, reply
    return reply.json["token"]


def user(cluster, user_id):
    return cluster.get(f"/api/v1/users/{user_id}", token=admin_token(cluster)).json["user"]


def in_store(cluster, statement):
    """Runs a statement in the store of a master that is not running, and returns its output as text."""
    assert cluster.master is None
    if os.environ.get("DET_TEST_DB") == "postgres":
        return postgres.shared().sql(statement, cluster.config["db"]["name"])
    with contextlib.closing(sqlite3.connect(cluster.dir / "data/determined.db")) as db, db:
        return "\n".join("|".join(map(str, row)) for row in db.execute(statement))


def count_in_store(cluster, what):
    """Counts rows. `what` is a table, with a condition for its rows."""
    return int(in_store(cluster, f"SELECT count(*) FROM {what}"))
