"""For test files whose tasks tell the test their process ids: an import of this fixture lets the agents of the file give tasks none of their own."""
import os

import pytest


@pytest.fixture(scope="module", autouse=True)
def machine_pids():
    os.environ["DET_PID_NAMESPACES"] = "false"
    yield
    del os.environ["DET_PID_NAMESPACES"]
