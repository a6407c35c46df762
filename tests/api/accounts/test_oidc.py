"""Logging in at a provider of OpenID Connect (docs/sso.md): against a provider of the registry, and against one that lies."""
import os
import subprocess
import threading
import urllib.parse
import warnings

import pytest
import requests
from support.cluster import BUILD, ROOT, Cluster, error_of
from support.identity_provider import CLIENT_ID, CLIENT_SECRET, Browser, EcKey, IdentityProvider, RsaKey, signed
from support.ports import fixed_port

PATH = "/oidc/sso"


def configuration(cluster, issuer, **more):
    return {"enabled": True, "provider": "Test IdP", "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "idp_sso_url": issuer,
            "idp_recipient_url": cluster.url, **more}


@pytest.fixture(scope="module")
def provider():
    with IdentityProvider() as idp:
        yield idp


@pytest.fixture(scope="module")
def platform(tmp_path_factory, provider):
    with Cluster(tmp_path_factory.mktemp("cluster"), env={"DET_OIDC_CLIENT_SECRET": CLIENT_SECRET}) as c:
        c.config["oidc"] = configuration(c, provider.url, auto_provision_users=True, groups_attribute_name="groups",
                                         display_name_attribute_name="name", agent_uid_attribute_name="uid", agent_gid_attribute_name="gid",
                                         agent_user_name_attribute_name="unix", agent_group_name_attribute_name="unix_group")
        del c.config["oidc"]["client_secret"]  # the secret comes from the environment
        c.start_master()
        yield c


@pytest.fixture(autouse=True)
def honest(request):
    if "provider" in request.fixturenames:
        request.getfixturevalue("provider").honest()


def person(account, **more):
    return {"sub": f"id-of-{account}", "email": f"{account}@example.com", **more}


def token_of(reply):
    assert reply.status_code == 303, reply.text
    return urllib.parse.parse_qs(urllib.parse.urlsplit(reply.headers["Location"]).query)["token"][0]


def log_in(platform, browser=None):
    return (browser or Browser()).log_in(platform.url + PATH + "?relayState=cli")


def me(platform, token):
    return platform.get("/api/v1/me", token=token).json["user"]


def refusal(reply, status):
    assert reply.status_code == status, (reply.status_code, reply.text)
    assert "Location" not in reply.headers and "auth=" not in reply.headers.get("Set-Cookie", "")
    return reply.json()["message"]


# ---- logging in ----

def test_clients_are_told_of_the_provider(platform):
    url = f"{platform.url}/oidc/sso"
    assert platform.request("GET", "/info", token=None).json["sso_providers"] == [
        {"sso_url": url, "name": "Test IdP", "type": "OIDC", "always_redirect": False}]
    assert platform.request("GET", "/api/v1/master", token=None).json["ssoProviders"] == [
        {"name": "Test IdP", "ssoUrl": url, "type": "OIDC", "alwaysRedirect": False}]


def test_a_browser_gets_a_session_and_comes_to_the_page_it_asked_for(platform, provider):
    provider.person = person("ada", name="Ada Lovelace")
    browser = Browser()
    reply = browser.log_in(f"{platform.url}{PATH}?relayState=%2Fdet%2Fexperiments%2F1%3Ftab%3Dlogs")
    assert reply.status_code == 303 and reply.headers["Location"] == f"{platform.url}/det/experiments/1?tab=logs"
    user = browser.get(platform.url + "/api/v1/me").json()["user"]
    assert (user["username"], user["displayName"], user["remote"], user["admin"]) == ("ada@example.com", "Ada Lovelace", True, False)
    assert Browser().log_in(platform.url + PATH).headers["Location"] == f"{platform.url}/det/"


def test_the_released_client_is_sent_to_its_port_with_the_token(platform, provider):
    provider.person = person("ada")
    reply = log_in(platform)
    assert reply.headers["Location"].startswith("http://localhost:49176/?token=")
    assert "auth=" not in reply.headers["Set-Cookie"]
    assert me(platform, token_of(reply))["username"] == "ada@example.com"


