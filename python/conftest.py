"""Modules that need a framework which this environment lacks are left out when doctests are collected."""

import importlib.util
import os

# Where a module is imported for its doctests only.
os.environ.setdefault("KERAS_BACKEND", "torch")
collect_ignore = [f"tests/{name}_program.py" for name in ("deepspeed", "distributed", "keras")]  # torchrun starts them
collect_ignore += ["tests/keras_trials.py"]  # what tests with Keras train
collect_ignore += ["tests/data"]  # what tests read
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
