"""Talking to a master that is not always well."""

import socket
import subprocess
import threading

import pytest
from support.fake_master.tasks import TOKEN, FakeMaster
from support.ports import free_port
from support.waiting import wait_for

from determined import _http, _routes, errors

QUICK = _http.Retry(attempts=3, first_pause_s=0.01, max_pause_s=0.02)


@pytest.fixture
def session(master):
    session = _http.Session(master.url, TOKEN, retry=QUICK)
    yield session
    session.close()


def test_session__keeps_one_connection(master, session):
    for _ in range(5):
        assert session.request("GET", "/api/v1/me")["user"]["username"] == "determined"
    assert master.connections == 1


def test_session__gives_each_thread_a_connection(master, session):
    session.request("GET", "/api/v1/me")
    thread = threading.Thread(target=session.request, args=("GET", "/api/v1/me"))
    thread.start()
    thread.join()
    assert master.connections == 2


@pytest.mark.parametrize("fault", [502, 503, 504, "drop"])
def test_session__tries_again_after(master, session, fault):
    master.faults["GetMe"] = [fault, fault]
    assert session.request("GET", "/api/v1/me")
    assert master.rpcs() == ["GetMe"] * 3


@pytest.mark.parametrize("fault", [503, "drop"])
def test_session__gives_up_in_the_end(master, session, fault):
    master.faults["GetMe"] = [fault] * 9
    with pytest.raises(errors.MasterUnreachable, match=r"/api/v1/me: no answer from the master after 3 attempts") as e:
        session.request("GET", "/api/v1/me")
    assert e.value.attempts == 3


def test_session__survives_a_restart_of_the_master(master, session):
    """A kept connection that the master has closed meanwhile costs no attempt."""
    session = _http.Session(master.url, TOKEN, retry=_http.ONCE)
    session.request("GET", "/api/v1/me")
    for connection in session._live:
        connection.sock.shutdown(socket.SHUT_RDWR)
    assert session.request("GET", "/api/v1/me")
    session.close()


def test_session__names_a_master_that_is_not_there():
    session = _http.Session(f"http://127.0.0.1:{free_port()}", TOKEN, retry=QUICK)
    with pytest.raises(errors.MasterUnreachable, match="refused"):
        session.request("GET", "/api/v1/me")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.BadRequest),
        (401, errors.Unauthenticated),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (500, errors.ApiError),
    ],
)
def test_session__does_not_repeat_what_the_master_refuses(master, session, status, kind):
    master.faults["GetMe"] = [status]
    with pytest.raises(kind, match=rf"GET http.*/api/v1/me: {status}: as the test wishes") as e:
        session.request("GET", "/api/v1/me")
    assert e.value.status == status and not e.value.maybe_done
    assert master.rpcs() == ["GetMe"]


def test_session__sends_its_token(master):
    session = _http.Session(master.url, "wrong", retry=QUICK)
    with pytest.raises(errors.Unauthenticated, match="invalid credentials"):
        session.request("GET", "/api/v1/me")


@pytest.mark.parametrize("kept", [False, True])
def test_session__says_when_a_refused_request_may_have_been_carried_out_before(master, session, kept):
    """Also on a kept connection: it ends without an answer when the master is killed, and not only while it is idle."""
    if kept:
        session.request("GET", "/api/v1/me")
    master.faults["GetMe"] = ["lose", 400]
    with pytest.raises(errors.BadRequest) as e:
        session.request("GET", "/api/v1/me")
    assert e.value.maybe_done


def test_session__close_wakes_a_long_poll(master, session):
    failure = []

    def poll():
        try:
            session.send(_routes.allocation_preemption_signal("7.a.1", timeout_seconds=30))
        except errors.MasterUnreachable as e:
            failure.append(e)

    thread = threading.Thread(target=poll)
    thread.start()
    wait_for("the long poll", lambda: "AllocationPreemptionSignal" in master.rpcs())
    session.close()
    thread.join()  # without the wake the poll would end by its own time-out, and not with this error
    assert failure


