"""Passwords leave the machine hashed, unless the master wants them plain for a directory, and nobody on the way can read them (docs/ldap.md)."""
import hashlib
import os
import subprocess
import sys

import pytest
from support.cluster import ROOT
from support.fake_master import clients as fake_master

HASHED = (hashlib.sha512(("GubPEmmotfiK9TMD6Zdw" + fake_master.PASSWORD).encode()).hexdigest(), True)
PLAIN = (fake_master.PASSWORD, False)


def by_det(det, url):
    done = det.run("user", "whoami", DET_MASTER=url, DET_MASTER_CERT_FILE="noverify" if url.startswith("https") else None)
    assert done.returncode == 0, done.stderr


def by_library(det, url):
    program = f"from determined.experimental import client; client.login({url!r}, noverify=True)"
    env = {**os.environ, **det.environment, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def by_published_modules(det, url):
    program = ("from determined.common.api import authentication, certs\n"
               f"authentication.login({url!r}, 'determined', {fake_master.PASSWORD!r}, certs.Cert(noverify=True))")
    env = {**os.environ, **det.environment, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def sent(master):
    bodies = [body for method, path, _, body in master.requests if path == "/api/v1/auth/login"]
    assert len(bodies) == 1
    return bodies[0]["password"], bodies[0]["isHashed"]


@pytest.fixture(params=[by_det, by_library, by_published_modules])
def log_in(request, det):
    return lambda url: request.param(det, url)


def test_a_master_without_a_directory_gets_a_hash(master, log_in):
    log_in(master.url)
    assert sent(master) == HASHED


def test_a_master_with_a_directory_on_this_machine_gets_the_password(master, log_in):
    master.plain_passwords = True
    log_in(master.url)
    assert sent(master) == PLAIN


def test_over_https_the_password_is_sent(tls_server, log_in):
    tls_server.plain_passwords = True
    log_in(tls_server.url)
    assert sent(tls_server) == PLAIN


def test_over_plain_http_no_master_is_believed(master, log_in):
    """0.0.0.0 leads to this machine, and is no address of it: to the client, whoever answers there could be anywhere."""
    master.plain_passwords = True
    log_in(master.url.replace("127.0.0.1", "0.0.0.0"))
    assert sent(master) == HASHED
