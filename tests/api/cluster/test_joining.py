"""Tests how agents join: with the token of a master on the same machine, by an admin's word, and with join tokens."""
import contextlib
import os
import re
import signal
import socket
import subprocess
import threading

import pytest
from support.certificates import Authority, fingerprint
from support.cluster import PASSWORD, error_of, wait_for
from support.det import det, run_det

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts")
FINGERPRINT = re.compile(r"(?:[0-9a-f]{4}-){7}[0-9a-f]{4}")
# Shows an agent a master's data directory where a master of root has it.
AT_THE_MASTERS_PLACE = 'mount -t tmpfs none /var/lib && mkdir /var/lib/determined && mount --bind "$0" /var/lib/determined && exec "$@"'


@pytest.fixture
def cluster(new_cluster):
    c = new_cluster("joining", config={"resource_pools": [{"pool_name": "default"}, {"pool_name": "gpu"}, {"pool_name": "cpu"}]})
    c.start_master()
    c.login("admin")
    return c

LISTENER = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    connection, _ = server.accept()
    print(connection.recv(65536).decode(), flush=True)
    connection.close()
"""


def log_of(cluster, name):
    return (cluster.dir / f"{name}.log").read_text()


def pending(cluster):
    return cluster.get("/api/v1/pending-agents").json["agents"]


def start_asking(cluster, name, **options):
    """Starts an agent that has no token, and returns what the master lists of it."""
    cluster.start_agent(name, wait=False, token_file="", **options)
    wait_for(f"{name} to ask", lambda: any(a["id"] == name for a in pending(cluster)))
    [row] = [a for a in pending(cluster) if a["id"] == name]
    return row


def accept(cluster, name, print_, **more):
    return cluster.post(f"/api/v1/pending-agents/{name}/accept", {"fingerprint": print_, **more})


def create_token(cluster, **body):
    reply = cluster.post("/api/v1/join-tokens", body)
    assert reply.status == 200, reply
    return reply.json


def pool_of(cluster, name):
    [agent] = [a for a in cluster.get("/api/v1/agents").json["agents"] if a["id"] == name]
    return agent["resourcePools"]


# ---- the master's own machine ----


@ROOT_ONLY
def test_an_agent_beside_the_master_needs_no_word_about_the_token(cluster):
    cluster.start_agent("near", token_file="", prefix=["unshare", "-m", "sh", "-c", AT_THE_MASTERS_PLACE, str(cluster.dir / "data")])
    assert "link.local_token" in log_of(cluster, "near")
    assert pending(cluster) == []


@ROOT_ONLY
def test_the_token_is_not_shown_to_another_users_program_at_the_masters_port(cluster, tmp_path):
    cluster.stop_master()
    heard = tmp_path / "heard"
    with open(heard, "wb") as out:
        listener = subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", LISTENER,
                                     str(cluster.port)], stdout=out)
    try:
        cluster.start_agent("near", wait=False, token_file="",
                            prefix=["unshare", "-m", "sh", "-c", AT_THE_MASTERS_PLACE, str(cluster.dir / "data")])
        wait_for("what the agent shows", lambda: "Bearer" in heard.read_text())
        # the agent asks with a key of its own, which opens nothing
        assert (cluster.dir / "data/agent.token").read_text().strip() not in heard.read_text()
    finally:
        listener.kill()
        listener.wait()


# ---- an admin's word ----


def test_an_agent_without_a_token_waits_until_an_admin_accepts_it(cluster):
    row = start_asking(cluster, "far", resource_pool="gpu")
    assert row["resourcePool"] == "gpu" and row["address"] == "127.0.0.1"
    assert FINGERPRINT.fullmatch(row["fingerprint"])
    wait_for("the fingerprint in the agent's log", lambda: row["fingerprint"] in log_of(cluster, "far"))
    assert cluster.get("/api/v1/agents").json["agents"] == []
    assert row["fingerprint"] in det(cluster, "agent", "pending", user="admin")
    wrong = error_of(accept(cluster, "far", "0000-" * 7 + "0000"))
    assert "compare it with the log of the agent" in wrong
    assert "fingerprint is missing" in error_of(accept(cluster, "far", ""), 400)
    assert "Accepted agent far" in run_det(cluster, "agent", "accept", "far", "--yes", user="admin").stderr
    wait_for("the agent", lambda: cluster.agent_is_up("far"))
    assert pending(cluster) == []
    # the agent is let in again after agent and master have been started anew
    cluster.stop_agent("far")
    cluster.stop_master()
    cluster.start_master()
    cluster.login("admin")
    cluster.start_agent("far", token_file="", resource_pool="gpu")


def test_a_rejected_agent_is_off_the_list_and_a_revoked_one_has_to_ask_again(cluster):
    row = start_asking(cluster, "far", agent_reconnect_backoff=60)
    assert cluster.post("/api/v1/pending-agents/far/reject", {"fingerprint": row["fingerprint"]}).status == 200
    assert "does not wait" in error_of(accept(cluster, "far", row["fingerprint"]), 404)
    cluster.stop_agent("far")
    start_asking(cluster, "far")
    det(cluster, "agent", "accept", "far", "--yes", user="admin")
    wait_for("the agent", lambda: cluster.agent_is_up("far"))
    assert cluster.request("DELETE", "/api/v1/agents/far/key").status == 200
    wait_for("the agent to ask again", lambda: pending(cluster))
    [again] = pending(cluster)
    assert again["fingerprint"] != row["fingerprint"], "the key that was revoked must not come back"


def test_a_cluster_may_hear_agents_with_a_token_only(new_cluster):
    c = new_cluster("closed", config={"security": {"initial_user_password": PASSWORD, "pending_agents": False}})
    c.start_master()
    c.login("admin")
    c.start_agent("far", wait=False, token_file="")
    wait_for("the refusal", lambda: "security.pending_agents is false" in log_of(c, "far"))
    assert pending(c) == []


# ---- tokens ----


def test_a_join_token_lets_in_as_many_agents_as_it_says_and_into_its_pool(cluster):
    made = create_token(cluster, resourcePool="gpu", uses=1, description="rack 7")
    assert made["joinToken"]["uses"] == 0 and made["joinToken"]["usesMax"] == 1
    cluster.start_agent("one", token_file="", token=made["token"])
    assert pool_of(cluster, "one") == ["gpu"]
    wait_for("its key, with which the use is counted", lambda: "link.key" in log_of(cluster, "one"))
    [row] = cluster.get("/api/v1/join-tokens").json["joinTokens"]
    assert (row["uses"], row["resourcePool"], row["description"]) == (1, "gpu", "rack 7")
    cluster.start_agent("two", wait=False, token_file="", token=made["token"])
    wait_for("the refusal", lambda: "401" in log_of(cluster, "two"))
    # the key of the first one is good for this pool only, also without the token
    cluster.stop_agent("one")
    cluster.stop_master()
    cluster.start_master()
    cluster.login("admin")
    cluster.start_agent("one", token_file="", resource_pool="cpu", wait=False)
    wait_for("the refusal", lambda: "let into the resource pool 'gpu' only" in log_of(cluster, "one"))
    assert cluster.agents.pop("one").wait(60) != 0
    cluster.start_agent("one", token_file="")
    assert pool_of(cluster, "one") == ["gpu"]


def test_a_token_is_not_used_up_by_an_agent_that_is_refused(cluster):
    token = create_token(cluster, uses=1)["token"]
    cluster.start_agent("wrong", wait=False, token_file="", token=token, resource_pool="nowhere")
    assert cluster.agents.pop("wrong").wait(60) != 0
    cluster.start_agent("right", token_file="", token=token)


def test_tokens_end_by_time_and_by_an_admins_word(cluster):
    short = create_token(cluster, lifespan="1ms")["token"]
    gone = create_token(cluster)
    assert gone["token"] not in det(cluster, "agent", "join-token", "list", user="admin")
    assert "Revoked" in run_det(cluster, "agent", "join-token", "revoke", gone["joinToken"]["id"], user="admin").stderr
    assert error_of(cluster.request("DELETE", f"/api/v1/join-tokens/{gone['joinToken']['id']}"), 404)
    for name, token in [("late", short), ("gone", gone["token"])]:
        cluster.start_agent(name, wait=False, token_file="", token=token)
        wait_for("the refusal", lambda n=name: "401" in log_of(cluster, n))
    assert cluster.get("/api/v1/agents").json["agents"] == []


@pytest.mark.parametrize("body, words", [
    ({"uses": -1}, "uses is -1"), ({"uses": 100001}, "uses is 100001"), ({"resourcePool": "nowhere"}, '"nowhere" does not exist'),
    ({"lifespan": "soon"}, 'lifespan is "soon"'), ({"lifespan": "-3h"}, "more than 0"), ({"description": "a\nb"}, "control character"),
])
def test_bad_tokens_are_not_made(cluster, body, words):
    assert words in error_of(cluster.post("/api/v1/join-tokens", body))
    assert cluster.get("/api/v1/join-tokens").json["joinTokens"] == []


def test_det_says_what_is_wrong_with_an_agent_that_does_not_wait(cluster):
    done = run_det(cluster, "agent", "accept", "nobody", user="admin")
    assert done.returncode != 0 and "does not wait to be let in" in done.stderr


# ---- a link that breaks while the agent joins ----


class Cut:
    """A relay between an agent and its master. Of each link that the master has let in, it swallows what the master says, or what the agent
    says, until heal()."""

    def __init__(self, port, swallow):
        self.port, self.swallow, self.cutting, self.refusals, self.swallowed, self.stack = port, swallow, True, 0, threading.Event(), contextlib.ExitStack()
        self.listener = self.stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.own_port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                agent, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(agent,), daemon=True).start()

    def _serve(self, agent):
        let_in = threading.Event()
        with contextlib.suppress(OSError), agent, socket.create_connection(("127.0.0.1", self.port)) as master:
            agent.settimeout(0.1)
            master.settimeout(0.1)
            threading.Thread(target=self._pass_on, args=(agent, master, "agent", let_in), daemon=True).start()
            self._pass_on(master, agent, "master", let_in)

    def _pass_on(self, source, target, who, let_in):
        """Ends both connections when a link that was cut is to heal."""
        was_cut = False
        with contextlib.suppress(OSError):
            while self.cutting or not was_cut:
                try:
                    data = source.recv(65536)
                except TimeoutError:
                    continue
                if not data:
                    break
                self.refusals += who == "master" and b" 401 " in data.split(b"\r\n")[0]
                if who == "master" and b" 101 " in data.split(b"\r\n")[0]:
                    head, _, rest = data.partition(b"\r\n\r\n")
                    let_in.set()
                    target.sendall(head + b"\r\n\r\n")
                    data = rest
                if who == self.swallow and let_in.is_set() and self.cutting:
                    was_cut = True
                    if data:
                        self.swallowed.set()
                elif data:
                    target.sendall(data)
        for s in (source, target):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def heal(self):
        self.cutting = False

    def close(self):
        self.stack.close()


@pytest.fixture
def cut(cluster):
    made = []

    def make(swallow):
        made.append(Cut(cluster.port, swallow))
        return made[-1]

    yield make
    for relay in made:
        relay.close()


@pytest.mark.parametrize("fault", ["link", "agent", "master"])
def test_an_agent_whose_link_breaks_before_it_has_heard_of_its_key_joins_when_it_comes_again(cluster, cut, fault):
    """The token is used up by then, and the agent's id has a key."""
    relay, token = cut("master"), create_token(cluster, uses=1)["token"]
    options = {"token_file": "", "token": token, "master_port": relay.own_port}
    cluster.start_agent("one", wait=False, **options)
    wait_for("the master to store the key", lambda: "agent.key_made id=one" in cluster.master_log())
    assert not (cluster.dir / "one/agent.key").exists() and "link.up" not in log_of(cluster, "one")
    if fault == "agent":
        cluster.stop_agent("one", signal.SIGKILL)
    elif fault == "master":
        cluster.stop_master(signal.SIGKILL)
    relay.heal()
    if fault == "agent":
        cluster.start_agent("one", wait=False, **options)
    elif fault == "master":
        cluster.start_master()
        cluster.login("admin")
    wait_for("the agent", lambda: "link.up" in log_of(cluster, "one"))
    wait_for("its key", lambda: (cluster.dir / "one/agent.key").exists())
    assert not (cluster.dir / "one/agent.request").exists()
    [row] = cluster.get("/api/v1/join-tokens").json["joinTokens"]
    assert row["uses"] == 1
    # the agent needs the token no more
    cluster.stop_agent("one")
    cluster.start_agent("one", token_file="")


