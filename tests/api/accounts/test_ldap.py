"""Passwords that a directory checks (docs/ldap.md): against OpenLDAP's slapd, and against directories that misbehave."""
import itertools
import json
import os
import subprocess
import threading

import pytest
from support import directory
from support.certificates import Authority
from support.cluster import BUILD, ROOT, client_hash, error_of
from support.directory import (
    BIND_REQUEST,
    BOUND,
    PASSWORD,
    SEARCH_REQUEST,
    SEARCHED,
    SERVICE,
    SERVICE_PASSWORD,
    SUFFIX,
    TEMPLATE,
    Directory,
    Raw,
    Scripted,
    found,
    message,
    result,
)
from support.waiting import wait_for

pytestmark = pytest.mark.skipif(directory.missing() is not None, reason=str(directory.missing()))
HERE_ONLY = "the directory that checks this cluster's passwords cannot be asked now"


@pytest.fixture(scope="module")
def slapd(tmp_path_factory):
    with Directory(tmp_path_factory.mktemp("directory")) as d:
        yield d


def settings(d, **more):
    return {"enabled": True, "urls": [d.url], "ca_file": str(d.authority.cert), "auto_provision_users": True, **more}


def by_template(d, **more):
    return settings(d, user_dn=TEMPLATE, **more)


def by_search(d, **more):
    return settings(d, bind_dn=SERVICE, bind_password=SERVICE_PASSWORD, search_base=f"ou=people,{SUFFIX}", **more)


@pytest.fixture(scope="module")
def clusters(tmp_path_factory, slapd):
    """One master for each way of finding people."""
    from support.cluster import Cluster
    made = {}
    for way, config in (("template", by_template(slapd, groups_attribute="memberOf", admin_group="admins")),
                        ("search", by_search(slapd, group_search_base=f"ou=groups,{SUFFIX}", admin_group="admins"))):
        made[way] = Cluster(tmp_path_factory.mktemp(way)).__enter__()
        made[way].config |= {"ldap": config, "security": {**made[way].config.get("security", {}), "trusted_proxies": ["127.0.0.1"]}}
        made[way].start_master()
    yield made
    for c in made.values():
        c.__exit__()


@pytest.fixture(params=["template", "search"])
def platform(request, clusters):
    return clusters[request.param]


def cluster_with(new_cluster, ldap, **more):
    c = new_cluster()
    c.config.update(ldap=ldap, **more)
    c.start_master()
    return c


someone = itertools.count()


def from_elsewhere():
    """The headers of a trusted proxy: a browser that speaks https, and whose address has not failed yet."""
    n = next(someone)
    return {"X-Forwarded-For": f"198.18.{n // 256}.{n % 256}", "X-Forwarded-Proto": "https"}


def log_in(c, name, password=PASSWORD, **headers):
    if not headers and "security" in c.config and "trusted_proxies" in c.config["security"]:
        headers = from_elsewhere()
    return c.request("POST", "/api/v1/auth/login", {"username": name, "password": password, "isHashed": False}, token=None, headers=headers)


def names(c):
    return {u["username"] for u in c.get("/api/v1/users", token=c.admin_token()).json["users"]}


def refusal(reply, status):
    assert reply.status == status, (reply.status, reply.body)
    assert not reply.headers["Set-Cookie"]
    return error_of(reply, status)


def groups_of(c, user_id):
    found_groups = c.post("/api/v1/groups/search", {"userId": user_id, "limit": 100}, token=c.admin_token()).json["groups"]
    return sorted(g["group"]["name"] for g in found_groups)


# ---- logging in ----

def test_a_person_of_the_directory_logs_in_and_gets_an_account_without_a_password(platform):
    reply = log_in(platform, " Ada ")
    assert reply.status == 200 and "HttpOnly" in reply.headers["Set-Cookie"], reply.body
    user = platform.get("/api/v1/me", token=reply.json["token"]).json["user"]
    assert (user["username"], user["displayName"], user["remote"], user["admin"], user["active"]) == ("ada", "Ada Lovelace", True, False, True)
    assert log_in(platform, "ada").json["user"]["id"] == user["id"], "the second login has the same account"
    refused = platform.patch(f"/api/v1/users/{user['id']}", {"password": "A-new-passw0rd", "isHashed": False}, token=platform.admin_token())
    assert "no password can be set" in refusal(refused, 400)


