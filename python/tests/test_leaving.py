"""The end of a trial's process: everything that counts is done, and nothing is taken apart for seconds."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.conftest import PROGRAMS, PYTHON

# Left.__del__() is called when the interpreter takes modules apart, and by nothing else.
PROGRAM = """
import atexit, ctypes, sys, threading, time
from determined import _process

class Left:
    def __del__(self, write=sys.stdout.write):
        write("taken apart ")

left = Left()
atexit.register(lambda: sys.stdout.write("atexit "))
ctypes.CDLL(None).printf(b"from C ")
sys.stdout.write("at the end ")
def late():
    time.sleep(0.01)
    sys.stdout.write("thread ")
if "thread" in sys.argv:
    threading.Thread(target=late).start()
_process.leave(3)
"""


def run(*argv, cwd=None, **env):
    env = {
        **os.environ,
        "PYTHONPATH": f"{PYTHON}{os.pathsep}{PROGRAMS}",
        "PYTHONDONTWRITEBYTECODE": "1",
        **env,
    }
    return subprocess.run([sys.executable, *argv], cwd=cwd, env=env, capture_output=True, text=True)


def test_leaving__does_what_counts_and_takes_nothing_apart():
    done = run("-c", PROGRAM)
    assert done.returncode == 3 and done.stderr == ""
    assert sorted(done.stdout.replace("from C", "C").split()) == ["C", "at", "atexit", "end", "the"]


def test_leaving__waits_for_threads_of_the_program():
    done = run("-c", PROGRAM, "thread")
    assert done.returncode == 3 and "thread" in done.stdout and "taken apart" in done.stdout


def test_leaving__lets_what_was_loaded_from_outside_write_its_findings():
    assert "taken apart" in run("-c", PROGRAM, CUDA_INJECTION64_PATH="/nonexistent.so").stdout


@pytest.mark.parametrize(("broken", "status"), [(False, 0), (True, 1)])
def test_a_trial__leaves_so_when_its_work_is_done(tmp_path, broken, status):
    (tmp_path / "model_def.py").write_text(
        "import atexit, sys, trials\n"
        "class Left:\n"
        "    def __del__(self, write=sys.stdout.write): write('taken apart ')\n"
        "left = Left()\n"
        "atexit.register(lambda: sys.stdout.write('atexit '))\n"
        f"Trial = {'dict' if broken else 'trials.PlainTrial'}\n"
    )
    config = {"searcher": {"name": "single", "metric": "accuracy", "max_length": {"batches": 1}}, "hyperparameters": {}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    done = run("-m", "determined.exec.harness", "--local", "config.json", "--test", "model_def:Trial", cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert "atexit" in done.stdout and "taken apart" not in done.stdout


SCRIPT = """
import atexit, os, sys, threading, time
from determined import core

class Left:
    def __del__(self, write=sys.stdout.write):
        write("taken apart ")

left = Left()
atexit.register(lambda: sys.stdout.write("atexit "))

def late():
    time.sleep(0.01)
    sys.stdout.write("thread ")

def main(how):
    with core.init() as core_context:
        core_context.train.report_training_metrics(1, {"loss": 1})
    if "thread" in how:
        threading.Thread(target=late).start()
    if how == "child":
        import multiprocessing
        child = multiprocessing.get_context("fork").Process(target=sys.exit, args=(5,))
        child.start()
        child.join()
        assert child.exitcode == 5
    if how in ("sys.exit", "sys.exit and a thread"):
        sys.exit(3)
    elif how == "sys.exit without a number":
        sys.exit()
    elif how == "sys.exit with words":
        sys.exit("as the test wishes")
    elif how == "sys.exit after another":
        try:
            sys.exit(6)
        except SystemExit:
            sys.exit(4)
    elif how == "signal":
        raise KeyboardInterrupt
    elif how == "SystemExit":
        raise SystemExit(4)
    elif how == "raise":
        raise RuntimeError("as the test wishes")
    elif how == "caught":
        try:
            sys.exit(6)
        except SystemExit:
            pass

main(sys.argv[1])
"""


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("nothing", 0),
        ("thread", 0),
        ("child", 0),
        ("caught", 0),
        ("sys.exit", 3),
        ("sys.exit and a thread", 3),
        ("sys.exit without a number", 0),
        ("sys.exit with words", 1),
        ("sys.exit after another", 4),
        ("SystemExit", 4),
        ("raise", 1),
        ("signal", -signal.SIGINT),
    ],
)
@pytest.mark.parametrize("as_module", [False, True])
def test_a_script__leaves_so_however_it_comes_to_its_end(cluster, tmp_path, how, status, as_module):
    (tmp_path / "script.py").write_text(SCRIPT)
    words = ["-m", "script"] if as_module else ["script.py"]
    done = run(*words, how, cwd=tmp_path, DET_RUN_DIR=str(cluster.run_dir))
    assert done.returncode == status, done.stderr
    assert done.stdout.count("atexit") == 1 and "taken apart" not in done.stdout
    assert ("thread" in done.stdout) == ("thread" in how)
    assert ("as the test wishes" in done.stderr) == (how in ("raise", "sys.exit with words"))
    assert [r[1] for r in cluster.master.reports("training")] == [{"loss": 1}]


def test_a_script__off_the_cluster_ends_as_it_would_without_us(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run("script.py", "nothing", cwd=tmp_path, DET_RUN_DIR=str(tmp_path / "nowhere"), HOME=str(tmp_path))
    assert done.returncode == 0 and "taken apart" in done.stdout, done.stderr


def test_a_script__is_not_followed_by_complaints_of_what_was_not_taken_apart(cluster, tmp_path):
    # Some extension modules look for their objects when Python has ended, and print; so does malloc_stats().
    (tmp_path / "script.py").write_text(
        "import ctypes, sys\n"
        "from determined import core\n"
        "with core.init():\n"
        "    pass\n"
        "ctypes.pythonapi.Py_AtExit(ctypes.cast(ctypes.CDLL(None).malloc_stats, ctypes.c_void_p))\n"
        "sys.exit('words of the script')\n"
    )
    done = run("script.py", cwd=tmp_path, DET_RUN_DIR=str(cluster.run_dir))
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == "words of the script", done.stderr