def test_session__goes_through_the_proxy_of_the_environment(master, monkeypatch):
    """To a proxy the request line names the whole address; our fake master, as the proxy, does not know that one."""
    monkeypatch.setenv("http_proxy", master.url)
    session = _http.Session("http://determined.example:8080", TOKEN, retry=_http.ONCE)
    assert session._target("/api/v1/me") == "http://determined.example:8080/api/v1/me"
    with pytest.raises(errors.ApiError, match="no such route"):
        session.request("GET", "/api/v1/me")
    assert master.complaints == ["GET http://determined.example:8080/api/v1/me: not in the contract"]
    master.complaints.clear()
    session.close()


def test_session__honours_no_proxy(master, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert _http.Session(master.url, TOKEN, retry=_http.ONCE).request("GET", "/api/v1/me")


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://x", "http://"])
def test_session__refuses_an_address_of_another_form(url):
    with pytest.raises(ValueError, match="is not of the form"):
        _http.Session(url, TOKEN)


@pytest.fixture
def tls_master(tmp_path):
    """A master with a certificate of its own making, for another name than its address."""
    pem = tmp_path / "master.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=master.internal"),
            *("-addext", "subjectAltName=DNS:master.internal", "-keyout", str(tmp_path / "key"), "-out", str(pem)),
        ],
        check=True,
        capture_output=True,
    )
    pem.write_text(pem.read_text() + (tmp_path / "key").read_text())
    master = FakeMaster(certificate=pem)
    yield master, str(pem)
    master.close()


def test_tls__with_the_masters_certificate_and_its_name(tls_master):
    master, pem = tls_master
    assert _http.Session(master.url, TOKEN, cert_file=pem, cert_name="master.internal", retry=QUICK).request(
        "GET", "/api/v1/me"
    )
    assert _http.Session(master.url, TOKEN, cert_file="noverify", retry=QUICK).request("GET", "/api/v1/me")


def test_tls__the_masters_own_certificate_is_enough_whoever_signed_it(tmp_path):
    key, ca, ca_key, pem = (tmp_path / name for name in ("key", "ca", "ca_key", "master.pem"))
    request, names = tmp_path / "request", tmp_path / "names"
    names.write_text("subjectAltName=IP:127.0.0.1\n")
    new_key, signing = ["-newkey", "rsa:2048", "-nodes"], ["x509", "-req", "-in", request]
    for words in (
        ["req", "-x509", *new_key, "-subj", "/CN=authority", "-days", "1", "-keyout", ca_key, "-out", ca],
        ["req", *new_key, "-subj", "/CN=127.0.0.1", "-keyout", key, "-out", request],
        [*signing, "-CA", ca, "-CAkey", ca_key, "-days", "1", "-extfile", names, "-out", pem],
    ):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
    own = tmp_path / "own.pem"
    own.write_text(pem.read_text())
    pem.write_text(pem.read_text() + key.read_text())
    master = FakeMaster(certificate=pem)
    assert _http.Session(master.url, TOKEN, cert_file=str(own), retry=QUICK).request("GET", "/api/v1/me")
    master.close()


def test_tls__refuses_a_wrong_certificate_without_trying_again(tls_master):
    master, pem = tls_master
    for options, message in [({}, "self-signed"), ({"cert_file": pem}, "IP address mismatch")]:
        with pytest.raises(errors.MasterUnreachable, match=f"after 1 attempts: .*{message}"):
            _http.Session(master.url, TOKEN, retry=QUICK, **options).request("GET", "/api/v1/me")


def test_retry__pauses_grow_to_a_limit():
    retry = _http.Retry(attempts=9, first_pause_s=1, max_pause_s=5)
    pauses = [retry.pause_s(i) for i in range(5)]
    assert all(abs(p - e) <= 0.1 * e for p, e in zip(pauses, [1, 2, 4, 5, 5]))


def test_patience__lasts_about_ten_minutes():
    assert 500 < sum(_http.PATIENT.pause_s(i) for i in range(_http.PATIENT.attempts - 1)) < 800
