"""Tokens for SCIM by OAuth (docs/sso.md): what a directory service such as Okta or Entra does, step by step, and what nobody may do.

The browser is that of an admin, with the cookie of a login; the directory is `requests` with a client's id and secret."""
import base64
import concurrent.futures
import contextlib
import hashlib
import html
import http.server
import itertools
import json
import os
import re
import secrets
import sqlite3
import subprocess
import threading
import time
import urllib.parse

import pytest
import requests
from support import browser as browsers
from support.attackers import new_user
from support.cluster import PASSWORD, ROOT, Cluster, client_hash
from support.det import RELEASED, det, run_det
from support.waiting import wait_for

BACK = "https://directory.example.com/oauth/callback?app=1"
NAME, SECRET = "directory", "scim-S3cret"
BASIC = {"enabled": True, "auth": {"type": "basic", "username": NAME, "password": SECRET}}
someone = itertools.count()


@pytest.fixture(scope="module")
def platform(tmp_path_factory):
    config = {"scim": {"enabled": True, "auth": {"type": "oauth"}}}
    with Cluster(tmp_path_factory.mktemp("cluster"), config=config) as c:
        c.config["security"] = {**c.config["security"], "trusted_proxies": ["127.0.0.1"]}
        c.start_master()
        yield c


class Client:
    """A program that an admin has added, as the directory service runs it. Each has an address of its own, whose failures are its own."""

    def __init__(self, c, back=BACK):
        self.c, self.back = c, back
        reply = c.post("/oauth2/clients", {"name": f"client {next(someone)}", "domain": back}, token=c.admin_token())
        assert reply.status == 200, reply
        self.id, self.secret, self.name = reply.json["id"], reply.json["secret"], reply.json["name"]
        self.address = f"198.18.0.{next(someone) % 250 + 1}"

    def ask(self, status=200, by_header=True, **form):
        sent = {k: v for k, v in form.items() if v is not None}
        auth = (sent.pop("id", self.id), sent.pop("secret", self.secret))
        if not by_header:
            sent |= {"client_id": auth[0], "client_secret": auth[1]}
        reply = requests.post(self.c.url + "/oauth2/token", data=sent, auth=auth if by_header else None, headers={"X-Forwarded-For": self.address}, timeout=60)
        assert reply.status_code == status, reply.text
        assert reply.headers["Cache-Control"] == "no-store" and reply.headers["Content-Type"].startswith("application/json")
        return reply.json()

    def query(self, **more):
        return {k: v for k, v in {"response_type": "code", "client_id": self.id, "redirect_uri": self.back, "state": "s/&=", **more}.items() if v is not None}

    def code(self, browser, **more):
        back = browser.answer("Allow", self.query(**more))
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))["code"]


class AdminsBrowser:
    """Does what a browser does: its cookie, the headers that prove where a form comes from, and no redirect on its own."""

    def __init__(self, c, user="admin", password=PASSWORD):
        self.c, self.session = c, requests.Session()
        self.session.trust_env = False
        if user:
            reply = self.session.post(c.url + "/api/v1/auth/login", json={"username": user, "password": client_hash(password), "isHashed": True}, timeout=60)
            assert reply.status_code == 200, reply.text

    def open(self, query, **headers):
        return self.session.get(f"{self.c.url}/oauth2/authorize?{urllib.parse.urlencode(query)}", allow_redirects=False, timeout=60,
                                headers={"Accept": "text/html", **headers})

    def buttons(self, page):
        """{its text: its address}"""
        return {text: html.unescape(action) for action, text in re.findall(r'<form method="post" action="([^"]*)"><button>(\w+)</button></form>', page)}

    def press(self, action, **headers):
        return self.session.post(urllib.parse.urljoin(self.c.url + "/oauth2/authorize", action), allow_redirects=False, timeout=60,
                                 headers={"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded", **headers})

    def answer(self, button, query):
        """Returns the address to which the browser is sent."""
        page = self.open(query)
        assert page.status_code == 200, page.text
        done = self.press(self.buttons(page.text)[button])
        assert done.status_code == 303, done.text
        return done.headers["Location"]


@pytest.fixture(autouse=True)
def no_client_is_left(platform):
    yield
    for client in platform.get("/oauth2/clients", token=platform.admin_token()).json:
        assert platform.request("DELETE", f"/oauth2/clients/{client['id']}", token=platform.admin_token()).status == 200


@pytest.fixture(scope="module")
def browser(platform):
    return AdminsBrowser(platform)


def scim(c, token, method="GET", path="/Users", body=None, address="198.18.1.1"):
    return c.request(method, f"/scim/v2{path}", body, token=None, headers={"Authorization": f"Bearer {token}", "X-Forwarded-For": address})


