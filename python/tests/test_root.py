"""The root of the library: light, and it knows whether there is a cluster."""

import pathlib
import subprocess
import sys

import pytest

import determined as det

FRAMEWORKS = ("torch", "numpy", "tensorflow", "tensorboard", "boto3", "google", "azure", "psutil", "requests")


def in_a_fresh_process(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return result.stdout.strip()


def test_import__pulls_in_no_framework_and_no_network():
    heavy = (*FRAMEWORKS, "ssl", "http.client", "urllib.request")
    code = f"import sys, determined; print([m for m in {heavy} if m in sys.modules])"
    assert in_a_fresh_process(code) == "[]"


def test_import_of_core__pulls_in_no_framework():
    code = f"import sys, determined.core; print([m for m in {FRAMEWORKS} if m in sys.modules])"
    assert in_a_fresh_process(code) == "[]"


def test_core__is_there_after_importing_the_root_alone():
    assert in_a_fresh_process("import determined as det; print(det.core.PreemptMode.ChiefOnly.value)") == "CHIEF_ONLY"


def test_unknown_attribute__is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        det.nonsense  # noqa: B018


def test_version__is_that_of_the_project():
    meson = (pathlib.Path(__file__).parents[2] / "meson.build").read_text()
    assert f"version: '{det.__version__}'," in meson


def test_cluster_info__is_none_off_the_cluster():
    assert det.get_cluster_info() is None


def test_cluster_info__of_a_trial(cluster):
    cluster.config["data"] = {"path": "/data"}
    cluster.write(latest_checkpoint="abc", hparams={"lr": 0.1})
    info = det.get_cluster_info()
    assert (info.master_url, info.task_id, info.allocation_id) == (cluster.master.url, "7.6f4e", "7.6f4e.1")
    assert (info.trial.trial_id, info.trial.experiment_id, info.trial.trial_seed) == (11, 7, 4711)
    assert info.trial.hparams == {"lr": 0.1}
    assert (info.container_addrs, info.container_rank, info.container_slot_counts) == (["127.0.0.1"], 0, [1])
    assert (info.latest_checkpoint, info.user_data, info.gpu_uuids) == ("abc", {"path": "/data"}, [])


def test_cluster_info__of_a_command_has_no_trial(cluster):
    (cluster.run_dir / "info" / "trial.json").unlink()
    (cluster.run_dir / "info" / "rendezvous.json").unlink()
    cluster.write(task_type="COMMAND", slot_ids=[0, 1])
    (cluster.run_dir / "info" / "rendezvous.json").unlink()
    info = det.get_cluster_info()
    assert (info.task_type, info.container_slot_counts) == ("COMMAND", [2])
    with pytest.raises(RuntimeError, match=r"task 7\.6f4e is of type COMMAND"):
        _ = info.trial


def test_cluster_info__names_the_file_that_is_no_object(cluster):
    (cluster.run_dir / "info" / "cluster.json").write_text("[]")
    with pytest.raises(RuntimeError, match=r"cluster\.json must hold a JSON object, not list"):
        det.get_cluster_info()


@pytest.mark.parametrize("entrypoint", ["python3 train.py", ["python3", "train.py"]])
def test_config__gives_its_entrypoint(entrypoint):
    assert det.ExperimentConfig({"entrypoint": entrypoint}).get_entrypoint() == entrypoint


def test_config__refuses_an_entrypoint_of_another_type():
    with pytest.raises(ValueError, match="entrypoint must be a string or a list of strings, not 5"):
        det.ExperimentConfig({"entrypoint": 5}).get_entrypoint()


def test_config__has_defaults_for_what_is_not_set():
    config = det.ExperimentConfig({})
    assert (config.slots_per_trial(), config.scheduling_unit(), config.experiment_seed()) == (1, 100, 0)
    assert config.get_min_validation_period() == config.get_min_checkpoint_period() == {}
    assert config.profiling_interval() == (0, None)


def test_import_from_path__keeps_two_versions_of_a_module_apart(tmp_path):
    for version in ("one", "two"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "my_model_def.py").write_text(f"VERSION = {version!r}")
    with det.import_from_path(tmp_path / "one"):
        import my_model_def as one
    with det.import_from_path(tmp_path / "two"):
        import my_model_def as two
    assert (one.VERSION, two.VERSION) == ("one", "two")
    assert "my_model_def" not in sys.modules and str(tmp_path / "two") not in sys.path


def test_import_from_path__brings_the_earlier_module_back(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "some_module.py").write_text("")
    marker = object()
    monkeypatch.setitem(sys.modules, "some_module", marker)
    with det.import_from_path(tmp_path / "a"):
        import some_module
    assert some_module is not marker and sys.modules["some_module"] is marker


def test_import_from_path__needs_a_directory(tmp_path):
    with pytest.raises(NotADirectoryError, match="nowhere"):
        with det.import_from_path(tmp_path / "nowhere"):
            pass
