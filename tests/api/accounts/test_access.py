"""Tests who may send which request: open routes, logins, sessions, tokens of agents."""
import json
import stat

import pytest
from support.cluster import CONTRACT, PASSWORD, client_hash

# Exactly these routes answer without credentials (contract: `unauth` rows, /info, /health; / only redirects). A machine without a browser
# asks for its login by two of them, and has nothing before a person allows it.
OPEN = {("POST", "/api/v1/auth/login"), ("POST", "/api/v1/auth/device"), ("POST", "/api/v1/auth/device/poll"), ("GET", "/api/v1/master"), ("GET", "/api/v1/master/telemetry"),
        ("GET", "/info"), ("GET", "/health"), ("GET", "/")}
RAW = [("GET", "/metrics"), ("GET", "/debug/prom/metrics"), ("POST", "/task-logs"), ("GET", "/experiments/1/model_def"),
       ("GET", "/users/me"), ("GET", "/agents"), ("GET", "/agents?id=x"), ("GET", "/api/v1/openapi.json"), ("GET", "/nowhere"), ("GET", "/info"), ("GET", "/health"),
       ("GET", "/")]


def all_routes():
    for row in CONTRACT.routes.values():
        path = row["path"]
        while "{" in path:
            path = path[:path.index("{")] + "1" + path[path.index("}") + 1:]
        yield row["method"], path
    yield from RAW


def test_a_display_name_is_nobody_elses_name(master):
    admin = master.login("admin", keep=False).json["token"]
    for name in ("Admin", "determined", "DETERMINED"):
        made = master.post("/api/v1/users", {"user": {"username": "eve", "active": True, "displayName": name}}, token=admin)
        assert made.status == 400 and f'the display name "{name}" is taken' in made.json["error"]["error"], made
    assert "eve" not in [u["username"] for u in master.get("/api/v1/users").json["users"]]


def test_only_the_routes_of_the_contract_answer_without_credentials(master):
    answered = {(method, path.split("?")[0]) for method, path in all_routes()
                if master.request(method, path, token=None, raw=b"{}" if method != "GET" else None).status
                not in (401, 501)}
    assert answered == OPEN


def test_no_route_is_planned_only_and_unknown_ones_are_not_implemented(master):
    assert [rpc for rpc in CONTRACT.routes if rpc not in CONTRACT.served] == []
    for method, path in [("GET", "/api/v1/nope"), ("DELETE", "/api/v1/agents"), ("GET", "/api/v1/agents/a:b"),
                         ("GET", "/api/v1/agents/a%2Fb/c/d/e")]:
        reply = master.request(method, path, token=None)
        assert reply.status == 501
        assert reply.body == b'{"error":{"code":12,"reason":"Unimplemented","error":"Not Implemented"}}\n'


def test_unknown_paths_outside_the_api_ask_for_credentials_first(master):
    assert master.get("/nope", token=None).status == 401
    reply = master.get("/nope")
    assert reply.status == 404
    assert reply.json == {"message": "api not found: GET /nope"}


def test_login_gives_a_token_and_a_cookie_and_logout_ends_both(master):
    reply = master.login("determined", keep=False)
    token = reply.json["token"]
    cookie = reply.headers["Set-Cookie"].split(";")[0]
    assert cookie == f"auth={token}" and "Secure" not in reply.headers["Set-Cookie"]
    assert master.get("/api/v1/me", token=token).json["user"]["username"] == "determined"
    assert master.get("/api/v1/me", token=None, headers={"Cookie": cookie}).status == 200
    assert master.post("/api/v1/auth/logout", token=token).status == 200
    assert master.get("/api/v1/me", token=token).status == 401
    assert master.get("/api/v1/me", token=None, headers={"Cookie": cookie}).status == 401


@pytest.mark.parametrize("user, password, status, text", [
    ("determined", "wrong", 401, "invalid credentials"),
    ("determined", "", 401, "invalid credentials"),
    ("nobody", PASSWORD, 401, "invalid credentials"),
    ("", PASSWORD, 400, "missing argument: username"),
])
def test_bad_logins(master, user, password, status, text):
    reply = master.login(user, password, keep=False)
    assert reply.status == status
    assert reply.json["error"]["error"] == text