def make_user(c, token):
    return scim(c, token, "POST", body={"userName": f"person{next(someone)}", "active": True})


# ---- as a directory does it ----

@pytest.mark.parametrize("by_header", [True, False], ids=["secret in the header", "secret in the form"])
def test_the_whole_flow(platform, browser, by_header):
    client = Client(platform)
    verifier = secrets.token_urlsafe(48)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    back = browser.answer("Allow", client.query(code_challenge=challenge, code_challenge_method="S256", scope="openid everything"))
    assert back.startswith(BACK + "&code=")
    given = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))
    assert set(given) == {"app", "code", "state"} and given["state"] == "s/&="
    tokens = client.ask(by_header=by_header, grant_type="authorization_code", code=given["code"], redirect_uri=BACK, code_verifier=verifier)
    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 3600, "scim"), "it is told what it has got of what it asked for"
    made = make_user(platform, tokens["access_token"])
    assert made.status == 201
    assert scim(platform, tokens["access_token"], "PATCH", f"/Users/{made.json['id']}", {"Operations": [{"op": "replace", "value": {"active": False}}]}).json["active"] is False
    again = client.ask(by_header=by_header, grant_type="refresh_token", refresh_token=tokens["refresh_token"])
    assert again["access_token"] != tokens["access_token"] and "refresh_token" not in again
    for token in (tokens["access_token"], again["access_token"]):
        assert scim(platform, token).status == 200
    assert client.ask(grant_type="refresh_token", refresh_token=tokens["refresh_token"])["access_token"], "a reply that was lost locks nobody out"


def test_a_client_in_its_own_name(platform):
    client = Client(platform)
    given = client.ask(grant_type="client_credentials")
    assert "refresh_token" not in given and given["scope"] == "scim"
    assert make_user(platform, given["access_token"]).status == 201


def test_tokens_outlive_the_master(new_cluster):
    c = new_cluster(config={"scim": BASIC})
    c.start_master()
    client = Client(c)
    given = client.ask(grant_type="authorization_code", code=client.code(AdminsBrowser(c)))
    c.stop_master(9)
    c.start_master()
    assert scim(c, given["access_token"]).status == 200
    assert scim(c, client.ask(grant_type="refresh_token", refresh_token=given["refresh_token"])["access_token"]).status == 200
    assert scim(c, SECRET).status == 200, "with type basic the password counts beside tokens"
    for secret in (client.secret, given["access_token"], given["refresh_token"]):
        assert secret not in c.master_log()
        for path in (c.dir / "data").rglob("*"):
            assert not path.is_file() or secret.encode() not in path.read_bytes(), path


def test_with_type_oauth_no_password_counts(platform):
    basic = base64.b64encode(f"{NAME}:{SECRET}".encode()).decode()
    for value in (f"Basic {basic}", f"Bearer {SECRET}", "Bearer ", "Basic Og=="):
        reply = platform.request("GET", "/scim/v2/Users", token=None, headers={"Authorization": value, "X-Forwarded-For": "198.18.1.2"})
        challenge = 'Bearer realm="scim"' + (', error="invalid_token"' if value == f"Bearer {SECRET}" else "")
        assert reply.status == 401 and reply.headers["WWW-Authenticate"] == challenge and "/oauth2/token" in reply.json["message"]


def test_who_did_it_is_in_the_audit_log(platform, browser):
    client = Client(platform)
    given = client.ask(grant_type="authorization_code", code=client.code(browser))
    made = make_user(platform, given["access_token"]).json
    records = platform.get("/api/v1/master/audit?limit=1000", token=platform.admin_token()).json["records"]
    seen = {(r["route"], r["kind"], r["username"], r["via"]) for r in records}
    by = f"oauth-client:{client.name}"
    assert {("POST /oauth2/clients", "oauth_client", "admin", "session"), ("POST /oauth2/authorize", "oauth_token", "admin", "session"),
            ("POST /oauth2/token", "oauth_token", by, "oauth_client"), ("POST /scim/v2/Users", "user", by, "scim")} <= seen
    assert any(r["objectId"] == str(made["id"]) and r["username"] == by for r in records)
    text = json.dumps(records)
    assert client.secret not in text and given["access_token"] not in text and given["refresh_token"] not in text


