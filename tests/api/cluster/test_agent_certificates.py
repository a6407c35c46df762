"""Tests the certificates that a master gives its agents: who gets one, how it is renewed, and what ends it."""
import contextlib
import json
import os
import re
import signal
import sqlite3
import stat
import struct
import subprocess

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from support.certificates import Authority
from support.cluster import BUILD, PASSWORD, SANITIZED, Cluster, wait_for
from support.det import run_det


@pytest.fixture
def secured(new_cluster):
    """Makes a cluster that speaks TLS: secured(agent_certificates="require")."""

    def make(name="secured", **tls):
        c = new_cluster(name, config={"security": {"initial_user_password": PASSWORD, "tls": {"self_signed": True, **tls}},
                                      "resource_pools": [{"pool_name": "default", "agent_reconnect_wait": "1s"}]})
        c.trust_any()
        return started(c)

    return make


def started(c):
    c.start_master()
    c.login("admin")
    return c


def restart_master(c, **tls):
    c.stop_master()
    c.config["security"]["tls"].update(tls)
    return started(c)


def admin(c, *words):
    return run_det(c, *words, user="admin", DET_MASTER_CERT_FILE=c.dir / "data/tls.crt")


def log_of(c, name="node"):
    return (c.dir / f"{name}.log").read_text()


def pem_of(c, name="node"):
    return c.dir / name / "agent.pem"


def certificate_of(c, name="node"):
    """The certificate that the agent has at the moment; None: it has none."""
    return x509.load_pem_x509_certificate(pem_of(c, name).read_bytes()) if pem_of(c, name).exists() else None


def new_token(c, **body):
    return c.post("/api/v1/join-tokens", {"uses": 0, **body}).json["token"]


def join(c, name="node", **options):
    """Starts an agent with a join token, and waits until it has a certificate and the master has noted that."""
    c.start_agent(name, token_file="", token=new_token(c), **options)
    wait_for("the certificate", lambda: "link.certificate file=" in log_of(c, name))
    wait_for("the note of it", lambda: f"agent.certificate id={name} until=" in c.master_log())


def come_back(c, name="node", wait=True, **options):
    """Starts an agent that has joined before. It needs no token."""
    c.said_before = {name: len(log_of(c, name))}
    return c.start_agent(name, token_file="", wait=wait, **options)


def said_anew(c, words, name="node"):
    """Whether the agent's last start has said this."""
    return words in log_of(c, name)[c.said_before[name]:]


# ---- getting one ----


def test_an_agent_that_joins_gets_a_certificate_for_a_key_of_its_own(secured):
    c = secured()
    join(c)
    authority = c.dir / "data/agents-ca.pem"
    assert stat.S_IMODE(authority.stat().st_mode) == stat.S_IMODE(pem_of(c).stat().st_mode) == 0o600
    given, signer = certificate_of(c), x509.load_pem_x509_certificate(authority.read_bytes())
    given.verify_directly_issued_by(signer)
    assert [a.value for a in given.subject.get_attributes_for_oid(x509.NameOID.USER_ID)] == ["node"]
    assert (given.not_valid_after_utc - given.not_valid_before_utc).total_seconds() == 7 * 86400
    key = serialization.load_pem_private_key(pem_of(c).read_bytes(), None)
    assert key.public_key() == given.public_key()
    assert not given.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    expiry = c.get("/api/v1/agents/node").json["agent"]["certificateExpiry"]
    assert expiry[:19] == given.not_valid_after_utc.strftime("%Y-%m-%dT%H:%M:%S")
    assert "Certificate Until" in admin(c, "agent", "describe", "node").stdout
    [listed] = c.get("/api/v1/agents").json["agents"]
    assert listed["certificateExpiry"] == expiry
    [shown] = json.loads(admin(c, "agent", "list", "--json").stdout)
    assert (shown["certificate"], shown["certificate_until"]) == ("valid", f"{expiry[:10]} {expiry[11:19]}+0000")
    # no log has the key
    private = next(line for line in pem_of(c).read_text().split("-----") if len(line) > 100).strip().splitlines()[0]
    assert private not in c.master_log() and private not in log_of(c)