def test_who_logs_in_is_named_in_the_audit_log(platform):
    assert log_in(platform, "barbara").status == 200
    text = platform.get("/api/v1/master/audit?limit=1000", token=platform.admin_token()).body.decode()
    assert '"directory"' in text and "POST /api/v1/auth/login" in text and '"barbara"' in text


def test_clients_are_told_that_passwords_go_plain(platform, cluster_without):
    assert platform.request("GET", "/info", token=None).json["plain_passwords"] is True
    assert "plain_passwords" not in cluster_without.request("GET", "/info", token=None).json


@pytest.fixture(scope="module")
def cluster_without(tmp_path_factory):
    from support.cluster import Cluster
    with Cluster(tmp_path_factory.mktemp("without")) as c:
        c.start_master()
        yield c


def test_groups_and_admins_follow_the_directory(platform):
    token = platform.admin_token()
    for name in ("vision", "speech", "robots"):
        made = platform.post("/api/v1/groups", {"name": name}, token=token)
        assert made.status == 200, made.body
        if name == "robots":
            robots = made.json["group"]["groupId"]
    grace = log_in(platform, "grace").json["user"]
    assert grace["admin"] is True and groups_of(platform, grace["id"]) == ["vision"]
    ada = log_in(platform, "ada").json["user"]
    assert ada["admin"] is False and groups_of(platform, ada["id"]) == ["speech", "vision"]
    assert platform.request("PUT", f"/api/v1/groups/{robots}", {"groupId": robots, "addUsers": [ada["id"]]}, token=token).status == 200
    assert platform.patch(f"/api/v1/users/{ada['id']}", {"admin": True}, token=token).status == 200
    ada = log_in(platform, "ada").json["user"]
    assert ada["admin"] is False and groups_of(platform, ada["id"]) == ["speech", "vision"], "the directory knows neither"


def test_an_admins_rights_of_the_directory_count_at_once(platform):
    token = log_in(platform, "grace").json["token"]
    assert platform.get("/api/v1/tokens", token=token).status == 200
    assert platform.post("/api/v1/users", {"user": {"username": f"made-by-{platform.port}", "active": True}}, token=token).status == 200


def test_start_tls(new_cluster, slapd):
    c = cluster_with(new_cluster, by_template(slapd) | {"urls": [slapd.plain_url], "start_tls": True})
    before = slapd.log().count("TLS established")
    assert log_in(c, "ada").status == 200
    assert slapd.log().count("TLS established") > before and "STARTTLS" in slapd.log()


