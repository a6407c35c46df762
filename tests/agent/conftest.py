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
    """Tasks run as another user when the agent is root, and any run of pytest closes pytest's own directories to others."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield pathlib.Path(directory)
