"""PyTorchTrial in processes that Horovod starts and connects: real ones, on CPUs, over gloo (make test-horovod)."""

import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scenarios import reference
from support.ports import free_port

from tests.conftest import PROGRAMS, PYTHON

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("horovod") is None, reason="Horovod is not installed here: make test-horovod"
)
SIZE = 2


def horovodrun(out, program, *arguments):
    """Run a program of ours in two processes."""
    process = subprocess.run(
        [
            *("horovodrun", "-np", str(SIZE), "-H", f"localhost:{SIZE}", "--network-interface", "lo"),
            *("python3", str(PROGRAMS / program), str(out), *arguments),
        ],
        cwd=out,
        env={
            **os.environ,
            "PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(map(str, (PYTHON, PROGRAMS, out))),
            "DET_RUN_DIR": str(out / "no-cluster"),
            "XDG_DATA_HOME": str(out / "home"),
            "OMP_NUM_THREADS": "1",
            "KERAS_BACKEND": "torch",
            "INTER_TRAIN_PROCESS_COMM_PORT_1": str(free_port()),
        },
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert process.returncode == 0, process.stdout + process.stderr


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """What both processes told of a scenario."""
    out = tmp_path_factory.mktemp("horovod")
    names = "places plain one_metric_each summed averaged compressed clipped different_at_first normed"
    names += " noisy noisy_paused plain_8 refused"
    horovodrun(out, "horovod_program.py", *names.split())
    return lambda scenario: [json.loads((out / f"{scenario}.{rank}.json").read_text()) for rank in range(SIZE)]


def test_the_context__is_that_of_all_processes(two):
    assert two("places") == [{"ranks": [0, 1], "size": 2}] * 2


def test_gradients__are_those_of_the_joined_batch(two):
    told = two("plain")
    assert [t["weights"] for t in told] == [pytest.approx(reference(SIZE), abs=1e-5)] * SIZE
    assert told[0]["weights"] == told[1]["weights"]


@pytest.mark.parametrize(("scenario", "averages"), [("summed", False), ("averaged", True)])
def test_aggregated_gradients__leave_the_process_every_nth_batch_only(two, scenario, averages):
    for t in two(scenario):
        assert t["exchanges"] == [2, 5], "batches, from 0, in which anything was exchanged"
        assert t["weights"] == pytest.approx(reference(SIZE, aggregation=3, averages=averages), abs=1e-5)


def test_compressed_gradients__are_less_precise_but_the_same_everywhere(two):
    first, second = two("compressed")
    assert first["weights"] == second["weights"] != two("plain")[0]["weights"]
    assert first["weights"] == pytest.approx(reference(SIZE), abs=1e-3)


def test_gradients__are_clipped_after_they_were_averaged(two):
    first, second = two("clipped")
    assert first["weights"] == second["weights"]
    plain, clipped = two("plain")[0]["weights"], first["weights"]
    start = reference(SIZE, batches=0)
    assert sum((a - b) ** 2 for a, b in zip(clipped, start)) < sum((a - b) ** 2 for a, b in zip(plain, start))


def test_weights__that_differ_at_first_are_the_chiefs(two):
    first, second = two("different_at_first")
    assert first["weights"] == second["weights"] == two("plain")[0]["weights"]


def test_training_metrics__are_averages_of_all_processes_or_the_chiefs_own(two):
    first, second = two("plain")
    assert first["training"] == second["training"] and [m["seen"] for m in first["training"]] == [24, 24]
    for t in two("one_metric_each"):
        assert t["training"][0]["seen"] == 24 and t["calls"] == ["reducer"], "once, for the validation"
    first, second = two("one_metric_each")
    assert first["training"][0]["loss"] != second["training"][0]["loss"]


@pytest.mark.parametrize("scenario", ["plain", "normed"])
def test_validation__of_unequal_shares_is_that_of_all_records(two, scenario):
    for t in two(scenario):
        assert t["validation"] == [{"mean": 9.0, "most": 19.0, "count": 5.0, "seen": 0.0}]


def test_training__that_was_paused_goes_on_as_if_it_had_not_been(two):
    for whole, paused in zip(two("noisy"), two("noisy_paused")):
        assert paused["weights"] == whole["weights"]
        assert (paused["seen"], paused["drawn"]) == (whole["seen"], whole["drawn"])


def test_what_horovod_cannot__is_said_so(two):
    assert two("refused") == ["with Horovod gradients cannot travel as torch.bfloat16: use torch.float16"] * SIZE


def test_a_trial_of_keras__trains_as_in_one_process_with_batches_twice_as_large(tmp_path):
    (tmp_path / "more_trials.py").write_text("from keras_trials import *\n")
    environment = {**os.environ, "KERAS_BACKEND": "torch"}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (PYTHON, PROGRAMS, tmp_path)))
    (tmp_path / "alone").mkdir()
    argv = [sys.executable, str(PROGRAMS / "keras_program.py"), str(tmp_path / "alone"), "PlainTrial"]
    alone = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=600)
    assert alone.returncode == 0, alone.stderr
    horovodrun(tmp_path, "keras_program.py", "PlainTrial")
    names = ("alone/PlainTrial.0.json", "PlainTrial.0.json", "PlainTrial.1.json")
    one, *ranks = (json.loads((tmp_path / name).read_text()) for name in names)
    assert [(rank["size"], rank["batch"]) for rank in ranks] == [(2, 4), (2, 4)]
    assert ranks[0]["weights"] == ranks[1]["weights"]
    flat = [[x for array in t["weights"] for x in np.ravel(array)] for t in (one, ranks[0])]
    assert flat[1] == pytest.approx(flat[0], abs=1e-5)
