import os
import pathlib
import subprocess

import pytest
from support.fake_master import clients as fake_master
from support.fake_master import registry

BUILD = pathlib.Path(os.environ.get("DET_BUILD_DIR", pathlib.Path(__file__).parents[2] / "build"))


@pytest.fixture
def master(tmp_path):
    running = registry.Master(storage=tmp_path / "storage")
    yield running
    running.close()


class Det:
    """Runs the binary against the fake master, with a store of logins of its own."""

    def __init__(self, url, config):
        self.url, self.config = url, config
        self.environment = {"PATH": os.environ["PATH"], "DET_MASTER": url, "DET_DEBUG_CONFIG_PATH": str(config), "DET_USER": "determined",
                            "DET_PASS": fake_master.PASSWORD, "HOME": str(config)}

    def run(self, *words, program=None, stdin="", patience_s=60, **environment):
        env = {k: v for k, v in {**self.environment, **environment}.items() if v is not None}
        return subprocess.run([str(program or BUILD / "det"), *map(str, words)], input=stdin, capture_output=True, text=True, env=env,
                              timeout=patience_s, start_new_session=True)

    def __call__(self, *words, **more):
        """The output of a command that must succeed."""
        done = self.run(*words, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def det(master, tmp_path):
    return Det(master.url, tmp_path / "config")


@pytest.fixture
def tls_server(tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost", "-days", "2", "-out", certificate, "-keyout", key], check=True, capture_output=True)
    running = fake_master.Master(certificate=(certificate, key))
    yield running
    running.close()
