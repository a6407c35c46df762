"""The released client against our master. Without .venv-compat (`make test-deps`) every test here is skipped, visibly."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from released import CONTEXTS, PROGRAM, PYTHON, Ours, Released, Warm  # noqa: E402
from support.cluster import BUILD, PASSWORD  # noqa: E402

EXPERIMENT = """
name: compat
description: three steps
labels: [one]
entrypoint: python3 train.py
hyperparameters: {lr: 0.1, units: 4}
searcher: {name: single, metric: loss, smaller_is_better: true}
max_restarts: 0
resources: {slots_per_trial: 1}
"""


def pytest_collection_modifyitems(items):
    if PROGRAM.exists():
        return
    for item in items:
        if pathlib.Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=f"{PYTHON} is missing: the released client; `make test-deps` installs it"))


@pytest.fixture(scope="session")
def warm(tmp_path_factory):
    process = Warm(tmp_path_factory.mktemp("warm"))
    yield process
    process.stop()


@pytest.fixture
def det(warm, cluster, tmp_path):
    """The released client as `determined`, in an empty directory that is its store of logins, too."""
    return Released(warm, cluster.url, tmp_path, password=PASSWORD)


@pytest.fixture
def admin(warm, cluster, tmp_path):
    return Released(warm, cluster.url, tmp_path, user="admin", password=PASSWORD)


@pytest.fixture
def ours(det):
    return Ours(BUILD / "det", det)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "experiment.yaml"
    path.write_text(EXPERIMENT)
    return path


@pytest.fixture(scope="module")
def finished(warm, cluster, tmp_path_factory):
    """(id of an experiment that has trained to its end, what `det experiment create -f` printed)."""
    directory = tmp_path_factory.mktemp("finished")
    (directory / "experiment.yaml").write_text(EXPERIMENT)
    det = Released(warm, cluster.url, directory, password=PASSWORD)
    out = det(f"experiment create -f experiment.yaml {CONTEXTS / 'train'}")
    experiment = int(out.split("Created experiment ")[1].split()[0])
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED", cluster.trial_log(cluster.trial_ids(experiment)[0])
    return experiment, out
