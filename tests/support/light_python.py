"""A Python for tasks of tests whose subject is not what they import."""
import atexit
import functools
import os
import pathlib
import shutil
import sys
import tempfile
import venv

STAND_INS = pathlib.Path(__file__).resolve().parent / "stand_ins"
# The collector finds nothing to free while PyTorch is imported, and takes a tenth of that time.
COLLECT_SELDOM = "import gc; gc.set_threshold(100_000, 50, 50)"


def light_python(directory):
    """Makes an environment with the packages of this Python, except for the stand-ins, and returns the directory of its programs.

    A process that trains digits_pytorch takes 2 s of a core to import PyTorch and 1 s to import scikit-learn, which has nothing to
    do there but read the digits. test_examples.py has the real one.
    """
    venv.create(directory, symlinks=True)
    [packages] = pathlib.Path(directory).glob("lib/python*/site-packages")
    places = [STAND_INS, *(path for path in sys.path if path.endswith(("site-packages", "dist-packages")))]
    (packages / "light.pth").write_text("".join(f"{line}\n" for line in [*places, COLLECT_SELDOM, "import late_dynamo"]))
    return os.fspath(pathlib.Path(directory) / "bin")


@functools.cache
def shared_light_python():
    """Returns the interpreter of a light_python() that all tests of this process share."""
    directory = tempfile.mkdtemp(prefix="det-python-", dir="/tmp")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return os.path.join(light_python(directory), "python3")
