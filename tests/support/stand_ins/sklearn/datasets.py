"""The digits, read from the file of the real package."""
import gzip
import pathlib
import sys
import types

import numpy as np


def load_digits():
    places = (pathlib.Path(path) / "sklearn/datasets/data/digits.csv.gz" for path in sys.path)
    with gzip.open(next(place for place in places if place.exists())) as file:
        rows = np.loadtxt(file, delimiter=",")
    return types.SimpleNamespace(images=rows[:, :-1].reshape(-1, 8, 8), target=rows[:, -1].astype(int))
