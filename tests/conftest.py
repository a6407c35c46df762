"""Fixtures of all black-box suites: real programs in temporary directories."""
import collections
import contextlib
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from support.cluster import Cluster  # noqa: E402
from support.machines import machines, need_namespaces  # noqa: E402

# Files whose trials have several processes on this very machine: two masters would give them the same ports.
TASK_PORTS = {"test_examples.py", "test_framework_examples.py", "test_launchers.py"}
# Files of a minute or more. Several at a time, they begin first, since each would leave the other processes idle at the end.
LONGEST = ("test_framework_examples.py", "test_distributed.py", "test_searches.py", "test_four_processes.py", "test_python_environment.py",
           "test_notebooks.py", "test_deploy.py", "test_documentation.py", "test_lost_agents.py", "test_core_v2.py", "test_metrics.py",
           "test_deploy_local.py", "test_exit_codes.py", "test_python_environments.py", "test_same_programs.py")


def pytest_collection_modifyitems(config, items):
    if not hasattr(config, "workerinput"):
        return
    tests = collections.Counter(item.path for item in items)

    def place(item):
        name = item.path.name
        return (LONGEST.index(name) if name in LONGEST else len(LONGEST), -tests[item.path], str(item.path))

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Several at a time (-n 2): a file's tests stay together for the sake of what they share, and those files one after the other."""
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False  # the tests are in order (pytest_collection_modifyitems)

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return "task ports" if pathlib.PurePath(file).name in TASK_PORTS else file

    return ByFile(config, log)


@pytest.fixture(scope="module")
def master(tmp_path_factory):
    """A master without agents, shared by the tests of a module, with `determined` logged in."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.start_master()
        cluster.login()
        yield cluster


@pytest.fixture(scope="module")
def hosts():
    """Three hosts that are network namespaces, shared by the tests of a module (support/hosts.py)."""
    need_namespaces()
    with machines(3) as made:
        yield made


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A master and an agent with two slots, shared by the tests of a module, with `determined` logged in."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as c:
        c.start_master()
        c.start_agent(slots=2)
        c.login()
        yield c


@pytest.fixture
def new_cluster(tmp_path):
    """Makes clusters of a test's own: new_cluster(config=…)."""
    with contextlib.ExitStack() as made:

        def make(name="cluster", **options):
            return made.enter_context(Cluster(tmp_path / name, **options))

        yield make