def test_the_password_of_the_service_account_comes_from_a_file(new_cluster, slapd, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(SERVICE_PASSWORD + "\nsecond line\n")
    config = by_search(slapd, bind_password_file=str(secret))
    del config["bind_password"]
    assert log_in(cluster_with(new_cluster, config), "ada").status == 200


def test_one_person_by_several_names_is_one_account(new_cluster, slapd):
    c = cluster_with(new_cluster, by_search(slapd, search_filter="(|(uid={})(mail={}))", username_attribute="uid"))
    assert log_in(c, "ada.lovelace@example.com").json["user"]["username"] == "ada"
    assert log_in(c, "ada").json["user"]["username"] == "ada"
    assert HERE_ONLY in refusal(log_in(c, "shared@example.com"), 503)
    assert "finds several people" in c.master_log()


def test_groups_are_found_by_the_persons_user_name_whatever_was_typed(new_cluster, slapd):
    c = cluster_with(new_cluster, by_search(slapd, search_filter="(|(uid={})(mail={}))", username_attribute="uid", admin_group="admins",
                                            group_search_base=f"ou=groups,{SUFFIX}", group_search_filter=f"(member=uid={{}},ou=people,{SUFFIX})"))
    assert log_in(c, "grace.hopper@example.com").json["user"]["admin"] is True
    assert log_in(c, "ada.lovelace@example.com").json["user"]["admin"] is False


@pytest.mark.parametrize("way", ["template", "search"])
def test_an_admin_group_by_its_dn_is_that_group_only(new_cluster, slapd, way):
    config = by_template(slapd, groups_attribute="memberOf") if way == "template" else by_search(slapd, group_search_base=f"ou=groups,{SUFFIX}")
    c = cluster_with(new_cluster, config | {"admin_group": f"CN=Admins, OU=groups, {SUFFIX}"})
    assert log_in(c, "grace").json["user"]["admin"] is True
    assert log_in(c, "ada").json["user"]["admin"] is False
    c.stop_master()
    c.config["ldap"]["admin_group"] = f"cn=admins,ou=elsewhere,{SUFFIX}"
    c.start_master()
    assert log_in(c, "grace").json["user"]["admin"] is False


def test_groups_are_searched_for_after_the_password_only(clusters, slapd):
    def searches():
        return slapd.log().count(f'SRCH base="ou=groups,{SUFFIX}"')

    before = searches()
    assert log_in(clusters["search"], "ada", "wrong").status == 401
    assert searches() == before
    assert log_in(clusters["search"], "ada").status == 200
    assert searches() == before + 1


def test_without_provisioning_an_admin_makes_the_account(new_cluster, slapd):
    c = cluster_with(new_cluster, by_template(slapd) | {"auto_provision_users": False})
    assert refusal(log_in(c, "ada"), 403) == "user 'ada' has no account here: an admin makes one (det user create ada --remote)"
    assert c.post("/api/v1/users", {"user": {"username": "ada", "active": True, "remote": True}}, token=c.admin_token()).status == 200
    assert log_in(c, "ada").status == 200


# ---- the account on agents ----

IDS = {"agent_uid_attribute": "uidNumber", "agent_gid_attribute": "gidNumber"}


def link_of(c, name):
    user = next(u for u in c.get("/api/v1/users", token=c.admin_token()).json["users"] if u["username"] == name)
    link = user.get("agentUserGroup") or {}
    return tuple(link.get(k) for k in ("agentUid", "agentGid", "agentUser", "agentGroup")) if link else None


def link_by_hand(c, name, uid):
    user = next(u for u in c.get("/api/v1/users", token=c.admin_token()).json["users"] if u["username"] == name)
    link = {"agentUid": uid, "agentGid": uid, "agentUser": "byhand", "agentGroup": "byhand"}
    assert c.patch(f"/api/v1/users/{user['id']}", {"agentUserGroup": link}, token=c.admin_token()).status == 200


@pytest.mark.parametrize("way", ["template", "search"])
def test_ids_of_the_directory_are_the_account_on_agents(new_cluster, slapd, way):
    c = cluster_with(new_cluster, (by_template if way == "template" else by_search)(slapd, **IDS))
    assert log_in(c, "unix").status == 200
    assert link_of(c, "unix") == (2001, 2002, "unix", "unix"), "names that the directory does not say are the user's"
    assert log_in(c, "ada").status == 200
    assert link_of(c, "ada") is None, "the directory has no ids for this person"
    text = c.get("/api/v1/master/audit?limit=1000", token=c.admin_token()).body.decode()
    assert '\\"agent_uid\\":2001' in text


def test_the_directory_wins_over_what_an_admin_has_set_where_it_says_something(new_cluster, slapd):
    c = cluster_with(new_cluster, by_template(slapd, agent_user_name_attribute="gecos", agent_group_name_attribute="departmentNumber", **IDS))
    for name in ("unix", "ada"):
        assert log_in(c, name).status == 200
        link_by_hand(c, name, 3000)
        assert log_in(c, name).status == 200
    assert link_of(c, "unix") == (2001, 2002, "sailor", "crew")
    assert link_of(c, "ada") == (3000, 3000, "byhand", "byhand")


def test_ids_are_followed_without_provisioning_and_only_if_attributes_are_named(new_cluster, slapd):
    c = cluster_with(new_cluster, by_template(slapd) | {"auto_provision_users": False})
    assert c.post("/api/v1/users", {"user": {"username": "unix", "active": True, "remote": True}}, token=c.admin_token()).status == 200
    assert log_in(c, "unix").status == 200
    assert link_of(c, "unix") is None
    c.stop_master()
    c.config["ldap"] |= IDS
    c.start_master()
    assert log_in(c, "unix").status == 200
    assert link_of(c, "unix") == (2001, 2002, "unix", "unix")


def test_wrong_ids_let_nobody_in(new_cluster, slapd):
    c = cluster_with(new_cluster, by_template(slapd, **IDS))
    for name, why in (("root", "agentUid is 0, which is root"), ("rootgroup", "agentGid is 0, which is root"),
                      ("halfway", "the directory has uidNumber for you, and not exactly one value of gidNumber"),
                      ("huge", 'the directory has uidNumber "4294967296" for you'), ("below", 'the directory has uidNumber "-1" for you')):
        assert why in refusal(log_in(c, name), 403), name
        assert why.split(" for you")[0].replace('"', '\\"') in c.master_log(), "an admin finds the reason in the log"
        assert name not in names(c)


def test_several_ids_let_nobody_in(new_cluster, slapd):
    c = cluster_with(new_cluster, by_template(slapd, **IDS))
    for uid, gid, why in (("employeeNumber", "departmentNumber", "the directory has employeeNumber for you, and not exactly one value of departmentNumber"),
                          ("departmentNumber", "employeeNumber", "the directory has employeeNumber for you, and not exactly one value of departmentNumber"),
                          ("departmentNumber", "carLicense", "the directory has not exactly one value each of departmentNumber and carLicense for you"),
                          ("departmentNumber", "roomNumber", "the directory has not exactly one value each of departmentNumber and roomNumber for you")):
        c.stop_master()
        c.config["ldap"] |= {"agent_uid_attribute": uid, "agent_gid_attribute": gid}
        c.start_master()
        assert why in refusal(log_in(c, "twice"), 403), (uid, gid)
        assert "twice" not in names(c)


def test_root_of_the_directory_counts_only_where_links_to_root_are_allowed(new_cluster, slapd):
    c = cluster_with(new_cluster, by_template(slapd, **IDS), security={**new_cluster().config["security"], "allow_root_links": True})
    assert log_in(c, "root").status == 200
    assert link_of(c, "root") == (0, 2002, "root", "root")


# ---- who is kept out ----

def test_wrong_names_and_passwords(platform):
    for name, password in (("ada", "wrong"), ("nosuchperson", PASSWORD), ("ada", PASSWORD + " "), ("nobody", PASSWORD), ("service", SERVICE_PASSWORD)):
        assert refusal(log_in(platform, name, password), 401) == "invalid credentials", name
    assert "nosuchperson" not in platform.master_log(), "what was typed may be a password in the wrong field"


def test_an_empty_password_is_not_taken_for_anonymous(platform, slapd):
    before = slapd.binds()
    for password in ("", None):
        assert refusal(log_in(platform, "ada", password), 401) == "invalid credentials"
    assert slapd.binds() == before, "the directory was not even asked"


@pytest.mark.parametrize("name", ["*", "ad*", "ada)(uid=*", "*)(|(uid=*", "ada)(&(uid=ada", "ada,ou=people", "ada,dc=example", "ada+sn=ada", "a\\64a", "ada\\",
                                  "\\2a", "uid=ada", "#04", "ada;binary", "(ada)", "\"ada\"", "ada\u0000", "ada\u0000)(uid=x", "аda", "x" * 5000])
def test_a_name_is_no_syntax(platform, name):
    before = names(platform)
    assert log_in(platform, name).status in (400, 401, 429)
    assert names(platform) == before


def test_a_name_with_syntax_of_dns_is_found(platform):
    assert log_in(platform, "a,b+c").json["user"]["username"] == "a,b+c"


@pytest.mark.parametrize("name, why", [
    ("locked", "the directory has locked your account"),
    ("expired", "your password in the directory has expired: change it there"),
    ("fresh", "the directory wants you to change your password first: change it there"),
])
def test_people_whom_the_directory_keeps_out_are_told_why(platform, name, why):
    assert refusal(log_in(platform, name), 403) == why
    assert name not in names(platform)


def test_an_account_that_is_deactivated_here_stays_closed(platform):
    alan = log_in(platform, "alan").json
    assert platform.patch(f"/api/v1/users/{alan['user']['id']}", {"active": False}, token=platform.admin_token()).status == 200
    assert refusal(log_in(platform, "alan"), 403) == "user 'alan' is not active"
    assert platform.get("/api/v1/me", token=alan["token"]).status in (401, 403)


def test_the_password_of_an_account_of_the_cluster_never_goes_to_the_directory(platform, slapd):
    before = slapd.binds()
    assert refusal(log_in(platform, "admin"), 401) == "invalid credentials", "the directory has another admin"
    assert log_in(platform, "admin", platform.password).status == 200
    assert slapd.binds() == before


def test_failures_are_counted_as_those_of_any_password(new_cluster, slapd):
    c = cluster_with(new_cluster, by_template(slapd))
    statuses = [log_in(c, "ada", "wrong").status for _ in range(7)]
    assert statuses[0] == 401 and statuses[-1] == 429
    assert log_in(c, " ADA").status == 429, "another spelling of the name is no further try"


# ---- what passwords travel over ----

def test_a_hashed_password_is_refused_with_a_sentence_that_does_not_tell_who_exists(platform):
    said = {refusal(platform.request("POST", "/api/v1/auth/login", {"username": name, "password": client_hash(PASSWORD), "isHashed": True}, token=None, headers=from_elsewhere()), 403)
            for name in ("ada", "nosuchperson", "determined")}
    assert len(said) == 1 and "this client hashes the password" in said.pop()
    assert platform.login("admin", keep=False).status == 200


def test_a_password_of_the_directory_needs_https(new_cluster, slapd):
    c = cluster_with(new_cluster, by_template(slapd), security={**new_cluster().config.get("security", {}), "trusted_proxies": ["127.0.0.1"]})
    elsewhere = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "http"}
    assert "over https only" in refusal(log_in(c, "ada", **elsewhere), 403)
    assert log_in(c, "admin", c.password, **elsewhere).status == 200
    assert log_in(c, "ada", **(elsewhere | {"X-Forwarded-Proto": "https"})).status == 200
    assert log_in(c, "ada", **{"X-Other": "1"}).status == 200, "from this machine"
    c.stop_master()
    c.config["ldap"]["allow_plain_http"] = True
    c.start_master()
    assert log_in(c, "ada", **elsewhere).status == 200