def test_the_masters_log_says_who_did_what(platform, browser):
    client = Client(platform)
    client.ask(grant_type="authorization_code", code=client.code(browser))
    assert platform.request("DELETE", f"/oauth2/clients/{client.id}", token=platform.admin_token()).status == 200
    lines = [line for line in platform.master_log().splitlines() if client.id in line]
    said = [re.search(r"oauth\.\w+", line)[0] for line in lines]
    assert said == ["oauth.client_added", "oauth.allowed", "oauth.token", "oauth.client_removed"], lines
    assert all("by=" in line and "admin" in line for line in lines if "oauth.token" not in line) and client.secret not in "".join(lines)


# ---- the page ----

def test_the_page_says_what_is_given_and_to_whom(platform, browser):
    client = Client(platform)
    page = browser.open(client.query())
    assert page.status_code == 200 and page.headers["Content-Type"].startswith("text/html")
    assert client.name in page.text and html.escape(BACK) in page.text and "<script" not in page.text
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "base-uri 'none'" in policy
    assert "form-action 'self' https://directory.example.com" in policy
    assert page.headers["Cache-Control"] == "no-store" and page.headers["Referrer-Policy"] == "same-origin"


@browsers.needs_browser
@pytest.mark.parametrize("button, answer", [("Allow", "code"), ("Refuse", "error")])
def test_a_real_browser_signs_in_answers_and_is_sent_back(platform, button, answer):
    class Back(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Back) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        client = Client(platform, f"http://127.0.0.1:{server.server_port}/back")
        seen = browsers.run("consent.mjs", url=f"{platform.url}/oauth2/authorize?{urllib.parse.urlencode(client.query())}", name="admin", password=PASSWORD,
                            button=button, back=client.back)
        server.shutdown()
    assert seen["title"] == "Let a directory make accounts?" and seen["errors"] == []
    given = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(seen["end"]).query))
    assert set(given) == {answer, "state"} and given["state"] == "s/&="
    if answer == "code":
        assert scim(platform, client.ask(grant_type="authorization_code", code=given["code"])["access_token"]).status == 200


def test_markup_in_names_and_addresses_is_inert(platform, browser):
    made = platform.post("/oauth2/clients", {"name": '<b>"x"</b>&', "domain": 'https://a.example.com/"><script>alert(1)</script>'}, token=platform.admin_token())
    assert made.status == 200, made
    page = browser.open({"response_type": "code", "client_id": made.json["id"], "state": '"><script>alert(2)</script>'}).text
    assert "<script" not in page and "<b>" not in page and len(browser.buttons(page)) == 2
    assert platform.request("DELETE", f"/oauth2/clients/{made.json['id']}", token=platform.admin_token()).status == 200


def test_refusing_gives_no_code(platform, browser):
    back = browser.answer("Refuse", Client(platform).query())
    assert back == BACK + "&error=access_denied&state=s%2F%26%3D"


def test_an_address_cannot_bring_the_answer_along(platform, browser):
    client = Client(platform)
    page = browser.open({"answer": "allow", **client.query(), "Answer": "allow"})
    assert page.status_code == 200 and "error=access_denied" in browser.press(browser.buttons(page.text)["Refuse"]).headers["Location"]


def test_who_is_not_logged_in_logs_in_first_and_comes_back(platform):
    client = Client(platform)
    reply = AdminsBrowser(platform, user=None).open(client.query())
    assert reply.status_code == 303
    to = urllib.parse.urljoin(f"{platform.url}/oauth2/authorize", reply.headers["Location"])
    assert to.startswith(f"{platform.url}/det/login?redirect=")
    way_back = urllib.parse.unquote(to.split("redirect=")[1])
    assert way_back == "/oauth2/authorize?" + urllib.parse.urlencode(client.query())


def test_only_an_admin_may_allow(platform):
    client = Client(platform)
    page = AdminsBrowser(platform, "determined").open(client.query())
    assert page.status_code == 403 and "Only an admin" in page.text and "<form" not in page.text
    person = AdminsBrowser(platform, "determined").press("authorize?answer=allow&" + urllib.parse.urlencode(client.query()))
    assert person.status_code == 403 and "Location" not in person.headers
    nobody = AdminsBrowser(platform, None).press("authorize?answer=allow&" + urllib.parse.urlencode(client.query()))
    assert nobody.status_code == 401 and "Location" not in nobody.headers


