"""Tests HTTPS: the certificates that a master is given or makes, what each client does with them, and a certificate that changes while
the master runs."""
import base64
import io
import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import tarfile

import pytest
from support.certificates import Authority, fingerprint
from support.cluster import BUILD, PASSWORD, wait_for
from support.publishing import Publisher, exchange

TRAINING = """
import os
import determined as det

info = det.get_cluster_info()
assert info.master_url.startswith("https://"), info.master_url
assert os.environ["DET_USE_TLS"] == "true"
assert os.path.isfile(os.environ["DET_MASTER_CERT_FILE"])
assert "PRIVATE" not in open(os.environ["DET_MASTER_CERT_FILE"]).read()
with det.core.init() as context:
    for step in range(1, 4):
        context.train.report_training_metrics(steps_completed=step, metrics={"loss": 1.0 / step})
    context.train.report_validation_metrics(steps_completed=3, metrics={"loss": 0.25})
"""


def with_tls(new_cluster, name="cluster", **tls):
    c = new_cluster(name, config={"security": {"initial_user_password": PASSWORD, "tls": {k: str(v) for k, v in tls.items()}}})
    c.trust_any()
    return c


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "authority")


@pytest.fixture
def signed(new_cluster, authority, tmp_path):
    """Makes a cluster, not yet started, whose master has a certificate of `authority`."""
    cert, key = tmp_path / "master.crt", tmp_path / "master.key"
    authority.sign(cert, key)
    return with_tls(new_cluster, cert=cert, key=key)


@pytest.fixture
def det(tmp_path):
    """Returns a function that runs det with a home of its own: det(words, DET_MASTER=url)."""

    def run(*words, stdin="", **env):
        return subprocess.run([BUILD / "det", *words], input=stdin, capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "DET_USER": "determined",
                                   "DET_PASS": PASSWORD, **{k: str(v) for k, v in env.items()}})

    return run


def shown_certificate(cluster):
    """Returns the certificate that a new connection gets, in PEM."""
    return ssl.get_server_certificate(("127.0.0.1", cluster.port))


def agent_tls(**tls):
    return {"security": {"tls": {"enabled": True, **{k: str(v) if k != "skip_verify" else v for k, v in tls.items()}}}}


# Certificates and keys


def self_signed(new_cluster, name="cluster"):
    c = new_cluster(name, config={"security": {"initial_user_password": PASSWORD, "tls": {"self_signed": True}}})
    c.trust_any()
    return c.start_master()


def test_the_self_signed_pair_is_made_once_and_satisfies_a_strict_client(new_cluster):
    c = self_signed(new_cluster)
    cert, key = c.dir / "data/tls.crt", c.dir / "data/tls.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    context = ssl.create_default_context(cafile=str(cert))
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with socket.create_connection(("127.0.0.1", c.port)) as plain:
        with context.wrap_socket(plain, server_hostname="localhost") as tls:
            assert tls.version() == "TLSv1.3"
            tls.sendall(b"GET /info HTTP/1.1\r\nHost: x\r\n\r\n")
            assert tls.recv(100).startswith(b"HTTP/1.1 200 ")
    c.stop_master()
    before = cert.read_bytes()
    c.start_master()
    assert cert.read_bytes() == before


@pytest.mark.parametrize("files, error", [
    ({"cert": "a.crt"}, r"security\.tls\.cert: security\.tls\.key must be set, too"),
    ({"key": "a.key"}, r"security\.tls\.key: security\.tls\.cert must be set, too"),
    ({"cert": "a.crt", "key": "none"}, r"security.tls.key: cannot read .*/none: No such file"),
    ({"cert": "none", "key": "a.key"}, r"security.tls.cert: cannot read .*/none: No such file"),
    ({"cert": "a.crt", "key": "b.key"}, r"/b\.key is not the key of the certificate in .*/a\.crt"),
    ({"cert": "words", "key": "a.key"}, r"/words holds no certificate in PEM form"),
    ({"cert": "a.crt", "key": "words"}, r"/words holds no private key in PEM form"),
    ({"cert": "a.crt", "key": "a.key", "self_signed": True}, r"security\.tls\.self_signed: .*use either"),
])
def test_a_pair_that_cannot_be_used_ends_the_start(new_cluster, authority, tmp_path, files, error):
    for name in "ab":
        authority.sign(tmp_path / f"{name}.crt", tmp_path / f"{name}.key")
    (tmp_path / "words").write_text("no certificate\n")
    c = new_cluster(config={"security": {"tls": {k: v if v is True else str(tmp_path / v) for k, v in files.items()}}})
    c.start_master(wait=False)
    assert c.master.wait(30) == 1
    c.master = None
    assert re.search(error, c.master_log()), c.master_log()


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_old_protocols_and_ciphers_are_refused(signed):
    signed.start_master()

    def connect(**limits):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_ciphers(limits.get("ciphers", "ALL:@SECLEVEL=0"))
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = limits["newest"]
        with socket.create_connection(("127.0.0.1", signed.port)) as plain, context.wrap_socket(plain) as tls:
            return tls.cipher()[0]

    assert connect(newest=ssl.TLSVersion.TLSv1_2).startswith("ECDHE-")
    with pytest.raises(ssl.SSLError):
        connect(newest=ssl.TLSVersion.TLSv1_1)
    with pytest.raises(ssl.SSLError):
        # a cipher that encrypts and authenticates in two separate steps
        connect(newest=ssl.TLSVersion.TLSv1_2, ciphers="ECDHE-ECDSA-AES128-SHA")