@pytest.mark.parametrize("client", ["ours", "released", "library"])
def test_clients(clusters, tmp_path, client):
    c = clusters["template"]
    env = {**os.environ, "HOME": str(tmp_path), "DET_MASTER": c.url, "DET_USER": "ada", "DET_PASS": PASSWORD, "PYTHONPATH": str(ROOT / "python")}
    program = {"ours": [BUILD / "det", "user", "whoami"], "released": [ROOT / ".venv-compat/bin/det", "user", "whoami"],
               "library": [ROOT / ".venv/bin/python", "-c", "from determined.experimental import client; client.login(); print(client._determined.whoami().username)"]}[client]
    if not program[0].exists():
        pytest.skip(f"{program[0]} is not there")
    if client == "released":
        env.pop("PYTHONPATH")
    done = subprocess.run(program, env=env, capture_output=True, text=True, timeout=120)
    if client == "released":
        assert done.returncode != 0 and "this client hashes the password" in done.stdout + done.stderr, done
    else:
        assert done.returncode == 0 and "ada" in done.stdout, done


def test_no_password_is_in_a_log_or_in_the_configuration(clusters):
    for c in clusters.values():
        log_in(c, "ada")
        shown = c.get("/api/v1/master/config", token=c.admin_token()).body.decode() + c.master_log()
        assert SERVICE_PASSWORD not in shown and PASSWORD not in shown and json.dumps(PASSWORD)[1:-1] not in shown