def test_with_roles_only_who_administrates_oauth_may_allow(new_cluster):
    c = new_cluster(config={"scim": {"enabled": True, "auth": {"type": "oauth"}}, "security": {"initial_user_password": PASSWORD, "authz": {"type": "rbac"}}})
    c.start_master()
    client = Client(c)
    for name, role in (("boss", 1), ("editor", 5)):  # ClusterAdmin, Editor
        given = {"userRoleAssignments": [{"userId": new_user(c, name, PASSWORD), "roleAssignment": {"role": {"roleId": role}, "scopeCluster": True}}]}
        assert c.post("/api/v1/roles/add-assignments", given, token=c.admin_token()).status == 200
    editor, boss = AdminsBrowser(c, "editor"), AdminsBrowser(c, "boss")
    page = editor.open(client.query())
    assert page.status_code == 403 and "Only an admin" in page.text and "<form" not in page.text
    pressed = editor.press("authorize?answer=allow&" + urllib.parse.urlencode(client.query()))
    assert pressed.status_code == 403 and "Location" not in pressed.headers
    assert set(boss.buttons(boss.open(client.query()).text)) == {"Allow", "Refuse"}
    assert scim(c, client.ask(grant_type="authorization_code", code=client.code(boss))["access_token"]).status == 200


def test_an_access_token_of_an_admin_cannot_allow(platform):
    me = platform.get("/api/v1/me", token=platform.admin_token()).json["user"]["id"]
    token = platform.post("/api/v1/tokens", {"userId": me}, token=platform.admin_token()).json["token"]
    query = urllib.parse.urlencode(Client(platform).query())
    assert platform.request("POST", f"/oauth2/authorize?answer=allow&{query}", token=token).status == 403
    assert platform.post("/oauth2/clients", {"name": "n", "domain": BACK}, token=token).status == 403


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": None},
                                     {"Sec-Fetch-Site": None, "Origin": "https://evil.example.com"}, {"Sec-Fetch-Site": None, "Origin": "null"}])
def test_a_page_of_another_origin_cannot_press_the_button(platform, browser, headers):
    reply = browser.press("authorize?answer=allow&" + urllib.parse.urlencode(Client(platform).query()), **headers)
    assert reply.status_code == 403 and "Location" not in reply.headers


# ---- attacks ----

@pytest.mark.parametrize("back", ["https://evil.example.com/", "https://directory.example.com/oauth/callback", BACK + "/", BACK + "#x", BACK.upper(), "", "javascript:alert(1)",
                                  "https://directory.example.com/oauth/callback/../x?app=1", "http://directory.example.com/oauth/callback?app=1"])
def test_a_browser_is_sent_nowhere_but_to_the_registered_address(platform, browser, back):
    client = Client(platform)
    page = browser.open(client.query(redirect_uri=back))
    assert page.status_code == 400 and "Location" not in page.headers and "<form" not in page.text
    pressed = browser.press("authorize?answer=allow&" + urllib.parse.urlencode(client.query(redirect_uri=back)))
    assert pressed.status_code == 400 and "Location" not in pressed.headers


def test_an_unknown_client_is_sent_nowhere(platform, browser):
    page = browser.open({"response_type": "code", "client_id": "nobody", "redirect_uri": BACK})
    assert page.status_code == 404 and "det oauth client add" in page.text and "Location" not in page.headers


@pytest.mark.parametrize("change, error", [({"response_type": "token"}, "unsupported_response_type"), ({"response_type": None}, "invalid_request"),
                                           ({"code_challenge": "x" * 43, "code_challenge_method": "plain"}, "invalid_request"),
                                           ({"code_challenge": "x" * 43}, "invalid_request"), ({"code_challenge_method": "S256"}, "invalid_request"),
                                           ({"code_challenge": "short", "code_challenge_method": "S256"}, "invalid_request"),
                                           ({"state": "x" * 3000}, "invalid_request")])
def test_what_is_wrong_is_told_to_the_client(platform, browser, change, error):
    client = Client(platform)
    for reply in (browser.open(client.query(**change)), browser.press("authorize?answer=allow&" + urllib.parse.urlencode(client.query(**change)))):
        assert reply.status_code == 303 and reply.headers["Location"].startswith(f"{BACK}&error={error}&state=")


def test_a_code_is_good_once_and_its_second_use_ends_the_tokens_of_the_first(platform, browser):
    client = Client(platform)
    code = client.code(browser)
    given = client.ask(grant_type="authorization_code", code=code)
    assert client.ask(400, grant_type="authorization_code", code=code)["error"] == "invalid_grant"
    assert scim(platform, given["access_token"], address="198.18.1.3").status == 401
    assert client.ask(400, grant_type="refresh_token", refresh_token=given["refresh_token"])["error"] == "invalid_grant"
    assert "oauth.code_used_twice" in platform.master_log()


