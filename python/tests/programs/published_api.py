"""Prints the public names of the published library's modules, with their signatures, as JSON.

Runs in an environment of its own (requirements/compat.txt); tests/published/test_signatures.py compares the answer
with our library. A parameter is [name, kind, default or null]; a class has its methods, properties, enum values and the
attributes that its methods set.
"""

import ast
import enum
import importlib.machinery
import importlib.util
import inspect
import json
import sys
import textwrap
import unittest.mock


def parameters(function):
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    return [
        [p.name, p.kind.name, None if p.default is p.empty else describe_default(p.default)]
        for p in signature.parameters.values()
    ]


def describe_default(value):
    if callable(value):
        return "callable"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if type(value).__module__.startswith("determined"):
        return f"{type(value).__name__}({vars(value)})"
    return repr(value)


def attributes(cls):
    """Public attributes of a class's objects: what its own methods set, and what it annotates or holds."""
    names = {*vars(cls), *vars(cls).get("__annotations__", ())}
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError):
        return names
    (node,) = tree.body
    for function in node.body:
        if isinstance(function, ast.FunctionDef) and function.args.args:
            me = function.args.args[0].arg
            names |= {
                a.attr
                for a in ast.walk(function)
                if isinstance(a, ast.Attribute) and isinstance(a.ctx, ast.Store) and getattr(a.value, "id", "") == me
            }
    return names


def describe_class(cls):
    if issubclass(cls, enum.Enum):
        # Some of the published values are members of an enumeration of its generated client.
        return {"enum": {member.name: getattr(member.value, "value", member.value) for member in cls}}
    members, held = {}, set()
    for klass in reversed([k for k in cls.__mro__ if k.__module__.startswith("determined")]):
        held |= {name for name in attributes(klass) if not name.startswith("_")}
        for name, member in vars(klass).items():
            if name.startswith("_"):
                continue
            if isinstance(member, property):
                members[name] = "property"
            elif isinstance(member, (staticmethod, classmethod)):
                members[name] = parameters(member.__func__)
            elif inspect.isfunction(member):
                members[name] = parameters(member)
    return {"constructor": parameters(cls.__init__), "members": members, "attributes": sorted(held)}


def stand_in_for(package):
    """Let a module be imported that names a framework at its top, where this environment does not have it."""
    if importlib.util.find_spec(package) is not None:
        return

    class Finder:
        @staticmethod
        def find_spec(name, path, target=None):
            found = name == package or name.startswith(package + ".")
            return importlib.machinery.ModuleSpec(name, Finder, is_package=True) if found else None

        @staticmethod
        def create_module(spec):
            return unittest.mock.MagicMock(__spec__=spec, __path__=[], __version__="2.0")

        @staticmethod
        def exec_module(module):
            pass

    sys.meta_path.append(Finder)


def describe(module_name):
    if importlib.util.find_spec(module_name) is None:
        return None
    module = importlib.import_module(module_name)
    names = {}
    for name in dir(module):
        value = getattr(module, name)
        if name.startswith("_") or inspect.ismodule(value):
            continue
        if inspect.isclass(value) and value.__module__.startswith("determined"):
            names[name] = describe_class(value)
        elif (inspect.isfunction(value) or inspect.ismethod(value)) and value.__module__.startswith("determined"):
            names[name] = {"function": parameters(value)}
    return names


if __name__ == "__main__":
    stand_in_for("tensorflow")
    print(json.dumps({name: describe(name) for name in sys.argv[1:]}))