# ---- a directory in trouble ----

def test_a_directory_that_is_away_keeps_nobody_out_who_has_a_password_here(new_cluster, tmp_path):
    with Directory(tmp_path) as d:
        c = cluster_with(new_cluster, by_template(d))
        assert log_in(c, "ada").status == 200
        d.stop()
        assert HERE_ONLY in refusal(log_in(c, "ada"), 503)
        assert "directory.unusable" in c.master_log() and d.url in c.master_log()
        assert log_in(c, "admin", c.password).status == 200
        d.start()
        wait_for("the directory to be asked again", lambda: log_in(c, "ada").status == 200)


def test_the_next_server_is_asked_when_one_is_away(new_cluster, slapd, tmp_path):
    gone = Directory(tmp_path)
    c = cluster_with(new_cluster, by_template(slapd) | {"urls": [gone.url, slapd.url]})
    assert log_in(c, "ada").status == 200
    assert refusal(log_in(c, "ada", "wrong"), 401) == "invalid credentials"


def test_a_certificate_of_another_host_or_authority_is_refused(new_cluster, slapd, tmp_path):
    with Directory(tmp_path, names="DNS:elsewhere.example.com") as d:
        c = cluster_with(new_cluster, by_template(d))
        before = d.binds()
        assert HERE_ONLY in refusal(log_in(c, "ada"), 503)
        assert d.binds() == before, "no password was sent"
        c.stop_master()
        c.config["ldap"] = by_template(slapd) | {"ca_file": str(d.authority.cert)}
        c.start_master()
        before = slapd.binds()
        assert HERE_ONLY in refusal(log_in(c, "ada"), 503)
        assert slapd.binds() == before


