"""Run TensorBoard on what trials have stored: ``python3 -m determined.exec.tensorboard``, what TensorBoards run.

``python3 -m determined.exec.tensorboard --sources FILE [-- ARGUMENT …]``; the arguments are TensorBoard's own. The file
holds JSON::

    {"sources": [{"experimentId": 7, "checkpointStorage": {"type": "s3", …}, "trialIds": [11, 12]}]}

Without ``trialIds``, all trials of the experiment are shown. TensorBoard listens on ``TENSORBOARD_PORT`` of
``DET_LISTEN_ADDRESS`` (``127.0.0.1``, which only this machine can connect to, unless it is set), below
``/proxy/TASK/``. Storages are looked through every 20 seconds for what is new.

When TensorBoard shows something, the line ``TensorBoard contains metrics`` says so, which the platform waits for. Until
then, ``TensorBoard is waiting for metrics.`` says that it runs.
"""

import argparse
import contextlib
import http.client
import json
import logging
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

import determined as det
from determined import _info, _linux, _process, _storage
from determined.core import _tensorboard
from determined.exec import _mirror, _service

logger = logging.getLogger("determined")

SERVICE = _service.Service(
    program="determined.exec.tensorboard",
    task_type="TENSORBOARD",
    tasks="TensorBoards",
    title="TensorBoard",
    package="tensorboard",
    variables=("TENSORBOARD_PORT",),
)
LOOK_EVERY_S = 20.0


class Patience(NamedTuple):
    """For how many seconds things are waited for."""

    answer_s: float = 300.0
    first_file_s: float = 600.0
    # A first file need not hold anything that TensorBoard draws.
    shown_s: float = 30.0
    # Between two looks at TensorBoard until it shows something, and between two lines that say so.
    look_s: float = 1.0
    say_s: float = 10.0


PATIENCE = Patience()


class SourcesWrong(Exception):
    """The task is not told what it could show: by the file of sources, by their storages, or by a variable."""


def read_sources(path: pathlib.Path) -> List[Dict[str, Any]]:
    """The list in the file.

    Raises
    ------
    SourcesWrong
    """
    try:
        sources = json.loads(path.read_text(encoding="utf-8"))["sources"]
        wrong = [
            one for one in sources if not int(one["experimentId"]) or not isinstance(one["checkpointStorage"], dict)
        ]
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise SourcesWrong(f"{path} cannot be used ({type(e).__name__}: {e}): is the master of another version?") from e
    if wrong or not sources:
        raise SourcesWrong(f"{path} names no experiment: is the master of another version?")
    found: List[Dict[str, Any]] = sources
    return found


def trees_of(sources: List[Dict[str, Any]], cluster_id: str) -> List[_mirror.Tree]:
    """What to show of all sources whose storage can be used; a line of the log tells of each other one.

    Raises
    ------
    SourcesWrong
        There is no such source.
    """
    trees: Dict[str, _mirror.Tree] = {}
    problems = []
    whole = {int(source["experimentId"]) for source in sources if not source.get("trialIds")}
    for source in sources:
        experiment_id = int(source["experimentId"])
        place = _tensorboard.experiment_path(cluster_id, experiment_id)
        try:
            storage = _storage.from_config(source["checkpointStorage"])
        except Exception as e:
            problems.append(f"the TensorBoard files of experiment {experiment_id} cannot be read: {e}")
            continue
        trials = [] if experiment_id in whole else source["trialIds"]
        below = [(f"trial {n} of experiment {experiment_id}", f"/trial/{int(n)}") for n in trials]
        for title, rest in below or [(f"experiment {experiment_id}", "")]:
            shown = f"experiment/{experiment_id}{rest}"
            trees[shown] = _mirror.Tree(title, storage, place + rest, shown)
    if not trees:
        raise SourcesWrong("\n".join(problems))
    for problem in problems:
        logger.warning("%s", problem)
    return list(trees.values())


def command_of(port: int, task_id: str, logdir: pathlib.Path, arguments: List[str]) -> List[str]:
    """TensorBoard's: what the user asks for cannot move it to another place."""
    return _process.module(
        "tensorboard.main",
        *arguments,
        f"--port={port}",
        f"--path_prefix=/proxy/{task_id}",
        f"--host={_info.listen_address()}",
        # The reader that is loaded so knows neither links nor new files of old directories.
        "--load_fast=false",
        f"--logdir={logdir}",
    )