def test_each_way_to_join_leads_to_a_certificate_that_is_shown_from_then_on(secured):
    c = secured(agent_certificates="require")
    trust = {"security": {"tls": {"enabled": True, "master_cert": str(c.dir / "data/tls.crt"), "master_cert_name": "localhost"}}}
    join(c, "by-join-token")
    c.start_agent("by-token", **trust)
    c.start_agent("by-accepting", wait=False, token_file="", **trust)
    wait_for("the agent to ask", lambda: c.get("/api/v1/pending-agents").json["agents"])
    assert admin(c, "agent", "accept", "by-accepting", "--yes").returncode == 0
    for name in ("by-join-token", "by-token", "by-accepting"):
        wait_for("the certificate", lambda n=name: "link.certificate file=" in log_of(c, n))
        c.stop_agent(name)
    restart_master(c)
    come_back(c, "by-join-token")
    come_back(c, "by-token", **trust)
    come_back(c, "by-accepting", **trust)
    # without its certificate the key alone is not enough, nor is the cluster's token
    for name, token in (("by-token", {}), ("by-accepting", {"token_file": str(c.dir / "data/agent.token")})):
        c.stop_agent(name)
        pem_of(c, name).unlink()
        if token:
            (c.dir / name / "agent.key").unlink()
        c.start_agent(name, wait=False, **{"token_file": "", **trust, **token})
    wait_for("the refusal", lambda: "has been given a certificate, and does not show it" in log_of(c, "by-token"))
    wait_for("the refusal", lambda: "a token lets in new agents only" in log_of(c, "by-accepting"))
    assert "has been given a certificate, and does not show it" in c.master_log()
    assert admin(c, "agent", "revoke-key", "by-token").returncode == 0
    wait_for("it to ask anew", lambda: [a["id"] for a in c.get("/api/v1/pending-agents").json["agents"]] == ["by-token"])


def test_an_agent_that_has_not_heard_that_its_key_is_stored_comes_back_with_its_certificate(secured):
    """The link has broken between the certificate and the word about the key, which the agent has offered itself."""
    c = secured(agent_certificates="require")
    token = new_token(c, uses=1)
    c.start_agent("node", token_file="", token=token)
    wait_for("the note of it", lambda: "agent.certificate id=node until=" in c.master_log())
    c.stop_agent("node")
    (c.dir / "node/agent.key").rename(c.dir / "node/agent.request")
    come_back(c, token=token)
    wait_for("the key", lambda: said_anew(c, "link.key file="))
    assert (c.dir / "node/agent.key").exists() and not (c.dir / "node/agent.request").exists()


def test_the_certificate_of_an_earlier_key_keeps_out_no_agent_that_joins_anew(secured):
    """The agent was killed after its hello: it has the key that it has offered, and the certificate that was revoked with an earlier key."""
    c = secured()
    join(c)
    c.stop_agent("node")
    revoked = pem_of(c).read_bytes()
    assert admin(c, "agent", "revoke-key", "node").returncode == 0
    (c.dir / "node/agent.key").unlink()
    token = new_token(c, uses=1)
    c.start_agent("node", token_file="", token=token)
    wait_for("another certificate", lambda: c.master_log().count("agent.certificate id=node until=") == 2)
    c.stop_agent("node")
    (c.dir / "node/agent.key").rename(c.dir / "node/agent.request")
    pem_of(c).write_bytes(revoked)
    come_back(c, token=token)
    wait_for("the key", lambda: said_anew(c, "link.key file="))
    wait_for("a third certificate", lambda: said_anew(c, "link.certificate file="))
    assert pem_of(c).read_bytes() != revoked


def test_a_cluster_without_tls_or_with_certificates_switched_off_gives_none(new_cluster, secured):
    plain = started(new_cluster("plain"))
    plain.start_agent("node")
    off = secured("off", agent_certificates="none")
    off.start_agent("node", token_file="", token=new_token(off))
    for c in (plain, off):
        assert "certificateExpiry" not in c.get("/api/v1/agents/node").json["agent"]
        assert not (c.dir / "data/agents-ca.pem").exists() and not pem_of(c).exists()


