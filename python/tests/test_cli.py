"""``python3 -m determined.cli``: whichever ``det`` belongs to this library, with what it was given."""

import os
import shutil
import subprocess
import sys

import determined

PACKAGE = determined.__path__[0]


def run(library, path, *words):
    env = {"PATH": str(path), "PYTHONPATH": str(library)}
    command = [sys.executable, "-m", "determined.cli", *words]
    return subprocess.run(command, env=env, cwd="/", capture_output=True, text=True)


def install(prefix):
    """The library where a package of the system has it; imported from there, without its bytecode."""
    target = prefix / "share/determined/python/determined"
    target.parent.mkdir(parents=True)
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target.parent


def put(path, program="/bin/echo"):
    """A program that is no script: it prints what it is given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, path)


def test_det__of_the_same_installation_comes_first(tmp_path):
    library = install(tmp_path / "usr")
    put(tmp_path / "usr/bin/det")
    put(tmp_path / "other/det", "/bin/false")
    done = run(library, tmp_path / "other", "experiment", "list", "--json")
    assert (done.stdout, done.returncode) == ("experiment list --json\n", 0), done.stderr


def test_det__of_the_path_is_found_and_scripts_are_passed_by(tmp_path):
    library = install(tmp_path / "usr")
    put(tmp_path / "one/det")
    (tmp_path / "one/det").write_text("#!/bin/sh\necho a script\n")
    put(tmp_path / "two/det")
    done = run(library, f"{tmp_path}/none:{tmp_path}/one:{tmp_path}/two", "version")
    assert (done.stdout, done.returncode) == ("version\n", 0), done.stderr


def test_det__ends_with_its_own_status(tmp_path):
    library = install(tmp_path / "usr")
    put(tmp_path / "usr/bin/det", "/bin/false")
    assert run(library, os.defpath).returncode == 1


def test_det__that_is_nowhere_is_said(tmp_path):
    library = install(tmp_path / "usr")
    done = run(library, tmp_path, "version")
    assert done.returncode == 1 and "det is not on this machine" in done.stderr and done.stdout == ""