def test_an_agent_whose_hello_was_lost_joins_with_the_token_that_is_not_used_up(cluster, cut):
    relay, token = cut("agent"), create_token(cluster, uses=1)["token"]
    cluster.start_agent("one", wait=False, token_file="", token=token, master_port=relay.own_port)
    wait_for("the hello to be lost", relay.swallowed.is_set)
    relay.heal()
    wait_for("its key", lambda: "link.key file=" in log_of(cluster, "one"))
    [row] = cluster.get("/api/v1/join-tokens").json["joinTokens"]
    assert row["uses"] == 1


def test_an_agent_that_was_accepted_and_whose_link_breaks_joins_when_it_comes_again(cluster, cut):
    relay = cut("master")
    row = start_asking(cluster, "far", master_port=relay.own_port)
    assert accept(cluster, "far", row["fingerprint"]).status == 200
    wait_for("the master to hear its hello", lambda: "agent.connected id=far" in cluster.master_log())
    assert not (cluster.dir / "far/agent.key").exists() and "link.up" not in log_of(cluster, "far")
    relay.heal()
    wait_for("its key", lambda: "link.key file=" in log_of(cluster, "far"))


def test_a_file_of_a_request_that_was_cut_off_keeps_no_agent_out(cluster):
    (cluster.dir / "one").mkdir()
    (cluster.dir / "one/agent.request").write_text("0123456789abcdef")
    cluster.start_agent("one", token_file="", token=create_token(cluster, uses=1)["token"])
    wait_for("its key", lambda: "link.key file=" in log_of(cluster, "one"))


