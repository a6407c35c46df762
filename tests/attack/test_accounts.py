"""Tests what users may try with their own account, or with one that they had (docs/security.md, Accounts and logins)."""
import json
import os
import subprocess
import threading

import pytest
from support.attackers import admin_token, all_at_once, count_in_store, in_store, new_user, token_of, user
from support.cluster import BUILD, TIMEOUT_S, client_hash, wait_for

FIRST, SECOND = "First-Passw0rd", "Second-Passw0rd"


def new_password(cluster, user_id, password, token):
    return cluster.patch(f"/api/v1/users/{user_id}", {"password": client_hash(password), "isHashed": True}, token=token)


def works(cluster, token):
    return cluster.get("/api/v1/me", token=token).status == 200


# ---- changes at the same time ----

def test_a_password_of_ones_own_undoes_a_deactivation(master):
    """Many changes of the password, each of which takes some time, are sent while an admin takes rights and the account away."""
    admin = admin_token(master)
    for attempt in range(5):
        ann = new_user(master, f"ann{attempt}", FIRST, admin=True)
        tokens = [token_of(master, f"ann{attempt}", FIRST) for _ in range(3)]
        changes = [lambda token=token: new_password(master, ann, SECOND, token) for token in tokens]
        demotions = [lambda: master.patch(f"/api/v1/users/{ann}", {"admin": False}, token=admin),
                     lambda: master.patch(f"/api/v1/users/{ann}", {"active": False}, token=admin)]
        replies = all_at_once(changes + demotions + changes)
        assert [r.status for r in replies[3:5]] == [200, 200]
        now = user(master, ann)
        assert not now["active"] and not now["admin"], now
        assert not any(works(master, token) for token in tokens)


def test_a_demoted_admin_makes_herself_admin_again_with_what_is_under_way(master):
    """Each change of a password waits in a queue. The rights of its sender are checked again when it is stored."""
    admin = admin_token(master)
    for attempt in range(5):
        eve = new_user(master, f"eve{attempt}", FIRST, admin=True)
        mallory = new_user(master, f"mallory{attempt}", None)
        token = token_of(master, f"eve{attempt}", FIRST)

        def promote(whom, token=token):
            return master.patch(f"/api/v1/users/{whom}", {"admin": True, "password": client_hash(SECOND), "isHashed": True}, token=token)

        promotions = [lambda eve=eve: promote(eve) for _ in range(3)]
        replies = all_at_once([*promotions, lambda mallory=mallory: promote(mallory),
                               lambda eve=eve: master.patch(f"/api/v1/users/{eve}", {"admin": False}, token=admin), *promotions])
        assert replies[4].status == 200
        assert not user(master, eve)["admin"], replies
        # Changes that came too late were refused, and have changed nothing.
        assert {r.status for r in replies} <= {200, 401, 403}
        assert promote(mallory).status == 403


