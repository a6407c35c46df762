"""docs/training.md: its programs run, off the cluster, and what it links to is there."""

import pathlib
import re

import torch

GUIDE = pathlib.Path(__file__).parents[2] / "docs/training.md"


def blocks():
    return re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.M | re.S)


def test_guide__runs_as_it_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "guide"}
    for block in blocks():
        exec(compile(block, str(GUIDE), "exec"), names)
    assert names["trained"] == 0.9375
    checkpoints = {p.parent for p in (tmp_path / "home").rglob("load_data.json")}
    weights = names["weights_of"](str(checkpoints.pop()))
    assert weights.keys() == names["trial"].model.state_dict().keys()
    assert sorted(p.name for p in (tmp_path / "home").rglob("[0-9].pt")) == ["0.pt", "1.pt", "2.pt", "3.pt"]
    assert torch.is_tensor(weights["weight"])


def test_guide__goes_on_with_what_it_stored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "guide"}
    exec(compile(blocks()[0], str(GUIDE), "exec"), names)
    (latest,) = [p.parent for p in (tmp_path / "home").rglob("state.json") if p.read_text().startswith("[4,")]
    with names["core"].init() as core_context:
        assert names["train"](core_context, 5, latest.name) == 0.96875


def test_guide__links_to_what_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", GUIDE.read_text(encoding="utf-8")):
        assert (GUIDE.parent / target).exists(), target