def test_a_plain_password_is_hashed_by_the_master(master):
    reply = master.post("/api/v1/auth/login", {"username": "determined", "password": PASSWORD}, token=None)
    assert reply.status == 200


def test_no_account_is_blank_and_the_first_password_lies_in_the_data_directory(new_cluster):
    cluster = new_cluster(password="")
    cluster.start_master()
    import support.cluster as support
    path = cluster.dir / "data/initial_password"
    support.wait_for("the password file", lambda: path.exists() and path.stat().st_size)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((cluster.dir / "data").stat().st_mode) == 0o700
    password = path.read_text().strip()
    support.wait_for("the accounts", lambda: cluster.login("admin", password).status == 200)
    for user in ("admin", "determined"):
        assert cluster.login(user, "", keep=False).status == 401
    assert password not in cluster.master_log()
    # The second start does not change the password.
    cluster.stop_master()
    cluster.start_master()
    assert path.read_text().strip() == password
    assert cluster.login("determined", password).status == 200


def test_tokens_are_not_stored(master):
    token = master.login("determined", keep=False).json["token"]
    data = b"".join(p.read_bytes() for p in (master.dir / "data").glob("determined.db*"))
    assert token.encode() not in data
    assert client_hash(PASSWORD).encode() not in data
    assert token not in master.master_log()


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}])
def test_agents_need_their_token(master, headers):
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    reply = master.get("/agents?id=x&version=1", token=None, headers={**upgrade, **headers})
    assert reply.status == 401
    assert "agent.token" in reply.json["message"]


def test_users_are_created_changed_and_refused(master):
    user = json.loads(master.get("/api/v1/me").body)["user"]
    assert master.post("/api/v1/users", {"user": {"username": "eve", "active": True}}).status == 403
    admin = master.login("admin", keep=False).json["token"]
    made = master.post("/api/v1/users", {"user": {"username": "ann", "active": True, "displayName": "Ann"},
                                         "password": client_hash("Ann-Passw0rd"), "isHashed": True}, token=admin)
    assert made.status == 200 and made.json["user"]["displayName"] == "Ann"
    assert master.post("/api/v1/users", {"user": {"username": "ann", "active": True}}, token=admin).status == 409
    ann = master.login("ann", "Ann-Passw0rd", keep=False).json["token"]
    ann_id = made.json["user"]["id"]
    # Ann may change her own password and display name, but nobody else's, and no rights.
    assert master.patch(f"/api/v1/users/{user['id']}", {"displayName": "x"}, token=ann).status == 403
    assert master.patch(f"/api/v1/users/{ann_id}", {"admin": True}, token=ann).status == 403
    other = master.login("ann", "Ann-Passw0rd", keep=False).json["token"]
    assert master.patch(f"/api/v1/users/{ann_id}", {"password": client_hash("New-Passw0rd"), "isHashed": True},
                        token=ann).status == 200
    assert master.get("/api/v1/me", token=other).status == 401, "a changed password ends every other login"
    assert master.get("/api/v1/me", token=ann).status == 200
    assert master.login("ann", "Ann-Passw0rd", keep=False).status == 401
    ann = master.login("ann", "New-Passw0rd", keep=False).json["token"]
    assert master.patch(f"/api/v1/users/{ann_id}", {"active": False}, token=admin).status == 200
    assert master.get("/api/v1/me", token=ann).status == 401, "a deactivated user's sessions are over"
    assert master.login("ann", "New-Passw0rd", keep=False).json["error"]["error"] == "user is not active"
    names = [u["username"] for u in master.get("/api/v1/users?sortBy=SORT_BY_USER_NAME").json["users"]]
    assert names == ["admin", "ann", "determined"]
    assert master.get("/api/v1/users/ann/by-username").json["user"]["id"] == ann_id
