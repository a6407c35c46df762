"""Every public name says what it is for, and what its parameters are."""

import importlib
import inspect
import re

import pytest
from published_signatures import MADE_BY_THE_LIBRARY, MODULES

PARTS = [*MODULES, "determined.tensorboard"]
# The parameters of these are somebody else's, whom the text names.
OF_OTHERS = {
    "DataLoader": "torch.utils.data.DataLoader",
    "ClusterInfo": "get_cluster_info",
    "PyTorchTrialContext.configure_apex_amp": "Apex",
    "PyTorchTrialContext.backward": "loss.backward()",
}
# Constructors that only the library calls: of answers of the master, of errors.
NOT_CALLED_BY_USERS = {"session", "cause", "maybe_done", "total_batches", "secret"}
REFERS = re.compile(r":(?:meth|func|class):`")


def public(module):
    """(name, object, docstring) of each public function, class and method of a module."""
    for name in dir(module):
        value = getattr(module, name)
        if name.startswith("_") or not getattr(value, "__module__", "").startswith("determined"):
            continue
        if inspect.isfunction(value) or inspect.ismethod(value):
            yield name, value, inspect.getdoc(value)
        elif inspect.isclass(value):
            if name not in MADE_BY_THE_LIBRARY and "Context" not in name:
                yield name, vars(value).get("__init__"), f"{value.__doc__} {value.__init__.__doc__}"
            else:
                yield name, None, value.__doc__
            for member, method in vars(value).items():
                function = getattr(method, "__func__", method)
                if not member.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{member}", function, inspect.getdoc(getattr(value, member))


def parameters(function):
    names = list(inspect.signature(function).parameters) if function is not None else []
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


@pytest.mark.parametrize("module", PARTS)
def test_docstrings__say_what_there_is(module):
    silent = [name for name, _, doc in public(importlib.import_module(module)) if not doc]
    assert silent == []


@pytest.mark.parametrize("module", PARTS)
def test_docstrings__name_each_of_several_parameters(module):
    """Of a single one, name and type say enough."""
    missing = []
    for name, function, doc in public(importlib.import_module(module)):
        names = parameters(function)
        if NOT_CALLED_BY_USERS & set(names):
            continue
        if len(names) < 2 or REFERS.search(doc) or OF_OTHERS.get(name, "\0") in doc:
            continue
        missing += [f"{name}({p})" for p in names if not re.search(rf"\b{p}\b", doc)]
    assert missing == []
