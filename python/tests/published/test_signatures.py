"""Users' code for the released library runs with ours: same names, same signatures.

Needs the released library in an environment of its own (requirements/compat.txt), whose interpreter DET_COMPAT_PYTHON
names; skipped without. What it has and ours has not, or takes in another way, stands in docs/compatibility.md.
"""

import json
import pathlib

import published_api
import published_signatures
import pytest


@pytest.fixture(scope="module")
def published(published_python):
    return json.loads(published_python(str(pathlib.Path(published_api.__file__)), *published_signatures.MODULES))


@pytest.mark.parametrize("module", published_signatures.MODULES)
def test_names_and_signatures__are_as_published(published, module):
    assert list(published_signatures.differences(module, published[module], published_api.describe(module))) == []
