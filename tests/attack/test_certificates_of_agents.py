"""Tests certificates that an agent shows and must not be let in with, and requests for certificates that must not be signed."""
import datetime
import http.client
import re
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from hostile_agent import HostileAgent, Refused
from support.cluster import PASSWORD, Cluster, wait_for

DAY = datetime.timedelta(days=1)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    config = {"security": {"initial_user_password": PASSWORD, "tls": {"self_signed": True, "agent_certificates": "require"}}}
    with Cluster(tmp_path_factory.mktemp("certificates"), config=config) as c:
        c.trust_any()
        c.start_master()
        c.login("admin")
        yield c


def new_key():
    return ec.generate_private_key(ec.SECP256R1())


def pem(*things):
    return b"".join(t.public_bytes(serialization.Encoding.PEM) if hasattr(t, "issuer") or hasattr(t, "is_signature_valid") else t.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()) for t in things)


def new_request(key=None):
    return x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key or new_key(), hashes.SHA256())


def sign(cluster, name, begin=-DAY, end=DAY, key=None, by=None):
    """A certificate as the master would make it, for a new key; `by`: another authority's key than the master's."""
    authority = (cluster.dir / "data/agents-ca.pem").read_bytes()
    now, own = datetime.datetime.now(datetime.timezone.utc), key or new_key()
    x = (x509.CertificateBuilder().subject_name(x509.Name([x509.NameAttribute(NameOID.USER_ID, name)]))
         .issuer_name(x509.load_pem_x509_certificate(authority).subject).public_key(own.public_key()).serial_number(x509.random_serial_number())
         .not_valid_before(now + begin).not_valid_after(now + end).sign(by or serialization.load_pem_private_key(authority, None), hashes.SHA256()))
    return pem(own, x)