@pytest.mark.parametrize("sent", [b"GET /info HTTP/1.1\r\nHost: x\r\n\r\n", b"\0" * 100, b"\x16\x03\x01\x00\x05hello", b""])
def test_what_is_not_tls_gets_its_connection_closed(signed, sent):
    signed.start_master()
    with socket.create_connection(("127.0.0.1", signed.port), timeout=30) as plain:
        plain.sendall(sent)
        if not sent:
            plain.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while part := plain.recv(4096):
                answer += part
        except ConnectionResetError:
            pass
        assert not answer.startswith(b"HTTP")
    assert signed.get("/info", token=None).status == 200


def test_the_cookie_is_for_tls_only(signed):
    signed.start_master()
    assert "; Secure" in signed.login().headers["Set-Cookie"]


def test_large_bodies_pass_both_ways(signed):
    """The reply has many TLS records, more than the reader takes at once."""
    signed.start_master()
    signed.login()
    text = base64.b64encode(os.urandom(12 << 20)).decode()
    experiment = signed.create({"data.txt": text}, activate=False)
    reply = signed.get(f"/api/v1/experiments/{experiment}/model_def")
    context = base64.b64decode(reply.json["b64Tgz"])
    with tarfile.open(fileobj=io.BytesIO(context)) as archive:
        assert archive.extractfile("data.txt").read().decode() == text


# det


def test_det_asks_once_and_remembers(new_cluster, det, tmp_path):
    c = self_signed(new_cluster)
    refused = det("user", "whoami", stdin="n\n", DET_MASTER=c.url)
    assert refused.returncode == 1 and "could not be verified" in refused.stderr
    asked = det("user", "whoami", stdin="y\n", DET_MASTER=c.url)
    assert asked.returncode == 0, asked.stderr
    assert fingerprint(c.dir / "data/tls.crt") in asked.stdout
    again = det("user", "whoami", DET_MASTER=c.url)
    assert (again.returncode, again.stdout) == (0, "You are logged in as user 'determined'\n")

    # If the address shows another certificate than the known one, det asks again and does not accept it silently.
    (c.dir / "data/tls.crt").unlink()
    (c.dir / "data/tls.key").unlink()
    c.stop_master()
    c.start_master()
    changed = det("user", "whoami", stdin="n\n", DET_MASTER=c.url)
    assert changed.returncode == 1 and "could not be verified" in changed.stderr


def test_det_verifies_by_authority_and_name(signed, det, authority, tmp_path):
    signed.start_master()
    assert det("user", "whoami", DET_MASTER=signed.url, DET_MASTER_CERT_FILE=authority.cert).returncode == 0
    assert det("user", "whoami", DET_MASTER=signed.url, DET_MASTER_CERT_FILE="noverify").returncode == 0

    other = Authority(tmp_path / "other")
    wrong = det("user", "whoami", DET_MASTER=signed.url, DET_MASTER_CERT_FILE=other.cert)
    assert wrong.returncode == 1 and "certificate" in wrong.stderr

    def by_name(name):
        return det("user", "whoami", DET_MASTER=signed.url, DET_MASTER_CERT_FILE=authority.cert, DET_MASTER_CERT_NAME=name)

    assert by_name("localhost").returncode == 0
    other_name = by_name("other.test")
    assert other_name.returncode == 1 and "its certificate is not for the name 'other.test'" in other_name.stderr
    assert "DET_MASTER_CERT_NAME" in other_name.stderr and "SSL" not in other_name.stderr


