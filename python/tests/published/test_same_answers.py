"""Small functions that programs import answer as those of the released library do."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import same_answers

from tests.conftest import PYTHON

PROGRAM = str(pathlib.Path(same_answers.__file__))


def last_line(text):
    return json.loads(text.splitlines()[-1])


@pytest.fixture(scope="module")
def answers(published_python, tmp_path_factory):
    """Expression → (the released library's answer, ours)."""
    where = tmp_path_factory.mktemp("answers")
    env = {"PYTHONWARNINGS": "ignore", "TMPDIR": str(where)}
    released = last_line(published_python(PROGRAM, cwd=where, **env))
    path = os.pathsep.join([str(PYTHON), *sys.path])
    ours = subprocess.run(
        [sys.executable, PROGRAM], env={**os.environ, **env, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert ours.returncode == 0, ours.stderr
    return {said: (one, other) for (said, one), (_, other) in zip(released, last_line(ours.stdout))}


@pytest.mark.parametrize("expression", same_answers.CALLS.strip().splitlines())
def test_small_functions__answer_as_published(answers, expression):
    released, ours = answers[expression]
    assert ours == released


def test_gpus__of_a_machine_without_any(monkeypatch, tmp_path):
    from determined import gpu

    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpu.get_gpus() == ([], "") and gpu.get_gpu_uuids() == [] and gpu.get_gpu_processes() == []


def test_gpus__of_amd_and_of_a_driver_that_is_broken(monkeypatch, tmp_path, caplog):
    from determined import gpu

    monkeypatch.setenv("PATH", f"{tmp_path}:{os.defpath}")
    cards = {"card1": {"Unique ID": "0xb", "GPU use (%)": "50"}, "card0": {"Unique ID": "0xa"}, "system": {}}
    for name, script in (("nvidia-smi", "exit 9"), ("rocm-smi", f"echo '{json.dumps(cards)}'")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    assert gpu.get_gpus() == ([gpu.GPU(1, "0xb", 0.5, 0.0), gpu.GPU(0, "0xa", 0.0, 0.0)], "rocm")
    assert gpu.get_gpu_uuids() == ["0xa", "0xb"] and "nvidia-smi ended with status 9" in caplog.text


def test_horovod__is_one_framework_s_only(monkeypatch):
    import types

    from determined import horovod

    hvd = horovod._Horovod()
    with pytest.raises(AttributeError, match="call hvd.require_horovod_type"):
        hvd.init()
    monkeypatch.setitem(sys.modules, "horovod", types.ModuleType("horovod"))
    monkeypatch.setitem(sys.modules, "horovod.torch", types.SimpleNamespace(rank=lambda: 3))
    hvd.require_horovod_type("torch", "a PyTorchTrial")
    hvd.require_horovod_type("torch", "once more")
    assert hvd.rank() == 3
    with pytest.raises(ValueError, match=r"horovod.torch is in use \(a PyTorchTrial\)"):
        hvd.require_horovod_type("tensorflow.keras", "Keras")


def test_signals__reach_a_child_and_what_it_has_started():
    import signal

    from determined import util

    script = "trap : TERM; sh -c 'trap \"exit 5\" TERM; echo ready; while :; do sleep 0.05; done'; exit $?"
    child = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    with util.forward_signals(child, signal.SIGTERM, signal_children=True):
        os.kill(os.getpid(), signal.SIGTERM)
        assert child.wait(60) == 5
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_links__take_the_place_of_what_was_there(tmp_path):
    from determined import util

    for target in ("one", "two"):
        util.force_create_symlink(target, str(tmp_path / "link"))
        assert os.readlink(tmp_path / "link") == target


def test_yaml__that_is_none_ends_a_program_with_a_word(capsys):
    from determined.common import util

    pytest.importorskip("yaml")
    assert util.yaml_safe_load("a: [1, 2]") == {"a": [1, 2]} == util.yaml_safe_load(util.yaml_safe_dump({"a": [1, 2]}))
    with pytest.raises(SystemExit):
        util.safe_load_yaml_with_exceptions("a: [")
    assert "invalid experiment config file" in capsys.readouterr().out


def test_det__as_a_function_prints_where_the_program_prints(tmp_path, monkeypatch, capsys):
    import io

    from determined.cli import _det, cli

    program = tmp_path / "det"
    program.write_text('#!/bin/sh\necho "$@"; exit ${STATUS:-0}\n')
    program.chmod(0o755)
    monkeypatch.setattr(_det, "find", lambda: program)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    cli.main(["experiment", "list"])
    assert sys.stdout.getvalue() == "experiment list\n"
    monkeypatch.setenv("STATUS", "3")
    with pytest.raises(SystemExit) as left:
        cli.main(["x"])
    assert left.value.code == 3
    monkeypatch.setattr(_det, "find", lambda: None)
    with pytest.raises(SystemExit, match="det is not on this machine"):
        cli.main([])
