"""Compares the published library's signatures with ours, less what docs/compatibility.md lists."""

import pathlib

import published_names

import determined

ABSENT = published_names.Table(published_names.ABSENT)
DIFFERENT = published_names.Table(published_names.DIFFERENT)

# The names and signatures of these modules are compared in tests/frameworks, where the frameworks are.
NEED_FRAMEWORKS = (
    "determined.keras",
    "determined.lightning",
    "determined.transformers",
    "determined.pytorch.deepspeed",
)
# tests/published/test_bindings.py compares each function and class.
BY_THE_CONTRACT = ("determined.common.api.bindings",)


def _modules():
    for module in published_names.names_of(pathlib.Path(determined.__path__[0])):
        if not module.startswith((*NEED_FRAMEWORKS, *BY_THE_CONTRACT)) and not ABSENT.has_name(f"{module}.all"):
            yield module


MODULES = list(_modules())

# Made by the library, never by users: their constructors take what our own parts need.
MADE_BY_THE_LIBRARY = {
    "BaseSession",
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


def _compatible(published, ours):
    """Whether calls that fit ``published`` fit ``ours``: the same, then perhaps keyword-only ones with a default."""
    if published is None or ours is None:
        return published == ours
    more = ours[len(published) :]
    same = [
        [name, kind, default if theirs is not None else None]  # what they demand may be left out here
        for (name, kind, default), (_, _, theirs) in zip(ours, published)
    ]
    return same == published and all(kind == "KEYWORD_ONLY" and default is not None for _, kind, default in more)


def differences(module, published, ours):
    for name, theirs in published.items():
        where = f"{module}.{name}"
        if ABSENT.has_name(where) or ABSENT.has_module(where):
            if name in ours:
                yield f"{where}: exists now, take it off the page"
            continue
        if name not in ours:
            yield f"{where}: missing"
        elif "members" in theirs:
            made = name in MADE_BY_THE_LIBRARY or DIFFERENT.has_name(where)
            if not made and not _compatible(theirs["constructor"], ours[name]["constructor"]):
                yield f"{where}: {theirs['constructor']} published, {ours[name]['constructor']} ours"
            yield from _member_differences(where, theirs["members"], ours[name]["members"])
            missing = set(theirs["attributes"]) - {*ours[name]["attributes"], *theirs["members"]}
            if name not in MADE_BY_THE_LIBRARY:
                unlisted = [a for a in sorted(missing) if not ABSENT.has_name(f"{where}.{a}")]
                yield from (f"{where}.{a}: attribute missing" for a in unlisted)
        elif "function" in theirs:
            if not DIFFERENT.has_name(where) and not _compatible(theirs["function"], ours[name]["function"]):
                yield f"{where}: {theirs} published, {ours[name]} ours"
        elif theirs != ours[name]:
            yield f"{where}: {theirs} published, {ours[name]} ours"


def _member_differences(where, published, ours):
    for name, theirs in published.items():
        member = f"{where}.{name}"
        if ABSENT.has_name(member):
            if name in ours:
                yield f"{member}: exists now, take it off the page"
        elif name not in ours:
            yield f"{member}: missing"
        elif not DIFFERENT.has_name(member) and theirs != ours[name] and not _compatible(theirs, ours[name]):
            yield f"{member}: {theirs} published, {ours[name]} ours"
