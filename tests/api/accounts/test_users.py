"""Users: lists, names, passwords, many at once, the last admin, two admins at work; logins and where they end."""
import json
import subprocess

import pytest
from support.attackers import admin_token, all_at_once, in_store, new_user, token_of, user
from support.cluster import BUILD, PASSWORD
from support.det import environment, run_det

NEW = "Another-Passw0rd"


def patch(cluster, user_id, body, token=None):
    return cluster.patch(f"/api/v1/users/{user_id}", body, token=token or admin_token(cluster))


def says(reply):
    return reply.json["error"]["error"]


def works(cluster, token):
    return cluster.get("/api/v1/me", token=token).status == 200


# ---- lists --------------------------------------------------------------------------------------------------------------

def test_users_are_listed_with_filters_orders_and_pages(new_cluster):
    cluster = new_cluster()
    cluster.start_master()
    for name, fields in (("carla", {"displayName": "Zoe"}), ("berta", {"admin": True, "displayName": "Anna"}), ("dora", {"active": False})):
        new_user(cluster, name, PASSWORD, **fields)
    cluster.login("determined")

    def names(query):
        reply = cluster.get(f"/api/v1/users{query}")
        assert reply.status == 200, reply
        return [u["username"] for u in reply.json["users"]]

    assert names("") == ["admin", "determined", "carla", "berta", "dora"]
    assert names("?sortBy=SORT_BY_USER_NAME&orderBy=ORDER_BY_DESC") == ["dora", "determined", "carla", "berta", "admin"]
    assert names("?sortBy=SORT_BY_NAME") == ["berta", "carla", "admin", "determined", "dora"]
    assert names("?sortBy=SORT_BY_DISPLAY_NAME")[:2] == ["berta", "carla"]
    assert names("?active=false") == ["dora"] and names("?admin=true") == ["admin", "berta"]
    assert names("?name=ZO") == ["carla"] and names("?name=ta") == ["berta"]
    assert names("?offset=1&limit=2") == ["determined", "carla"] and names("?offset=-1") == ["dora"]
    page = cluster.get("/api/v1/users?offset=1&limit=2").json["pagination"]
    assert (page["total"], page["startIndex"], page["endIndex"]) == (5, 1, 3)
    assert cluster.get("/api/v1/users?offset=9").status == 400 and cluster.get("/api/v1/users?limit=-1").status == 400
    assert cluster.get("/api/v1/users?sortBy=SORT_BY_NOTHING").status == 400


# ---- names --------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["x" * 128, "x" * 10000, "tab\tname", "nul\u0000", "\u001b[2J", "é", "team/ann", ".", ".."])
def test_a_name_that_is_none(master, name):
    before = len(master.get("/api/v1/users").json["users"])
    admin = admin_token(master)
    is_shown = name in ("team/ann", ".", "..")  # a display name is in no path
    for body in [{"username": name}] + [{"username": "fine", "displayName": name}] * (not is_shown):
        reply = master.post("/api/v1/users", {"user": {"active": True, **body}}, token=admin)
        assert reply.status == 400, reply
    determined = master.get("/api/v1/users/determined/by-username").json["user"]["id"]
    for field in ["username"] + ["displayName"] * (not is_shown):
        assert patch(master, determined, {field: name}).status == 400
    assert len(master.get("/api/v1/users").json["users"]) == before


def test_a_user_whose_name_has_a_slash_keeps_it(new_cluster):
    """Release 0.38.1 takes such names."""
    cluster = new_cluster()
    cluster.start_master()
    ann = new_user(cluster, "ann", PASSWORD)
    cluster.stop_master()
    in_store(cluster, f"UPDATE users SET username = 'team/ann' WHERE id = {ann}")
    cluster.start_master()
    token = token_of(cluster, "Team/Ann", PASSWORD)
    assert patch(cluster, ann, {"displayName": "Ann"}, token).json["user"]["username"] == "team/ann"
    assert patch(cluster, ann, {"username": "team/anna"}).status == 400
    assert patch(cluster, ann, {"username": "anna"}).status == 200


@pytest.mark.parametrize("name, path", [("ann@example.org", "ann@example.org"), ("a b", "a%20b"), ("50%", "50%25"), ("a:b", "a:b"), ("...", "..."),
                                        ("x" * 127, "x" * 127)])
def test_names_that_release_0_38_1_takes_are_found_by_name(master, name, path):
    made = new_user(master, name, PASSWORD)
    reply = master.get(f"/api/v1/users/{path}/by-username")
    assert reply.status == 200 and reply.json["user"]["id"] == made, reply
    assert works(master, token_of(master, name, PASSWORD))


# ---- passwords ----------------------------------------------------------------------------------------------------------

def test_a_password_is_set_by_its_own_route(master):
    ann = new_user(master, "ann", PASSWORD)
    mine, other = token_of(master, "ann", PASSWORD), token_of(master, "ann", PASSWORD)
    reply = master.post(f"/api/v1/users/{ann}/password", NEW, token=mine)
    assert reply.status == 200 and reply.json["user"]["username"] == "ann", reply
    assert works(master, mine) and not works(master, other)
    assert works(master, token_of(master, "ann", NEW))
    # an admin sets another user's password, who then has to log in again
    assert master.post(f"/api/v1/users/{ann}/password", PASSWORD, token=admin_token(master)).status == 200
    assert not works(master, mine) and works(master, token_of(master, "ann", PASSWORD))
    assert master.post("/api/v1/users/999999/password", NEW, token=admin_token(master)).status == 404


