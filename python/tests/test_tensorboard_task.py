"""What TensorBoards run: with TensorBoard itself, on every type of storage."""

import contextlib
import json
import pathlib
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from support import object_stores
from support.ports import free_port
from support.task_process import TaskProcess, started_tasks
from support.waiting import wait_for

from determined import _storage
from determined.exec import _service, tensorboard

LIBRARY = str(tensorboard.__file__).split("/determined/")[0]
# The program, with patience for tests.
PROGRAM = """
import logging, sys
import determined as det
from determined.exec import tensorboard
tensorboard.LOOK_EVERY_S = 0.2
tensorboard.PATIENCE = tensorboard.Patience(look_s=0.1, **{patience})
logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
sys.exit(tensorboard.main(sys.argv[1:]))
"""


class Task(TaskProcess):
    """A TensorBoard's process."""

    def __init__(self, cluster, directory, *sources, arguments=(), patience=None, **env):
        cluster.write(task_type="TENSORBOARD")
        self.port = free_port()
        (directory / "sources.json").write_text(json.dumps({"sources": sources}))
        argv = [sys.executable, "-c", PROGRAM.replace("{patience}", repr(patience or {}))]
        argv += ["--sources", str(directory / "sources.json"), "--", "--reload_interval=1", *arguments]
        env = {"PYTHONPATH": LIBRARY, **env, "TENSORBOARD_PORT": str(self.port), "TMPDIR": str(directory)}
        super().__init__(argv, cluster, directory, env)

    def ask(self, path):
        url = f"http://127.0.0.1:{self.port}/proxy/7.6f4e/data/{path}"
        with contextlib.suppress(urllib.error.URLError), urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)
        return None

    def points(self, run, tag):
        """(step, value) of a scalar."""
        query = urllib.parse.urlencode({"run": run, "tag": tag})
        return [(step, value) for _, step, value in self.ask(f"plugin/scalars/scalars?{query}") or []]

    def wait_until_it_says(self, text):
        wait_for(text, lambda: text in self.said or self.process.poll() is not None)
        assert text in self.said, self.said


@pytest.fixture
def start(cluster, tmp_path):
    with started_tasks(Task) as started:
        yield lambda *sources, **options: started(cluster, tmp_path, *sources, **options)


class Trial:
    """Writes a trial's curve, and stores it where the platform does."""

    def __init__(self, storage, directory, trial_id=11, experiment_id=7):
        self._storage, self._directory = storage, directory
        self._stored = f"the-cluster/tensorboard/experiment/{experiment_id}/trial/{trial_id}"
        directory.mkdir()
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._writer = EventFileWriter(str(directory))

    def report(self, step, value):
        from tensorboard.compat.proto import event_pb2, summary_pb2

        summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="loss", simple_value=value)])
        self._writer.add_event(event_pb2.Event(wall_time=time.time(), step=step, summary=summary))
        self._writer.flush()
        for path in self._directory.iterdir():
            self._storage.put_file(path, f"{self._stored}/{path.name}")


@contextlib.contextmanager
def storage_of(kind, directory):
    """Yields checkpoint_storage, and the variables by which its client finds it."""
    if kind in ("shared_fs", "directory"):
        key = "host_path" if kind == "shared_fs" else "container_path"
        yield {"type": kind, key: str(directory / "storage")}, {}
        return
    reason = object_stores.missing(kind)
    if reason:
        pytest.skip(reason)
    with getattr(object_stores, kind)(directory) as server:
        more = {} if kind == "azure" else {"prefix": "some/where"}
        yield {**server.config, **more}, getattr(server, "env", {})


@pytest.mark.parametrize("kind", ["shared_fs", "directory", "s3", "gcs", "azure"])
def test_a_running_trial__is_shown_and_what_it_adds_is_shown_soon(kind, start, tmp_path, monkeypatch):
    with storage_of(kind, tmp_path) as (config, env):
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        storage = _storage.from_config(config)
        trial, other = Trial(storage, tmp_path / "11"), Trial(storage, tmp_path / "12", trial_id=12)
        trial.report(1, 0.5)
        other.report(1, 4.0)
        task = start({"experimentId": 7, "checkpointStorage": config, "trialIds": [11]}, **env)
        task.wait_until_it_says("TensorBoard contains metrics")
        assert task.ask("runs") == ["experiment/7/trial/11"]
        assert task.points("experiment/7/trial/11", "loss") == [(1, 0.5)]
        trial.report(2, 0.25)
        wait_for("the second point", lambda: len(task.points("experiment/7/trial/11", "loss")) == 2)
        task.close()
        assert not list(tmp_path.glob("tensorboard-*"))


def test_before_the_first_metrics__it_waits_and_says_so(start, tmp_path):
    config = {"type": "shared_fs", "host_path": str(tmp_path / "storage")}
    task = start({"experimentId": 7, "checkpointStorage": config, "trialIds": []})
    task.wait_until_it_says("TensorBoard is waiting for metrics.")
    assert "does not exist on this machine" in task.said
    Trial(_storage.from_config(config), tmp_path / "11").report(1, 0.5)
    task.wait_until_it_says("TensorBoard contains metrics")
    assert task.said.count("waiting for metrics") == 1


