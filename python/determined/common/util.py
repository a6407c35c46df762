"""Small helpers of programs about the cluster, by the names that the released library gives them."""

import contextlib
import datetime
import functools
import io
import os
import pathlib
import random
import re
import sys
import time
import warnings
from typing import IO, Any, Callable, Iterator, Optional, Sequence, Tuple, TypeVar, Union

from determined.experimental import _api, _login

T = TypeVar("T")
U = TypeVar("U", bound=Callable[..., Any])

_FALSE = ("n", "no", "f", "false", "off", "0")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)


def chunks(lst: Union[str, Sequence[T]], chunk_size: int) -> Iterator[Union[str, Sequence[T]]]:
    """Cut a text or list ``lst`` into pieces of ``chunk_size``; the last one may be shorter.

    >>> list(chunks("ABCDEFG", 3))
    ['ABC', 'DEF', 'G']
    """
    for i in range(0, len(lst), chunk_size):
        yield lst[i : i + chunk_size]


def sizeof_fmt(val: Union[int, float]) -> str:
    """A number of bytes for people.

    >>> sizeof_fmt(2048), sizeof_fmt(5)
    ('2.0KB', '5.0B')
    """
    for unit in ("", "K", "M", "G", "T", "P", "E", "Z"):
        if abs(val) < 1024:
            return f"{val:3.1f}{unit}B"
        val /= 1024
    return f"{val:.1f}YB"


def debug_mode() -> bool:
    """Whether ``DET_DEBUG`` asks for more words."""
    return os.environ.get("DET_DEBUG", "").lower() in ("true", "1", "yes")


def strtobool(val: str) -> bool:
    """Whether a text means yes: everything does, but an empty one and ``n no f false off 0``, in any case."""
    return bool(val) and val.lower() not in _FALSE


def preserve_random_state(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function leave Python's random numbers as they were: training must not depend on what it draws."""

    @functools.wraps(fn)
    def keeping(*args: Any, **kwargs: Any) -> Any:
        state = random.getstate()
        try:
            return fn(*args, **kwargs)
        finally:
            random.setstate(state)

    return keeping


def deprecated(message: Optional[str] = None) -> Callable[[U], U]:
    """A decorator for functions whose callers are to be warned, with ``message`` if there is one."""

    def decorate(function: U) -> U:
        @functools.wraps(function)
        def warning(*args: Any, **kwargs: Any) -> Any:
            text = message or f"{function.__name__}() is deprecated and will go"
            warnings.warn(text, FutureWarning, stacklevel=2)
            return function(*args, **kwargs)

        return warning  # type: ignore[return-value]

    return decorate


def wait_for(predicate: Callable[[], Tuple[bool, T]], timeout: int = 60, interval: float = 0.1) -> T:
    """Ask again and again until the answer is there.

    Parameters
    ----------
    predicate : callable
        Returns whether it is there, and the answer.
    timeout : int
        Seconds to ask for.
    interval : float
        Seconds in between.

    Raises
    ------
    TimeoutError
    """
    end = time.monotonic() + timeout
    while True:
        done, answer = predicate()
        if done:
            return answer
        if time.monotonic() > end:
            raise TimeoutError(f"what was waited for has not come in {timeout} s")
        time.sleep(interval)


def get_config_path() -> pathlib.Path:
    """The directory of logins and trusted certificates, which ``det`` keeps."""
    return _login.config_directory()


def parse_protobuf_timestamp(ts: str) -> datetime.datetime:
    """A time as the master writes it.

    >>> parse_protobuf_timestamp("2026-01-02T03:04:05.678901Z").isoformat()
    '2026-01-02T03:04:05.678901+00:00'
    """
    time_of = _api.time_of(ts)
    if time_of is None:
        raise ValueError("an empty text is no time")
    return time_of


def is_protobuf_timestamp(ts: str) -> bool:
    """Whether a text is a time as the master reads it: ``yyyy-mm-ddThh:mm:ss``, perhaps with a fraction, and ``Z``."""
    if not _TIMESTAMP.fullmatch(ts):
        return False
    with contextlib.suppress(ValueError):
        datetime.datetime.strptime(ts[:19], "%Y-%m-%dT%H:%M:%S")
        return True
    return False


# YAML. The library itself needs no package for it; these functions take whichever there is.


def _yaml_package() -> Any:
    try:
        import ruamel.yaml

        return ruamel.yaml
    except ImportError:
        pass
    try:
        import yaml

        return yaml
    except ImportError:
        raise ImportError("YAML needs the Python package ruamel.yaml or PyYAML: pip install ruamel.yaml") from None


def yaml_safe_load(f: Union[IO[Any], str]) -> Any:
    """What a text or open file ``f`` holds, as plain objects.

    Raises
    ------
    ImportError
        If there is neither the package ruamel.yaml nor PyYAML.
    """
    package = _yaml_package()
    if hasattr(package, "YAML"):
        return package.YAML(typ="safe", pure=True).load(f)
    return package.safe_load(f)


def yaml_safe_dump(data: Any, stream: Optional[Union[IO[Any], str]] = None, default_flow_style: Any = None) -> Any:
    """Write plain objects as YAML.

    Parameters
    ----------
    data : object
    stream : file, optional
        Where to; without it the text is returned.
    default_flow_style : bool, optional
        Whether brackets and braces are used; by default where they are short.

    Raises
    ------
    ImportError
        If there is neither the package ruamel.yaml nor PyYAML.
    """
    package = _yaml_package()
    if not hasattr(package, "YAML"):
        return package.safe_dump(data, stream, default_flow_style=default_flow_style)
    writer = package.YAML(typ="safe", pure=True)
    writer.default_flow_style = default_flow_style
    if stream is not None:
        return writer.dump(data, stream)
    text = io.StringIO()
    writer.dump(data, text)
    return text.getvalue()


def safe_load_yaml_with_exceptions(yaml_file: Union[IO[Any], str]) -> Any:
    """Like :func:`yaml_safe_load` for programs that people start: a mistake in the file is told, and ends them.

    Raises
    ------
    SystemExit
        If it is no YAML.
    """
    try:
        return yaml_safe_load(yaml_file)
    except _yaml_package().YAMLError as e:
        print(f"Error: invalid experiment config file.\n{type(e).__name__}: {e}")
        sys.exit(1)