def test_codes_and_tokens_are_the_clients_own(platform, browser):
    victim, thief = Client(platform), Client(platform)
    code = victim.code(browser)
    assert thief.ask(400, grant_type="authorization_code", code=code)["error"] == "invalid_grant"
    given = victim.ask(grant_type="authorization_code", code=code)
    assert thief.ask(400, grant_type="refresh_token", refresh_token=given["refresh_token"])["error"] == "invalid_grant"
    assert thief.ask(401, id=victim.id, grant_type="authorization_code", code=code)["error"] == "invalid_client"


def test_kinds_of_tokens_are_not_mixed_up(platform, browser):
    client = Client(platform)
    code = client.code(browser)
    assert client.ask(400, grant_type="refresh_token", refresh_token=code)["error"] == "invalid_grant"
    given = client.ask(grant_type="authorization_code", code=code)
    assert client.ask(400, grant_type="refresh_token", refresh_token=given["access_token"])["error"] == "invalid_grant"
    assert client.ask(400, grant_type="authorization_code", code=given["refresh_token"])["error"] == "invalid_grant"
    for token in (code, given["refresh_token"], client.secret):
        assert scim(platform, token, address=client.address).status == 401


def test_another_redirect_or_verifier_is_refused(platform, browser):
    client = Client(platform)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(b"v" * 43).digest()).rstrip(b"=").decode()
    code = client.code(browser, code_challenge=challenge, code_challenge_method="S256")
    for form in ({"redirect_uri": "https://evil.example.com/", "code_verifier": "v" * 43}, {}, {"code_verifier": "w" * 43}, {"code_verifier": challenge}, {"code_verifier": ""}):
        assert client.ask(400, grant_type="authorization_code", code=code, **form)["error"] == "invalid_grant"
    assert client.ask(grant_type="authorization_code", code=code, code_verifier="v" * 43)["access_token"]
    assert client.ask(400, grant_type="authorization_code", code=client.code(browser), code_verifier="v" * 43)["error"] == "invalid_grant", (
        "a verifier of a code without a challenge belongs to another code")


def tokens_end(c, what, ago_s=60):
    """In the store of a master that does not run; sqlite only."""
    with contextlib.closing(sqlite3.connect(c.dir / "data/determined.db")) as db, db:
        assert db.execute(f"UPDATE oauth_tokens SET expiry_us = ? WHERE {what}", [int((time.time() - ago_s) * 1e6)]).rowcount


@pytest.mark.skipif(os.environ.get("DET_TEST_DB") == "postgres", reason="the times are changed in the file of SQLite")
def test_what_has_expired_is_refused(new_cluster):
    c = new_cluster(config={"scim": {"enabled": True, "auth": {"type": "oauth"}}})
    c.start_master()
    client = Client(c)
    given = client.ask(grant_type="authorization_code", code=client.code(AdminsBrowser(c)))
    code = client.code(AdminsBrowser(c))
    c.stop_master()
    tokens_end(c, "kind IN ('CODE', 'ACCESS') AND used = 0")
    c.start_master()
    assert client.ask(400, grant_type="authorization_code", code=code)["error"] == "invalid_grant"
    assert {scim(c, given["access_token"]).status for _ in range(10)} == {401}, "no guess, so that none of them has to wait"
    assert scim(c, client.ask(grant_type="refresh_token", refresh_token=given["refresh_token"])["access_token"]).status == 200
    c.stop_master()
    tokens_end(c, "kind = 'REFRESH'")
    c.start_master()
    assert client.ask(400, grant_type="refresh_token", refresh_token=given["refresh_token"])["error"] == "invalid_grant"


@pytest.mark.skipif(os.environ.get("DET_TEST_DB") == "postgres", reason="the times are changed in the file of SQLite")
def test_a_code_that_comes_again_after_its_minute_ends_the_tokens(new_cluster):
    c = new_cluster(config={"scim": {"enabled": True, "auth": {"type": "oauth"}}})
    c.start_master()
    client = Client(c)
    code = client.code(AdminsBrowser(c))
    given = client.ask(grant_type="authorization_code", code=code)
    c.stop_master()
    tokens_end(c, "kind = 'CODE'")
    c.start_master()
    assert scim(c, given["access_token"]).status == 200
    assert client.ask(400, grant_type="authorization_code", code=code)["error"] == "invalid_grant"
    assert scim(c, given["access_token"]).status == 401
    assert client.ask(400, grant_type="refresh_token", refresh_token=given["refresh_token"])["error"] == "invalid_grant"