def test_a_key_that_was_offered_opens_nothing_for_another_agent(cluster, cut):
    relay, token = cut("agent"), create_token(cluster, uses=1)["token"]
    cluster.start_agent("one", wait=False, token_file="", token=token, master_port=relay.own_port)
    wait_for("the hello to be lost", relay.swallowed.is_set)
    cluster.start_agent("two", token_file="", token=token)  # somebody else is faster
    relay.heal()
    wait_for("the refusals of its key and of the token", lambda: relay.refusals >= 4)
    assert [a["id"] for a in cluster.get("/api/v1/agents").json["agents"]] == ["two"]
    assert pending(cluster) == []


# ---- the master's certificate ----


def with_tls(new_cluster, name, authority, directory):
    authority.sign(directory / f"{name}.crt", directory / f"{name}.key")
    c = new_cluster(name, config={"security": {"initial_user_password": PASSWORD, "tls": {
        "cert": str(directory / f"{name}.crt"), "key": str(directory / f"{name}.key")}}})
    c.trust_any()
    c.start_master()
    c.login("admin")
    return c


def test_an_agent_knows_the_master_by_the_certificate_in_its_token(new_cluster, tmp_path):
    """Neither the authority nor the name in the certificate is known to the agent; only the token is given."""
    authority = Authority(tmp_path / "authority")
    c = with_tls(new_cluster, "tls", authority, tmp_path)
    token = create_token(c, uses=0)["token"]
    assert token.endswith("." + fingerprint(tmp_path / "tls.crt").replace(":", "").lower())
    c.start_agent("pinned", token_file="", token=token)
    x = c.create(entrypoint=["python3", "-c", "print('hello')"], files={"a.py": ""})
    assert c.wait_experiment(x)["state"] == "STATE_COMPLETED", c.trial_log(c.trial_ids(x)[0])
    # the agent learns of another certificate while it is connected, and needs no token any more
    authority.sign(tmp_path / "tls.crt", tmp_path / "tls.key")
    wait_for("the new certificate", lambda: "link.pin_added" in log_of(c, "pinned"))
    c.stop_agent("pinned")
    c.start_agent("pinned", token_file="")
    # a master with another certificate is not talked to
    other = create_token(c, uses=0)["token"].split(".")[0] + "." + "ab" * 32
    c.start_agent("misled", wait=False, token_file="", token=other)
    wait_for("the refusal", lambda: "not the one that the agent's token names" in log_of(c, "misled"))
    assert "link.up" not in log_of(c, "misled")