def test_agents_that_have_joined_before_get_theirs_without_a_word(secured):
    c = secured(agent_certificates="none")
    c.start_agent("node", token_file="", token=new_token(c))
    wait_for("the agent's key", lambda: "link.key" in log_of(c))
    restart_master(c, agent_certificates="require")
    wait_for("the certificate", lambda: "link.certificate file=" in log_of(c))
    c.stop_agent("node")
    come_back(c)


# ---- renewing it ----


def test_an_agent_renews_its_certificate_while_it_is_connected_and_shows_the_new_one(secured):
    c = secured(agent_certificates="require", agent_certificate_lifetime="15s")
    join(c)
    first = certificate_of(c)
    key = serialization.load_pem_private_key(pem_of(c).read_bytes(), None)
    wait_for("another certificate", lambda: certificate_of(c) not in (None, first))
    second = certificate_of(c)
    assert second.public_key() != key.public_key(), "each certificate is for a key of its own"
    assert second.not_valid_before_utc < first.not_valid_after_utc, "it is renewed before it ends"
    assert log_of(c).count("link.up") == 1
    restart_master(c, agent_certificate_lifetime="168h")
    wait_for("the agent", lambda: log_of(c).count("link.up") == 2)
    # the one that was given last is still young, so it is kept, also over a restart of the agent
    wait_for("the long one", lambda: (certificate_of(c).not_valid_after_utc - certificate_of(c).not_valid_before_utc).days == 7)
    long = certificate_of(c).serial_number
    c.stop_agent("node")
    come_back(c)
    assert certificate_of(c).serial_number == long


@pytest.mark.parametrize("mode", ["accept", "require"])
def test_a_certificate_that_has_ended(secured, mode):
    c = secured(agent_certificates=mode, agent_certificate_lifetime="10s")
    join(c)
    c.stop_agent("node")
    ended = certificate_of(c)
    restart_master(c, agent_certificate_lifetime="168h")
    wait_for("its end", lambda: subprocess.run(["openssl", "x509", "-noout", "-checkend", "0", "-in", pem_of(c)], stdout=subprocess.DEVNULL).returncode)
    come_back(c, wait=False)
    says = r"the agent's certificate has expired: it was valid until 20.*, and the master's clock says 20"
    if mode == "accept":
        wait_for("another certificate", lambda: certificate_of(c) not in (None, ended))
        assert re.search("link.certificate_passed_over reason=.*" + says, log_of(c))
        assert re.search("agent.certificate_passed_over id=node reason=.*" + says, c.master_log())
        c.stop_agent("node")
        come_back(c)
        assert not said_anew(c, "passed_over")
        return
    wait_for("the refusal", lambda: re.search("link.down .*" + says + ".*det agent revoke-key node", log_of(c)))
    assert re.search("agent.refused id=node reason=.*" + says, c.master_log())
    assert admin(c, "agent", "revoke-key", "node").returncode == 0
    c.stop_agent("node")
    c.start_agent("node", token_file="", token=new_token(c))


# ---- ending it ----


def test_a_revoked_certificate_is_refused_and_both_ends_say_so(secured):
    c = secured()
    join(c)
    assert "Revoked key and certificates" in admin(c, "agent", "revoke-key", "node").stderr
    says = "certificate of agent 'node' were revoked by an administrator"
    wait_for("the agent's word", lambda: says in log_of(c))
    wait_for("the master's word", lambda: 'agent.refused id=node reason="its key and certificate were revoked"' in c.master_log())
    wait_for("its new certificate", lambda: log_of(c).count("link.certificate file=") == 2)  # the agent still has the token
    c.stop_agent("node")
    assert admin(c, "agent", "revoke-key", "node").returncode == 0
    restart_master(c)  # the master remembers the revocation
    come_back(c, wait=False)
    wait_for("the agent's word", lambda: said_anew(c, says))
    # whoever is let in anew gets another one, at once
    c.stop_agent("node")
    before = certificate_of(c)
    c.start_agent("node", token_file="", token=new_token(c))
    wait_for("another certificate", lambda: certificate_of(c) not in (None, before))
    c.stop_agent("node")
    come_back(c)
    assert not said_anew(c, "were revoked")