def test_a_token_signed_by_an_elliptic_curve_opens_a_session(platform, provider):
    provider.person, provider.keys = person("ada"), [EcKey("curve")]
    assert me(platform, token_of(log_in(platform)))["username"] == "ada@example.com"


@pytest.mark.filterwarnings("ignore")
def test_a_provider_of_the_registry_logs_people_in(new_cluster):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oidc_provider_mock = pytest.importorskip("oidc_provider_mock")
    grace = oidc_provider_mock.User(sub="grace", claims={"email": "grace@example.com", "groups": ["navy"]})
    with oidc_provider_mock.run_server_in_thread(user_claims=[grace]) as server:
        issuer = f"http://localhost:{server.server_port}"
        c = new_cluster()
        c.config["oidc"] = configuration(c, issuer, auto_provision_users=True, exclude_groups_scope=True)
        c.start_master()
        browser = Browser()
        page = browser.get(c.url + PATH + "?relayState=cli").headers["Location"]
        back = browser.session.post(page, data={"sub": "grace"}, allow_redirects=False, timeout=60).headers["Location"]
        assert me(c, token_of(browser.get(back)))["username"] == "grace@example.com"


@pytest.mark.parametrize("client", ["ours", "released"])
def test_det_logs_in_with_a_browser(platform, provider, tmp_path, client):
    """The browser is a program that follows the redirects, at last to the port where det waits."""
    det = ROOT / ".venv-compat/bin/det" if client == "released" else BUILD / "det"
    if not det.exists():
        pytest.skip(f"{det} is not there")
    provider.person = person("cli")
    browser = tmp_path / "browser"
    browser.write_text("#!/bin/sh\nexec curl --noproxy '*' -sL --retry 30 --retry-delay 1 --retry-connrefused -o /dev/null -c /dev/null -b '' \"$1\"\n")
    browser.chmod(0o755)
    env = {**os.environ, "BROWSER": f"{browser} %s &" if client == "released" else str(browser), "HOME": str(tmp_path), "DISPLAY": ":0",
           "DET_MASTER": platform.url}
    with fixed_port(49176) as is_free:
        if not is_free:
            pytest.skip("port 49176 is taken on this machine")
        done = subprocess.run([det, "auth", "login", "--provider", "test idp"], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    who = subprocess.run([det, "user", "whoami"], env=env, capture_output=True, text=True, timeout=120)
    assert "cli@example.com" in who.stdout, who


PAGE = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_a_browser_reads_on_a_page_why_a_login_has_failed(platform, provider):
    """Programs, which do not ask for a page, get JSON; the other tests of this file read that."""
    provider.person = {"sub": "x", "email": "<script>alert(1)</script>\"&", "email_verified": False}
    browser = Browser()
    browser.session.headers.update(PAGE)
    reply = browser.log_in(platform.url + PATH)
    assert reply.status_code == 403 and reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "auth=" not in reply.headers.get("Set-Cookie", "") and "Location" not in reply.headers
    assert "has not verified the address &lt;script&gt;alert(1)&lt;/script&gt;&quot;&amp;" in reply.text
    assert "<script" not in reply.text and '<a href="../det/login?password">' in reply.text
    policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src" not in policy and "frame-ancestors 'none'" in policy
    assert reply.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("query, status, said", [
    ("state=x&code=y", 400, "begin the login again"), ("error=%3Cscript%3Ealert(1)%3C/script%3E", 400, ""), ("state=%3Cimg%20src=x%20onerror=alert(1)%3E", 400, ""),
    ("state=%ZZ", 400, ""), ("iss=" + "%3Cb%3E" * 400, 400, "")])
def test_the_page_has_no_markup_of_an_address(platform, query, status, said):
    reply = requests.get(f"{platform.url}/oidc/callback?{query}", headers=PAGE, allow_redirects=False, timeout=60)
    assert reply.status_code == status and said in reply.text
    assert reply.text.startswith("<!doctype html>") and "<script" not in reply.text and "<img" not in reply.text and "<b>" not in reply.text


def test_the_page_shows_what_a_provider_says_as_text(platform, provider):
    browser = Browser()
    browser.session.headers.update(PAGE)
    back = browser.to_callback(platform.url + PATH)
    state = urllib.parse.parse_qs(urllib.parse.urlsplit(back).query)["state"][0]
    reply = browser.get(f"{platform.url}/oidc/callback?" + urllib.parse.urlencode({"state": state, "error": "<script>alert(1)</script>\"&'"}))
    assert reply.status_code == 403 and "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&amp;" in reply.text and "<script" not in reply.text


# ---- accounts and groups ----

def test_groups_follow_the_provider(platform, provider):
    token = platform.admin_token()
    make = lambda name: platform.post("/api/v1/groups", {"name": name}, token=token).json["group"]["groupId"]  # noqa: E731
    ids = {name: make(name) for name in ("vision", "speech", "robots")}

    def groups_of(user_id):
        found = platform.post("/api/v1/groups/search", {"userId": user_id, "limit": 100}, token=token).json["groups"]
        return sorted(g["group"]["name"] for g in found)

    provider.person = person("hopper", groups=["vision", "speech", "of another cluster"])
    user = me(platform, token_of(log_in(platform)))["id"]
    assert groups_of(user) == ["speech", "vision"]
    assert platform.request("PUT", f"/api/v1/groups/{ids['robots']}", {"addUsers": [user]}, token=token).status == 200
    provider.person = person("hopper", groups=["speech"])
    log_in(platform)
    assert groups_of(user) == ["speech"]
    provider.person = person("hopper")
    log_in(platform)
    assert groups_of(user) == []


def test_groups_that_are_too_many_for_the_token_are_not_taken_for_none(platform, provider):
    provider.person = person("many", _claim_names={"groups": "src1"})
    assert "too many" in refusal(log_in(platform), 403)


def test_claims_that_the_token_lacks_are_asked_for(platform, provider):
    provider.person, provider.userinfo = person("thin"), {"email": "thin@example.com", "name": "Thin Token"}
    assert me(platform, token_of(log_in(platform)))["displayName"] == "Thin Token"
    provider.userinfo_of = "somebody-else"
    assert "somebody else" in refusal(log_in(platform), 401)


def test_the_account_on_agents_follows_the_provider_and_is_never_root(platform, provider):
    provider.person = person("unix", uid=1234, gid=100, unix="ulla", unix_group="users")
    assert me(platform, token_of(log_in(platform)))["agentUserGroup"] == {
        "agentUid": 1234, "agentGid": 100, "agentUser": "ulla", "agentGroup": "users"}
    provider.person = person("unix", uid=0, gid=0, unix="root", unix_group="root")
    assert "account on agents" in refusal(log_in(platform), 403)


def test_an_account_of_a_provider_has_no_password(platform, provider):
    provider.person = person("remote")
    user = me(platform, token_of(log_in(platform)))["id"]
    reply = platform.request("PATCH", f"/api/v1/users/{user}", {"password": "New-Passw0rd", "isHashed": False}, token=platform.admin_token())
    assert "is remote" in error_of(reply, 400)


def test_an_account_with_a_password_is_not_opened_by_a_provider(platform, provider):
    provider.person = {"sub": "1", "email": "Admin"}
    assert "logs in with a password here" in refusal(log_in(platform), 403)


def test_a_deactivated_account_stays_closed(platform, provider):
    provider.person = person("gone")
    token = token_of(log_in(platform))
    user = me(platform, token)["id"]
    platform.patch(f"/api/v1/users/{user}", {"active": False}, token=platform.admin_token())
    assert platform.request("GET", "/api/v1/me", token=token).status in (401, 403)
    assert "is not active" in refusal(log_in(platform), 403)


def test_somebody_without_an_account_is_refused_unless_accounts_are_provisioned(new_cluster, provider):
    c = new_cluster()
    c.config["oidc"] = configuration(c, provider.url)
    c.start_master()
    provider.person = person("stranger")
    assert "det user create stranger@example.com --remote" in refusal(log_in(c), 403)
    c.post("/api/v1/users", {"user": {"username": "stranger@example.com", "active": True, "remote": True}}, token=c.admin_token())
    assert me(c, token_of(log_in(c)))["username"] == "stranger@example.com"


@pytest.mark.parametrize("claims,words", [
    ({}, "does not send the claim"), ({"email": 7}, "is no text"), ({"email": "a/b"}, "no slash"), ({"email": "ж@example.com"}, "ASCII"),
    ({"email": "x@example.com", "email_verified": False}, "not verified"), ({"email": "x@example.com", "groups": "all"}, "no list"),
    ({"email": "x@example.com", "groups": [1]}, "no text"), ({"email": "x@example.com", "uid": "1"}, "no id")])
def test_claims_that_name_nobody_are_refused(platform, provider, claims, words):
    provider.person = {"sub": "x", **claims}
    assert words in refusal(log_in(platform), 403)


def test_the_audit_log_names_the_person_who_logged_in(platform, provider):
    provider.person = person("audited")
    user = me(platform, token_of(log_in(platform)))["id"]
    records = platform.request("GET", "/api/v1/master/audit?limit=1000", token=platform.admin_token())
    text = records.body.decode()
    assert '"provider"' in text and "GET /oidc/callback" in text and f'"{user}"' in text


# ---- providers that lie, fail or wait ----

@pytest.mark.parametrize("change,words", [
    ({"aud": "another-client"}, "another client"), ({"aud": [CLIENT_ID, "other"]}, "azp"), ({"azp": "other"}, "azp"),
    ({"iss": "https://evil.example"}, "issuer"), ({"nonce": "of-another-login"}, "another login"), ({"nonce": None}, "another login"),
    ({"exp": 1}, "ended"), ({"exp": None}, "exp"), ({"iat": 10**11}, "from now"), ({"nbf": 10**11}, "not valid yet"), ({"sub": ""}, "nobody")])
def test_a_token_with_wrong_claims_is_refused(platform, provider, change, words):
    provider.person = person("ada")
    provider.change_claims = lambda claims: {k: v for k, v in {**claims, **change}.items() if v is not None}
    assert words in refusal(log_in(platform), 401)


def hmac_token(claims):
    import hashlib
    import hmac
    import json

    secret = json.dumps(IdentityProvider.KEY.public()).encode()
    return signed({"alg": "HS256", "kid": "first"}, claims, lambda data: hmac.new(secret, data, hashlib.sha256).digest())


@pytest.mark.parametrize("make,words", [
    (lambda claims: signed({"alg": "none"}, claims, lambda data: b""), ""),
    (hmac_token, "algorithm"),
    (lambda claims: signed({"alg": "RS256", "kid": "first"}, claims, RsaKey("first").sign), "signature is wrong"),
    (lambda claims: signed({"alg": "RS256", "kid": "first"}, claims, lambda data: b""), ""),
    (lambda claims: signed({"alg": "RS256", "kid": "first", "crit": ["exp"]}, claims, IdentityProvider.KEY.sign), "crit"),
    (lambda claims: signed({"alg": "ES256", "kid": "first"}, claims, IdentityProvider.KEY.sign), "not among the provider's keys"),
    (lambda claims: "not.a.token", "no signed token"), (lambda claims: "", "no ID token")])
def test_a_token_that_nobody_has_signed_is_refused(platform, provider, make, words):
    provider.person, provider.make_token = person("ada"), make
    reply = log_in(platform)
    assert words in refusal(reply, reply.status_code) and reply.status_code in (401, 502)


def test_a_weak_key_is_refused(platform, provider):
    provider.person, provider.keys = person("ada"), [RsaKey("weak", bits=1024)]
    assert "fewer than 2048 bits" in refusal(log_in(platform), 401)


def test_keys_that_have_changed_are_fetched_again(platform, provider):
    provider.person = person("ada")
    log_in(platform)
    provider.keys, provider.asked = [RsaKey("second")], []
    assert me(platform, token_of(log_in(platform)))["username"] == "ada@example.com"
    assert provider.asked.count("/keys") == 1
    log_in(platform)
    assert provider.asked.count("/keys") == 1


def test_a_state_of_another_browser_or_of_nobody_is_refused(platform, provider):
    provider.person = person("ada")
    back = Browser().to_callback(platform.url + PATH)
    assert "has not begun a login here" in refusal(Browser().get(back), 400)
    other = Browser()
    other.to_callback(platform.url + PATH)
    assert "belongs to another login" in refusal(other.get(back), 400)
    assert "no state" in refusal(Browser().get(platform.url + "/oidc/callback?code=1"), 400)
    assert provider.asked.count("/token") == 0


def test_a_login_is_completed_once(platform, provider):
    provider.person = person("ada")
    browser = Browser()
    back = browser.to_callback(platform.url + PATH)
    kept = browser.session.cookies.copy()
    assert browser.get(back).status_code == 303
    browser.session.cookies = kept
    assert "completed already" in refusal(browser.get(back), 400)


def test_a_code_that_the_provider_does_not_know_is_refused(platform, provider):
    provider.person = person("ada")
    browser = Browser()
    back = browser.to_callback(platform.url + PATH)
    provider.codes.clear()
    assert "invalid_grant" in refusal(browser.get(back), 401)


@pytest.mark.parametrize("relay", ["https://evil.example/", "//evil.example", "/\\evil.example", "/%09/evil.example", "javascript:alert(1)", "cli2"])
def test_a_login_leads_to_no_other_host(platform, relay):
    assert "no other host" in refusal(Browser().get(f"{platform.url}{PATH}?relayState={relay}"), 400)


def test_a_refusal_of_the_provider_is_told(platform, provider):
    provider.refuse_with = "access_denied"
    assert "access_denied" in refusal(log_in(platform), 403)


def test_a_provider_that_fails_is_named(platform, provider):
    provider.person, provider.token_status = person("ada"), 500
    assert "answers 500" in refusal(log_in(platform), 502)


def test_a_provider_that_is_slow_holds_up_nobody_else(platform, provider):
    provider.person, provider.waiting = person("slow"), threading.Event()
    browser, replies = Browser(), []
    back = browser.to_callback(platform.url + PATH + "?relayState=cli")
    thread = threading.Thread(target=lambda: replies.append(browser.get(back)))
    thread.start()
    assert platform.request("GET", "/info", token=None).status == 200
    assert platform.login("admin", keep=False).status == 200
    assert not replies
    provider.waiting.set()
    thread.join()
    assert me(platform, token_of(replies[0]))["username"] == "slow@example.com"


@pytest.mark.parametrize("change,words", [
    (lambda d: {**d, "issuer": "https://evil.example"}, "another issuer"), (lambda d: [], "no JSON object"),
    (lambda d: {k: v for k, v in d.items() if k != "token_endpoint"}, "lacks token_endpoint"),
    (lambda d: {**d, "jwks_uri": "file:///etc/passwd"}, "must be an address of https")])
def test_a_provider_with_a_wrong_document_is_refused(new_cluster, provider, change, words):
    c = new_cluster()
    c.config["oidc"] = configuration(c, provider.url)
    c.start_master()
    provider.change_discovery = change
    assert words in refusal(Browser().get(c.url + PATH), 502)
    provider.honest()
    assert Browser().get(c.url + PATH).status_code == 302


def test_a_provider_that_is_down_keeps_nobody_from_passwords(new_cluster):
    with IdentityProvider() as gone:
        url = gone.url
    c = new_cluster()
    c.config["oidc"] = configuration(c, url)
    c.start_master()
    assert "cannot be asked" in refusal(Browser().get(c.url + PATH), 503)
    assert c.login("admin", keep=False).status == 200


def test_the_clients_secret_is_shown_nowhere(platform, provider):
    provider.person = person("ada")
    log_in(platform)
    shown = platform.request("GET", "/api/v1/master/config", token=platform.admin_token()).body.decode()
    for text in (shown, platform.master_log()):
        assert CLIENT_SECRET not in text and urllib.parse.quote(CLIENT_SECRET, safe="") not in text


def test_a_cluster_without_a_provider_says_so(master):
    assert "no provider is set up" in refusal(Browser().get(master.url + PATH), 404)
    assert "no provider is set up" in refusal(Browser().get(master.url + "/oidc/callback?code=1&state=2"), 404)
