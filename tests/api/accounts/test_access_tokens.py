"""Access tokens: made once, listed, changed, revoked; what their scopes let them do; what bad requests are told."""
import datetime
import json
import subprocess

import pytest
from support.attackers import admin_token, count_in_store, in_store, new_user, token_of, user
from support.cluster import BUILD, PASSWORD, wait_for
from support.det import environment, run_det

DAY = 24


def user_id(cluster, name="determined"):
    return cluster.get(f"/api/v1/users/{name}/by-username").json["user"]["id"]


def create(cluster, token=None, **body):
    """The reply to a request for a token of `determined`, unless the body has another user."""
    return cluster.post("/api/v1/tokens", {"userId": user_id(cluster), **body}, **({"token": token} if token else {}))


def made(cluster, token=None, **body):
    reply = create(cluster, token, **body)
    assert reply.status == 200, reply
    return reply.json["tokenId"], reply.json["token"]


def listed(cluster, query="", token=None):
    reply = cluster.get(f"/api/v1/tokens{query}", **({"token": token} if token else {}))
    assert reply.status == 200, reply
    return reply.json["tokenInfo"]


def info(cluster, number):
    return listed(cluster, f"?tokenIds={number}", admin_token(cluster))[0]


def works(cluster, token):
    return cluster.get("/api/v1/me", token=token).status == 200


def hours(token_info):
    begin, end = (datetime.datetime.fromisoformat(token_info[name].replace("Z", "+00:00")) for name in ("createdAt", "expiry"))
    return (end - begin) / datetime.timedelta(hours=1)


# ---- making one ---------------------------------------------------------------------------------------------------------

def test_a_token_is_shown_once_and_only_its_hash_is_stored(new_cluster):
    cluster = new_cluster()
    cluster.start_master()
    cluster.login("determined")
    number, token = made(cluster, description="nightly")
    assert cluster.get("/api/v1/me", token=token).json["user"]["username"] == "determined"
    shown = info(cluster, number)
    assert shown | {"createdAt": "", "expiry": ""} == {
        "id": number, "userId": user_id(cluster), "description": "nightly", "revoked": False, "createdAt": "", "expiry": "",
        "tokenType": "TOKEN_TYPE_ACCESS_TOKEN", "scope": "TOKEN_SCOPE_ALL"}
    assert hours(shown) == 30 * DAY and token not in json.dumps(listed(cluster)) and token not in cluster.master_log()
    cluster.stop_master()
    assert count_in_store(cluster, "sessions WHERE kind = 'ACCESS_TOKEN'") == 1
    assert not any(token.encode() in p.read_bytes() for p in (cluster.dir / "data").glob("determined.db*"))
    cluster.start_master()
    assert works(cluster, token)
    # The end of a token is looked at with each request, and at the start of a master.
    cluster.stop_master()
    in_store(cluster, "UPDATE sessions SET expiry_us = created_us + 1 WHERE kind = 'ACCESS_TOKEN'")
    cluster.start_master()
    assert cluster.get("/api/v1/me", token=token).status == 401
    cluster.login("determined")
    assert listed(cluster) == [] and [t["id"] for t in listed(cluster, "?showInactive=true")] == [number]


@pytest.mark.parametrize("lifespan, says", [("x", "720h"), ("12", "720h"), ("0h", "more than 0"), ("-5h", "more than 0"), ("-2", "720h"),
                                            ("721h", "720h at most"), ("-1", "720h at most"), ("9999999999999h", "720h")])
def test_a_lifespan_that_is_none_or_too_long(master, lifespan, says):
    before = len(listed(master, "?showInactive=true"))
    reply = create(master, lifespan=lifespan)
    assert reply.status == 400 and says in reply.json["error"]["error"], reply
    assert len(listed(master, "?showInactive=true")) == before


@pytest.mark.parametrize("lifespan, lives", [("720h", 720), ("1h30m", 1.5), ("", 720), (None, 720)])
def test_a_lifespan(master, lifespan, lives):
    number, _ = made(master, **({} if lifespan is None else {"lifespan": lifespan}))
    assert hours(info(master, number)) == lives


