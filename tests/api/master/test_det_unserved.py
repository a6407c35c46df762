"""Commands of det whose routes the real master does not serve yet say so; what it serves is shown."""
import json

import pytest
from support.det import det, run_det

UNSERVED = [
    ("oauth", "client", "list"), ("oauth", "client", "add", "a", "b"),
]


@pytest.mark.parametrize("words", UNSERVED, ids=lambda words: " ".join(map(str, words[:3])))
def test_det_says_what_the_master_does_not_serve(master, words):
    done = run_det(master, *words, user="admin")
    assert (done.returncode, done.stdout) == (1, ""), done
    assert "this master does not serve yet what 'det " in done.stderr and len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_providers_and_tokens_of_the_real_master(master, tmp_path):
    assert det(master, "auth", "list-providers") == "No SSO providers found.\n"
    token = det(master, "dev", "auth-token").strip()
    assert det(master, "token", "login", "-", stdin=token + "\n", DET_DEBUG_CONFIG_PATH=tmp_path).endswith("Authenticated as determined.\n")
    done = run_det(master, "token", "login", "nonsense", DET_DEBUG_CONFIG_PATH=tmp_path)
    assert done.returncode == 1 and "the master does not accept this token" in done.stderr


@pytest.mark.parametrize("words", ["experiment list", "user list", "agent list", "slot list", "job list", "workspace list", "template list", "resource-pool list",
                                   "master info", "version", "user whoami"])
def test_formats_of_the_real_masters_answers(master, words):
    words = words.split()
    document = json.loads(det(master, *words, "--json"))
    assert isinstance(document, (list, dict))
    assert det(master, *words, "--yaml") and det(master, *words, "--csv").splitlines()[0].count(",") >= 1
