"""JSON as the master wants it: strict, non-finite numbers as strings; numbers of NumPy and PyTorch are accepted."""

import datetime
import enum
import json
import math
import os
from typing import Any


def _is_array(value: Any) -> bool:
    """NumPy arrays and scalars, PyTorch tensors, JAX arrays …: recognised without importing any of them."""
    return hasattr(value, "tolist") and hasattr(value, "dtype")


def _array_to_plain(value: Any) -> Any:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    return value.tolist()


def _number(value: float) -> Any:
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _key(key: Any, where: str) -> str:
    if isinstance(key, str):
        return key
    if _is_array(key):
        key = _array_to_plain(key)
    if isinstance(key, (int, float)) and not isinstance(key, bool):
        return str(key)
    raise TypeError(f"{where}: key {key!r} is a {type(key).__name__}, not a string")


def to_plain(value: Any, where: str = "value") -> Any:
    """Copy ``value`` into plain dicts, lists, strings, numbers, booleans and None.

    Parameters
    ----------
    value : object
        May hold arrays and tensors of any size, paths, enums (by name) and datetimes (ISO 8601).
    where : str
        How errors call it.

    Returns
    -------
    object
        A deep copy: changing ``value`` afterwards does not change it. NaN and infinities have become the strings
        ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``.

    Raises
    ------
    TypeError
        If some part cannot be expressed; the message tells which.

    Examples
    --------
    >>> to_plain({"loss": float("nan"), "k": (1, 2)})
    {'loss': 'NaN', 'k': [1, 2]}
    >>> to_plain({"a": [1, object()]}, "metrics")
    Traceback (most recent call last):
    TypeError: metrics["a"][1]: a value of type object cannot be sent as JSON
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _number(float(value))
    if isinstance(value, dict):
        return {_key(k, where): to_plain(v, f'{where}["{k}"]') for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(v, f"{where}[{i}]") for i, v in enumerate(value)]
    if _is_array(value):
        return to_plain(_array_to_plain(value), where)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    raise TypeError(f"{where}: a value of type {type(value).__name__} cannot be sent as JSON")


def dumps(value: Any) -> bytes:
    """Encode plain data (see :func:`to_plain`) for the wire."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