def test_lifespans_are_what_the_configuration_says(new_cluster):
    cluster = new_cluster()
    cluster.config["security"]["token"] = {"max_lifespan_days": -1, "default_lifespan_days": 2}
    cluster.start_master()
    cluster.login("determined")
    assert hours(info(cluster, made(cluster)[0])) == 2 * DAY
    assert hours(info(cluster, made(cluster, lifespan="-1")[0])) == 106751 * DAY
    cluster.stop_master()
    cluster.config["security"]["token"] = {"max_lifespan_days": 7}
    cluster.start_master()
    cluster.login("determined")
    assert hours(info(cluster, made(cluster)[0])) == 7 * DAY  # the default of 30 days is too long here
    assert create(cluster, lifespan="169h").status == 400


@pytest.mark.parametrize("body, status, says", [
    ({"description": "x" * 1001}, 400, "at most 1000"), ({"description": "two\nlines"}, 400, "control character"),
    ({"scope": "TOKEN_SCOPE_SOME"}, 400, "scope"), ({"userId": 999999}, 403, "of other users"),
])
def test_a_request_for_a_token_that_is_wrong(master, body, status, says):
    before = len(listed(master, "?showInactive=true"))
    reply = create(master, **body)
    assert reply.status == status and says in reply.json["error"]["error"], reply
    assert len(listed(master, "?showInactive=true")) == before


def test_an_admin_makes_tokens_of_others_but_not_of_those_who_are_gone(master):
    admin = admin_token(master)
    ann = new_user(master, "ann-of-tokens", PASSWORD)
    number, token = made(master, admin, userId=ann)
    assert master.get("/api/v1/me", token=token).json["user"]["username"] == "ann-of-tokens"
    assert create(master, admin, userId=999999).status == 404
    assert master.patch(f"/api/v1/users/{ann}", {"active": False}, token=admin).status == 200
    assert not works(master, token) and info(master, number)["revoked"]
    reply = create(master, admin, userId=ann)
    assert reply.status == 400 and "deactivated" in reply.json["error"]["error"]
    assert master.patch(f"/api/v1/users/{ann}", {"active": True}, token=admin).status == 200
    assert not works(master, token)


def test_a_user_has_a_thousand_tokens_at_most(new_cluster):
    cluster = new_cluster()
    cluster.start_master()
    cluster.login("determined")
    number, _ = made(cluster)
    cluster.stop_master()
    blob = "decode(lpad(to_hex(n), 64, '0'), 'hex')" if cluster.config.get("db", {}).get("type") == "postgres" else "CAST(printf('%032d', n) AS BLOB)"
    in_store(cluster, "INSERT INTO sessions (token_hash, user_id, kind, created_us, expiry_us, revoked, scope) "
                      "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 999) "
                      f"SELECT {blob}, s.user_id, s.kind, s.created_us, s.expiry_us, 0, 'ALL' FROM c, sessions s WHERE s.id = {number}")
    cluster.start_master()
    cluster.login("determined")
    reply = create(cluster)
    assert reply.status == 400 and "at most 1000" in reply.json["error"]["error"], reply
    assert cluster.patch(f"/api/v1/tokens/{number}", {"setRevoked": True}).status == 200
    made(cluster)


# ---- listing ------------------------------------------------------------------------------------------------------------

