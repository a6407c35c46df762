"""Users' code for the published library runs with ours: same names, same signatures.

Needs the published library in an environment of its own (requirements/compat.txt), whose interpreter DET_COMPAT_PYTHON
names; skipped without. What the published library has and ours has not yet is listed here, so the list can only shrink.
"""

import json
import pathlib

import published_api
import pytest
from test_public_names import ABSENT

MODULES = [
    "determined",
    "determined.core",
    "determined.errors",
    "determined.experimental",
    "determined.experimental.client",
    "determined.experimental.core_v2",
    "determined.pytorch",
    "determined.pytorch.experimental",
    "determined.pytorch.samplers",
    "determined.tensorboard.metric_writers",
    "determined.tensorboard.metric_writers.pytorch",
]

NOT_YET = {
    # Part of the published library's own harness, not for users.
    "determined.EnvContext",
    "determined.TrialController",
    # Each framework's context has its own; that of Keras has this, too.
    "determined.TrialContext.from_config",
    "determined.pytorch.deepspeed.DeepSpeedTrialController.pre_execute_hook",
    # A directory of the published library's own sockets.
    "determined.core.DistributedContext.tempdir",
    "determined.core.DummyDistributedContext.tempdir",
    "determined.experimental.core_v2.DistributedContext.tempdir",
    # Set by the published wrap_model() for Apex's sake.
    "determined.pytorch.CheckpointLoadContext.model",
    "determined.pytorch.PyTorchTrialContext.model",
    *(f"{module}.{name}" for module, names in ABSENT.items() if isinstance(names, dict) for name in names),
}
# Made by the library, never by users: their constructors take what our own parts need.
MADE_BY_THE_LIBRARY = {
    "CheckpointContext",
    "Context",
    "DeepSpeedTrialController",
    "DummySearcherOperation",
    "InvalidCheckpointException",
    "ExperimentalCoreContext",
    "PreemptContext",
    "ProfilerContext",
    "SearcherContext",
    "SearcherOperation",
    "TrainContext",
    "TrialContext",
}
# Deliberately not as published, each with its reason.
DIFFERENT = {
    "determined.pytorch.PyTorchTrialContext.configure_apex_amp",  # refuses whatever it is given: Apex is not maintained
    "determined.pytorch.CheckpointLoadContext.configure_apex_amp",
}


@pytest.fixture(scope="module")
def published(published_python):
    return json.loads(published_python(str(pathlib.Path(published_api.__file__)), *MODULES))


def _compatible(published, ours):
    """Whether calls that fit ``published`` fit ``ours``: the same, then perhaps keyword-only ones with a default."""
    if published is None or ours is None:
        return published == ours
    more = ours[len(published) :]
    return ours[: len(published)] == published and all(
        kind == "KEYWORD_ONLY" and default is not None for _, kind, default in more
    )


def _differences(module, published, ours):
    for name, theirs in published.items():
        where = f"{module}.{name}"
        if where in NOT_YET:
            if name in ours:
                yield f"{where}: exists now, take it off NOT_YET"
            continue
        if name not in ours:
            yield f"{where}: missing"
        elif "members" in theirs:
            if name not in MADE_BY_THE_LIBRARY and not _compatible(theirs["constructor"], ours[name]["constructor"]):
                yield f"{where}: {theirs['constructor']} published, {ours[name]['constructor']} ours"
            yield from _member_differences(where, theirs["members"], ours[name]["members"])
            missing = set(theirs["attributes"]) - {*ours[name]["attributes"], *theirs["members"]}
            if name not in MADE_BY_THE_LIBRARY:
                yield from (f"{where}.{a}: attribute missing" for a in sorted(missing) if f"{where}.{a}" not in NOT_YET)
        elif "function" in theirs:
            if not _compatible(theirs["function"], ours[name]["function"]):
                yield f"{where}: {theirs} published, {ours[name]} ours"
        elif theirs != ours[name]:
            yield f"{where}: {theirs} published, {ours[name]} ours"


def _member_differences(where, published, ours):
    for name, theirs in published.items():
        member = f"{where}.{name}"
        if member in NOT_YET:
            if name in ours:
                yield f"{member}: exists now, take it off NOT_YET"
        elif name not in ours:
            yield f"{member}: missing"
        elif member not in DIFFERENT and theirs != ours[name] and not _compatible(theirs, ours[name]):
            yield f"{member}: {theirs} published, {ours[name]} ours"


@pytest.mark.parametrize("module", MODULES)
def test_names_and_signatures__are_as_published(published, module):
    assert list(_differences(module, published[module], published_api.describe(module))) == []
