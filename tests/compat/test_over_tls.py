"""The released client over HTTPS: the same commands, with the certificate that it is told to trust."""
import json

import pytest
from released import CONTEXTS, Released
from support.certificates import Authority
from support.cluster import PASSWORD, Cluster

TRAIN = CONTEXTS / "train"


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """(a cluster whose master made its own certificate, that certificate)"""
    config = {"security": {"initial_user_password": PASSWORD, "tls": {"self_signed": True}}}
    with Cluster(tmp_path_factory.mktemp("secure") / "cluster", config=config) as c:
        c.trust_any()
        c.start_master()
        c.start_agent(slots=1, security={"tls": {"enabled": True, "master_cert": str(c.dir / "data/tls.crt")}})
        c.login()
        yield c, c.dir / "data/tls.crt"


@pytest.fixture
def det(warm, secure, tmp_path):
    cluster, cert = secure
    client = Released(warm, cluster.url, tmp_path, password=PASSWORD)
    client.environment["DET_MASTER_CERT_FILE"] = str(cert)
    return client


def test_experiments__are_created_followed_and_described(det, secure, config):
    cluster, _ = secure
    out = det(f"experiment create -f {config} {TRAIN}")
    experiment = int(out.split("Created experiment ")[1].split()[0])
    assert "training starts" in out and "Trial log stream ended." in out
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    assert json.loads(det(f"experiment describe --json {experiment}"))[0]["experiment"]["id"] == experiment
    assert det.sdk(f"return client.get_experiment({experiment}).name") == "compat"
    assert det.sdk(f"return [r.metrics['loss'] for t in client.get_experiment({experiment}).list_trials()"
                   " for r in t.iter_metrics('validation')]") == [1.5, 0.75, 0.5]


def test_agents__are_listed_without_a_check_when_asked_to(det):
    det.environment["DET_MASTER_CERT_FILE"] = "noverify"
    assert "agent0" in det("agent list")


def test_another_certificate__is_not_trusted(det, tmp_path):
    other = tmp_path / "other.crt"
    other.write_text(Authority(tmp_path / "authority").cert.read_text())
    det.environment["DET_MASTER_CERT_FILE"] = str(other)
    done = det.run("agent list")
    assert done.status != 0 and "agent0" not in done.out


def test_another_name__is_looked_for_in_the_certificate_when_asked_to(det):
    det.environment["DET_MASTER_CERT_NAME"] = "localhost"
    assert "agent0" in det("agent list")
    det.environment["DET_MASTER_CERT_NAME"] = "somewhere.else"
    assert det.run("agent list").status != 0
