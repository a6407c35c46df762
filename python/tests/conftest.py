import json
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any, Callable, Dict, Iterator, Optional

import pytest
from support.fake_master.tasks import TOKEN, FakeMaster

REPOSITORY = pathlib.Path(__file__).parents[2]
PYTHON = REPOSITORY / "python"
PROGRAMS = PYTHON / "tests/programs"
EXAMPLES = REPOSITORY / "examples"


@pytest.fixture(autouse=True)
def _off_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """No test sees a cluster, a proxy or a home directory unless it asks for one."""
    monkeypatch.setenv("DET_RUN_DIR", str(tmp_path / "no-cluster"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def master() -> Iterator[FakeMaster]:
    """A master that fails the test if a request did not fit the contract."""
    master = FakeMaster()
    yield master
    master.close()
    assert master.complaints == []


@pytest.fixture(scope="session")
def published_python() -> Callable[..., str]:
    """Runs Python with the published library, with arguments; returns the last line that it printed."""
    python = os.environ.get("DET_COMPAT_PYTHON")
    if not python:
        pytest.skip("DET_COMPAT_PYTHON does not name the interpreter of an environment with requirements/compat.txt")
    # The published library needs torch and other frameworks, which its environment borrows from ours.
    places = [sysconfig.get_paths()["purelib"], *(path for path in sys.path if path.endswith("site-packages"))]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(places))}

    def run(*argv: str, cwd: Optional[pathlib.Path] = None, **more_env: str) -> str:
        result = subprocess.run([python, *argv], cwd=cwd, env={**env, **more_env}, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return result.stdout.splitlines()[-1]

    return run


class Cluster:
    """What the agent prepares for a task: its run directory."""

    def __init__(self, master: FakeMaster, directory: pathlib.Path) -> None:
        self.master = master
        self.run_dir = directory / "run"
        self.storage = directory / "storage"
        self.config: Dict[str, Any] = {
            "checkpoint_storage": {"type": "shared_fs", "host_path": str(self.storage)},
            "searcher": {"name": "single", "metric": "accuracy", "smaller_is_better": False},
            "hyperparameters": {},
            "resources": {"slots_per_trial": 1},
        }
        (self.run_dir / "info").mkdir(parents=True)

    def write(self, task_type: str = "TRIAL", latest_checkpoint: Optional[str] = None, **trial: Any) -> None:
        """(Re)write the info files; keywords change fields of trial.json."""
        self._write(
            "cluster.json",
            {
                "master_url": self.master.url,
                "cluster_id": "the-cluster",
                "agent_id": "an-agent",
                "slot_ids": trial.pop("slot_ids", [0]),
                "task_id": "7.6f4e",
                "allocation_id": "7.6f4e.1",
                "session_token": TOKEN,
                "task_type": task_type,
                "master_cert_name": None,
                "master_cert_file": None,
                "latest_checkpoint": latest_checkpoint,
            },
        )
        if task_type == "TRIAL":
            info = {
                "trial_id": 11,
                "experiment_id": 7,
                "trial_seed": 4711,
                "hparams": self.config["hyperparameters"],
                "config": self.config,
                "steps_completed": 0,
                "trial_run_id": 1,
                "debug": False,
                "inter_node_network_interface": None,
            }
            self._write("trial.json", {**info, **trial})
        self._write("resources.json", {"gpu_uuids": []})
        self._write(
            "rendezvous.json", {"container_addrs": ["127.0.0.1"], "container_rank": 0, "container_slot_counts": [1]}
        )

    def _write(self, name: str, value: Any) -> None:
        (self.run_dir / "info" / name).write_text(json.dumps(value))


@pytest.fixture
def cluster(master: FakeMaster, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> Cluster:
    """Make this process a trial of a cluster."""
    cluster = Cluster(master, tmp_path)
    cluster.write()
    monkeypatch.setenv("DET_RUN_DIR", str(cluster.run_dir))
    return cluster


@pytest.fixture
def fast_retries(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let the patience of a session end after so many attempts, without pauses worth the name."""

    def set_attempts(attempts: int) -> None:
        import determined._http

        quick = determined._http.Retry(attempts=attempts, first_pause_s=0.01, max_pause_s=0.02)
        monkeypatch.setitem(determined._http.Session.__init__.__kwdefaults__, "retry", quick)

    return set_attempts
