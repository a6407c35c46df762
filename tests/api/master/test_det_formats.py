"""What det shows of the real master, in all formats."""
import json

import pytest
from support.det import det, run_det


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