@pytest.mark.parametrize(("file", "words"), [("/nonexistent", "opening /nonexistent: No such file"),
                                             ("/etc/passwd", "/etc/passwd holds no certificate in PEM form; name a file with")])
def test_det_says_what_is_wrong_with_a_file_of_certificates(det, file, words):
    done = det("user", "whoami", DET_MASTER="https://127.0.0.1:1", DET_MASTER_CERT_FILE=file)
    assert done.returncode != 0 and f"DET_MASTER_CERT_FILE: {words}" in done.stderr
    assert "Master not found" not in done.stderr, "nobody has looked for it"


def test_a_published_port_goes_by_tls_as_well(signed, authority, tmp_path):
    signed.start_master()
    signed.start_agent(**agent_tls(master_cert=authority.cert))
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DET_MASTER": signed.url, "DET_USER": "determined", "DET_PASS": PASSWORD,
           "DET_MASTER_CERT_FILE": str(authority.cert)}
    signed.login()
    with Publisher(signed, tmp_path, BUILD / "det", env=env) as served:
        served.wait_serving()
        with served.connect() as c:
            assert exchange(c, b"by TLS" * 100000) == b"by TLS" * 100000


# Agents and tasks


def expect_trial_reports(cluster):
    experiment = cluster.create({"train.py": TRAINING}, entrypoint=["python3", "train.py"],
                                searcher={"name": "single", "metric": "loss", "max_length": {"batches": 3}})
    state = cluster.wait_experiment(experiment)["state"]
    trial, = cluster.trial_ids(experiment)
    assert state == "STATE_COMPLETED", cluster.trial_log(trial)
    found = cluster.get(f"/api/v1/trials/{trial}").json["trial"]
    assert found["latestValidation"]["metrics"]["avgMetrics"]["loss"] == 0.25


@pytest.mark.parametrize("trust", ["authority", "pinned"])
def test_an_agent_verifies_the_master_and_its_trials_report(signed, authority, trust):
    """A pinned certificate is enough: a client that has it need not know who signed it. The same holds for the certificate that every
    task is given."""
    cert = authority.cert if trust == "authority" else signed.config["security"]["tls"]["cert"]
    signed.start_master()
    signed.start_agent(slots=1, **agent_tls(master_cert=cert))
    signed.login()
    expect_trial_reports(signed)


def test_an_agent_verifies_another_name_and_so_do_its_trials(new_cluster, authority, tmp_path):
    cert, key = tmp_path / "master.crt", tmp_path / "master.key"
    authority.sign(cert, key, "DNS:master.test")
    c = with_tls(new_cluster, cert=cert, key=key)
    c.start_master()
    c.start_agent(slots=1, **agent_tls(master_cert=authority.cert, master_cert_name="master.test"))
    c.login()
    expect_trial_reports(c)


def test_an_agent_refuses_a_master_that_it_cannot_verify(signed, authority, tmp_path):
    other = Authority(tmp_path / "other")
    signed.start_master()
    wrong = {"stranger": agent_tls(master_cert=other.cert), "unknown": agent_tls(),
             "misnamed": agent_tls(master_cert=authority.cert, master_cert_name="other.test")}
    for name, options in wrong.items():
        signed.start_agent(name, wait=False, **options)
        log = signed.dir / f"{name}.log"
        wait_for(f"{name}'s complaint", lambda: "its certificate is not valid for" in log.read_text())
    signed.start_agent("careless", **agent_tls(skip_verify=True))
    assert [a["id"] for a in signed.get("/api/v1/agents").json["agents"]] == ["careless"]


# A certificate that changes


def test_a_new_pair_is_for_new_connections_and_a_broken_one_for_none(signed, authority, tmp_path):
    cert, key = (type(tmp_path)(signed.config["security"]["tls"][k]) for k in ("cert", "key"))
    signed.start_master()
    signed.start_agent(slots=1, **agent_tls(master_cert=authority.cert))
    first = shown_certificate(signed)
    with socket.create_connection(("127.0.0.1", signed.port)) as plain, signed.tls.wrap_socket(plain) as old:
        authority.sign(cert, key)
        signed.master.send_signal(signal.SIGHUP)
        wait_for("the new pair", lambda: shown_certificate(signed) != first)
        second = shown_certificate(signed)
        old.sendall(b"GET /info HTTP/1.1\r\nHost: x\r\n\r\n")  # the old connection goes on with the certificate that it began with
        assert old.recv(100).startswith(b"HTTP/1.1 200 ")

    key.write_text("broken")
    signed.master.send_signal(signal.SIGHUP)
    wait_for("the complaint", lambda: re.search(r"tls.reload_failed reason=.*holds no private key", signed.master_log()))
    assert shown_certificate(signed) == second

    authority.sign(cert, key)  # the master notices the new files without a signal
    wait_for("the third pair", lambda: shown_certificate(signed) not in (first, second), timeout_s=60)
    signed.login()
    assert signed.agent_is_up("agent0")
    expect_trial_reports(signed)


