"""Every public name of the released library is here, or stands in docs/compatibility.md with the reason why it is not.

Signatures are the matter of test_signatures.py.
"""

import pathlib

import published_names
import pytest

import determined

# Such a module makes names when they are asked for, so the source does not show them; test_bindings.py compares each.
MADE_ON_DEMAND = {"determined.common.api.bindings"}


@pytest.fixture(scope="module")
def published(published_python, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")  # where no other library of that name lies
    show = "import determined; print(determined.__path__[0])"
    return published_names.names_of(pathlib.Path(published_python("-c", show, cwd=elsewhere)))


@pytest.fixture(scope="module")
def ours():
    found = published_names.names_of(pathlib.Path(determined.__path__[0]))
    for module in found:  # a module is a name of its package, whether the package imports it or not
        package, _, name = module.rpartition(".")
        if package in found:
            found[package].add(name)
    return found


@pytest.fixture
def absent():
    return published_names.Table(published_names.ABSENT)


def missing_names(published, ours, absent):
    present = [m for m in published if m in ours and m not in MADE_ON_DEMAND and not absent.has_module(m)]
    missing = {f"{m}.{name}" for m in present for name in published[m] - ours[m]}
    return {name for name in missing if not absent.has_module(name)}  # a module of its package


def test_each_public_module__is_here_or_on_the_page(published, ours, absent):
    missing = [m for m in published if m not in ours and not absent.has_module(m)]
    assert missing == []


def test_each_public_name__is_here_or_on_the_page(published, ours, absent):
    assert sorted(n for n in missing_names(published, ours, absent) if not absent.has_name(n)) == []


def test_the_page__lists_nothing_that_is_here(published, ours, absent):
    assert [m for m in published if m in ours and absent.has_module(m)] == []
    for name in missing_names(published, ours, absent):
        absent.has_name(name)
    of_classes = [n for n in absent.names if "*" not in n and n.rpartition(".")[0] not in published]  # members
    assert sorted(set(absent.names) - absent.used - set(of_classes)) == []
    absent.used.clear()
    for module in published:
        absent.has_module(module)
    assert sorted(set(absent.modules) - absent.used) == [], "modules that the released library does not have"


def test_the_page__gives_a_reason_for_each(absent):
    for heading in (published_names.ABSENT, published_names.DIFFERENT):
        assert all(len(row) > 1 and row[-1] for row in published_names.rows(heading))