def test_authorities_of_the_environment_are_not_trusted(new_cluster, slapd, tmp_path):
    trusted = tmp_path / "trusted"
    trusted.mkdir()
    (trusted / "authority.pem").write_bytes(slapd.authority.cert.read_bytes())
    subprocess.run(["openssl", "rehash", trusted], check=True, capture_output=True)
    other = Authority(tmp_path / "other")
    c = new_cluster()
    c.env = {**c.env, "LDAPTLS_CACERTDIR": str(trusted)}
    c.config["ldap"] = by_template(slapd) | {"ca_file": str(other.cert)}
    c.start_master()
    before = slapd.binds()
    assert HERE_ONLY in refusal(log_in(c, "ada"), 503)
    assert slapd.binds() == before


def test_a_directory_that_leaves_out_groups_changes_nothing(new_cluster, tmp_path):
    with Directory(tmp_path, more="sizelimit 2") as d:
        c = cluster_with(new_cluster, by_search(d, group_search_base=f"ou=groups,{SUFFIX}", admin_group="admins"))
        assert log_in(c, "grace").json["user"]["admin"] is True, "two groups"
        assert HERE_ONLY in refusal(log_in(c, "ada"), 503), "three groups"
        assert "shows only the first 2 entries" in c.master_log() and "ada" not in names(c)


def test_a_service_account_that_is_refused(new_cluster, slapd):
    c = cluster_with(new_cluster, by_search(slapd) | {"bind_password": "not-the-password-2718"})
    assert HERE_ONLY in refusal(log_in(c, "ada"), 503)
    assert f"does not accept the service account {SERVICE}" in c.master_log()
    assert "not-the-password-2718" not in c.master_log()


def many(action, n):
    results = []
    threads = [threading.Thread(target=lambda: results.append(action()), daemon=True) for _ in range(n)]
    for t in threads:
        t.start()
    return threads, results


def test_a_directory_that_says_nothing_delays_no_other_login(new_cluster, tmp_path):
    with Scripted(tmp_path, lambda number, kind: []) as d:
        c = cluster_with(new_cluster, by_template(d, timeout=60))
        threads, results = many(lambda: log_in(c, "ada", "x").status, 4 + 32 + 4)
        for _ in range(4):
            assert d.connected.acquire(timeout=60)
        wait_for("the queue to be full", lambda: results.count(503) >= 4)
        for _ in range(3):
            assert log_in(c, "admin", c.password).status == 200
        assert results == [503] * 4, "those that wait for the directory still do"
        d.hang_up()
        for t in threads:
            t.join(timeout=120)
        assert results == [503] * 40


def test_a_login_ends_with_its_time(new_cluster, tmp_path):
    with Scripted(tmp_path, lambda number, kind: []) as d:
        c = cluster_with(new_cluster, by_template(d, timeout=1))
        assert HERE_ONLY in refusal(log_in(c, "ada"), 503)
        assert "within 1 s (ldap.timeout)" in c.master_log()


def test_a_login_ends_with_its_time_within_a_record_of_tls(new_cluster, tmp_path):
    with Scripted(tmp_path, lambda number, kind: [Raw(b"\x17\x03\x03\x01\x00")]) as d:
        c = cluster_with(new_cluster, by_template(d, timeout=1))
        assert HERE_ONLY in refusal(log_in(c, "ada"), 503)
        assert "within 1 s (ldap.timeout)" in c.master_log()


def without_groups(number, kind):
    """Lets everybody in, and never answers a search for groups, which comes after the search for the person."""
    if kind == BIND_REQUEST:
        yield message(number, result(BOUND))
    elif number == 2:
        yield message(number, found(f"uid=ada,{SUFFIX}"))
        yield message(number, result(SEARCHED))


def test_a_slow_search_for_groups_does_not_mark_the_directory_as_away(new_cluster, tmp_path):
    with Scripted(tmp_path, without_groups) as d:
        c = cluster_with(new_cluster, by_search(d, timeout=1, group_search_base="dc=x"))
        for _ in range(2):
            assert HERE_ONLY in refusal(log_in(c, "ada", "x"), 503)
            assert d.connected.acquire(blocking=False), "the directory was asked"
        assert "answer a search within 1 s (ldap.timeout)" in c.master_log()


