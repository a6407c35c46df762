"""Prints what the published library's generated client offers, as JSON.

That is functions and classes with their parameters, and enums with their values. Runs in an environment of its own
(requirements/compat.txt); tests/published/test_bindings.py compares the answer with our library.
"""

import enum
import inspect
import json

from determined.common.api import bindings


def parameters(function):
    keywords = [p for p in inspect.signature(function).parameters.values() if p.kind == p.KEYWORD_ONLY]
    return {p.name: getattr(p.annotation, "__name__", p.annotation) for p in keywords}


def describe(value):
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        return {"values": {member.name: member.value for member in value}}
    return {"parameters": parameters(value)}


def is_offered(name, value):
    return callable(value) and getattr(value, "__module__", "") == bindings.__name__ and not name.startswith("_")


if __name__ == "__main__":
    print(json.dumps({name: describe(value) for name, value in vars(bindings).items() if is_offered(name, value)}))
