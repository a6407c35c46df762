"""Accounts that a directory service makes, changes and deactivates, by SCIM 2.0 (docs/sso.md)."""
import base64
import json

import pytest
from support.cluster import Cluster
from support.identity_provider import CLIENT_ID, CLIENT_SECRET, Browser, IdentityProvider

NAME, SECRET = "directory", "scim-S3cret"
USER = "urn:ietf:params:scim:schemas:core:2.0:User"


def basic(name, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


@pytest.fixture(scope="module")
def platform(tmp_path_factory):
    config = {"scim": {"enabled": True, "auth": {"type": "basic", "username": NAME, "password": SECRET}}}
    with Cluster(tmp_path_factory.mktemp("cluster"), config=config) as c:
        c.start_master()
        yield c


def call(platform, method, path, body=None, status=200, headers=None, **more):
    reply = platform.request(method, f"/scim/v2{path}", body, token=None, headers=basic(NAME, SECRET) if headers is None else headers, **more)
    assert reply.status == status, reply
    return reply.json


def make(platform, username, **more):
    return call(platform, "POST", "/Users", {"schemas": [USER], "userName": username, "active": True, **more}, status=201)


def patch(platform, user, *operations, status=200):
    return call(platform, "PATCH", f"/Users/{user['id']}", {"Operations": list(operations)}, status=status)


def account(platform, user):
    return platform.get(f"/api/v1/users/{user['id']}", token=platform.admin_token()).json["user"]


def test_an_account_is_made_found_and_read_back(platform):
    made = make(platform, "Ada@example.com", externalId="00u1", name={"givenName": "Ada", "familyName": "Lovelace"},
                emails=[{"value": "ada@example.com", "primary": True, "type": "work"}], title="passed over")
    assert made["userName"] == "ada@example.com" and made["emails"][0]["value"] == "ada@example.com" and "title" not in made
    assert made["meta"] == {"resourceType": "User", "location": f"/scim/v2/Users/{made['id']}"} and made["schemas"] == [USER]
    assert call(platform, "GET", f"/Users/{made['id']}") == made
    for query in ("userName%20eq%20%22ADA@example.com%22", "externalId%20eq%20%2200u1%22"):
        found = call(platform, "GET", f"/Users?filter={query}")
        assert found["totalResults"] == 1 and found["Resources"] == [made]
    assert call(platform, "GET", "/Users?filter=userName%20eq%20%22nobody%22")["Resources"] == []
    shown = account(platform, made)
    assert (shown["username"], shown["displayName"], shown["remote"], shown["admin"], shown["active"]) == (
        "ada@example.com", "Ada Lovelace", True, False, True)


def test_a_name_is_given_once(platform):
    make(platform, "twice")
    assert "already exists" in call(platform, "POST", "/Users", {"userName": "Twice"}, status=409)["message"]


def test_pages_of_accounts(platform):
    for n in range(3):
        make(platform, f"page{n}")
    page = call(platform, "GET", "/Users?startIndex=2&count=1")
    assert page["startIndex"] == 2 and page["itemsPerPage"] == 1 and page["totalResults"] >= 3
    assert page["Resources"][0] == call(platform, "GET", "/Users")["Resources"][1]
    assert call(platform, "GET", "/Users?count=0")["Resources"] == []


def test_a_directory_sees_no_account_with_a_password(platform):
    admin = platform.get("/api/v1/me", token=platform.admin_token()).json["user"]
    assert "admin" not in [u["userName"] for u in call(platform, "GET", "/Users?count=500")["Resources"]]
    call(platform, "GET", f"/Users/{admin['id']}", status=404)
    call(platform, "PUT", f"/Users/{admin['id']}", {"userName": "mine"}, status=404)
    call(platform, "PATCH", f"/Users/{admin['id']}", {"Operations": [{"op": "replace", "value": {"active": False}}]}, status=404)
    call(platform, "POST", "/Users", {"userName": "ADMIN"}, status=409)
    assert platform.login("admin", keep=False).status == 200


def test_replacing_takes_over_what_is_given(platform):
    user = make(platform, "replaced", externalId="1", displayName="Before")
    now = call(platform, "PUT", f"/Users/{user['id']}", {"id": user["id"], "userName": "renamed", "active": True, "displayName": "After"})
    assert now["userName"] == "renamed" and "externalId" not in now and account(platform, user)["displayName"] == "After"
    patch(platform, user, {"op": "replace", "value": {"active": False}})
    assert call(platform, "PUT", f"/Users/{user['id']}", {"userName": "renamed"})["active"] is False
    assert "another than in the path" in call(platform, "PUT", f"/Users/{user['id']}", {"id": "999", "userName": "x"}, status=400)["message"]


def test_an_admin_is_not_renamed(platform):
    user = make(platform, "boss@example.com")
    grant = {"admin": True}
    assert platform.patch(f"/api/v1/users/{user['id']}", grant, token=platform.admin_token()).status == 200
    refused = call(platform, "PUT", f"/Users/{user['id']}", {"userName": "mallory@example.com", "active": True}, status=403)
    assert "boss@example.com" in json.dumps(refused) and account(platform, user)["username"] == "boss@example.com"
    call(platform, "PUT", f"/Users/{user['id']}", {"userName": "boss@example.com", "active": False})
    assert account(platform, user)["active"] is False


def test_operations_as_okta_and_entra_send_them(platform):
    user = make(platform, "patched", name={"givenName": "A", "familyName": "B"})
    assert patch(platform, user, {"op": "replace", "value": {"active": False}})["active"] is False
    assert account(platform, user)["active"] is False
    assert patch(platform, user, {"op": "Replace", "path": "active", "value": "True"})["active"] is True
    now = patch(platform, user, {"op": "Replace", "path": "name.givenName", "value": "C"}, {"op": "Add", "path": "externalId", "value": "x"},
                {"op": "Add", "path": 'emails[type eq "work"].value', "value": "p@example.com"},
                {"op": "Replace", "value": {"displayName": "Patched Person", "nickName": "passed over"}})
    assert now["name"] == {"givenName": "C", "familyName": "B"} and now["externalId"] == "x"
    assert now["emails"] == [{"type": "work", "value": "p@example.com"}] and account(platform, user)["displayName"] == "Patched Person"
    assert "externalId" not in patch(platform, user, {"op": "remove", "path": "externalId"})


@pytest.mark.parametrize("operation", [{"op": "move"}, {"op": "replace"}, {"op": "replace", "path": "admin", "value": True},
                                       {"op": "replace", "path": "active", "value": "perhaps"}, {"op": "remove"}, 7,
                                       {"op": "replace", "path": "userName", "value": ""}, {"op": "replace", "value": 3},
                                       {"op": "replace", "path": "emails[type eq 'x'].value", "value": "y"}])
def test_a_wrong_operation_changes_nothing(platform, operation):
    user = make(platform, f"wrong{abs(hash(str(operation)))}")
    patch(platform, user, {"op": "replace", "value": {"active": False}}, operation, status=400)
    assert call(platform, "GET", f"/Users/{user['id']}") == user


@pytest.mark.parametrize("body", [{}, [], {"userName": ""}, {"userName": 7}, {"userName": "a/b"}, {"userName": "x", "active": 1},
                                  {"userName": "x", "emails": "y"}, {"userName": "x", "name": []}, {"userName": "x", "externalId": 1},
                                  {"userName": "x", "displayName": "y" * 20000}])
def test_a_wrong_user_is_refused(platform, body):
    before = call(platform, "GET", "/Users?count=0")["totalResults"]
    call(platform, "POST", "/Users", body, status=400)
    assert call(platform, "GET", "/Users?count=0")["totalResults"] == before


@pytest.mark.parametrize("query", ["filter=title%20eq%20%22x%22", "filter=userName", "count=-1", "startIndex=x", "filter=userName%20eq%20x"])
def test_a_wrong_question_is_refused(platform, query):
    call(platform, "GET", f"/Users?{query}", status=400)


@pytest.mark.parametrize("user", ["0", "x", "99999999999", "-1", "1%20"])
def test_an_account_that_is_not_there_is_not_found(platform, user):
    call(platform, "GET", f"/Users/{user}", status=404)


def test_what_is_no_json_is_refused(platform):
    call(platform, "POST", "/Users", raw=b"{", status=400)


def test_groups_are_listed(platform):
    platform.post("/api/v1/groups", {"name": "vision"}, token=platform.admin_token())
    assert [g["displayName"] for g in call(platform, "GET", "/Groups")["Resources"]] == ["vision"]


def test_a_bearer_token_is_the_password(platform):
    call(platform, "GET", "/Users", headers={"Authorization": f"Bearer {SECRET}"})


def test_an_account_that_the_directory_deactivates_loses_its_logins(tmp_path):
    """Together with a provider: SCIM makes the account, OpenID Connect opens it, and nothing but SCIM makes accounts."""
    with IdentityProvider() as idp, Cluster(tmp_path / "c") as c:
        c.config["scim"] = {"enabled": True, "auth": {"username": NAME, "password": SECRET}}
        c.config["oidc"] = {"enabled": True, "provider": "p", "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "idp_sso_url": idp.url,
                            "idp_recipient_url": c.url, "auto_provision_users": True}
        c.start_master()
        idp.person = {"sub": "1", "email": "eve@example.com"}
        assert Browser().log_in(c.url + "/oidc/sso").status_code == 403
        user = make(c, "eve@example.com")
        browser = Browser()
        assert browser.log_in(c.url + "/oidc/sso").status_code == 303 and browser.get(c.url + "/api/v1/me").status_code == 200
        patch(c, user, {"op": "replace", "value": {"active": False}})
        assert browser.get(c.url + "/api/v1/me").status_code in (401, 403)
        assert Browser().log_in(c.url + "/oidc/sso").status_code == 403


def test_strangers_are_kept_out_and_slowed_down(new_cluster):
    c = new_cluster(config={"scim": {"enabled": True, "auth": {"username": NAME, "password": SECRET}}})
    c.start_master()
    for headers in ({}, {"Authorization": "Basic !"}, basic(NAME, ""), basic("", ""), {"Authorization": "Bearer "}):
        call(c, "GET", "/Users", headers=headers, status=401)
    statuses = {c.request("POST", "/scim/v2/Users", {"userName": "x"}, token=None, headers=basic(NAME, "guess")).status for _ in range(4)}
    assert 429 in statuses and statuses <= {401, 429}
    assert SECRET not in c.master_log()


def test_a_session_of_an_admin_is_no_credential_of_a_directory(platform):
    token = platform.admin_token()
    assert platform.request("GET", "/scim/v2/Users", token=token).status == 401


def test_without_scim_nothing_is_there(master):
    assert "not switched on" in call(master, "GET", "/Users", status=404)["message"]
