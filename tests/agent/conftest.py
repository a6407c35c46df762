import os
import pathlib
import tempfile

import pytest
from support.fake_master.agents import Master


@pytest.fixture
def master():
    m = Master()
    yield m
    m.close()


@pytest.fixture
def place():
    """Makes a directory that other users may enter: when the agent is root, tasks run as another user, and pytest closes its own
    directories to others."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield pathlib.Path(directory)