@pytest.mark.skipif(os.environ.get("DET_TEST_DB") == "postgres", reason="the times are changed in the file of SQLite")
def test_what_has_ended_is_forgotten_a_day_later(new_cluster):
    c = new_cluster(config={"scim": {"enabled": True, "auth": {"type": "oauth"}}})
    c.start_master()
    client = Client(c)
    client.ask(grant_type="authorization_code", code=client.code(AdminsBrowser(c)))
    c.stop_master()
    tokens_end(c, "kind = 'CODE'", ago_s=23 * 3600)
    tokens_end(c, "kind = 'ACCESS'", ago_s=25 * 3600)
    c.start_master()
    client.code(AdminsBrowser(c))
    c.stop_master()
    with contextlib.closing(sqlite3.connect(c.dir / "data/determined.db")) as db:
        assert sorted(kind for kind, in db.execute("SELECT kind FROM oauth_tokens")) == ["CODE", "CODE", "REFRESH"]


def test_a_token_opens_scim_and_nothing_else(platform):
    token = Client(platform).ask(grant_type="client_credentials")["access_token"]
    for method, path in (("GET", "/api/v1/me"), ("GET", "/api/v1/users"), ("POST", "/api/v1/users"), ("GET", "/oauth2/clients"), ("POST", "/oauth2/clients"),
                         ("POST", "/oauth2/authorize"), ("GET", "/users/me"), ("GET", "/metrics"), ("GET", "/tasks"), ("GET", "/stream"), ("GET", "/agents"),
                         ("POST", "/task-logs"), ("GET", "/proxy/x/"), ("GET", "/nothing")):
        reply = platform.request(method, path, {} if method == "POST" else None, token=token)
        assert reply.status in (401, 404) and not (reply.status == 404 and "proxy" not in path), (method, path, reply)


def test_logins_and_access_tokens_are_no_tokens_of_oauth(platform):
    me = platform.get("/api/v1/me", token=platform.admin_token()).json["user"]["id"]
    access = platform.post("/api/v1/tokens", {"userId": me}, token=platform.admin_token()).json["token"]
    for token in (platform.admin_token(), access):
        assert scim(platform, token, address="198.18.1.4").status == 401


def test_guessing_secrets_is_slowed_down(platform):
    client = Client(platform)
    statuses = []
    for n in range(7):
        reply = requests.post(platform.url + "/oauth2/token", data={"grant_type": "client_credentials"}, auth=(client.id, f"det1.guess{n}"),
                              headers={"X-Forwarded-For": "198.18.2.1"}, timeout=60)
        statuses.append(reply.status_code)
    assert statuses[0] == 401 and statuses[-1] == 429 and reply.json()["error"] == "temporarily_unavailable" and reply.headers["Retry-After"]
    assert reply.json()["error_description"].startswith("too many failed logins of this OAuth client from your address; try again in ")
    assert client.ask(grant_type="client_credentials")["access_token"], "from where the client is, it goes on"


def test_a_token_that_has_ended_is_no_guess(platform, browser):
    client = Client(platform)
    code = client.code(browser)
    ended = client.ask(grant_type="authorization_code", code=code)["access_token"]
    client.ask(400, grant_type="authorization_code", code=code)
    replies = [scim(platform, ended, address=client.address) for _ in range(10)]
    assert {r.status for r in replies} == {401} and "has ended" in replies[0].json["message"]
    assert replies[0].headers["WWW-Authenticate"] == 'Bearer realm="scim", error="invalid_token"'
    guess = scim(platform, "det1." + secrets.token_urlsafe(32), address=client.address)
    assert guess.status == 401 and "has ended" not in guess.json["message"]


def test_a_good_token_does_not_wait(platform):
    client = Client(platform)
    good = client.ask(grant_type="client_credentials")["access_token"]
    guesses = [scim(platform, "det1." + secrets.token_urlsafe(32), address="198.18.2.3").status for _ in range(8)]
    assert guesses[-1] == 429
    assert scim(platform, good, address="198.18.2.3").status == 200


def test_with_type_basic_a_refused_token_is_answered_as_one(new_cluster):
    c = new_cluster(config={"scim": BASIC})
    c.start_master()
    challenge = lambda **headers: c.request("GET", "/scim/v2/Users", token=None, headers=headers).headers["WWW-Authenticate"]  # noqa: E731
    assert challenge(Authorization="Bearer det1." + secrets.token_urlsafe(32)) == 'Bearer realm="scim", error="invalid_token"'
    assert challenge(Authorization="Bearer wrong") == 'Bearer realm="scim", error="invalid_token"'
    assert challenge(Authorization="Basic Og==") == challenge() == 'Basic realm="scim"'


def test_guessing_tokens_is_slowed_down(platform):
    replies = [scim(platform, "det1." + secrets.token_urlsafe(32), address="198.18.2.2") for _ in range(8)]
    assert replies[0].status == 401 and replies[-1].status == 429
    assert replies[-1].json["message"].startswith("too many failed logins to SCIM from your address; try again in ")


