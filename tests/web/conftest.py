"""One cluster for all tests of this suite, with something to see on every page (world.py)."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from support import browser  # noqa: E402
from support.cluster import BUILD, ROOT  # noqa: E402
from world import World  # noqa: E402

DIST = ROOT / "web/dist"


def missing():
    """Why the interface cannot be tried here; None if it can."""
    if not re.search(rb"assets/index-[\w-]+\.js", (BUILD / "determined-master").read_bytes()):
        return "the master was built without its web interface (npm is not installed)"
    return browser.missing()


def pytest_collection_modifyitems(items):
    reason = missing()
    for item in items:
        if reason and item.path == pathlib.Path(__file__).parent / "test_pages.py":
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    with World(tmp_path_factory.mktemp("world")) as made:
        yield made


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests; each test has cookies and a page of its own."""
    process = subprocess.Popen(["node", browser.BROWSER / "web_pages.mjs", shutil.which("chromium")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process
    process.stdin.close()
    process.wait()


@pytest.fixture
def see(world, chromium, tmp_path):
    """Runs one scenario of tests/browser/web_pages.mjs as a user who has logged in, and returns what it found."""

    def run(scenario, url=None, token=None, **wanted):
        cookies = [] if token == "none" else [{"name": "auth", "value": token or world.c.token}]
        line = {"scenario": scenario, "url": f"{url or world.c.url}/det/", "cookies": cookies, "screenshot": str(tmp_path / "failed.png"), **wanted}
        chromium.stdin.write(json.dumps(line) + "\n")
        chromium.stdin.flush()
        found = json.loads(chromium.stdout.readline())
        assert "failure" not in found, f"{found['failure']}\nsee {line['screenshot']}; scripts threw {found['errors']}"
        return found

    return run
