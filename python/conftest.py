"""Modules that need a framework which this environment lacks are left out when doctests are collected."""

import importlib.util
import os

# Where a module is imported for its doctests only.
os.environ.setdefault("KERAS_BACKEND", "torch")
collect_ignore = ["tests/programs", "tests/data"]  # what tests start, import and read
collect_ignore += [
    path
    for path, package in (
        ("determined/keras", "keras"),
        ("determined/lightning", "lightning"),
        ("determined/transformers", "transformers"),
        ("determined/pytorch/deepspeed", "deepspeed"),
    )
    if importlib.util.find_spec(package) is None
]