@pytest.mark.parametrize("way", ["token", "accepting"])
def test_an_agent_that_joins_anew_keeps_no_certificate_of_its_earlier_key(secured, way):
    """A master that gives none lets it in, as if the agent had ended between its new key and its new certificate."""
    c = secured(agent_certificates="require")
    join(c)
    c.stop_agent("node")
    assert admin(c, "agent", "revoke-key", "node").returncode == 0
    restart_master(c, agent_certificates="none")
    if way == "token":
        c.start_agent("node", token_file="", token=new_token(c))
    else:
        come_back(c, wait=False)
        wait_for("the agent to ask", lambda: c.get("/api/v1/pending-agents").json["agents"])
        assert admin(c, "agent", "accept", "node", "--yes").returncode == 0
        wait_for("the agent", lambda: c.agent_is_up("node"))
    wait_for("its new key", lambda: log_of(c).count("link.key file=") == 2)
    c.stop_agent("node")
    assert not pem_of(c).exists()
    restart_master(c, agent_certificates="require")
    come_back(c)
    wait_for("another certificate", lambda: said_anew(c, "link.certificate file="))
    assert not said_anew(c, "revoked")


def test_an_agent_that_shows_a_revoked_certificate_beside_a_new_key_is_told_what_helps(secured):
    c = secured()
    join(c)
    c.stop_agent("node")
    leftover = pem_of(c).read_bytes()
    assert admin(c, "agent", "revoke-key", "node").returncode == 0
    join_again = {"token_file": "", "token": new_token(c)}
    c.start_agent("node", **join_again)
    wait_for("another certificate", lambda: log_of(c).count("link.certificate file=") == 2)
    c.stop_agent("node")
    pem_of(c).write_bytes(leftover)
    c.start_agent("node", wait=False, **join_again)
    wait_for("the refusal", lambda: re.search("link.down .*certificate of agent 'node' was revoked.*det agent revoke-key node", log_of(c)))
    assert admin(c, "agent", "revoke-key", "node").returncode == 0
    wait_for("the agent", lambda: c.agent_is_up("node"))
    wait_for("another certificate", lambda: certificate_of(c) and log_of(c).count("link.certificate file=") == 3)


def test_an_agent_that_was_removed_has_to_join_again(secured):
    c = secured()
    join(c)
    c.stop_agent("node", signo=signal.SIGKILL)
    wait_for("the loss", lambda: c.get("/api/v1/agents/node").json["agent"].get("lostTime"))
    assert admin(c, "agent", "remove", "node").returncode == 0
    come_back(c, wait=False)
    wait_for("the refusal", lambda: said_anew(c, "certificate of agent 'node' were revoked by an administrator"))
    wait_for("the agent to ask", lambda: [a["id"] for a in c.get("/api/v1/pending-agents").json["agents"]] == ["node"])


def test_an_agent_whose_key_is_gone_from_the_store_is_removed_all_the_same(secured):
    """As if another request had revoked the key a moment ago."""
    c = secured()
    if c.config.get("db"):
        pytest.skip("the row is deleted in a file only")
    join(c)
    c.stop_agent("node", signo=signal.SIGKILL)
    wait_for("the loss", lambda: c.get("/api/v1/agents/node").json["agent"].get("lostTime"))
    with contextlib.closing(sqlite3.connect(c.dir / "data/determined.db")) as db, db:
        assert db.execute("DELETE FROM agent_keys WHERE agent_id = 'node'").rowcount == 1
    done = admin(c, "agent", "remove", "node")
    assert done.returncode == 0, done.stderr
    come_back(c, wait=False)
    wait_for("the refusal", lambda: said_anew(c, "certificate of agent 'node' were revoked by an administrator"))


@pytest.mark.parametrize("mode", ["accept", "require"])
def test_certificates_of_an_authority_that_is_gone(secured, mode):
    c = secured(agent_certificates=mode)
    join(c)
    c.stop_agent("node")
    (c.dir / "data/agents-ca.pem").unlink()
    c.master.send_signal(signal.SIGHUP)
    wait_for("the complaint", lambda: re.search("tls.reload_failed reason=.*the authority of agents' certificates: .*agents-ca.pem holds no", c.master_log()))
    before = certificate_of(c)
    restart_master(c)
    come_back(c, wait=mode == "accept")
    says = "the agent's certificate is not one of this master's authority"
    wait_for("the master's word", lambda: says in c.master_log())
    wait_for("the agent's word", lambda: says in log_of(c))
    if mode == "accept":
        wait_for("another certificate", lambda: certificate_of(c) not in (None, before))
    else:
        assert not said_anew(c, "link.up")