def test_users_list_their_own_tokens_and_admins_everybodys(master):
    admin = admin_token(master)
    new_user(master, "lister", PASSWORD)
    mine = token_of(master, "lister", PASSWORD)
    me = user_id(master, "lister")
    numbers = [made(master, mine, userId=me, description=d)[0] for d in ("b", "a", "c")]
    other, _ = made(master)
    assert [t["id"] for t in listed(master, token=mine)] == numbers
    assert [t["id"] for t in listed(master, "?username=lister", admin)] == numbers
    assert {*numbers, other} <= {t["id"] for t in listed(master, token=admin)}
    assert listed(master, f"?tokenIds={other}", mine) == []
    by_description = "?username=lister&sortBy=SORT_BY_DESCRIPTION"
    assert [t["description"] for t in listed(master, by_description, admin)] == ["a", "b", "c"]
    assert [t["description"] for t in listed(master, by_description + "&orderBy=ORDER_BY_DESC&limit=2", admin)] == ["c", "b"]
    page = master.get("/api/v1/tokens?username=lister&offset=1&limit=1", token=admin).json
    assert [t["id"] for t in page["tokenInfo"]] == numbers[1:2]
    assert (page["pagination"]["total"], page["pagination"]["startIndex"], page["pagination"]["endIndex"]) == (3, 1, 2)
    assert master.get("/api/v1/tokens?username=admin", token=mine).status == 403
    assert master.get("/api/v1/tokens?username=nobody", token=admin).status == 404
    assert master.get("/api/v1/tokens?username=lister&offset=9", token=admin).status == 400


# ---- changing and revoking ----------------------------------------------------------------------------------------------

def test_a_token_is_revoked_at_once_and_for_good(master):
    number, token = made(master)
    assert works(master, token)
    changed = master.patch(f"/api/v1/tokens/{number}", {"description": "old"}).json["tokenInfo"]
    assert changed["description"] == "old" and not changed["revoked"] and works(master, token)
    assert master.patch(f"/api/v1/tokens/{number}", {"setRevoked": True}).json["tokenInfo"]["revoked"]
    assert master.get("/api/v1/me", token=token).status == 401
    assert number not in [t["id"] for t in listed(master)]
    assert number in [t["id"] for t in listed(master, "?showInactive=true")]
    for body in ({"description": "again"}, {"setRevoked": True}):
        reply = master.patch(f"/api/v1/tokens/{number}", body)
        assert reply.status == 400 and "is revoked" in reply.json["error"]["error"], reply
    assert master.patch("/api/v1/tokens/999999", {"setRevoked": True}).status == 404
    assert master.patch("/api/v1/tokens/x", {"setRevoked": True}).status == 400


def test_nobody_changes_a_token_of_somebody_else(master):
    new_user(master, "stranger", PASSWORD)
    number, token = made(master)
    reply = master.patch(f"/api/v1/tokens/{number}", {"setRevoked": True}, token=token_of(master, "stranger", PASSWORD))
    assert reply.status == 403 and works(master, token)
    assert master.patch(f"/api/v1/tokens/{number}", {"setRevoked": True}, token=admin_token(master)).status == 200
    assert not works(master, token)


def test_a_login_is_no_access_token(master):
    """Logins are kept in the same table. Their numbers are neither listed nor changed here."""
    numbers = {t["id"] for t in listed(master, "?showInactive=true", admin_token(master))}
    for number in set(range(1, 20)) - numbers:
        assert master.patch(f"/api/v1/tokens/{number}", {"setRevoked": True}, token=admin_token(master)).status == 404
    assert works(master, admin_token(master))


def test_a_token_survives_a_logout_and_a_new_password(master):
    ann = new_user(master, "surviving", PASSWORD)
    login = token_of(master, "surviving", PASSWORD)
    _, token = made(master, login, userId=ann)
    reply = master.post("/api/v1/auth/logout", token=token)
    assert reply.status == 400 and "det token revoke" in reply.json["error"]["error"]
    assert master.post("/api/v1/auth/logout?everywhere=true", token=login).status == 200
    assert not works(master, login) and works(master, token)
    login = token_of(master, "surviving", PASSWORD)
    assert master.post(f"/api/v1/users/{ann}/password", "Another-Passw0rd", token=login).status == 200
    assert works(master, login) and works(master, token)


