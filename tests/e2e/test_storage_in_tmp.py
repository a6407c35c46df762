"""A task has a /tmp of its own, and yet a checkpoint storage in the machine's /tmp, the predecessor's usual example, is the machine's."""
import contextlib
import os
import pathlib
import shutil
import tempfile
import uuid

import pytest
from support import namespaces
from support.cluster import ROOT, Cluster, wait_for
from support.experiments import is_root

TRAIN = """
import os
from determined import core
with core.init() as context:
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, storage_id):
        (path / "weights").write_text("1")
    assert context.train.report_validation_metrics(1, {"loss": 1.0}) is None
    with context.checkpoint.restore_path(storage_id) as path:
        print("restored", (path / "weights").read_text())
open("/tmp/left-by-a-task-of-" + str(os.getuid()), "w").close()
print("tmp holds", sorted(os.listdir("/tmp")))
"""


@pytest.fixture(scope="module")
def cluster():
    namespaces.need("root" if is_root() else "nobody")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:  # in /tmp, it would show in the task's
        os.chmod(directory, 0o755)
        with Cluster(directory) as c:
            c.start_master()
            c.start_agent(python_path=str(ROOT / "python"))
            c.login("admin")
            yield c


@pytest.fixture
def name():
    name = f"det-storage-{uuid.uuid4().hex[:8]}"
    yield name
    shutil.rmtree(f"/tmp/{name}", ignore_errors=True)


@pytest.mark.parametrize("storage, where", [
    ({"type": "shared_fs", "host_path": "/tmp", "storage_path": "NAME"}, "/tmp/NAME"),
    ({"type": "shared_fs", "host_path": "/tmp"}, "/tmp"),
    ({"type": "shared_fs", "host_path": "/tmp/NAME/deeper"}, "/tmp/NAME/deeper"),
    ({"type": "directory", "container_path": "/tmp/NAME"}, "/tmp/NAME"),
])
def test_a_checkpoint_lies_where_the_configuration_says(cluster, name, storage, where):
    storage = {key: value.replace("NAME", name) for key, value in storage.items()}
    environment = {"environment_variables": [f"PATH={ROOT}/.venv/bin:{os.environ['PATH']}"]}
    x = cluster.create(files={"train.py": TRAIN}, entrypoint="python3 train.py", environment=environment, checkpoint_storage=storage)
    ended = cluster.wait_experiment(x)
    log = cluster.trial_log(cluster.trial_ids(x)[0])
    assert ended["state"] == "STATE_COMPLETED" and "restored 1" in log, log
    [checkpoint] = cluster.get(f"/api/v1/experiments/{x}/checkpoints").json["checkpoints"]
    place = pathlib.Path(where.replace("NAME", name)) / checkpoint["uuid"]
    try:
        assert (place / "weights").read_text() == "1"
        shown = {name} if f"/tmp/{name}" in str(list(storage.values())) else set()
        [line] = [line for line in log.splitlines() if "tmp holds" in line]
        assert {part.strip("[]',") for part in line.split("tmp holds")[1].split()} == {f"left-by-a-task-of-{os.getuid()}", *shown}
        assert not pathlib.Path(f"/tmp/left-by-a-task-of-{os.getuid()}").exists()
        cluster.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [checkpoint["uuid"]]})
        wait_for("the deletion", lambda: not (place / "weights").exists())
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(place)