def checked(c, name="node"):
    """The word and text that determined-agent check says of the certificate."""
    done = subprocess.run([BUILD / "determined-agent", "check", "--config-file", c.dir / f"{name}.yaml"], capture_output=True, text=True)
    return re.search(r"^(\w+) +certificate +(.*)$", done.stdout, re.M)[0]


@pytest.mark.parametrize("spoil, words", [
    (lambda pem: "garbage", "holds no certificate in PEM form"),
    (lambda pem: pem[pem.index("-----BEGIN CERTIFICATE"):], "holds no private key in PEM form"),
    (lambda pem: pem[:-200], "holds no certificate in PEM form"),
])
def test_an_agent_whose_file_is_damaged_asks_for_another_certificate(secured, spoil, words):
    c = secured()
    join(c)
    c.stop_agent("node")
    assert re.search(r"ok.*valid until 20.*agent\.pem", checked(c))
    pem_of(c).write_text(spoil(pem_of(c).read_text()))
    assert "warning" in checked(c) and words in checked(c)
    come_back(c)
    assert said_anew(c, words)
    wait_for("another certificate", lambda: said_anew(c, "link.certificate file="))
    assert certificate_of(c)


@pytest.mark.parametrize("spoil, why", [(lambda path: path.unlink(), "No such file"), (lambda path: path.write_text("garbage"), "no start line")])
def test_an_agent_whose_file_is_spoilt_while_it_runs_connects_without_it(secured, spoil, why):
    c = secured()
    join(c)
    spoil(pem_of(c))
    c.stop_master()
    started(c)
    wait_for("another certificate", lambda: log_of(c).count("link.certificate file=") == 2)
    assert re.search(r'link.certificate_unusable reason=.*agent\.pem cannot be used as certificate: ' + why, log_of(c))
    c.stop_agent("node")
    come_back(c)
    assert not said_anew(c, "unusable")


def test_an_agent_that_gets_another_id_does_not_show_the_certificate_of_the_old_one(secured):
    c = secured()
    join(c)
    c.stop_agent("node")
    c.start_agent("other", token_file="", token=new_token(c), data_dir=str(c.dir / "node"))
    assert "is the certificate of agent 'node', and this one is 'other'" in log_of(c, "other")
    wait_for("its own certificate", lambda: "link.certificate file=" in log_of(c, "other"))
    assert [a.value for a in certificate_of(c).subject.get_attributes_for_oid(x509.NameOID.USER_ID)] == ["other"]


# ---- the master's side ----


def test_the_authority_is_in_backups(secured, tmp_path):
    c = secured(agent_certificates="require")
    if c.config.get("db"):
        pytest.skip("backups of PostgreSQL are made by its own tools")
    join(c)
    c.stop_agent("node")
    authority = (c.dir / "data/agents-ca.pem").read_bytes()
    words = ["--config-file", c.dir / "master.yaml", "--data-dir", c.dir / "data"]
    subprocess.run([BUILD / "determined-master", "backup", tmp_path / "backup.db", *words], check=True)
    c.stop_master()
    (c.dir / "data").rename(c.dir / "lost")
    subprocess.run([BUILD / "determined-master", "restore", tmp_path / "backup.db", *words], check=True)
    assert (c.dir / "data/agents-ca.pem").read_bytes() == authority
    assert stat.S_IMODE((c.dir / "data/agents-ca.pem").stat().st_mode) == 0o600
    for name in ("tls.crt", "tls.key"):
        os.rename(c.dir / "lost" / name, c.dir / "data" / name)
    started(c)
    come_back(c)


def test_an_authority_that_cannot_be_read_ends_the_start_with_a_sentence(secured):
    c = secured()
    c.stop_master()
    (c.dir / "data/agents-ca.pem").write_text("garbage")
    c.start_master(wait=False)
    assert c.master.wait(60) == 1
    c.master = None
    assert "agents-ca.pem cannot be used: it holds no certificate in PEM form" in c.master_log()
    assert "the master makes a new one" in c.master_log()


