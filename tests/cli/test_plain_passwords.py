"""Passwords leave the machine hashed, unless the master wants them plain for a directory, and nobody on the way can read them (docs/ldap.md)."""
import hashlib
import os
import subprocess
import sys

import pytest
from support.cluster import ROOT
from support.fake_master import clients as fake_master
from support.proxies import Proxy

HASHED = (hashlib.sha512(("GubPEmmotfiK9TMD6Zdw" + fake_master.PASSWORD).encode()).hexdigest(), True)
PLAIN = (fake_master.PASSWORD, False)


NOVERIFY = {"DET_MASTER_CERT_FILE": "noverify"}


def by_det(det, url, environment):
    done = det.run("user", "whoami", DET_MASTER=url, **environment)
    assert done.returncode == 0, done.stderr


def run_program(det, program, environment):
    env = {**os.environ, **det.environment, "PYTHONPATH": str(ROOT / "python"), **environment}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def by_library(det, url, environment):
    run_program(det, f"from determined.experimental import client; client.login({url!r}, noverify={environment == NOVERIFY})", environment)


def by_published_modules(det, url, environment):
    run_program(det, "from determined.common.api import authentication, certs\n"
                f"authentication.login({url!r}, 'determined', {fake_master.PASSWORD!r}, certs.default_load({url!r}))", environment)


def sent(master):
    bodies = [body for method, path, _, body in master.requests if path == "/api/v1/auth/login"]
    assert len(bodies) == 1
    return bodies[0]["password"], bodies[0]["isHashed"]


@pytest.fixture(params=[by_det, by_library, by_published_modules])
def log_in(request, det):
    return lambda url, environment={}: request.param(det, url, environment)


def test_a_master_without_a_directory_gets_a_hash(master, log_in):
    log_in(master.url)
    assert sent(master) == HASHED


def test_a_master_with_a_directory_on_this_machine_gets_the_password(master, log_in):
    master.plain_passwords = True
    log_in(master.url)
    assert sent(master) == PLAIN


def of_certificate(server):
    """The address that the certificate of the server is for."""
    return server.url.replace("127.0.0.1", "localhost")


def test_over_https_the_password_is_sent(tls_server, log_in):
    tls_server.plain_passwords = True
    log_in(of_certificate(tls_server), {"DET_MASTER_CERT_FILE": str(tls_server.certificate[0])})
    assert sent(tls_server) == PLAIN


def test_over_https_without_a_check_of_the_certificate_no_master_is_believed(tls_server, log_in):
    """Whoever is on the way can answer there with a certificate of their own."""
    tls_server.plain_passwords = True
    log_in(of_certificate(tls_server), NOVERIFY)
    assert sent(tls_server) == HASHED


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_through_a_proxy_no_master_is_believed(master, log_in, host):
    """This machine's own address, too, is the proxy's to find."""
    master.plain_passwords = True
    proxy = Proxy("127.0.0.1")
    try:
        address = f"http://127.0.0.1:{proxy.port}"
        log_in(master.url.replace("127.0.0.1", host), {"http_proxy": address, "HTTP_PROXY": address, "no_proxy": "", "NO_PROXY": ""})
    finally:
        proxy.close()
    assert any(line.endswith("/api/v1/auth/login") for line in proxy.asked), proxy.asked
    assert sent(master) == HASHED


def test_an_exception_of_the_proxy_is_this_machine(master, log_in):
    master.plain_passwords = True
    log_in(master.url, {"http_proxy": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1", "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"})
    assert sent(master) == PLAIN


def test_over_plain_http_no_master_is_believed(master, log_in):
    """0.0.0.0 leads to this machine, and is no address of it: to the client, whoever answers there could be anywhere."""
    master.plain_passwords = True
    log_in(master.url.replace("127.0.0.1", "0.0.0.0"))
    assert sent(master) == HASHED