def test_several_experiments__on_storages_of_their_own_are_shown_side_by_side(start, tmp_path):
    configs = [{"type": "directory", "container_path": str(tmp_path / f"storage{n}")} for n in (7, 8)]
    for n, config in zip((7, 8), configs):
        Trial(_storage.from_config(config), tmp_path / str(n), experiment_id=n, trial_id=n + 10).report(1, float(n))
    task = start(*({"experimentId": n, "checkpointStorage": config} for n, config in zip((7, 8), configs)))
    task.wait_until_it_says("TensorBoard contains metrics")
    wait_for("both runs", lambda: len(task.ask("runs")) == 2)
    assert sorted(task.ask("runs")) == ["experiment/7/trial/17", "experiment/8/trial/18"]
    assert task.points("experiment/8/trial/18", "loss") == [(1, 8.0)]


def test_without_metrics__it_ends_when_its_patience_does(start, tmp_path):
    config = {"type": "shared_fs", "host_path": str(tmp_path)}
    task = start({"experimentId": 7, "checkpointStorage": config}, patience={"first_file_s": 0.5})
    assert task.ends() == 1
    assert "no metrics have been stored for 0 s; start the TensorBoard again when the trials report some" in task.said


def test_a_tensorboard_that_does_not_answer__ends_the_task(start, tmp_path):
    config = {"type": "shared_fs", "host_path": str(tmp_path)}
    task = start({"experimentId": 7, "checkpointStorage": config}, patience={"answer_s": 0.0})
    assert task.ends() == 1
    assert f"TensorBoard has not answered on port {task.port} for 0 s" in task.said


def test_arguments_of_the_user__reach_tensorboard_and_mistakes_in_them_end_the_task(start, tmp_path):
    config = {"type": "shared_fs", "host_path": str(tmp_path)}
    task = start({"experimentId": 7, "checkpointStorage": config}, arguments=["--window_title=mine", "--port=1"])
    wait_for("an answer", lambda: task.ask("environment"))
    assert task.ask("environment")["window_title"] == "mine"
    task.close()
    task = start({"experimentId": 7, "checkpointStorage": config}, arguments=["--no-such-flag"])
    assert task.ends() == 2
    assert "unrecognized arguments: --no-such-flag" in task.said and "TensorBoard ended with status 2" in task.said


@pytest.mark.parametrize(
    "config, sentence",
    [
        ({"type": "tape"}, "checkpoint_storage.type 'tape' is unknown"),
        ({"type": "azure", "container": "c"}, "connection_string or account_url is missing"),
        ({"type": "shared_fs", "host_path": "/proc/version"}, "Not a directory"),
    ],
)
def test_a_storage_that_cannot_be_read__ends_the_task_with_a_sentence(start, config, sentence):
    task = start({"experimentId": 7, "checkpointStorage": config})
    assert task.ends() == 1
    assert "the TensorBoard files of experiment 7 cannot be read: " in task.said and sentence in task.said


def test_one_storage_of_two_that_cannot_be_read__does_not_keep_the_other_from_being_shown(start, tmp_path):
    config = {"type": "shared_fs", "host_path": str(tmp_path / "storage")}
    Trial(_storage.from_config(config), tmp_path / "11").report(1, 0.5)
    task = start(
        {"experimentId": 6, "checkpointStorage": {"type": "tape"}}, {"experimentId": 7, "checkpointStorage": config}
    )
    task.wait_until_it_says("TensorBoard contains metrics")
    assert "the TensorBoard files of experiment 6 cannot be read" in task.said


def test_a_trial_of_an_experiment_that_is_shown_as_a_whole__is_not_shown_twice(tmp_path):
    config = {"type": "directory", "container_path": str(tmp_path)}
    sources = [
        {"experimentId": 7, "checkpointStorage": config, "trialIds": [11]},
        {"experimentId": 7, "checkpointStorage": config},
    ]
    assert [tree.shown for tree in tensorboard.trees_of(sources, "the-cluster")] == ["experiment/7"]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"sources": []}', '{"sources": [{"experimentId": "x"}]}', '{"sources": [7]}']
)
def test_a_file_of_sources_that_says_nothing__is_told(text, tmp_path):
    path = pathlib.Path(tmp_path / "sources.json")
    path.write_text(text)
    with pytest.raises(tensorboard.SourcesWrong, match="is the master of another version"):
        tensorboard.read_sources(path)


@pytest.mark.parametrize("text", ["much", "0", "-1", "nan", "inf"])
def test_a_disk_that_is_no_number__is_told(text, start, tmp_path):
    config = {"type": "shared_fs", "host_path": str(tmp_path)}
    task = start({"experimentId": 7, "checkpointStorage": config}, DET_TENSORBOARD_DISK_GIB=text)
    assert task.ends() == 1 and f"DET_TENSORBOARD_DISK_GIB is '{text}': it must be a number of GiB" in task.said


def test_without_a_port__it_is_told(cluster, monkeypatch, caplog):
    cluster.write(task_type="TENSORBOARD")
    monkeypatch.delenv("TENSORBOARD_PORT", raising=False)
    assert tensorboard.main(["--sources", "/dev/null"]) == 1
    assert "the variable TENSORBOARD_PORT is not set" in caplog.text


def test_off_the_cluster_it_does_nothing(cluster, monkeypatch, caplog):
    assert tensorboard.main(["--sources", "/dev/null"]) == 1
    assert "in TensorBoards on a cluster only" in caplog.text


def test_without_tensorboard__a_sentence_says_what_to_do(cluster, monkeypatch, caplog):
    cluster.write(task_type="TENSORBOARD")
    monkeypatch.setenv("TENSORBOARD_PORT", "1")
    monkeypatch.setattr(_service.importlib.util, "find_spec", lambda name: None)
    assert tensorboard.main(["--sources", "/dev/null"]) == 1
    assert f"TensorBoard cannot be imported by this task's Python, {sys.executable}" in caplog.text