@pytest.mark.parametrize("form, error", [
    ({}, "invalid_request"), ({"grant_type": "password"}, "unsupported_grant_type"), ({"grant_type": "authorization_code"}, "invalid_request"),
    ({"grant_type": "refresh_token"}, "invalid_request"), ([("grant_type", "client_credentials")] * 2, "invalid_request"),
    ({"grant_type": "client_credentials", "client_secret": "x"}, "invalid_request"), ({"grant_type": "client_credentials", "client_id": "x"}, "invalid_request"),
    ({"grant_type": "authorization_code", "code": "%"}, "invalid_grant"), ({"grant_type": "x" * 20000}, "invalid_request"),
])
def test_wrong_requests_for_tokens(platform, form, error):
    client = Client(platform)
    reply = requests.post(platform.url + "/oauth2/token", data=form, auth=(client.id, client.secret), timeout=60,
                          headers={"X-Forwarded-For": client.address, "Content-Type": "application/x-www-form-urlencoded"})
    assert reply.status_code == 400 and reply.json()["error"] == error and reply.json()["error_description"], reply.text


@pytest.mark.parametrize("headers, body, status", [
    ({}, b"grant_type=client_credentials", 401), ({"Authorization": "Bearer x"}, b"", 400), ({"Authorization": "Basic !"}, b"", 400), ({"Authorization": "Basic eA=="}, b"", 400),
    ({"Authorization": "Basic Og=="}, b"grant_type=client_credentials", 401), ({"Content-Type": "application/json"}, b"{}", 400), ({}, b"a=%zz", 400), ({}, b"\0", 400),
    ({"Authorization": "Basic " + "eHh4" * 3000}, b"", 400),
])
def test_malformed_requests_for_tokens(platform, headers, body, status):
    reply = platform.request("POST", "/oauth2/token", raw=body, token=None,
                             headers={"Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-For": f"198.18.3.{next(someone) % 250}", **headers})
    assert reply.status == status and reply.json["error"] == ("invalid_client" if status == 401 else "invalid_request")


def test_a_page_of_another_site_cannot_ask_for_tokens(platform):
    client = Client(platform)
    reply = requests.post(platform.url + "/oauth2/token", data={"grant_type": "client_credentials"}, auth=(client.id, client.secret), timeout=60,
                          headers={"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example.com"})
    assert reply.status_code == 403


def test_a_client_has_a_bounded_number_of_tokens(platform):
    client = Client(platform)
    given = [client.ask(grant_type="client_credentials")["access_token"] for _ in range(21)]
    assert [scim(platform, t, address=client.address).status for t in (given[0], given[1], given[-1])] == [401, 200, 200]


# ---- clients ----

def test_removing_a_client_ends_its_tokens_and_codes(platform, browser):
    client = Client(platform)
    given = client.ask(grant_type="authorization_code", code=client.code(browser))
    code = client.code(browser)
    assert platform.request("DELETE", f"/oauth2/clients/{client.id}", token=platform.admin_token()).status == 200
    assert scim(platform, given["access_token"], address=client.address).status == 401
    assert client.ask(401, grant_type="authorization_code", code=code)["error"] == "invalid_client"
    again = platform.request("DELETE", f"/oauth2/clients/{client.id}", token=platform.admin_token())
    assert again.status == 404 and client.id in again.json["message"]


