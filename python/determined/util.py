"""Small helpers, by the names that the released library gives them. Training code seldom needs one.

Nothing here asks the platform for anything.
"""

import contextlib
import copy
import enum
import inspect
import json
import logging
import math
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time
import uuid
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple, Union

from determined import _json, _linux, _secrets, errors
from determined.common import check

logger = logging.getLogger("determined")

_LEGACY_CLASS = re.compile(r"[a-zA-Z0-9_.]+:[a-zA-Z0-9_]+")
_TRIES = 3
_PAUSE_S = 0.1
_DIGITS = 4


# Files


def rmtree_nfs_safe(
    path: Union[str, "os.PathLike[str]"],
    ignore_errors: bool = False,
    onerror: Optional[Callable[[Any, Any, Any], Any]] = None,
) -> None:
    """Remove a directory like :func:`shutil.rmtree`, again if need be.

    A network file system may still show what has just been removed, and a directory that is not empty does not go.

    Parameters
    ----------
    path : path-like
    ignore_errors, onerror
        As for :func:`shutil.rmtree`.
    """
    for left in reversed(range(_TRIES)):
        try:
            return shutil.rmtree(path, ignore_errors=ignore_errors, onerror=onerror)
        except OSError:
            if not left:
                raise
            time.sleep(_PAUSE_S)