@pytest.mark.parametrize("password, text", [("", "must not be empty"), ("short", "8 or more"), ("Passworded", "user's name"), ("x" * 1025, "at most 1024"),
                                            ({"password": NEW}, "expected a string")])
def test_a_password_that_is_none(master, password, text):
    if master.get("/api/v1/users/passworded/by-username").status == 404:
        new_user(master, "passworded", PASSWORD)
    who = master.get("/api/v1/users/passworded/by-username").json["user"]["id"]
    reply = master.post(f"/api/v1/users/{who}/password", password, token=admin_token(master))
    assert reply.status == 400 and text in says(reply), reply
    assert works(master, token_of(master, "passworded", PASSWORD))


def test_the_least_length_of_passwords_is_configured(new_cluster):
    cluster = new_cluster(password="Fifteen-Chars-1")
    cluster.config["security"]["password_min_length"] = 14
    cluster.start_master()
    ann = new_user(cluster, "ann", None)
    admin = admin_token(cluster)
    assert cluster.get("/api/v1/master", token=None).json["passwordMinLength"] == 14
    reply = cluster.post(f"/api/v1/users/{ann}/password", "Thirteen-Cs-1", token=admin)
    assert reply.status == 400 and "13 characters, it must have 14 or more" in says(reply), reply
    assert cluster.post(f"/api/v1/users/{ann}/password", "Fourteen-Chs-1", token=admin).status == 200
    done = run_det(cluster, "user", "change-password", "ann", user="admin", stdin="Thirteen-Cs-1\n" * 2)
    assert done.returncode == 1 and "this master asks for 14 or more" in done.stderr, done
    assert run_det(cluster, "user", "change-password", "ann", user="admin", stdin="Fourteen-Chs-2\n" * 2).returncode == 0
    assert works(cluster, token_of(cluster, "ann", "Fourteen-Chs-2"))


# ---- many at once -------------------------------------------------------------------------------------------------------

def test_many_users_are_deactivated_and_activated_at_once(new_cluster):
    cluster = new_cluster()
    cluster.start_master()
    ids = [new_user(cluster, f"student{n}", PASSWORD) for n in range(3)]
    tokens = [token_of(cluster, f"student{n}", PASSWORD) for n in range(3)]
    admin = admin_token(cluster)
    me = cluster.get("/api/v1/me", token=admin).json["user"]["id"]
    reply = cluster.patch("/api/v1/users", {"userIds": [*ids[:2], 999999, me], "activate": False}, token=admin)
    assert reply.status == 200, reply
    results = {r["id"]: r["error"] for r in reply.json["results"]}
    assert results[ids[0]] == results[ids[1]] == "" and "not found" in results[999999] and "your own account" in results[me]
    assert [cluster.get("/api/v1/me", token=t).status for t in tokens] == [401, 401, 200]
    assert [user(cluster, i)["active"] for i in ids] == [False, False, True] and works(cluster, admin)
    cluster.stop_master()
    cluster.start_master()
    assert [works(cluster, t) for t in tokens] == [False, False, True]
    admin = admin_token(cluster)
    reply = cluster.patch("/api/v1/users", {"activate": True, "filters": {"name": "STUDENT"}}, token=admin)
    assert sorted(r["id"] for r in reply.json["results"]) == sorted(ids) and not any(r["error"] for r in reply.json["results"])
    assert [user(cluster, i)["active"] for i in ids] == [True, True, True]
    assert not works(cluster, tokens[0]) and works(cluster, token_of(cluster, "student0", PASSWORD))


@pytest.mark.parametrize("body, text", [({"activate": True}, "missing"), ({"userIds": [1], "filters": {"name": "x"}}, "both"),
                                        ({"userIds": ["x"]}, "userIds"), ({"userIds": list(range(10001))}, "10001")])
def test_a_request_for_many_users_that_is_wrong(master, body, text):
    reply = master.patch("/api/v1/users", body, token=admin_token(master))
    assert reply.status == 400 and text in says(reply), reply


# ---- the last admin -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("change", [{"admin": False}, {"active": False}, {"remote": True}])
def test_the_last_admin_stays(new_cluster, change):
    cluster = new_cluster()
    cluster.start_master()
    admin = admin_token(cluster)
    me = cluster.get("/api/v1/me", token=admin).json["user"]["id"]
    new_user(cluster, "nopass", None, admin=True)  # is an admin, and cannot log in
    reply = patch(cluster, me, change)
    assert reply.status == 400 and "the only admin who can log in" in says(reply), reply
    assert works(cluster, admin) and user(cluster, me)["admin"]
    eve = new_user(cluster, "eve", PASSWORD, admin=True)
    assert patch(cluster, me, change).status == 200
    eves = token_of(cluster, "eve", PASSWORD)
    assert patch(cluster, eve, change, eves).status == 400
    results = cluster.patch("/api/v1/users", {"userIds": [eve], "activate": False}, token=eves).json["results"]
    assert results[0]["error"] and works(cluster, eves)


