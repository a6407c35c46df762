"""Has PyTorch do without its compiler until something needs it; importing it takes a process 1.4 s of a core.

PyTorch imports torch._dynamo when an optimizer is used first, to keep the compiler away from it, and when processes are joined,
to empty the compiler's caches and to ask how it would split their model. Nothing here compiles, so that these functions have
nothing to do. Whoever asks for something else gets the real module.
"""
import importlib
import sys
import types

NAME = "torch._dynamo"


def find_real(name):
    if isinstance(sys.modules.get(NAME), LateDynamo):
        del sys.modules[NAME]
    return getattr(importlib.import_module(NAME), name)


class Part(types.SimpleNamespace):
    """A module of the compiler's of which PyTorch calls one function."""

    def __getattr__(self, name):
        return getattr(find_real(self.part), name)


class LateDynamo(types.ModuleType):
    trace_rules = Part(part="trace_rules", clear_lru_cache=lambda: None)
    utils = Part(part="utils", get_optimize_ddp_mode=lambda: "ddp_optimizer")

    @staticmethod
    def disable(fn, recursive=True, **_):
        return fn

    @staticmethod
    def graph_break(msg=""):
        pass

    def __getattr__(self, name):
        if name.startswith("__") and name != "__path__":
            raise AttributeError(name)
        return find_real(name)


sys.modules[NAME] = LateDynamo(NAME)
