import datetime
import enum
import json
import math
import pathlib

import numpy as np
import pytest
import torch

from determined._json import dumps, to_plain


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (np.float32("inf"), "Infinity"),
        (np.float32(0.5), 0.5),
        (np.int64(2**62), 2**62),
        (np.bool_(True), True),
        (np.array([[1.0, math.nan]]), [[1.0, "NaN"]]),
        (torch.tensor(3), 3),
        (torch.tensor([0.5], requires_grad=True), [0.5]),
        (torch.tensor(1.5, dtype=torch.bfloat16), 1.5),
        ((1, (2,)), [1, [2]]),
        ({1: "x", np.int32(2): None}, {"1": "x", "2": None}),
        (Colour.RED, "RED"),
        (pathlib.PurePosixPath("/a"), "/a"),
        (datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc), "2024-01-02T00:00:00+00:00"),
    ],
)
def test_to_plain__accepts(value, plain):
    result = to_plain(value)
    assert result == plain and type(result) is type(plain)
    json.loads(dumps(result))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": {"b": [1, {2}]}}, r'metrics\["a"\]\["b"\]\[1\]: a value of type set'),
        ({"a": b"bytes"}, r'metrics\["a"\]: a value of type bytes'),
        ({(1, 2): 1}, r"metrics: key \(1, 2\) is a tuple"),
    ],
)
def test_to_plain__tells_where_it_fails(value, message):
    with pytest.raises(TypeError, match=message):
        to_plain(value, "metrics")


def test_to_plain__copies():
    value = {"a": [1]}
    plain = to_plain(value)
    value["a"].append(2)
    assert plain == {"a": [1]}
