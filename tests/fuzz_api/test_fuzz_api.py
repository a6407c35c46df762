"""Half a minute of fuzz.py: FUZZ_API_SECONDS and FUZZ_API_SEED say otherwise."""
import os

from fuzz import Fuzz


def test_random_requests_by_the_contract_find_nothing(tmp_path):
    fuzz = Fuzz(tmp_path, int(os.environ.get("FUZZ_API_SEED", "1"))).run(float(os.environ.get("FUZZ_API_SECONDS", "30")))
    assert fuzz.number > 100 and fuzz.statuses[200] > 10, fuzz.statuses
    print(f"fuzz-api: {fuzz.number} requests, {dict(sorted(fuzz.statuses.items()))}")