def endless(number, kind):
    if kind == BIND_REQUEST:
        yield message(number, result(BOUND))
    for i in range(1000000 if kind == SEARCH_REQUEST else 0):
        yield message(number, found(f"uid=ada{i},{SUFFIX}"))


def nameless(number, kind):
    """Finds an entry without a name, and lets everybody in: with an empty name, that means "anonymous"."""
    if kind == BIND_REQUEST:
        yield message(number, result(BOUND))
    if kind == SEARCH_REQUEST:
        yield message(number, found(""))
        yield message(number, result(SEARCHED))


def referring(number, kind):
    yield message(number, result(BOUND, 10) if kind == BIND_REQUEST else result(SEARCHED, 10))


@pytest.mark.parametrize("answer, status", [
    (lambda number, kind: [b"\xff" * 4096], 503),
    (lambda number, kind: [bytes([0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xF0]) + b"x" * 65536], 503),
    (lambda number, kind: [message(number, result(SEARCHED))], 503),
    (lambda number, kind: [message(number, result(BOUND))[:-3]], 503),
    (endless, 503), (nameless, 401), (referring, 503),
], ids=["garbage", "enormous", "another answer", "cut off", "endless", "nameless", "referral"])
def test_a_directory_that_lies_lets_nobody_in(new_cluster, tmp_path, answer, status):
    with Scripted(tmp_path, answer) as d:
        c = cluster_with(new_cluster, by_search(d, timeout=2))
        refusal(log_in(c, "ada"), status)
        assert "ada" not in names(c)
        assert log_in(c, "admin", c.password).status == 200


# ---- the configuration ----

@pytest.mark.parametrize("change, message_part", [
    ({"urls": []}, "ldap.urls: must name a server"),
    ({"urls": ["ldap://dc.example.com"]}, "each must be ldaps://HOST"),
    ({"urls": ["ldaps://dc.example.com"], "start_tls": True}, "each must be ldap://HOST"),
    ({"urls": ["ldaps://dc.example.com/dc=example?uid"]}, "each must be ldaps://HOST"),
    ({"user_dn": "", "search_base": ""}, "ldap.user_dn: must be set"),
    ({"user_dn": "uid=ada,dc=example"}, "must have {} in it"),
    ({"search_base": "dc=example"}, "two ways of finding a person"),
    ({"user_dn": "", "search_base": "dc=example"}, "ldap.bind_dn: must be set"),
    ({"user_dn": "", "search_base": "dc=example", "search_filter": "(uid=ada)"}, "must have {} in it"),
    ({"user_dn": "", "search_base": "dc=example", "search_filter": "(|(uid={})(mail={}))"}, "ldap.username_attribute: must be set while ldap.search_filter finds"),
    ({"group_search_filter": "(member=x)"}, "must have {dn} or {} in it"),
    ({"admin_group": "admins"}, "ldap.admin_group: needs"),
    ({"ca_file": "/nonexistent/ca.crt"}, "ldap.ca_file: cannot read"),
    ({"bind_password_file": "/nonexistent/secret"}, "ldap.bind_password_file"),
    ({"timeout": 0}, "ldap.timeout"),
    ({"agent_uid_attribute": "uidNumber"}, "ldap.agent_gid_attribute"),
    ({"agent_gid_attribute": "gidNumber"}, "ldap.agent_uid_attribute"),
    ({"agent_user_name_attribute": "uid"}, "ldap.agent_user_name_attribute"),
    ({"nonsense": 1}, "nonsense"),
])
def test_mistakes_in_the_configuration_are_named(tmp_path, change, message_part):
    good = {"enabled": True, "urls": ["ldaps://dc.example.com"], "user_dn": "uid={},dc=example"}
    path = tmp_path / "master.yaml"
    for config, status in ((good, 0), (good | change, 1)):
        path.write_text(json.dumps({"ldap": config, "data_dir": str(tmp_path)}))
        done = subprocess.run([BUILD / "determined-master", "config", "check", "--config-file", path], capture_output=True, text=True, timeout=60)
        assert (done.returncode != 0) == bool(status), done
    assert message_part in done.stdout + done.stderr
