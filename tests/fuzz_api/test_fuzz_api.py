"""Half a minute of fuzz.py: FUZZ_API_SECONDS and FUZZ_API_SEED say otherwise. And what needs no chance to be found."""
import os
import re

import pytest
from fuzz import Fuzz
from support.cluster import CONTRACT

WITH_BODY = [rpc for rpc, row in CONTRACT.routes.items() if rpc in CONTRACT.served and row.get("body")]


def test_random_requests_by_the_contract_find_nothing(tmp_path):
    fuzz = Fuzz(tmp_path, int(os.environ.get("FUZZ_API_SEED", "1"))).run(float(os.environ.get("FUZZ_API_SECONDS", "30")))
    assert fuzz.number > 100 and fuzz.statuses[200] > 10, fuzz.statuses
    print(f"fuzz-api: {fuzz.number} requests, {dict(sorted(fuzz.statuses.items()))}")


@pytest.fixture(scope="module")
def admin(master):
    master.create(activate=False)
    return master.login("admin", keep=False).json["token"]


@pytest.mark.parametrize("rpc", WITH_BODY)
def test_a_body_that_holds_nothing(master, admin, rpc):
    """Found for PatchUser: any user's PATCH without a body ended the master."""
    row = CONTRACT.routes[rpc]
    path = re.sub(r"\{[^}]*\}", "1", row["path"])
    for body in (b"", b"null", b"{}", b"[]", b'""'):
        if rpc == "SetUserPassword":
            path = path.replace("/1/", "/77/")  # not the admin's own, whose sessions would end
        status = master.request(row["method"], path, raw=body, token=admin, timeout=20).status
        assert status < 500 or status in (501, 503), (status, body)
    assert master.master.poll() is None
