"""Tests what pages of other origins can make a browser do here: the browser adds the platform's cookie to their requests, too."""
import json

import pytest
from support.attackers import admin_token, request_from, token_of
from support.cluster import client_hash

NEW_ADMIN = json.dumps({"user": {"username": "planted", "active": True, "admin": True}}).encode()
JSON = {"Content-Type": "application/json"}


def cookie(cluster, name="admin"):
    return {"Cookie": f"theme=dark; auth={token_of(cluster, name, cluster.password)}"}


def post_user(cluster, headers):
    return cluster.request("POST", "/api/v1/users", token=None, raw=NEW_ADMIN, headers=headers)


def names(cluster):
    return [u["username"] for u in cluster.get("/api/v1/users", token=admin_token(cluster)).json["users"]]


FOREIGN = [
    {"Origin": "http://evil.example"},
    {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},  # another port of this host, for example a task's notebook
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": ""},
    {},
]


@pytest.mark.parametrize("foreign", FOREIGN, ids=str)
@pytest.mark.parametrize("kind", [{}, JSON, {"Content-Type": "text/plain"}], ids=str)
def test_a_page_of_another_origin_makes_an_admin(master, foreign, kind):
    reply = post_user(master, {**cookie(master), **foreign, **kind})
    assert reply.status == 403 and "Authorization" in reply.json["error"]["error"], reply
    assert "planted" not in names(master)


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp"])
def test_a_form_makes_an_admin(master, kind):
    """A form that was inserted into the platform's own pages cannot send JSON."""
    headers = {**cookie(master), "Origin": master.url, **({"Content-Type": kind} if kind else {})}
    reply = post_user(master, headers)
    assert reply.status == 403 and "application/json" in reply.json["error"]["error"], reply
    assert "planted" not in names(master)


@pytest.mark.parametrize("method, path", [("POST", "/api/v1/auth/logout"), ("DELETE", "/api/v1/templates/t"), ("PATCH", "/api/v1/users/1"),
                                          ("PUT", "/api/v1/templates/t"), ("POST", "/task-logs"), ("POST", "/api/v1/users/setting/reset")])
def test_every_method_that_changes_something_is_guarded(master, method, path):
    headers = {**cookie(master), "Origin": "http://evil.example"}
    assert master.request(method, path, token=None, headers=headers).status == 403
    assert master.request(method, path, token=None, raw=b"{}", headers={**headers, **JSON}).status == 403
    assert master.get("/api/v1/me", token=None, headers=headers).status == 200, "a read tells the page nothing: the browser hides it"


def test_a_page_of_another_origin_logs_a_browser_in_as_somebody_else(master):
    body = {"username": "determined", "password": client_hash(master.password), "isHashed": True}
    for foreign in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        reply = master.request("POST", "/api/v1/auth/login", body, token=None, headers=foreign)
        assert reply.status == 403 and "Set-Cookie" not in reply.headers


@pytest.mark.parametrize("own", [{"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, "Origin", "Origin in capitals"], ids=str)
def test_the_platforms_own_pages_are_served(master, own):
    if isinstance(own, str):
        own = {"Origin": master.url.upper() if "capitals" in own else master.url}
    body = json.dumps({"settings": [{"storagePath": "p", "key": "k", "value": "1"}]}).encode()
    for kind in ("application/json", "application/json; charset=utf-8"):
        reply = master.request("POST", "/api/v1/users/setting", token=None, raw=body,
                               headers={**cookie(master, "determined"), **own, "Content-Type": kind})
        assert reply.status == 200, reply
    assert master.request("POST", "/api/v1/auth/logout", token=None, headers={**cookie(master, "determined"), **own}).status == 200


def test_programs_with_a_token_go_on_as_they_were(master):
    """The released client sends neither Origin nor Content-Type, but it sends every cookie that it was given."""
    body = json.dumps({"settings": [{"storagePath": "p", "key": "k", "value": "1"}]}).encode()
    token = token_of(master, "determined", master.password)
    for headers in ({}, cookie(master), {"Origin": "http://anywhere.example"}, {"Content-Type": "text/plain"}):
        assert master.request("POST", "/api/v1/users/setting", token=token, raw=body, headers=headers).status == 200
        assert master.request("POST", "/api/v1/users/setting", token=None, raw=body,
                              headers={**headers, "Grpc-Metadata-x-user-token": f"Bearer {token}"}).status == 200
    # If there is an Authorization header without a token, the cookie is still checked.
    assert post_user(master, {**cookie(master), "Authorization": "Basic eDp5"}).status == 401


def test_the_cookie_is_kept_from_scripts_other_sites_and_clear_text(master, new_cluster):
    attributes = {a.strip() for a in master.login(keep=False).headers["Set-Cookie"].split(";")[1:]}
    assert {"Path=/", "HttpOnly", "SameSite=Lax"} <= attributes and "Secure" not in attributes
    own_tls = new_cluster("tls")
    own_tls.config["security"]["tls"] = {"self_signed": True}
    own_tls.trust_any()
    own_tls.start_master()
    attributes = {a.strip() for a in own_tls.login(keep=False).headers["Set-Cookie"].split(";")[1:]}
    assert {"Path=/", "HttpOnly", "SameSite=Lax", "Secure"} <= attributes
    headers = {**cookie(own_tls), **JSON}
    assert post_user(own_tls, {**headers, "Origin": own_tls.url.replace("https", "http")}).status == 403
    assert post_user(own_tls, {**headers, "Origin": own_tls.url}).status == 200


def test_behind_a_proxy_the_name_that_the_browser_knows_counts(new_cluster, master):
    cluster = new_cluster()
    cluster.config["security"]["trusted_proxies"] = ["127.0.0.7", "10.0.0.0/8"]
    cluster.start_master()
    body = {"settings": [{"storagePath": "p", "key": "k", "value": "1"}]}
    page = {**cookie(cluster, "determined"), **JSON, "Origin": "https://det.example", "X-Forwarded-Host": "det.example",
            "X-Forwarded-Proto": "https"}
    assert request_from(cluster, "127.0.0.7", "POST", "/api/v1/users/setting", body, page).status == 200
    assert request_from(cluster, "127.0.0.7", "POST", "/api/v1/users/setting", body, {**page, "Origin": "https://evil.example"}).status == 403
    assert request_from(cluster, "127.0.0.7", "POST", "/api/v1/users/setting", body, {**page, "Origin": "http://det.example"}).status == 403
    assert request_from(cluster, "127.0.0.8", "POST", "/api/v1/users/setting", body, page).status == 403, "that is no proxy of ours"
    reply = request_from(cluster, "127.0.0.7", "POST", "/api/v1/auth/login",
                         {"username": "determined", "password": client_hash(cluster.password), "isHashed": True}, {"X-Forwarded-Proto": "https"})
    assert reply.status == 200 and "; Secure" in reply.headers["Set-Cookie"]
