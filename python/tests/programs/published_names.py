"""What of the released library is not here, or is called in another way: the tables of docs/compatibility.md.

The page is what people read, and the tests that compare the two libraries go by it. A first cell is

- a list of modules: each is absent, with all below it;
- ``of `MODULE`, …: `NAME`, …``: names of modules, perhaps ``Class.member``;
- ``of `MODULE`, …: all names``.

Modules may be patterns.
"""

import ast
import fnmatch
import pathlib
import re

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "compatibility.md"
ABSENT = "What of the released library is not here"
DIFFERENT = "What is called in another way"


def rows(heading):
    """The cells of the table under a heading."""
    _, found, below = PAGE.read_text(encoding="utf-8").partition(f"\n### {heading}\n")
    assert found, f"{PAGE} has no section {heading!r}"
    section = re.split(r"^#", below, maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def _quoted(text):
    return re.findall(r"`([^`]+)`", text)


def _patterns(cell):
    if not cell.startswith("of "):
        return [], _quoted(cell)
    modules, _, names = cell.partition(": ")
    names = ["*"] if names == "all names" else _quoted(names)
    return [f"{module}.{name}" for module in _quoted(modules) for name in names], []


class Table:
    """What a table of the page lists.

    Attributes
    ----------
    names, modules : list of str
        Patterns of dotted names.
    """

    def __init__(self, heading):
        found = [_patterns(row[0]) for row in rows(heading)]
        self.names = [pattern for names, _ in found for pattern in names]
        self.modules = [pattern for _, modules in found for pattern in modules]
        self.used = set()

    def has_module(self, module):
        parts = module.split(".")
        above = [".".join(parts[:n]) for n in range(2, len(parts) + 1)]
        return self._any(self.modules, above)

    def has_name(self, name):
        """Whether ``module.name`` or ``module.Class.member`` is listed, the latter perhaps under another module."""
        within = ".".join(name.split(".")[-2:])
        return self._any(self.names, [name]) or any(p.endswith("." + within) for p in self.names if "*" not in p)

    def _any(self, patterns, names):
        hits = [p for p in patterns if any(fnmatch.fnmatchcase(name, p) for name in names)]
        self.used |= set(hits)
        return bool(hits)


def _defined(node, of_package):
    """Names that a statement at the top of a module defines for others."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.ImportFrom) and of_package and (node.module or "").startswith("determined"):
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    elif isinstance(node, (ast.With, ast.Try, ast.If)):
        for inner in node.body:
            yield from _defined(inner, of_package)


def _listed(tree):
    """What ``__all__`` names."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "__all__" for t in node.targets):
            yield from (e.value for e in ast.walk(node.value) if isinstance(e, ast.Constant))


def names_of(package):
    """Module → its public names, of a package's directory.

    They are read from the sources, without importing them: some modules need frameworks of years ago.
    """
    found = {}
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package.parent).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if any(part.startswith("_") for part in parts):
            continue
        tree = ast.parse(file.read_text())
        names = {n for node in tree.body for n in _defined(node, file.name == "__init__.py")} | set(_listed(tree))
        found[".".join(parts)] = {n for n in names if not n.startswith("_")} - {"logger"}
    return found