def force_create_symlink(src: str, dst: str) -> None:
    """Make ``dst`` a symbolic link to ``src``, also if a file or link of that name is there."""
    os.makedirs(os.path.dirname(os.path.abspath(dst)), exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if os.path.isdir(dst) and not os.path.islink(dst):
            shutil.rmtree(dst)
        else:
            os.unlink(dst)
    os.symlink(src, dst)


def write_user_code(path: pathlib.Path, on_cluster: bool) -> None:
    """Copy the user's code into ``code`` below a directory, as checkpoints hold it.

    Parameters
    ----------
    path : pathlib.Path
        The directory, such as a checkpoint's.
    on_cluster : bool
        Whether the model definition that was submitted is meant, rather than what lies in the current directory.
    """
    from determined._training import _description

    if not on_cluster or not _description.save_submitted_code(path):
        shutil.copytree(os.getcwd(), path / _description.CODE_DIR, ignore=_description.NOT_CODE)


def download_gcs_blob_with_backoff(blob: Any, n_retries: int = 32, max_backoff: int = 32) -> Any:
    """The content of an object of Google Cloud Storage, asked for again if it does not come.

    Parameters
    ----------
    blob : google.cloud.storage.Blob
    n_retries : int
        How often to ask.
    max_backoff : int
        Seconds that a pause takes at most. Pauses grow from about one second.

    Raises
    ------
    Exception
        If it does not come.
    """
    cause: Optional[Exception] = None
    for attempt in range(n_retries):
        try:
            return blob.download_as_string()
        except Exception as e:
            cause = e
            time.sleep(min(2**attempt + random.SystemRandom().random(), max_backoff))
    raise Exception(f"{blob} did not come in {n_retries} attempts") from cause


# Objects and functions


def is_overridden(full_method: Any, parent_class: Any) -> bool:
    """Whether a method is a subclass's own, rather than that of the class it derives from.

    Parameters
    ----------
    full_method : callable
        Something else than a function counts as not overridden.
    parent_class : type
        The class that the method may come from.
    """
    return callable(full_method) and full_method.__qualname__.partition(".")[0] != parent_class.__name__


def has_param(fn: Callable[..., Any], name: str, pos: Optional[int] = None) -> bool:
    """Whether a function has a parameter of this name, or one at this place.

    Parameters
    ----------
    fn : callable
    name : str
    pos : int, optional
        Counted from 0; that of an object's method counts the object.

    >>> has_param(lambda a, b: 0, "b"), has_param(lambda a, b: 0, "c"), has_param(lambda a, b: 0, "c", 1)
    (True, False, True)
    """
    names = inspect.getfullargspec(fn).args
    return name in names or (pos is not None and pos < len(names))


def get_member_func(obj: Any, func_name: str) -> Any:
    """The method ``func_name`` of an object ``obj``; None if it has none of that name."""
    member = getattr(obj, func_name, None)
    return member if callable(member) else None


def filter_duplicates(in_list: List[Any], sorter: Callable[[List[Any]], List[Any]] = sorted) -> Set[Any]:
    """What occurs more than once in a list.

    Parameters
    ----------
    in_list : list
    sorter : callable
        Brings equal elements side by side.

    >>> filter_duplicates([3, 1, 3, 2])
    {3}
    """
    in_order = list(sorter(in_list))
    return {element for element, before in zip(in_order[1:], in_order) if element == before}


def merge_dicts(base_dict: Dict[Any, Any], source_dict: Dict[Any, Any]) -> Dict[Any, Any]:
    """Lay one dictionary over another, and those that they hold alike; neither is changed.

    Parameters
    ----------
    base_dict : dict
    source_dict : dict
        What it says counts.

    >>> merge_dicts({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}})
    {'a': {'b': 1, 'c': 3}}
    """
    merged = copy.deepcopy(base_dict)
    for key, value in source_dict.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = merge_dicts(merged[key], value) if both else copy.deepcopy(value)
    return merged


# Metrics


def validate_batch_metrics(batch_metrics: List[Dict[str, Any]]) -> None:
    """Refuse metrics of batches that are not of the same names in each batch.

    Raises
    ------
    determined.common.check.CheckFailedError
    """
    names = {name for metrics in batch_metrics for name in metrics}
    for i, metrics in enumerate(batch_metrics):
        missing = sorted(names - set(metrics))
        check.true(not missing, f"batch {i} reports {sorted(metrics)}, but not {missing} as other batches do")


def _mean(values: List[Any]) -> Optional[float]:
    import numpy as np

    try:
        return float(np.mean([np.asarray(value, dtype=float) for value in values if value is not None]))
    except (TypeError, ValueError):
        return None


def make_metrics(num_inputs: Optional[int], batch_metrics: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Metrics of batches, together with their means.

    Parameters
    ----------
    num_inputs : int, optional
        How many records the batches had.
    batch_metrics : list of dict

    Returns
    -------
    dict
        ``batch_metrics``, ``avg_metrics`` (None for what has no mean) and, if it was given, ``num_inputs``.
    """
    validate_batch_metrics(batch_metrics)
    names = batch_metrics[0] if batch_metrics else ()
    means = {name: _mean([metrics[name] for metrics in batch_metrics]) for name in names}
    made: Dict[str, Any] = {"batch_metrics": batch_metrics, "avg_metrics": means}
    if num_inputs is not None:
        made["num_inputs"] = num_inputs
    return made


def is_numerical_scalar(n: Any) -> bool:
    """Whether ``n`` is one number: of Python, of NumPy, or an array of NumPy without dimensions."""
    if isinstance(n, (int, float)):
        return True
    kind = getattr(getattr(n, "dtype", None), "kind", None)
    return kind in ("i", "u", "f", "c") and getattr(n, "ndim", 0) == 0


def humanize_float(n: float) -> float:
    """A number with no more digits than people read: four that count, or all of those before the point.

    >>> humanize_float(0.000123456), humanize_float(123456.7)
    (0.0001235, 123457.0)
    """
    if n == 0 or not math.isfinite(n):
        return n
    return round(n, max(_DIGITS - math.ceil(math.log10(abs(n))), 0))


def make_timing_log(verb: str, duration: float, num_inputs: int, num_batches: int) -> str:
    """A line on how fast something was.

    Parameters
    ----------
    verb : str
        What was done, in the past.
    duration : float
        Seconds.
    num_inputs, num_batches : int
        With how many records, in how many batches.
    """
    each = duration or float("nan")
    return (
        f"{verb}: {num_inputs} records in {humanize_float(duration)}s ({humanize_float(num_inputs / each)} records/s), "
        f"in {num_batches} batches ({humanize_float(num_batches / each)} batches/s)"
    )


def _plain(value: Any) -> Any:
    if hasattr(value, "__json__"):
        return _plain(value.__json__())
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, enum.Enum):
        return value.name
    return _json.to_plain(value)


def json_encode(obj: Any, indent: Optional[str] = None, sort_keys: bool = False) -> str:
    """JSON of things that JSON does not have, too: arrays, enums, times, UUIDs, numbers that are not finite (as text).

    Parameters
    ----------
    obj : object
        An object with a method ``__json__`` is what that returns.
    indent, sort_keys
        As for :func:`json.dumps`.

    Raises
    ------
    TypeError
        If some part cannot be expressed.

    >>> json_encode({"loss": float("nan"), "of": (1, 2)})
    '{"loss": "NaN", "of": [1, 2]}'
    """
    return json.dumps(_plain(obj), indent=indent, sort_keys=sort_keys)


# Configurations


def calculate_batch_sizes(hparams: Dict[str, Any], slots_per_trial: int, trialname: str) -> Tuple[int, int]:
    """How many records a batch has in one process, and in all of them together.

    Parameters
    ----------
    hparams : dict
        With ``global_batch_size``.
    slots_per_trial : int
        How many processes there are.
    trialname : str
        How errors call the trial.

    Raises
    ------
    errors.InvalidExperimentException
        If ``global_batch_size`` is missing, is no whole number, or is less than one for each process.
    """
    from determined._trial_context import split_batch_size

    try:
        return split_batch_size(hparams, slots_per_trial)
    except errors.InvalidExperimentException as e:
        raise errors.InvalidExperimentException(f"{trialname}: {e}") from None


def mask_checkpoint_storage(d: Dict[str, Any]) -> Dict[str, Any]:
    """A copy of ``checkpoint_storage`` of a configuration that shows no credentials.

    >>> mask_checkpoint_storage({"type": "s3", "secret_key": "s3cr3t"})
    {'type': 's3', 'secret_key': '********'}
    """
    return mask_config_dict(d)


def mask_config_dict(d: Dict[str, Any]) -> Dict[str, Any]:
    """A copy of an experiment's configuration that shows no secrets: passwords, keys, variables that hold some."""
    masked: Dict[str, Any] = _secrets.masked(d)
    return masked


# Programs


def match_legacy_trial_class(arg: str) -> bool:
    """Whether an entrypoint names a trial class, ``module.submodule:Class``."""
    return _LEGACY_CLASS.fullmatch(arg) is not None


def legacy_trial_entrypoint_to_script(trial_entrypoint: str) -> List[str]:
    """What to run for an entrypoint that names a trial class."""
    return ["python3", "-m", "determined.exec.harness", trial_entrypoint]


def check_sshd(peer_addr: str, deadline: float, port: int) -> None:
    """Wait until an sshd answers.

    Parameters
    ----------
    peer_addr : str
    deadline : float
        Until when, as :func:`time.time` counts.
    port : int

    Raises
    ------
    ValueError
        If none does.
    """
    from determined.launch import _ssh

    while not _ssh.answers(peer_addr, port):
        if time.time() > deadline:
            raise ValueError(f"no sshd answers at {peer_addr} port {port}")
        time.sleep(_PAUSE_S)


def signal_process_tree(p: "subprocess.Popen[Any]", signum: Any) -> None:
    """Send the signal ``signum`` to every process below ``p``, but not to ``p`` itself."""
    for pid in _linux.descendants(p.pid):
        _linux.send(pid, signum)


@contextlib.contextmanager
def forward_signals(
    p: "subprocess.Popen[Any]", *signums: signal.Signals, signal_children: bool = False
) -> Iterator[None]:
    """Pass signals on to a child, for as long as the context lasts.

    Parameters
    ----------
    p : subprocess.Popen
    *signums : signal.Signals
    signal_children : bool
        Whether every process below the child gets them, too.
    """

    def forward(number: int, _: Any) -> None:
        if signal_children:
            signal_process_tree(p, number)
        p.send_signal(number)

    before = {number: signal.signal(number, forward) for number in signums}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
