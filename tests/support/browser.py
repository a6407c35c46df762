"""A real browser for tests: Debian's chromium, driven by the scripts of tests/browser."""

import json
import pathlib
import shutil
import subprocess

import pytest

BROWSER = pathlib.Path(__file__).parents[1] / "browser"


def missing():
    """Returns why no browser can run here; None if one can."""
    if not shutil.which("chromium"):
        return "chromium is not installed (packaging/debian-packages.txt)"
    if not shutil.which("node") or not (BROWSER / "node_modules/playwright-core").exists():
        return f"playwright-core is not installed: npm ci --prefix {BROWSER}"
    return None


needs_browser = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def run(script, **wanted):
    """Runs a script of tests/browser; returns what it found. A failure shows what it said."""
    done = subprocess.run(
        ["node", BROWSER / script, json.dumps({"chromium": shutil.which("chromium"), **wanted}, default=str)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