def test_a_token_does_not_change_its_users_password_nor_make_a_token(master):
    ann = new_user(master, "careful", PASSWORD)
    _, token = made(master, token_of(master, "careful", PASSWORD), userId=ann)
    for asked in (master.patch(f"/api/v1/users/{ann}", {"password": "Another-Passw0rd"}, token=token),
                  master.post(f"/api/v1/users/{ann}/password", "Another-Passw0rd", token=token)):
        assert asked.status == 403 and "log in again" in asked.json["error"]["error"], asked
    reply = create(master, token, userId=ann, lifespan="720h")
    assert reply.status == 403 and "not for access tokens" in reply.json["error"]["error"], reply
    assert token_of(master, "careful", PASSWORD)


# ---- scopes (tests/attack/test_credentials.py tries every route with each of them) --------------------------------------

def test_a_token_does_what_its_scope_says(master):
    _, read = made(master, scope="TOKEN_SCOPE_READ")
    _, submit = made(master, scope="TOKEN_SCOPE_SUBMIT")
    x = master.create(activate=False)
    config = {"config": json.dumps(master.experiment_config()), "activate": False}
    assert master.get(f"/api/v1/experiments/{x}", token=read).status == 200
    reply = master.post("/api/v1/experiments", config, token=read)
    assert reply.status == 403 and "needs an access token with the scope submit" in reply.json["error"]["error"], reply
    assert master.post("/api/v1/experiments", config, token=submit).status == 200
    reply = master.patch(f"/api/v1/experiments/{x}", {"name": "other"}, token=submit)
    assert reply.status == 403 and "the scope all" in reply.json["error"]["error"] and "has the scope submit" in reply.json["error"]["error"]
    assert master.post(f"/api/v1/experiments/{x}/kill", token=read).status == 403
    assert master.post(f"/api/v1/experiments/{x}/kill", token=submit).status == 200


def test_an_admins_token_has_an_admins_rights_within_its_scope(master):
    admin = admin_token(master)
    me = user_id(master, "admin")
    _, everything = made(master, admin, userId=me)
    _, read = made(master, admin, userId=me, scope="TOKEN_SCOPE_READ")
    determined = user_id(master)
    assert master.patch(f"/api/v1/users/{determined}", {"displayName": "D."}, token=everything).status == 200
    assert "access_token=" in wait_for("the line in the log", lambda: next((line for line in master.master_log().splitlines()
                                                                          if "route=PatchUser" in line and "access_token" in line), None))
    assert master.patch(f"/api/v1/users/{determined}", {"displayName": "E."}, token=read).status == 403
    assert user(master, determined)["displayName"] == "D."
    assert master.patch(f"/api/v1/users/{determined}", {"displayName": ""}, token=admin).status == 200


# ---- with det -----------------------------------------------------------------------------------------------------------

def test_det_makes_uses_and_revokes_tokens(master, tmp_path):
    done = run_det(master, "token", "create", "--scope", "read", "-d", "for dashboards", "-e", "3", "--json")
    assert done.returncode == 0, done
    token, number = json.loads(done.stdout)["token"], json.loads(done.stdout)["tokenId"]
    rows = run_det(master, "token", "list").stdout.splitlines()
    assert rows[0].rstrip().endswith("Scope") and any("for dashboards" in row and row.rstrip().endswith("read") for row in rows), rows
    by_token = {name: value for name, value in environment(master).items() if name != "DET_PASS"} | {
        "DET_USER_TOKEN": token, "DET_DEBUG_CONFIG_PATH": str(tmp_path / "nobody")}
    assert "determined" in subprocess.run([BUILD / "det", "user", "whoami"], env=by_token, capture_output=True, text=True, check=True).stdout
    done = subprocess.run([BUILD / "det", "user", "edit", "determined", "--display-name", "x"], env=by_token, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "needs an access token with the scope all" in done.stderr, done
    done = run_det(master, "token", "login", "-", stdin=token + "\n", DET_DEBUG_CONFIG_PATH=tmp_path)
    assert done.stdout.endswith("Authenticated as determined.\n"), done
    assert run_det(master, "token", "revoke", number).returncode == 0
    assert "is revoked" in run_det(master, "token", "edit", number, "-d", "x").stderr
    assert not works(master, token)