def runs_shown(port: int, task_id: str) -> Optional[int]:
    """How many runs TensorBoard shows; None if it does not answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", f"/proxy/{task_id}/data/runs")
        response = connection.getresponse()
        text = response.read()
        return len(json.loads(text)) if response.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError, TypeError):
        return None
    finally:
        connection.close()


@contextlib.contextmanager
def _running(argv: List[str]) -> "Iterator[subprocess.Popen[bytes]]":
    """TensorBoard as a child, which gets our signals, and does not outlive us."""
    # A directory of the user's may hold modules of any name.
    child = subprocess.Popen(argv, env=_process.environment(), cwd="/", preexec_fn=_linux.die_with_parent)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda received, _: child.send_signal(received))
    try:
        yield child
    finally:
        child.terminate()
        child.wait()


def _ended(child: "subprocess.Popen[bytes]", within_s: Optional[float]) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(within_s)
    return child.returncode is not None


class Opening:
    """From TensorBoard's start until it shows something.

    Parameters
    ----------
    mirror : _mirror.Mirror
    port : int
    task_id : str
    patience : Patience
    """

    def __init__(self, mirror: _mirror.Mirror, port: int, task_id: str, patience: Patience) -> None:
        self._mirror, self._port, self._task_id, self._patience = mirror, port, task_id, patience
        self._began_s = time.monotonic()
        self._first_file_s: Optional[float] = None
        self._said_s: Optional[float] = None
        self._answered = False

    def is_over(self) -> bool:
        """Look once whether TensorBoard shows something.

        Raises
        ------
        TimeoutError
            Patience is at its end; a sentence tells what was waited for.
        """
        now_s = time.monotonic()
        runs = runs_shown(self._port, self._task_id)
        self._answered = self._answered or runs is not None
        if not self._answered and now_s - self._began_s > self._patience.answer_s:
            raise TimeoutError(f"TensorBoard has not answered on port {self._port} for {self._patience.answer_s:.0f} s")
        if self._first_file_s is None and self._mirror.has_files():
            self._first_file_s = now_s
        if self._first_file_s is None:
            self._wait_for_a_file(now_s)
            return False
        return bool(runs) or (self._answered and now_s - self._first_file_s > self._patience.shown_s)

    def _wait_for_a_file(self, now_s: float) -> None:
        if now_s - self._began_s > self._patience.first_file_s:
            problems = "".join(f"; {title}: {text}" for title, text in sorted(self._mirror.problems.items()))
            raise TimeoutError(
                f"no metrics have been stored for {self._patience.first_file_s:.0f} s; start the TensorBoard again "
                f"when the trials report some{problems}"
            )
        if self._answered and (self._said_s is None or now_s - self._said_s >= self._patience.say_s):
            print("TensorBoard is waiting for metrics.", flush=True)
            self._said_s = now_s


def _refresh(mirror: _mirror.Mirror, stopped: threading.Event) -> None:
    while not stopped.wait(LOOK_EVERY_S):
        mirror.refresh()


def serve(mirror: _mirror.Mirror, port: int, task_id: str, arguments: List[str], patience: Patience) -> int:
    """Run TensorBoard to its end; returns its exit status."""
    stopped = threading.Event()
    with _running(command_of(port, task_id, mirror.logdir, arguments)) as child:
        threading.Thread(target=_refresh, args=(mirror, stopped), name="tensorboard-files", daemon=True).start()
        try:
            opening = Opening(mirror, port, task_id, patience)
            while not _ended(child, patience.look_s):
                if opening.is_over():
                    print("TensorBoard contains metrics", flush=True)
                    break
            _ended(child, None)
        except TimeoutError as e:
            logger.error("%s", e)
            return 1
        finally:
            stopped.set()
    status = _process.shell_status(child.returncode)
    if status:
        logger.error("TensorBoard ended with status %d; the lines above say why", status)
    return status


def most_gib() -> float:
    """How much of the disk the user lets copies take.

    Raises
    ------
    SourcesWrong
        The variable holds no number.
    """
    text = os.environ.get(_mirror.DISK_VARIABLE)
    try:
        found = float(text) if text else _mirror.DEFAULT_DISK_GIB
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise SourcesWrong(f"{_mirror.DISK_VARIABLE} is {text!r}: it must be a number of GiB, such as 20")
    return found


def _show(sources: List[Dict[str, Any]], cluster_id: str, task_id: str, port: int, arguments: List[str]) -> int:
    trees, most = trees_of(sources, cluster_id), most_gib()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="tensorboard-"))
    try:
        mirror = _mirror.Mirror(directory, trees, _mirror.disk_limit(directory, most))
        mirror.refresh()
        if len(mirror.problems) == len(trees):
            logger.error("there is nothing that this TensorBoard could show")
            return 1
        return serve(mirror, port, task_id, arguments, PATIENCE)
    finally:
        # A file may still be on its way.
        shutil.rmtree(directory, ignore_errors=True)


def main(argv: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(description="TensorBoard on what trials have stored", allow_abbrev=False)
    parser.add_argument("--sources", type=pathlib.Path, required=True, help="file that says what to show")
    parser.add_argument("arguments", nargs="*", help="TensorBoard's own arguments, after --")
    args = parser.parse_args(argv)
    info = _service.find_task(SERVICE)
    if info is None:
        return 1
    port = os.environ["TENSORBOARD_PORT"]
    try:
        sources = read_sources(args.sources)
        return _show(sources, info.cluster_id, info.task_id, int(port), args.arguments)
    except SourcesWrong as e:
        logger.error("%s", e)
        return 1


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    sys.exit(main())