def test_changes_of_different_columns_keep_each_other(master):
    """Two admins change different fields of an account again and again. Nothing that was acknowledged may be undone."""
    ann = new_user(master, "busy", FIRST)
    admin = admin_token(master)
    last = {}

    def change(name, values):
        for value in values:
            assert master.patch(f"/api/v1/users/{ann}", {name: value}, token=admin).status == 200
            last[name] = value

    def links():
        for uid in range(5000, 5030):
            group = {"agentUid": uid, "agentGid": uid, "agentUser": f"u{uid}", "agentGroup": f"g{uid}"}
            assert master.patch(f"/api/v1/users/{ann}", {"agentUserGroup": group}, token=admin).status == 200
            last["agentUserGroup"] = group

    threads = [threading.Thread(target=change, args=("displayName", [f"Ann {i}" for i in range(30)])),
               threading.Thread(target=change, args=("admin", [i % 2 == 0 for i in range(30)])),
               threading.Thread(target=change, args=("username", [f"busy{i}" for i in range(30)])),
               threading.Thread(target=links)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    now = user(master, ann)
    assert {name: now[name] for name in last} == last and len(last) == 4


# ---- sessions that must have ended ----

def test_a_deactivated_users_sessions_come_alive_again(new_cluster):
    cluster = new_cluster()
    cluster.start_master()
    ann = new_user(cluster, "ann", FIRST)
    tokens = [token_of(cluster, "ann", FIRST) for _ in range(2)]
    assert all(works(cluster, t) for t in tokens)
    admin = admin_token(cluster)
    for active in (False, True):
        assert cluster.patch(f"/api/v1/users/{ann}", {"active": active}, token=admin).status == 200
        assert [cluster.get("/api/v1/me", token=t).status for t in tokens] == [401, 401]
    cluster.stop_master()
    cluster.start_master()
    assert not any(works(cluster, t) for t in tokens)
    assert works(cluster, token_of(cluster, "ann", FIRST))


def test_a_login_that_is_under_way_survives_the_deactivation(new_cluster):
    master = new_cluster()
    master.start_master()
    admin = admin_token(master)
    for attempt in range(5):
        name = f"hasty{attempt}"
        ann = new_user(master, name, FIRST)
        replies = all_at_once([*[lambda name=name: master.login(name, FIRST, keep=False)] * 3,
                               lambda ann=ann: master.patch(f"/api/v1/users/{ann}", {"active": False}, token=admin),
                               *[lambda name=name: master.login(name, FIRST, keep=False)] * 3])
        assert replies.pop(3).status == 200
        tokens = [r.json["token"] for r in replies if r.status == 200]
        assert master.patch(f"/api/v1/users/{ann}", {"active": True}, token=admin).status == 200
        assert not any(works(master, t) for t in tokens)


def test_a_login_with_the_old_password_survives_its_change(new_cluster):
    master = new_cluster()
    master.start_master()
    ann = new_user(master, "changing", FIRST)
    old, new = FIRST, SECOND
    for _ in range(5):
        mine = token_of(master, "changing", old)
        replies = all_at_once([*[lambda old=old: master.login("changing", old, keep=False)] * 3,
                               lambda new=new, mine=mine: new_password(master, ann, new, mine),
                               *[lambda old=old: master.login("changing", old, keep=False)] * 2])
        assert replies.pop(3).status == 200
        assert not any(works(master, r.json["token"]) for r in replies if r.status == 200)
        assert works(master, mine), "the session that changed it goes on"
        old, new = new, old


KEEPS_TOKENS = """
import json, os, pathlib, time
names = ("DET_USER_TOKEN", "DET_SESSION_TOKEN")
part = pathlib.Path(os.environ["KEPT"] + ".part")
part.write_text(json.dumps([os.environ[n] for n in names]))
part.rename(os.environ["KEPT"])
time.sleep(600)
"""


def test_a_deactivated_users_tasks_go_on_speaking_for_her(new_cluster):
    cluster = new_cluster()
    cluster.start_master()
    cluster.start_agent()
    ann = new_user(cluster, "ann", FIRST)
    admin = admin_token(cluster)
    cluster.token = token_of(cluster, "ann", FIRST)
    kept = cluster.storage / "tokens.json"
    x = cluster.create(entrypoint=["python3", "-c", KEEPS_TOKENS], environment={"environment_variables": [f"KEPT={kept}"]})
    wait_for("the task's tokens", kept.exists)
    tokens = json.loads(kept.read_text())
    assert [cluster.get("/api/v1/me", token=t).status for t in tokens] == [200, 200]
    for active in (False, True):
        assert cluster.patch(f"/api/v1/users/{ann}", {"active": active}, token=admin).status == 200
        assert [cluster.get("/api/v1/me", token=t).status for t in tokens] == [401, 401]
    assert cluster.post(f"/api/v1/experiments/{x}/kill", token=admin).status == 200


def test_a_task_that_starts_for_a_deactivated_user_gets_a_session(new_cluster):
    cluster = new_cluster()
    cluster.start_master()
    ann = new_user(cluster, "ann", FIRST)
    admin = admin_token(cluster)
    cluster.token = token_of(cluster, "ann", FIRST)
    x = cluster.create()
    [trial] = wait_for("the trial", lambda: cluster.trial_ids(x))
    assert cluster.patch(f"/api/v1/users/{ann}", {"active": False}, token=admin).status == 200
    cluster.token = admin
    cluster.start_agent()
    wait_for("the trial's log to say why it does not start", lambda: "user 'ann'" in cluster.trial_log(trial))
    assert cluster.post(f"/api/v1/experiments/{x}/kill").status == 200
    cluster.wait_experiment(x)
    cluster.stop_master()
    assert count_in_store(cluster, f"sessions WHERE user_id = {ann}") == 0


# ---- passwords ----

def test_a_token_that_somebody_found_changes_the_password(new_cluster):
    """A session that is some time old is not enough to change the password: the old password must be given again."""
    cluster = new_cluster()
    cluster.start_master()
    ann, bob = new_user(cluster, "ann", FIRST), new_user(cluster, "bob", FIRST, admin=True)
    found, found_of_admin = token_of(cluster, "ann", FIRST), token_of(cluster, "bob", FIRST)
    cluster.stop_master()
    in_store(cluster, "UPDATE sessions SET created_us = created_us - 600000000")
    cluster.start_master()
    assert works(cluster, found) and works(cluster, found_of_admin)
    for who, token in ((ann, found), (bob, found_of_admin)):
        reply = new_password(cluster, who, SECOND, token)
        assert reply.status == 403 and "log in again" in reply.json["error"]["error"], reply
        assert cluster.patch(f"/api/v1/users/{who}", {"displayName": f"Nr. {who}"}, token=token).status == 200
    fresh = token_of(cluster, "ann", FIRST)
    assert new_password(cluster, ann, SECOND, fresh).status == 200
    assert not works(cluster, found)
    # An admin can set a new password for users who have forgotten theirs.
    assert new_password(cluster, ann, FIRST, found_of_admin).status == 200
    assert not works(cluster, fresh) and works(cluster, token_of(cluster, "ann", FIRST))


def test_det_asks_for_the_present_password_when_the_login_is_old(new_cluster, tmp_path):
    cluster = new_cluster()
    cluster.start_master()
    new_user(cluster, "ann", FIRST)

    def det(*words, said=""):
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DET_MASTER": cluster.url}
        return subprocess.run([BUILD / "det", *words], env=environment, input=said, capture_output=True, text=True, timeout=TIMEOUT_S)

    assert det("user", "login", "ann", said=f"{FIRST}\n").returncode == 0
    cluster.stop_master()
    in_store(cluster, "UPDATE sessions SET created_us = created_us - 600000000")
    cluster.start_master()
    done = det("user", "change-password", said=f"{SECOND}\n{SECOND}\n")
    assert done.returncode == 1 and "log in again" in done.stderr, done
    done = det("user", "change-password", said=f"{SECOND}\n{SECOND}\nwrong\n")
    assert done.returncode == 1 and "wrong user name or password" in done.stderr, done
    done = det("user", "change-password", said=f"{SECOND}\n{SECOND}\n{FIRST}\n")
    assert done.returncode == 0 and "Present password of user 'ann'" in done.stderr, done
    assert works(cluster, token_of(cluster, "ann", SECOND))
    assert det("user", "whoami").stdout == "You are logged in as user 'ann'\n"
    done = det("user", "change-password", said="Ann45678\nAnn45678\n")
    assert done.returncode == 0, done
    done = det("-u", "admin", "user", "create", "Weakling1", "--password", "Weakling1")
    assert done.returncode == 1 and "must not be the user's name" in done.stderr, done


@pytest.mark.parametrize("password, hashed, says", [
    ("Sh0rt-1", False, "8 or more"),
    ("Weakling", False, "user's name"),
    ("a", True, "hexadecimal"),
    ("Long-Enough-1", True, "hexadecimal"),
    (client_hash("weakling"), True, "user's name"),
])
def test_a_weak_password_is_set(master, password, hashed, says):
    admin = admin_token(master)
    body = {"user": {"username": "weakling", "active": True}, "password": password, "isHashed": hashed}
    reply = master.post("/api/v1/users", body, token=admin)
    assert reply.status == 400 and says in reply.json["error"]["error"], reply
    if not any(u["username"] == "weaklink" for u in master.get("/api/v1/users", token=admin).json["users"]):
        new_user(master, "weaklink", FIRST)
    weaklink = master.get("/api/v1/users/weaklink/by-username", token=admin).json["user"]["id"]
    body = {"password": password, "isHashed": hashed, "username": "weakling"}
    reply = master.patch(f"/api/v1/users/{weaklink}", body, token=admin)
    assert reply.status == 400 and says in reply.json["error"]["error"], reply
    assert works(master, token_of(master, "weaklink", FIRST))


def test_an_account_without_a_password_is_entered_with_none(master):
    new_user(master, "nopass", None)
    for password in ("", "x"):
        assert master.login("nopass", password, keep=False).status == 401
    assert master.post("/api/v1/auth/login", {"username": "nopass"}, token=None).status == 401


def test_a_first_password_that_is_too_short_starts_no_master(new_cluster):
    cluster = new_cluster(password="short")
    cluster.start_master(wait=False)
    assert wait_for("the end of the master", lambda: cluster.master.poll()) == 1
    assert "security.initial_user_password" in cluster.master_log() and "8 or more" in cluster.master_log()
    cluster.master = None


# ---- names ----

@pytest.mark.parametrize("name", ["\u0430dmin", "admin\u200b", "admin\u00a0", "\u202enimda", "\uff41dmin", "ad\u00admin", "admin\n", "a\u0301dmin",
                                  "admin\x7f", "\ufeffadmin", "", "  "])
def test_a_name_that_looks_like_another_ones(master, name):
    admin = admin_token(master)
    reply = master.post("/api/v1/users", {"user": {"username": name, "active": True}}, token=admin)
    assert reply.status == 400, reply
    determined = master.get("/api/v1/users/determined/by-username", token=admin).json["user"]["id"]
    assert master.patch(f"/api/v1/users/{determined}", {"username": name}, token=admin).status == 400
    if name.strip():
        mine = token_of(master, "determined", master.password)
        assert master.patch(f"/api/v1/users/{determined}", {"displayName": name}, token=mine).status == 400


@pytest.mark.parametrize("name", ["Admin", "ADMIN", " admin", "admin ", "aDmIn  "])
def test_a_name_is_taken_again_in_other_letters(master, name):
    admin = admin_token(master)
    assert master.post("/api/v1/users", {"user": {"username": name, "active": True}}, token=admin).status == 409
    determined = master.get("/api/v1/users/determined/by-username", token=admin).json["user"]["id"]
    assert master.patch(f"/api/v1/users/{determined}", {"username": name}, token=admin).status == 409
    # Nor may a user appear in lists under the name of another one.
    mine = token_of(master, "determined", master.password)
    reply = master.patch(f"/api/v1/users/{determined}", {"displayName": name}, token=mine)
    assert reply.status == 400 and "taken" in reply.json["error"]["error"], reply


def test_names_are_kept_in_lower_case_as_in_0_38_1(master):
    new_user(master, " Zoe.Miller ", FIRST)
    assert works(master, token_of(master, "ZOE.MILLER", FIRST))
    names = [u["username"] for u in master.get("/api/v1/users", token=admin_token(master)).json["users"]]
    assert "zoe.miller" in names


# ---- accounts of the agents ----

LINK = {"agentUid": 4242, "agentGid": 4242, "agentUser": "linked", "agentGroup": "linked"}


@pytest.mark.parametrize("change", [{"agentUid": -1}, {"agentUid": 0}, {"agentGid": 0}, {"agentGid": -1}, {"agentUid": -2147483648},
                                    {"agentUid": 4294967295}, {"agentGid": 4294967295}, {"agentUid": 2147483648}])
def test_an_account_is_linked_to_root_or_to_a_sentinel(master, change):
    """To the kernel -1 and 4294967295 mean "unchanged", which for an agent that runs as root means root."""
    admin = admin_token(master)
    link = {**LINK, **change}
    assert master.post("/api/v1/users", {"user": {"username": "rooted", "active": True, "agentUserGroup": link}}, token=admin).status == 400
    determined = master.get("/api/v1/users/determined/by-username", token=admin).json["user"]["id"]
    assert master.patch(f"/api/v1/users/{determined}", {"agentUserGroup": link}, token=admin).status == 400
    assert user(master, determined)["agentUserGroup"] is None
    assert master.post("/api/v1/workspaces", {"name": "rooted", "agentUserGroup": change}, token=admin).status == 400


@pytest.mark.parametrize("name", ["a:0:0", "../root", "a\nroot", "x" * 10000])
def test_an_account_is_linked_by_a_name_that_is_none(master, name):
    admin = admin_token(master)
    determined = master.get("/api/v1/users/determined/by-username", token=admin).json["user"]["id"]
    for field in ("agentUser", "agentGroup"):
        reply = master.patch(f"/api/v1/users/{determined}", {"agentUserGroup": {**LINK, field: name}}, token=admin)
        assert reply.status == 400 and field in reply.json["error"]["error"], reply
        assert master.post("/api/v1/workspaces", {"name": "odd", "agentUserGroup": {field: name}}, token=admin).status == 400
    assert user(master, determined)["agentUserGroup"] is None


@pytest.mark.parametrize("missing", sorted(LINK))
def test_half_a_link_is_refused(master, missing):
    """Release 0.38.1 refuses this, too. A missing number was once read as 0, which is root."""
    link = {name: value for name, value in LINK.items() if name != missing}
    reply = master.post("/api/v1/users", {"user": {"username": "half", "active": True, "agentUserGroup": link}}, token=admin_token(master))
    assert reply.status == 400 and missing in reply.json["error"]["error"], reply


def test_root_is_linked_where_the_configuration_says_so(new_cluster):
    cluster = new_cluster()
    cluster.config["security"]["allow_root_links"] = True
    cluster.start_master()
    admin = admin_token(cluster)
    link = {"agentUid": 0, "agentGid": 0, "agentUser": "root", "agentGroup": "root"}
    made = cluster.post("/api/v1/users", {"user": {"username": "rooted", "active": True, "agentUserGroup": link}}, token=admin)
    assert made.status == 200 and made.json["user"]["agentUserGroup"] == link
    for bad in (-1, 4294967295):
        assert cluster.post("/api/v1/users", {"user": {"username": "r2", "active": True, "agentUserGroup": {**link, "agentUid": bad}}},
                            token=admin).status == 400
