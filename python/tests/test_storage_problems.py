"""What is wrong with a checkpoint directory is told in a sentence: whose account, which directory, what to do."""

import errno
import os
import pathlib
import subprocess
import sys

import pytest

from determined import _storage, errors

PYTHON = pathlib.Path(__file__).parents[1]
STRANGER = 64123  # a uid that nobody has

STORE = """
import sys
from determined import core
with core.init(checkpoint_storage=sys.argv[1]) as core_context:
    with core_context.checkpoint.store_path({"steps_completed": 1}) as (path, _):
        for i in range(4):
            (path / f"weights{i}").write_bytes(bytes(1 << 16))
print("stored")
"""


def store(directory, *, within=(), user=None):
    """Store a checkpoint there, in a process of its own; what it said at its end."""
    done = subprocess.run(
        [*within, sys.executable, "-c", STORE, str(directory)],
        env={**os.environ, "PYTHONPATH": str(PYTHON), "PYTHONDONTWRITEBYTECODE": "1", "DET_RUN_DIR": "/no/task"},
        cwd="/",
        user=user,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stderr.splitlines()[-1]


def in_a_mount(options, directory):
    """A prefix of commands: they see a file system of its own there."""
    script = f'mount -t tmpfs {options} none "$0" && exec "$@"'
    prefix = ["unshare", "-m", "sh", "-c", script, str(directory)]
    if subprocess.run([*prefix, "true"], capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount a file system")
    return prefix


@pytest.fixture
def stranger(tmp_path):
    """An account that may go to ``tmp_path``, but owns nothing."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(path.stat().st_mode | 0o011)
    return STRANGER


def test_directory_of_somebody_else__names_both_accounts_and_the_way_out(tmp_path, stranger):
    directory = tmp_path / "checkpoints"
    directory.mkdir(mode=0o755)
    line = store(directory, user=stranger)
    assert line.startswith(f"error: this task's account, uid {STRANGER}, may not write to the checkpoint directory")
    assert f"{directory} belongs to root (uid 0) and has mode 0755" in line and f"chmod 1777 {directory}" in line


def test_directory_that_is_missing_and_may_not_be_made__asks_for_the_mount(tmp_path, stranger):
    line = store(tmp_path / "mnt/checkpoints", user=stranger)
    assert "does not exist, and this task's account" in line and "Mount the file system" in line


def test_file_in_the_place_of_the_directory__is_named(tmp_path):
    (tmp_path / "checkpoints").write_text("")
    with pytest.raises(errors.StorageUnusable, match="cannot be used: .*/checkpoints is a file"):
        with _storage.DirectoryStorage(tmp_path / "checkpoints").store_path("id"):
            pass


def test_read_only_file_system__is_called_so(tmp_path):
    line = store(tmp_path, within=in_a_mount("-o ro", tmp_path))
    assert f"the checkpoint directory {tmp_path} lies on a file system that is mounted read-only" in line


def test_full_file_system__is_called_so(tmp_path):
    line = store(tmp_path, within=in_a_mount("-o size=128k", tmp_path))
    assert f"no room left on the file system of the checkpoint directory {tmp_path}" in line and "GiB are free" in line


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ESTALE, "does not answer .*: see whether it is still mounted"),
        (errno.EDQUOT, "the quota of .* for the checkpoint directory"),
    ],
)
def test_network_file_systems__have_errors_of_their_own(tmp_path, monkeypatch, number, words):
    def fail(path, *_, **__):
        raise OSError(number, os.strerror(number), os.fspath(path))

    monkeypatch.setattr(pathlib.Path, "mkdir", fail)
    with pytest.raises(errors.StorageUnusable, match=words):
        with _storage.DirectoryStorage(tmp_path / "checkpoints").store_path("id"):
            pass


def test_errors_of_the_users_own_files__stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError) as e:
        with _storage.DirectoryStorage(tmp_path / "checkpoints").store_path("id"):
            (tmp_path / "elsewhere/data").read_text()
    assert not isinstance(e.value, errors.StorageUnusable)


def test_storage_that_cannot_be_written__is_warned_of_when_the_trial_begins(cluster, caplog, monkeypatch):
    from determined import core

    cluster.storage.write_text("")
    with core.init():
        pass
    assert "no checkpoint can be stored: the checkpoint directory" in caplog.text