@pytest.mark.parametrize("tls, manager, words", [
    ({"agent_certificates": "require"}, {}, "require needs security.tls.cert and key"),
    ({"agent_certificates": "require", "self_signed": True}, {"client_ca": "CA"}, "are two authorities: use either"),
    ({"agent_certificates": "sometimes", "self_signed": True}, {}, "agent_certificates"),
    ({"agent_certificate_lifetime": "9s", "self_signed": True}, {}, "agent_certificate_lifetime: must be from 10s to 8760h"),
    ({"agent_certificate_lifetime": "9000h", "self_signed": True}, {}, "agent_certificate_lifetime: must be from 10s to 8760h"),
    ({"agent_certificate_lifetime": "soon", "self_signed": True}, {}, "agent_certificate_lifetime"),
])
def test_settings_that_make_no_sense_are_refused(tmp_path, tls, manager, words):
    manager = {k: str(Authority(tmp_path / "ca").cert) for k in manager}
    with Cluster(tmp_path / "c", config={"security": {"tls": tls}, "resource_manager": {"type": "agent", **manager}}) as c:
        (c.dir / "master.yaml").write_text(json.dumps(c.config))
        done = subprocess.run([BUILD / "determined-master", "config", "check", c.dir / "master.yaml"], capture_output=True, text=True)
        assert done.returncode != 0 and words in done.stdout + done.stderr, done


# ---- clocks ----


@pytest.fixture
def wrong_clock(tmp_path):
    """The environment of a program whose clock is wrong by so many days."""
    if SANITIZED:
        pytest.skip("a sanitizer's library must be the first that is loaded")

    def make(days):
        path = tmp_path / f"clock{days}"
        path.write_bytes(struct.pack("=q", days * 86400))
        return {"LD_PRELOAD": str(BUILD / "tests/support/clock_shim.so"), "DET_TEST_CLOCK": str(path)}

    return make


@pytest.mark.parametrize("days", [-30, 30])
def test_the_clock_of_an_agent_does_not_matter(secured, wrong_clock, days):
    c = secured(agent_certificates="require")
    c.env.update(wrong_clock(days))
    join(c)
    first = certificate_of(c).serial_number
    c.stop_agent("node")
    come_back(c)
    wait_for("the connection", lambda: said_anew(c, "link.up"))
    c.stop_agent("node")
    assert certificate_of(c).serial_number == first, "it is young by the master's clock"


@pytest.mark.parametrize("days, says", [
    (-1, r"the agent's certificate is not valid yet: it begins at 20.*, and the master's clock says 20.* \(compare it with the right time\)"),
    (8, r"the agent's certificate has expired: it was valid until 20.*, and the master's clock says 20"),
])
def test_a_master_whose_clock_is_wrong_names_both_times(secured, wrong_clock, days, says):
    c = secured(agent_certificates="require")
    join(c)
    c.stop_agent("node")
    c.stop_master()
    right = dict(c.env)
    c.env.update(wrong_clock(days))
    c.start_master()
    come_back(c, wait=False)
    wait_for("the agent's word", lambda: re.search("link.down .*" + says, log_of(c)))
    wait_for("the master's word", lambda: re.search("agent.refused id=node reason=.*" + says, c.master_log()))
    c.stop_agent("node")
    c.stop_master()
    c.env = right
    started(c)
    come_back(c)


def test_an_agent_whose_key_was_revoked_while_the_clock_was_ahead_is_let_in_with_its_new_certificate(secured, wrong_clock):
    c = secured(agent_certificates="require")
    join(c)
    c.stop_agent("node")
    c.stop_master()
    right = dict(c.env)
    c.env.update(wrong_clock(1))
    started(c)
    assert admin(c, "agent", "revoke-key", "node").returncode == 0
    c.stop_master()
    c.env = right
    started(c)
    before = certificate_of(c)
    c.start_agent("node", token_file="", token=new_token(c))
    wait_for("another certificate", lambda: log_of(c).count("link.certificate file=") == 2)
    assert (certificate_of(c).not_valid_before_utc - before.not_valid_before_utc).total_seconds() >= 86400, "it begins after the revocation"
    c.stop_agent("node")
    come_back(c)
    assert not said_anew(c, "not valid yet")