def test_two_admins_take_each_others_rights_at_once(new_cluster):
    """However the requests meet, one of the two stays."""
    cluster = new_cluster()
    cluster.start_master()
    admin = admin_token(cluster)
    me = cluster.get("/api/v1/me", token=admin).json["user"]["id"]
    for attempt in range(5):
        eve = new_user(cluster, f"eve{attempt}", PASSWORD, admin=True)
        eves = token_of(cluster, f"eve{attempt}", PASSWORD)
        replies = all_at_once([lambda eve=eve: patch(cluster, eve, {"admin": False}, admin), lambda eves=eves: patch(cluster, me, {"admin": False}, eves)])
        assert sorted(r.status for r in replies) in ([200, 400], [200, 403]), replies
        if replies[0].status != 200:
            assert patch(cluster, me, {"admin": True}, eves).status == 200
            assert patch(cluster, eve, {"admin": False}, eves).status == 200
        assert [u["username"] for u in cluster.get("/api/v1/users?admin=true", token=admin).json["users"]] == ["admin"]


def test_the_second_of_two_admins_who_change_a_user_is_told(master):
    bob = new_user(master, "bob", PASSWORD)
    seen = user(master, bob)["modifiedAt"]
    assert patch(master, bob, {"displayName": "Bob", "ifModifiedAt": seen}).status == 200
    reply = patch(master, bob, {"displayName": "Robert", "admin": True, "ifModifiedAt": seen})
    assert reply.status == 409 and "since you read it" in says(reply), reply
    now = user(master, bob)
    assert now["displayName"] == "Bob" and not now["admin"]
    assert patch(master, bob, {"displayName": "Robert", "ifModifiedAt": now["modifiedAt"]}).status == 200
    assert patch(master, bob, {"displayName": "Rob"}).status == 200
    assert patch(master, bob, {"displayName": "x", "ifModifiedAt": "yesterday"}).status == 400


# ---- logins -------------------------------------------------------------------------------------------------------------

def test_a_login_lasts_as_long_as_the_configuration_says(new_cluster):
    cluster = new_cluster()
    cluster.config["security"]["session_lifetime_hours"] = 2
    cluster.start_master()
    cookie = cluster.login("determined", keep=False).headers["Set-Cookie"]
    assert "Max-Age=7200;" in cookie, cookie


def test_a_user_logs_out_everywhere(master, tmp_path):
    new_user(master, "carol", PASSWORD)
    new_user(master, "dave", PASSWORD)
    tokens, daves = [token_of(master, "carol", PASSWORD) for _ in range(3)], token_of(master, "dave", PASSWORD)
    assert master.post("/api/v1/auth/logout?everywhere=true", token=tokens[0]).status == 200
    assert not any(works(master, t) for t in tokens) and works(master, daves)
    token = token_of(master, "carol", PASSWORD)
    env = {"PATH": environment(master)["PATH"], "HOME": str(tmp_path), "DET_MASTER": master.url}

    def det(*words, said=""):
        return subprocess.run([BUILD / "det", *words], env=env, input=said, capture_output=True, text=True, check=True).stdout

    det("user", "login", "carol", said=PASSWORD + "\n")
    kept = json.loads((tmp_path / ".config/determined/auth.json").read_text())["masters"][master.url]["tokens"]["carol"]
    assert works(master, kept)
    det("user", "logout", "--everywhere")
    assert not works(master, kept) and not works(master, token)
    assert "carol" not in (tmp_path / ".config/determined/auth.json").read_text()


# ---- settings of the web pages ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("setting, text", [({"key": ""}, "missing"), ({"key": "x" * 1025}, "1024"), ({"key": "k", "storagePath": "x" * 1025}, "1024"),
                                           ({"key": "k", "value": "x" * 262145}, "262144")])
def test_a_setting_that_is_too_long(master, setting, text):
    before = master.get("/api/v1/users/setting").json["settings"]
    reply = master.post("/api/v1/users/setting", {"settings": [{"key": "fine", "value": "1"}, setting]})
    assert reply.status == 400 and text in says(reply), reply
    assert master.get("/api/v1/users/setting").json["settings"] == before


def test_a_user_has_a_thousand_settings_at_most(master):
    token = token_of(master, "determined", PASSWORD)
    assert master.post("/api/v1/users/setting", {"settings": [{"key": f"k{n}"} for n in range(1000)]}, token=token).status == 200
    reply = master.post("/api/v1/users/setting", {"settings": [{"key": "one-more"}]}, token=token)
    assert reply.status == 400 and "1000 settings" in says(reply), reply
    assert master.post("/api/v1/users/setting", {"settings": [{"key": "k1", "value": "changed"}]}, token=token).status == 200
    assert len(master.get("/api/v1/users/setting").json["settings"]) == 1000
    assert master.post("/api/v1/users/setting/reset", token=token).status == 200
    assert master.get("/api/v1/users/setting").json["settings"] == []