@pytest.mark.skipif(os.environ.get("DET_TEST_DB") == "postgres", reason="the test locks the file of SQLite")
def test_a_client_that_is_removed_while_it_asks_is_told_so(platform):
    """The writer is held up until both requests wait for it: the removal first, then the one for a token, which has found its client."""
    client = Client(platform)
    platform.login()
    waiting = platform.metric("det_writer_queue")
    with concurrent.futures.ThreadPoolExecutor(2) as pool, contextlib.closing(sqlite3.connect(platform.dir / "data/determined.db", isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        try:
            removed = pool.submit(platform.request, "DELETE", f"/oauth2/clients/{client.id}", token=platform.admin_token())
            wait_for("the removal", lambda: platform.metric("det_writer_queue") > waiting)
            asked = pool.submit(client.ask, 401, grant_type="client_credentials")
            wait_for("the client", lambda: platform.metric("det_writer_queue") > waiting + 1)
        finally:
            db.execute("ROLLBACK")
        assert removed.result().status == 200 and asked.result()["error"] == "invalid_client"


@pytest.mark.parametrize("body", [
    {}, [], "x", {"name": "n"}, {"domain": BACK}, {"name": "", "domain": BACK}, {"name": "a\nb", "domain": BACK}, {"name": "x" * 300, "domain": BACK}, {"name": 7, "domain": BACK},
    {"name": "n\u0000m", "domain": BACK}, *({"name": "n", "domain": d} for d in (
        "", "portal.example.com", "ftp://a/", "https://", "https:///x", "http://a.example.com/", "http://localhost.example.com/", "https://u:p@a.example.com/", "https://a.example.com/#x",
        "https://a.example.com/ x", "https://a.example.com;script-src/", "https://*.example.com/", "https://a'b/", "https://ä.example.com/", "https://a/" + "x" * 2000, 7)),
])
def test_wrong_clients_are_refused(platform, body):
    before = platform.get("/oauth2/clients", token=platform.admin_token()).json
    reply = platform.post("/oauth2/clients", body, token=platform.admin_token())
    assert reply.status == 400 and reply.json["message"], reply
    assert platform.get("/oauth2/clients", token=platform.admin_token()).json == before


def test_limits_of_clients(new_cluster):
    c = new_cluster()
    c.start_master()
    add = lambda name, domain=BACK: c.post("/oauth2/clients", {"name": name, "domain": domain}, token=c.admin_token())  # noqa: E731
    assert add("first", "http://localhost:8000/back").status == 200
    assert add("first").status == 409
    assert [add(f"n{n}").status for n in range(20)] == [200] * 19 + [400]


def test_without_scim_nothing_is_given(new_cluster):
    c = new_cluster()
    c.start_master()
    client = Client(c)
    assert client.ask(404, grant_type="client_credentials")["error"] == "server_error"
    assert AdminsBrowser(c).open(client.query()).status_code == 404
    assert AdminsBrowser(c).press("authorize?answer=allow&" + urllib.parse.urlencode(client.query())).status_code == 404


# ---- det ----

def test_our_det(platform):
    words = det(platform, "oauth", "client", "add", "portal of det", "https://portal.example.com/back", user="admin")
    assert re.fullmatch(r"Client ID:     [0-9a-f]{16}\nClient secret: det1\.[\w-]{43}\n", words)
    made = words.split()[2]
    assert ["portal of det", made, "https://portal.example.com/back"] in [re.split(r" +\| +", line.strip()) for line in det(platform, "oauth", "client", "list", user="admin").splitlines()]
    det(platform, "oauth", "client", "remove", made, user="admin")
    assert made not in det(platform, "oauth", "client", user="admin")
    refused = run_det(platform, "oauth", "client", "remove", made, user="admin")
    assert refused.returncode != 0 and f"there is no OAuth client '{made}'" in refused.stderr
    refused = run_det(platform, "oauth", "client", "add", "x", "portal.example.com", user="admin")
    assert refused.returncode != 0 and "write the whole address" in refused.stderr
    refused = run_det(platform, "oauth", "client", "list", user="determined")
    assert refused.returncode != 0 and "only an admin may see OAuth clients" in refused.stderr


@pytest.mark.parametrize("client", ["released", "library"])
def test_other_clients(platform, tmp_path, client):
    program = {"released": [RELEASED, "oauth", "client"], "library": [ROOT / ".venv/bin/python", "-c", (
        "import sys; from determined.experimental import client; client.login()\n"
        "if sys.argv[1] == 'add': c = client.add_oauth_client(sys.argv[3], sys.argv[2]); print('Client ID:', c.id, 'Client secret:', c.secret, c.name, c.domain)\n"
        "if sys.argv[1] == 'list': print([(c.name, c.id, c.domain) for c in client.list_oauth_clients()])\n"
        "if sys.argv[1] == 'remove': client.remove_oauth_client(sys.argv[2])")]}[client]
    if not program[0].exists():
        pytest.skip(f"{program[0]} is not there")
    env = {**os.environ, "HOME": str(tmp_path), "DET_MASTER": platform.url, "DET_USER": "admin", "DET_PASS": PASSWORD}
    if client == "library":
        env["PYTHONPATH"] = str(ROOT / "python")

    def run(*words):
        done = subprocess.run([*program, *words], env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done
        return done.stdout

    said = run("add", f"portal of {client}", "https://portal.example.com/back")
    made, secret = re.search(r"Client ID:\s+(\S+)", said)[1], re.search(r"Client secret:\s+(\S+)", said)[1]
    reply = requests.post(platform.url + "/oauth2/token", data={"grant_type": "client_credentials"}, auth=(made, secret), timeout=60)
    assert reply.status_code == 200
    listed = run("list")
    assert made in listed and f"portal of {client}" in listed and "https://portal.example.com/back" in listed
    run("remove", made)
    assert made not in run("list")