def showing(cluster, certificate):
    """A client that shows this; None: nothing."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate:
        path = cluster.dir / "shown.pem"
        path.write_bytes(certificate)
        context.load_cert_chain(path)
    return context


@pytest.fixture
def joined(cluster, request):
    """An agent that has joined: (its id, its key for the master, its certificate and key)."""
    name = f"a{abs(hash(request.node.name)) % 10**9}"
    token = cluster.post("/api/v1/join-tokens", {}).json["token"].rsplit(".", 1)[0]
    agent = HostileAgent(cluster, name, token=token, tls=showing(cluster, None)).hello(wantsKey=True, takesCertificate=True)
    assert agent.welcome()["givesCertificates"]
    key, own = agent.hear_until("agentKey")["key"], new_key()
    agent.send(certificateRequest={"request": pem(new_request(own)).decode()})
    answer = agent.hear_until("agentCertificate")
    agent.send(certificateRequest={"taken": True})
    wait_for("the note of it", lambda: cluster.get(f"/api/v1/agents/{name}").json["agent"].get("certificateExpiry"))
    agent.close()
    wait_for("its end", lambda: not cluster.get(f"/api/v1/agents/{name}").json["agent"].get("registeredTime"))
    return name, key, pem(own) + answer["certificate"].encode()


def come(cluster, name, key, certificate):
    return HostileAgent(cluster, name, token=key, tls=showing(cluster, certificate))


def test_the_right_certificate_lets_its_agent_in_and_needs_the_key_beside(cluster, joined):
    name, key, certificate = joined
    with pytest.raises(Refused, match="401"):
        come(cluster, name, "a wrong key", certificate)
    with pytest.raises(Refused, match="403.*is that of agent 'a"):
        come(cluster, name, key, sign(cluster, "a1"))
    with come(cluster, name, key, certificate) as agent:
        assert agent.hello(takesCertificate=True).welcome()


def test_an_agent_whose_connection_breaks_before_it_has_its_certificate_is_not_locked_out(cluster):
    token = cluster.post("/api/v1/join-tokens", {}).json["token"].rsplit(".", 1)[0]
    with HostileAgent(cluster, "unlucky", token=token, tls=showing(cluster, None)) as agent:
        agent.hello(wantsKey=True, takesCertificate=True).welcome()
        key, own = agent.hear_until("agentKey")["key"], new_key()
        agent.send(certificateRequest={"request": pem(new_request(own)).decode()})
        first = pem(own) + agent.hear_until("agentCertificate")["certificate"].encode()
    gone = lambda: not cluster.get("/api/v1/agents/unlucky").json["agent"].get("registeredTime")  # noqa: E731
    wait_for("its end", gone)
    with come(cluster, "unlucky", key, None) as agent:
        agent.hello(takesCertificate=True).welcome()
    wait_for("its end", gone)
    # the agent may have stored the first one all the same; whoever shows it needs it from then on
    with come(cluster, "unlucky", key, first) as agent:
        agent.hello(takesCertificate=True).welcome()
    wait_for("its end", gone)
    with pytest.raises(Refused, match="403.*does not show it"):
        come(cluster, "unlucky", key, None)


def test_a_stolen_key_alone_is_not_enough(cluster, joined):
    name, key, _ = joined
    with pytest.raises(Refused, match="403.*does not show it"):
        come(cluster, name, key, None)
    with pytest.raises(Refused, match="403.*a token lets in new agents only"):
        come(cluster, name, (cluster.dir / "data/agent.token").read_text().strip(), None)


@pytest.mark.parametrize("how, says", [
    ({"end": datetime.timedelta(seconds=-1)}, "has expired: it was valid until 20"),
    ({"begin": DAY, "end": 2 * DAY}, r"is not valid yet: it begins at 20.*the master's clock says 20.*compare it with the right time"),
    ({"by": new_key()}, "is not one of this master's authority"),
])
def test_a_certificate_that_is_of_no_use_is_refused_with_its_reason(cluster, joined, how, says):
    name, key, _ = joined
    with pytest.raises(Refused, match=f"403.*{says}"):
        come(cluster, name, key, sign(cluster, name, **how))


@pytest.mark.parametrize("other", ["", "a" * 300, "a1\x00"])
def test_a_certificate_with_another_name_is_refused(cluster, joined, other):
    name, key, _ = joined
    with pytest.raises(Refused, match="403.*is that of agent"):
        come(cluster, name, key, sign(cluster, (name if "\x00" in other else "") + other or "\x00"))


def test_whoever_has_a_revoked_certificate_does_not_fill_the_log(cluster, joined):
    name, key, certificate = joined
    assert cluster.request("DELETE", f"/api/v1/agents/{name}/key").status == 200
    for shown_key in (key, "a wrong key", key):
        with pytest.raises(Refused, match="401.*were revoked by an administrator"):
            come(cluster, name, shown_key, certificate)
    assert cluster.master_log().count(f'agent.refused id={name} reason="its key and certificate were revoked"') == 1


def test_a_certificate_opens_nothing_else(cluster, joined):
    _, _, certificate = joined
    for path in ("/api/v1/agents", "/api/v1/me", "/metrics"):
        connection = http.client.HTTPSConnection("127.0.0.1", cluster.port, context=showing(cluster, certificate), timeout=30)
        connection.request("GET", path)
        assert connection.getresponse().status == 401
        connection.close()


def test_whoever_shows_a_strange_certificate_is_served_like_everybody_else(cluster):
    own = new_key()
    strange = sign(cluster, "x", key=own, by=own)
    connection = http.client.HTTPSConnection("127.0.0.1", cluster.port, context=showing(cluster, strange), timeout=30)
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200
    connection.close()


def test_an_agent_that_asks_for_no_certificate_is_not_taken(cluster):
    token = cluster.post("/api/v1/join-tokens", {}).json["token"].rsplit(".", 1)[0]
    with HostileAgent(cluster, "older", token=token, tls=showing(cluster, None)) as agent:
        assert "does not ask for one: install the master's version" in agent.hello(wantsKey=True).refusal()


def damaged():
    text = pem(new_request()).decode()
    middle = len(text) // 2
    return text[:middle] + ("A" if text[middle] != "A" else "B") + text[middle + 1:]


@pytest.mark.parametrize("request_of, says", [
    (lambda: "", "is not one in PEM form"), (lambda: "garbage", "is not one in PEM form"),
    (lambda: pem(new_request()).decode()[:-80], "is not one in PEM form"),
    (lambda: "x" * 5000, "has 5000 bytes, allowed are 4096"),
    (damaged, "PEM form|not signed with its key|not on the curve"),
    (lambda: pem(new_request(rsa.generate_private_key(65537, 2048))).decode(), "not on the curve P-256"),
    (lambda: pem(new_request(ec.generate_private_key(ec.SECP384R1()))).decode(), "not on the curve P-256"),
])
def test_a_request_that_is_not_one_is_not_signed_and_the_link_stays(cluster, joined, request_of, says):
    name, key, certificate = joined
    with come(cluster, name, key, certificate) as agent:
        agent.hello(takesCertificate=True).welcome()
        agent.send(certificateRequest={"request": request_of()})
        answer = agent.hear_until("agentCertificate")
        assert not answer.get("certificate")
        assert re.search(says, answer["problem"])
        assert cluster.get(f"/api/v1/agents/{name}").json["agent"]["registeredTime"]


def test_an_agent_asks_for_certificates_without_end(cluster, joined):
    name, key, certificate = joined
    with come(cluster, name, key, certificate) as agent:
        agent.hello(takesCertificate=True).welcome()
        request = pem(new_request()).decode()
        for _ in range(50):
            agent.send(certificateRequest={"request": request})
        answers = [agent.hear_until("agentCertificate") for _ in range(50)]
        given = [a for a in answers if a.get("certificate")]
        assert 1 <= len(given) < 50
        assert all("more often than once a second" in a["problem"] for a in answers if not a.get("certificate"))


def test_a_request_says_whose_certificate_it_wants(cluster, joined):
    """Of a request the master takes the key only."""
    name, key, certificate = joined
    own = new_key()
    wish = (x509.CertificateSigningRequestBuilder().subject_name(x509.Name([x509.NameAttribute(NameOID.USER_ID, "victim")]))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(own, hashes.SHA256()))
    with come(cluster, name, key, certificate) as agent:
        agent.hello(takesCertificate=True).welcome()
        agent.send(certificateRequest={"request": pem(wish).decode()})
        given = x509.load_pem_x509_certificate(agent.hear_until("agentCertificate")["certificate"].encode())
    assert [a.value for a in given.subject] == [name]
    assert not given.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_a_certificate_that_an_agent_has_signed_with_its_own_is_refused(cluster, joined):
    name, key, certificate = joined
    own, mine = serialization.load_pem_private_key(certificate, None), x509.load_pem_x509_certificate(certificate)
    other, now = new_key(), datetime.datetime.now(datetime.timezone.utc)
    forged = (x509.CertificateBuilder().subject_name(x509.Name([x509.NameAttribute(NameOID.USER_ID, name)])).issuer_name(mine.subject)
              .public_key(other.public_key()).serial_number(1).not_valid_before(now - DAY).not_valid_after(now + DAY).sign(own, hashes.SHA256()))
    with pytest.raises(Refused, match="403.*is not one of this master's authority"):
        come(cluster, name, key, pem(other, forged) + pem(mine))
