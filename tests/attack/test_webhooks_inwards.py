"""Users name the addresses of webhooks. Nobody gets the master to speak to its own network that way, or to wait for ever."""
import socket
import time

import pytest
from support.cluster import Cluster, wait_for
from support.receiver import Receiver

WEBHOOKS = "/api/v1/webhooks"


@pytest.fixture(scope="module")
def receiver():
    with Receiver() as r:
        yield r


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """A master that may speak to 127.0.0.1, and to no other address that is not public."""
    with Cluster(tmp_path_factory.mktemp("cluster"), config={"webhooks": {"allowed_addresses": ["127.0.0.1"]}}) as cluster:
        cluster.start_master()
        cluster.login()
        yield cluster


def press(c, url):
    body = {"name": url[:200], "url": url, "webhookType": "WEBHOOK_TYPE_DEFAULT", "mode": "WEBHOOK_MODE_SPECIFIC",
            "triggers": [{"triggerType": "TRIGGER_TYPE_CUSTOM"}]}
    h = c.post(WEBHOOKS, body, token=c.admin_token()).json["webhook"]
    reply = c.post(f"{WEBHOOKS}/{h['id']}/test", token=c.admin_token())
    assert c.request("DELETE", f"{WEBHOOKS}/{h['id']}", token=c.admin_token()).status == 200
    return reply


@pytest.mark.parametrize("host", [
    "127.0.0.2", "127.1", "2130706434", "0x7f000002", "0177.0.0.2", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.2]", "[::ffff:7f00:2]", "[::127.0.0.2]",
    "[64:ff9b::7f00:2]", "[2002:7f00:2::]", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "[fe80::1]", "[fd00::1]", "100.64.0.1", "224.0.0.1",
    "255.255.255.255"])
def test_an_address_inside_is_not_connected_to(c, receiver, host):
    if host == "127.1":  # another way to write 127.0.0.1, which is allowed here
        assert press(c, receiver.url("/allowed", host)).status == 200
        return
    reply = press(c, receiver.url("/inside", host))
    assert reply.status == 400 and "private, loopback, link-local or reserved" in reply.json["error"]["error"], reply
    assert not receiver.of("/inside")


def test_a_name_that_leads_inside_is_not_connected_to(new_cluster, receiver):
    c = new_cluster()
    c.start_master()
    c.login()
    assert "private, loopback" in press(c, receiver.url("/by-name", "localhost")).json["error"]["error"]
    assert not receiver.of("/by-name")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_that_leads_inside_is_not_followed(c, receiver, status):
    receiver.answer = lambda handler: handler.status(status, Location=receiver.url("/redirected", "127.0.0.2"))
    reply = press(c, receiver.url("/redirects"))
    receiver.answer = None
    assert reply.status == 400 and "private, loopback" in reply.json["error"]["error"]
    assert receiver.of("/redirects") and not receiver.of("/redirected")


@pytest.mark.parametrize("place", ["file:///etc/passwd", "gopher://127.0.0.1/", "ftp://127.0.0.1/", "dict://127.0.0.1/"])
def test_a_redirect_to_another_protocol_is_not_followed(c, receiver, place):
    receiver.answer = lambda handler: handler.status(302, Location=place)
    assert press(c, receiver.url("/protocol")).status == 400
    receiver.answer = None


def test_a_circle_of_redirects_ends(c, receiver):
    receiver.answer = lambda handler: handler.status(302, Location=receiver.url("/circle"))
    assert press(c, receiver.url("/circle")).status == 400
    receiver.answer = None
    assert len(receiver.of("/circle")) <= 5


def test_a_proxy_of_the_environment_is_not_used(new_cluster, receiver):
    c = new_cluster(env={"http_proxy": receiver.url(), "all_proxy": receiver.url()})
    c.start_master()
    c.login()
    seen = len(receiver.messages)
    assert press(c, "http://127.0.0.2:1/").status == 400 and len(receiver.messages) == seen


def test_an_endless_answer_is_not_read_to_its_end(c, receiver):
    def endless(handler):
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b"x" * 65536)
    receiver.answer = endless
    assert press(c, receiver.url("/endless")).status == 200  # the status says that it was taken
    receiver.answer = None


def test_an_answer_that_never_comes_is_given_up_and_the_master_serves_on(c):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        reply = press(c, f"http://127.0.0.1:{silent.getsockname()[1]}/")
        assert reply.status == 400 and "timed out" in reply.json["error"]["error"].lower(), reply
        assert time.monotonic() - began < 60
    assert c.get("/api/v1/me").status == 200


def test_a_master_that_waits_for_a_receiver_still_stops(new_cluster):
    c = new_cluster(config={"webhooks": {"allowed_addresses": ["127.0.0.1"]}})
    c.start_master()
    c.login()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        body = {"name": "silent", "url": f"http://127.0.0.1:{silent.getsockname()[1]}/", "webhookType": "WEBHOOK_TYPE_DEFAULT",
                "mode": "WEBHOOK_MODE_WORKSPACE", "triggers": [{"triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", "condition": {"state": "CANCELED"}}]}
        assert c.post(WEBHOOKS, body, token=c.admin_token()).status == 200
        x = c.create(activate=False)
        assert c.post(f"/api/v1/experiments/{x}/cancel").status == 200
        connection, _ = silent.accept()
        c.stop_master()
        connection.close()


def test_names_in_messages_bring_no_links_of_their_own(c, receiver):
    body = {"name": "links", "url": receiver.url("/links"), "webhookType": "WEBHOOK_TYPE_SLACK", "mode": "WEBHOOK_MODE_WORKSPACE",
            "triggers": [{"triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", "condition": {"state": "CANCELED"}}]}
    assert c.post(WEBHOOKS, body, token=c.admin_token()).status == 200
    x = c.create(activate=False, name="<https://evil.example|Log in again> <!channel>")
    assert c.post(f"/api/v1/experiments/{x}/cancel").status == 200
    wait_for("the message", lambda: receiver.of("/links"))
    assert b"<https://evil" not in receiver.of("/links")[0].raw and b"<!channel>" not in receiver.of("/links")[0].raw
