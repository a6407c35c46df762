"""Names and signatures of what needs a framework; the exceptions are those of tests/published/test_signatures.py."""

import json
import pathlib

import published_api
import pytest
from published_signatures import differences

MODULES = {"determined.transformers": "transformers", "determined.pytorch.deepspeed": "deepspeed"}


@pytest.mark.parametrize("module", MODULES)
def test_names_and_signatures__are_as_published(published_python, module):
    pytest.importorskip(MODULES[module])
    published = json.loads(published_python(str(pathlib.Path(published_api.__file__)), module))
    assert published[module], "nothing would be compared"
    assert list(differences(module, published[module], published_api.describe(module))) == []
