"""Mistakes of users get one clean sentence, which names what is wrong and what to do."""
import json

import pytest
from support.fake_master import clients as fake_master

NOTICE = "is release 0.38.1 of the predecessor"  # the fake master says so of itself


def sentence(done):
    lines = [line for line in done.stderr.strip().splitlines() if NOTICE not in line and not line.startswith("usage: ")]
    assert len(lines) == 1, done.stderr
    return lines[0]


COMMANDS = [
    ("experimnt list", "det: error: invalid choice: 'experimnt' (did you mean 'experiment'?)"),
    ("modle list", "did you mean 'model'?"), ("experiment lst", "det experiment: error: invalid choice: 'lst' (did you mean 'list'?)"),
    ("user-group ad-user a b", "did you mean 'add-user'?"), ("model list --jsno", "did you mean --json?"),
    ("experiment li", "ambiguous command: 'li' could match list, list-checkpoints, list-trials"), ("help ro", "invalid choice: 'ro'"),
    ("re list", "ambiguous command: 're' could match resource-pool, resources"),
    ("experiment create --t x.yaml", "ambiguous option: --t could match --template, --test-mode"),
]


@pytest.mark.parametrize("words, said", COMMANDS)
def test_a_mistyped_command_line_is_put_right(det, master, words, said):
    done = det.run(*words.split())
    assert (done.returncode, done.stdout) == (2, "") and said in sentence(done) and not master.requests, done


@pytest.mark.parametrize("words, same", [("mod ls", "model list"), ("exp list", "experiment list"), ("trial desc 1", "trial describe 1"),
                                         ("reso raw 2026-11-01T00:00:00Z 2026-12-01T00:00:00Z", "resources raw 2026-11-01T00:00:00Z 2026-12-01T00:00:00Z"),
                                         ("mas i", "master info")])
def test_commands_may_be_abbreviated(det, words, same):
    assert det(*words.split()) == det(*same.split())


def test_an_abbreviation_does_not_reach_hidden_commands(det, master):
    assert det("help", "comp").startswith("usage: det completion")
    assert det.run("complete-i", "agent").returncode == 2 and not master.requests


# ---- logins and addresses ----

def test_an_expired_token_says_log_in_again(det, master):
    done = det.run("user", "whoami", DET_PASS=None, DET_USER_TOKEN="expired")
    assert done.returncode == 1
    assert sentence(done) == ("Failed to show who is logged in: Unauthenticated: this login has expired or was ended; please log in again with "
                              "'det user login <username>'")


def test_an_expired_stored_login_asks_again_or_says_so(det, master):
    det("user", "whoami")
    stored = det.config / "auth.json"
    document = json.loads(stored.read_text())
    document["masters"][det.url]["tokens"]["determined"] = "expired"
    document["masters"][det.url]["active_user"] = "determined"
    stored.write_text(json.dumps(document))
    done = det.run("user", "whoami", DET_USER=None, DET_PASS=None)
    assert done.returncode == 1 and "Password for user 'determined': " in done.stderr and "no answer: the input has ended" in done.stderr
    assert "expired" not in stored.read_text()


def test_the_wrong_scheme_is_named(det, master, tls_server):
    done = det.run("user", "whoami", DET_MASTER=master.url.replace("http:", "https:"))
    assert done.returncode == 1 and "write http:// instead of https://" in done.stderr.splitlines()[-1]
    done = det.run("user", "whoami", DET_MASTER=tls_server.url.replace("https:", "http:"))
    assert done.returncode == 1 and "write https:// instead of http://" in done.stderr.splitlines()[-1]
    done = det.run("user", "whoami", DET_MASTER="ftp://master")
    assert done.returncode == 2 and sentence(done) == "master address 'ftp://master': a master speaks http:// or https://, not ftp:// (from DET_MASTER)"


# ---- files ----

@pytest.fixture
def here(tmp_path):
    (tmp_path / "config.yaml").write_text("name: x\nentrypoint: y\n")
    (tmp_path / "model.py").write_text("x = 1\n")
    (tmp_path / "broken.yaml").write_text("name: x\nsearcher: {name: single\n")
    return tmp_path


@pytest.mark.parametrize("words", ["experiment create broken.yaml", "template create t broken.yaml", "config-policies set tasks broken.yaml",
                                   "preview-search broken.yaml"])
def test_broken_yaml_is_shown_at_its_place(det, master, here, words):
    done = det.run(*[here / word if word.endswith(".yaml") else word for word in words.split()])
    said = [line for line in done.stderr.splitlines() if NOTICE not in line]
    assert done.returncode == 1 and said[0].startswith(f"{here}/broken.yaml:3:1: ") or "broken.yaml:2:" in said[0], done.stderr
    assert len(said) <= 3 and not [r for r in master.requests if r[0] != "GET" and "login" not in r[1]]


FILES = [
    ("experiment create config.yaml model.py", "context path '{}/model.py' must be a directory; a single file can be sent with --include"),
    ("experiment create config.yaml none", "Path '{}/none' doesn't exist"),
    ("experiment describe 1 --outdir model.py", "{}/model.py is a file, where a directory is expected"),
    (f"checkpoint download {fake_master.CHECKPOINT} --mode master -o model.py/sub", "{}/model.py is a file, where a directory is expected"),
    ("deploy aws up --cluster-id a --keypair b -o model.py", "{}/model.py is a file, where a directory is expected"),
]


@pytest.mark.parametrize("words, said", FILES)
def test_a_file_where_a_directory_is_expected(det, here, words, said):
    done = det.run(*[here / word if word in ("config.yaml", "model.py", "none", "model.py/sub") else word for word in words.split()])
    assert done.returncode == 1 and said.format(here) in done.stderr, done
    assert (here / "model.py").read_text() == "x = 1\n"
