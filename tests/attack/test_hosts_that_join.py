"""Tests hosts that want to become agents of a cluster and must not: by filling the list of those that wait, by taking the id of
another, by a token that is not theirs."""
import http.client
import os
import urllib.parse

import pytest
from hostile_agent import HostileAgent, Refused
from support.cluster import Cluster, error_of, wait_for

OF_ADDRESS_MAX = 10  # JOINING_OF_ADDRESS_MAX of src/api/cluster/joining.h


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("hosts")) as c:
        c.start_master()
        c.start_agent("honest")
        c.login("admin")
        yield c


def ask(cluster, agent_id, key, **more):
    """Asks to be accepted, as an agent does that has no token. Returns (status, text)."""
    query = urllib.parse.urlencode({"id": agent_id, "join": "ask", "hostname": "evil", "version": "1", **more})
    connection = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=30)
    connection.request("GET", f"/agents?{query}", headers={
        "Authorization": f"Bearer {key}", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg=="})
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return reply.status, text


def pending(cluster):
    return cluster.get("/api/v1/pending-agents").json["agents"]


@pytest.fixture(autouse=True)
def nobody_waits(cluster):
    for a in pending(cluster):
        cluster.post(f"/api/v1/pending-agents/{urllib.parse.quote(a['id'])}/reject", {"fingerprint": a["fingerprint"]})


def test_a_host_fills_the_list_of_those_that_wait(cluster):
    statuses = [ask(cluster, f"evil{i}", f"key{i}")[0] for i in range(300)]
    assert statuses[:OF_ADDRESS_MAX] == [403] * OF_ADDRESS_MAX and set(statuses[OF_ADDRESS_MAX:]) == {503}
    assert len(pending(cluster)) == OF_ADDRESS_MAX
    # whoever waits already is heard; the list grows neither by asking again
    assert ask(cluster, "evil0", "key0")[0] == 403
    assert len(pending(cluster)) == OF_ADDRESS_MAX
    assert [a["id"] for a in cluster.get("/api/v1/agents").json["agents"]] == ["honest"]


def test_a_host_asks_under_the_id_of_another_that_waits(cluster):
    """The admin accepts by the fingerprint: the one that came later does not get in under the same id."""
    assert ask(cluster, "node7", "key of the right one")[0] == 403
    [right] = pending(cluster)
    assert ask(cluster, "node7", "key of the wrong one")[0] == 403
    assert len(pending(cluster)) == 2
    assert cluster.post("/api/v1/pending-agents/node7/accept", {"fingerprint": right["fingerprint"]}).status == 200
    with pytest.raises(Refused, match="401"):
        HostileAgent(cluster, "node7", token="key of the wrong one")
    assert ask(cluster, "node7", "key of the wrong one")[0] == 409
    HostileAgent(cluster, "node7", token="key of the right one").hello(devices=0)
    wait_for("the right one", lambda: cluster.get("/api/v1/agents/node7").status == 200)


def test_a_host_asks_under_the_id_of_an_agent_that_has_joined(cluster):
    status, text = ask(cluster, "honest", "any key")
    assert status == 409 and "revoke the key" in text
    assert pending(cluster) == []


def test_the_key_of_an_agent_that_waits_opens_nothing(cluster):
    ask(cluster, "evil", "its key")
    with pytest.raises(Refused, match="401"):
        HostileAgent(cluster, "evil", token="its key")
    for path in ("/api/v1/agents", "/api/v1/pending-agents", "/metrics"):
        assert cluster.get(path, token="its key").status == 401


@pytest.mark.parametrize("changes", [
    {"id": "a" * 200}, {"id": "a b"}, {"id": "../x"}, {"hostname": "h" * 300}, {"hostname": "h\n2026 error forged=1"},
    {"version": "v" * 100}, {"resource_pool": "p" * 100}, {"version": "\x1b[31m"},
])
def test_what_a_host_says_of_itself_is_bounded_and_plain(cluster, changes):
    more = {"agent_id": "evil", "key": "k", **changes}
    status, _ = ask(cluster, changes.get("id", "evil"), "k", **{k: v for k, v in more.items() if k not in ("agent_id", "key", "id")})
    assert status == 400
    assert pending(cluster) == []


def test_a_join_token_takes_the_id_of_an_agent_that_has_joined(cluster):
    token = cluster.post("/api/v1/join-tokens", {"uses": 0}).json["token"]
    wait_for("the honest agent's key", lambda: (cluster.dir / "honest/agent.key").exists())
    with pytest.raises(Refused, match="409"):
        HostileAgent(cluster, "honest", token=token)


def test_a_token_for_one_agent_lets_in_two_at_once(cluster):
    token = cluster.post("/api/v1/join-tokens", {"uses": 1}).json["token"]
    first, second = (HostileAgent(cluster, f"twin{i}", token=token) for i in range(2))
    assert first.hello(wantsKey=True).welcome()
    second.hello(wantsKey=True)
    assert "used up" in second.refusal()


def test_a_token_is_used_again_and_again_by_an_agent_that_takes_no_key(cluster):
    token = cluster.post("/api/v1/join-tokens", {"uses": 1}).json["token"]
    evil = HostileAgent(cluster, "keyless", token=token).hello(wantsKey=False)
    assert "takes no key of its own" in evil.refusal()


@pytest.mark.parametrize("key", ["short", "a" * 63, "a" * 65, "A" * 64, "g" * 64, "a" * 10000, "ab " * 21 + "a"])
def test_a_key_that_is_easy_to_guess_or_has_another_form_is_not_taken(cluster, key):
    made = cluster.post("/api/v1/join-tokens", {"uses": 1}).json
    evil = HostileAgent(cluster, "weak", token=made["token"]).hello(wantsKey=True, key=key)
    assert "it must have 64" in evil.refusal()
    [row] = [t for t in cluster.get("/api/v1/join-tokens").json["joinTokens"] if t["id"] == made["joinToken"]["id"]]
    assert row["uses"] == 0


def test_the_key_that_an_agent_has_made_is_kept_as_a_hash_and_is_good_for_its_id_only(cluster):
    token, key = cluster.post("/api/v1/join-tokens", {"uses": 1}).json["token"], os.urandom(32).hex()
    with HostileAgent(cluster, "maker", token=token).hello(wantsKey=True, key=key) as agent:
        assert agent.hear_until("agentKey")["key"] == key
    with HostileAgent(cluster, "maker", token=key) as agent:
        assert agent.hello().welcome()
    with pytest.raises(Refused, match="401"):
        HostileAgent(cluster, "other", token=key)
    # who has joined cannot put another key in its place
    with HostileAgent(cluster, "maker", token=key) as agent:
        agent.hello(wantsKey=True, key="f" * 64).welcome()
    with pytest.raises(Refused, match="401"):
        HostileAgent(cluster, "maker", token="f" * 64)
    assert key not in cluster.master_log()
    if os.environ.get("DET_TEST_DB") != "postgres":
        for path in (cluster.dir / "data").glob("determined.db*"):
            assert key.encode() not in path.read_bytes()


def test_an_agent_of_another_version_is_taken_and_named(cluster):
    """What an agent says of its version is shown to people only."""
    token = cluster.post("/api/v1/join-tokens", {"uses": 1}).json["token"]
    assert HostileAgent(cluster, "older", token=token).hello(wantsKey=True, version="0.0.9").welcome()
    assert "agent.version id=older agent=0.0.9" in cluster.master_log().replace('"', "")


def test_a_token_for_one_pool_joins_another(cluster):
    token = cluster.post("/api/v1/join-tokens", {"resourcePool": "default"}).json["token"]
    evil = HostileAgent(cluster, "climber", token=token, pool="elsewhere").hello(wantsKey=True)
    assert "resource pool 'default' only" in evil.refusal()


def test_a_join_token_is_kept_as_a_hash_and_shown_once(cluster):
    token = cluster.post("/api/v1/join-tokens", {"uses": 1}).json["token"]
    assert token not in cluster.get("/api/v1/join-tokens").body.decode()
    assert token not in cluster.master_log()
    if os.environ.get("DET_TEST_DB") != "postgres":
        for path in (cluster.dir / "data").glob("determined.db*"):
            assert token.encode() not in path.read_bytes()


def test_people_who_are_no_admins_let_in_agents(cluster):
    ask(cluster, "evil", "k")
    [row] = pending(cluster)
    mine = cluster.login("determined", keep=False).json["token"]
    for method, path, body in [("GET", "pending-agents", None), ("POST", "pending-agents/evil/accept", {"fingerprint": row["fingerprint"]}),
                               ("POST", "join-tokens", {}), ("GET", "join-tokens", None), ("DELETE", "join-tokens/1", None)]:
        assert "admin" in error_of(cluster.request(method, f"/api/v1/{path}", body, token=mine), 403)
