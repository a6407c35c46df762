"""Tests that the C programs are built where the web interface cannot be."""
import os
import subprocess

import pytest
from support.cluster import ROOT

EMPTY = "const size_t web_asset_n = 0;"


@pytest.fixture
def tree(tmp_path):
    """A copy of what build-web reads, in which nothing has been built yet."""
    for name in ("web", "contract", "tools"):
        (tmp_path / name).mkdir()
    sources = [path for path in (ROOT / "web").glob("[!.]*") if path.name not in ("node_modules", "dist")]
    subprocess.run(["cp", "-r", *sources, tmp_path / "web"], check=True)
    subprocess.run(["cp", *(ROOT / "contract").glob("*.json"), tmp_path / "contract"], check=True)
    subprocess.run(["cp", "-r", ROOT / "docs", tmp_path], check=True)
    subprocess.run(["cp", ROOT / "tools/build-web", ROOT / "tools/gen-web", tmp_path / "tools"], check=True)
    return tmp_path


def run(tree, choice, **env):
    done = subprocess.run(["/usr/bin/python3", tree / "tools/build-web", choice, tree / "out.c", tree / "out.d"], capture_output=True, text=True, env={**os.environ, **env})
    return done, (tree / "out.c").read_text() if (tree / "out.c").exists() else None


def test_a_build_that_does_not_want_the_interface_has_an_empty_table(tree):
    done, table = run(tree, "disabled")
    assert done.returncode == 0 and EMPTY in table


def test_without_npm_the_table_is_empty__and_the_build_says_why(tree):
    done, table = run(tree, "auto", PATH="/nowhere")
    assert done.returncode == 0 and EMPTY in table and "node or npm is not installed" in done.stderr
    (tree / "out.c").unlink()
    done, table = run(tree, "enabled", PATH="/nowhere")
    assert done.returncode == 1 and table is None and "node or npm is not installed" in done.stderr


def test_with_an_old_node_the_table_is_empty(tree):
    for name, text in (("node", "echo v18.20.4"), ("npm", "exit 1")):
        path = tree / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    done, table = run(tree, "auto", PATH=f"{tree / 'bin'}:/usr/bin:/bin")
    assert done.returncode == 0 and EMPTY in table and "node is v18.20.4; Vite needs 20.19" in done.stderr


def test_what_the_table_depends_on_is_noted(tree):
    run(tree, "disabled")
    noted = (tree / "out.d").read_text()
    for name in ("web/src/app/main.tsx", "web/package-lock.json", "contract/served.json", "web/src/features/jobs", "docs/guide.md", "docs/reference/searchers.md"):
        assert str(tree / name) in noted
    assert ".gen.ts" not in noted, "what the build makes must not make it run again"
