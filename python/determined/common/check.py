"""Checks that fail with the two values that they are about, under both of the names that each has.

>>> gt(2, 1)
>>> check_gt(1, 2, "too few")
Traceback (most recent call last):
determined.common.check.CheckFailedError: CHECK FAILED! Got 1, expected more than 2: too few
"""

from typing import Any, Container, Optional, Sized, Tuple, Type, Union


class CheckFailedError(Exception):
    """What was checked does not hold."""


def _check(holds: bool, got: Any, expected: str, reason: Optional[str]) -> None:
    if not holds:
        raise CheckFailedError(f"CHECK FAILED! Got {got!r}, expected {expected}" + (f": {reason}" if reason else ""))


def true(val: bool, reason: Optional[str] = None) -> None:
    """Check that ``val`` is true; ``reason`` joins the error."""
    _check(bool(val), val, "something true", reason)


def false(val: bool, reason: Optional[str] = None) -> None:
    """Check that ``val`` is false; ``reason`` joins the error."""
    _check(not val, val, "something false", reason)


def is_none(val: Optional[Any], reason: Optional[str] = None) -> None:
    """Check that ``val`` is None; ``reason`` joins the error."""
    _check(val is None, val, "None", reason)


def is_not_none(val: Optional[Any], reason: Optional[str] = None) -> None:
    """Check that ``val`` is not None; ``reason`` joins the error."""
    _check(val is not None, val, "something else", reason)


def eq(val: Any, expected: Any, reason: Optional[str] = None) -> None:
    """Check that ``val`` equals ``expected``; ``reason`` joins the error."""
    _check(val == expected, val, repr(expected), reason)


def not_eq(x: Any, y: Any, reason: Optional[str] = None) -> None:
    """Check that ``x`` and ``y`` differ; ``reason`` joins the error."""
    _check(x != y, x, "something else", reason)


def gt(x: Any, y: Any, reason: Optional[str] = None) -> None:
    """Check that ``x`` is more than ``y``; ``reason`` joins the error."""
    _check(x > y, x, f"more than {y!r}", reason)


def gt_eq(x: Any, y: Any, reason: Optional[str] = None) -> None:
    """Check that ``x`` is ``y`` or more; ``reason`` joins the error."""
    _check(x >= y, x, f"{y!r} or more", reason)


def lt(x: Any, y: Any, reason: Optional[str] = None) -> None:
    """Check that ``x`` is less than ``y``; ``reason`` joins the error."""
    _check(x < y, x, f"less than {y!r}", reason)


def lt_eq(x: Any, y: Any, reason: Optional[str] = None) -> None:
    """Check that ``x`` is ``y`` or less; ``reason`` joins the error."""
    _check(x <= y, x, f"{y!r} or less", reason)


def equal_lengths(x: Sized, y: Sized, reason: Optional[str] = None) -> None:
    """Check that ``x`` is as long as ``y``; ``reason`` joins the error."""
    _check(len(x) == len(y), len(x), f"the length {len(y)}", reason)


def len_eq(val: Sized, expected_len: int, reason: Optional[str] = None) -> None:
    """Check that ``val`` has ``expected_len`` elements; ``reason`` joins the error."""
    _check(len(val) == expected_len, len(val), f"the length {expected_len}", reason)


def is_in(val: Any, expected: Container[Any], reason: Optional[str] = None) -> None:
    """Check that ``val`` is one of ``expected``; ``reason`` joins the error."""
    _check(val in expected, val, f"one of {expected!r}", reason)


def not_in(val: Any, expected: Container[Any], reason: Optional[str] = None) -> None:
    """Check that ``val`` is none of ``expected``; ``reason`` joins the error."""
    _check(val not in expected, val, f"none of {expected!r}", reason)


def is_type(val: Any, expected: type, reason: Optional[str] = None) -> None:
    """Check that ``val`` is of the type ``expected`` and of no subclass; ``reason`` joins the error."""
    _check(type(val) is expected, val, f"a {expected.__name__}", reason)


def is_instance(val: Any, expected: Union[Type[Any], Tuple[Type[Any], ...]], reason: Optional[str] = None) -> None:
    """Check that ``val`` is an ``expected``, or one of several; ``reason`` joins the error."""
    _check(isinstance(val, expected), val, f"an instance of {expected!r}", reason)


def is_not_instance(val: Any, expected: Union[Type[Any], Tuple[Type[Any], ...]], reason: Optional[str] = None) -> None:
    """Check that ``val`` is no ``expected``, nor one of several; ``reason`` joins the error."""
    _check(not isinstance(val, expected), val, f"no instance of {expected!r}", reason)


def is_subclass(val: Any, expected: type, reason: Optional[str] = None) -> None:
    """Check that the class ``val`` derives from ``expected``; ``reason`` joins the error."""
    _check(isinstance(val, type) and issubclass(val, expected), val, f"a subclass of {expected!r}", reason)


check_true = true
check_false = false
check_none = is_none
check_not_none = is_not_none
check_eq = eq
check_not_eq = not_eq
check_gt = gt
check_gt_eq = gt_eq
check_lt = lt
check_lt_eq = lt_eq
check_eq_len = equal_lengths
check_len = len_eq
check_in = is_in
check_not_in = not_in
check_type = is_type
check_isinstance = is_instance
check_not_isinstance = is_not_instance
check_issubclass = is_subclass