# ---- agents' certificates ----


@pytest.fixture
def guarded(new_cluster, authority, tmp_path):
    """Makes a cluster whose agents must show a certificate of another authority than the master's."""
    agents = Authority(tmp_path / "agents", "Agents' Authority")
    authority.sign(tmp_path / "master.crt", tmp_path / "master.key")
    c = with_tls(new_cluster, cert=tmp_path / "master.crt", key=tmp_path / "master.key")
    c.config["resource_manager"] = {"type": "agent", "require_authentication": True, "client_ca": str(agents.cert)}
    c.agents_authority = agents
    return c


def agents_tls(authority, cert=None, key=None):
    pair = {"client_cert": str(cert), "client_key": str(key)} if cert else {}
    return {"tls": {"enabled": True, "master_cert": str(authority.cert), **pair}}


def test_agents_with_a_certificate_are_taken_and_their_tasks_need_none(guarded, authority, tmp_path):
    cert, key = tmp_path / "agent.crt", tmp_path / "agent.key"
    guarded.agents_authority.sign(cert, key)
    guarded.start_master()
    guarded.start_agent(security=agents_tls(authority, cert, key))
    guarded.login()
    experiment = guarded.create(files={"train.py": TRAINING}, entrypoint="python3 train.py")
    assert guarded.wait_experiment(experiment)["state"] == "STATE_COMPLETED", guarded.trial_log(guarded.trial_ids(experiment)[0])


def test_agents_without_a_certificate_are_refused_and_told_why(guarded, authority, tmp_path):
    guarded.start_master()
    guarded.start_agent("bare", wait=False, security=agents_tls(authority))
    wait_for("the refusal", lambda: "must show a certificate that its client_ca has signed" in (guarded.dir / "bare.log").read_text())
    cert, key = tmp_path / "stranger.crt", tmp_path / "stranger.key"
    authority.sign(cert, key)  # the authority of the master's certificate is not the agents'
    guarded.start_agent("stranger", wait=False, security=agents_tls(authority, cert, key))
    wait_for("the broken handshake", lambda: "link.down" in (guarded.dir / "stranger.log").read_text())
    guarded.login()
    assert guarded.get("/api/v1/agents").json["agents"] == []


def test_agents_certificates_that_cannot_be_used_end_the_start_with_a_sentence(guarded, authority, tmp_path):
    cert, key = tmp_path / "agent.crt", tmp_path / "agent.key"
    guarded.agents_authority.sign(cert, key)
    guarded.start_master()
    for name, security, words in [
            ("missing", agents_tls(authority, tmp_path / "no.crt", key), "no.crt: No such file"),
            ("other", agents_tls(authority, cert, authority.key), "ca.key cannot be used as key"),
            ("half", {"tls": {"enabled": True, "client_cert": str(cert)}}, "client_cert and client_key belong together"),
            ("plain", {"tls": {"client_cert": str(cert), "client_key": str(key)}}, "security.tls.enabled must be set, too")]:
        process = guarded.start_agent(name, wait=False, security=security)
        assert process.wait(60) == 1
        del guarded.agents[name]
        assert words in (guarded.dir / f"{name}.log").read_text()


@pytest.mark.parametrize("manager, tls, words", [
    ({"require_authentication": True}, True, "resource_manager.client_ca must be set, too"),
    ({"client_ca": "/etc/passwd"}, False, "security.tls.cert and key (or self_signed) must be set, too"),
    ({"client_ca": "/etc/passwd"}, True, "/etc/passwd holds no certificates of authorities"),
])
def test_a_demand_for_certificates_that_cannot_be_met_is_refused(new_cluster, manager, tls, words):
    c = with_tls(new_cluster, **({"self_signed": True} if tls else {}))
    c.config["security"]["tls"] = {"self_signed": True} if tls else {}
    c.config["resource_manager"] = {"type": "agent", **manager}
    c.start_master(wait=False)
    assert c.master.wait(60) == 1
    assert words in c.master_log()
    c.master = None
