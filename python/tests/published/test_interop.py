"""Checkpoints go both ways between our library and the published one. Skipped without the latter (see conftest.py)."""

import json
import pathlib
import shutil

import torch
import trials

from determined import pytorch

LOAD = """
import json, sys
from determined import pytorch
# Its own default for torch.load() cannot read its own checkpoints with today's PyTorch.
trial = pytorch.load_trial_from_checkpoint_path(sys.argv[1], torch_load_kwargs={"weights_only": False})
print(json.dumps(trial.weights()))
"""

TRAIN = """
import json
import torch
from determined import pytorch
from trials import NoisyTrial
torch.manual_seed(3)
with pytorch.init(hparams={"lr": 1}, enable_tensorboard_logging=False) as context:
    trial = NoisyTrial(context)
    pytorch.Trainer(trial, context).fit(max_length=pytorch.Batch(3), checkpoint_policy="none")
print(json.dumps(trial.weights()))
"""


def only(directory: pathlib.Path) -> pathlib.Path:
    (path,) = directory.iterdir()
    return path


def test_published_library__loads_a_checkpoint_of_ours(published_python, tmp_path):
    with pytorch.init(hparams={"lr": 1}) as context:
        trial = trials.NoisyTrial(context)
        pytorch.Trainer(trial, context).fit(max_length=pytorch.Batch(3), checkpoint_policy="none")
    loaded = json.loads(published_python("-c", LOAD, str(only(tmp_path / "home" / "determined"))))
    assert loaded == trial.weights()


def test_our_library__goes_on_from_a_checkpoint_of_the_published_one(published_python, tmp_path):
    workdir = tmp_path / "theirs"
    workdir.mkdir()
    shutil.copy(trials.__file__, workdir)
    trained = json.loads(published_python("-c", TRAIN, cwd=workdir, XDG_DATA_HOME=str(tmp_path / "home")))
    checkpoint = only(tmp_path / "home" / "determined")
    assert pytorch.load_trial_from_checkpoint_path(str(checkpoint)).weights() == trained

    torch.manual_seed(3)
    with pytorch.init(hparams={"lr": 1}) as context:
        trial = trials.NoisyTrial(context)
        pytorch.Trainer(trial, context).fit(max_length=pytorch.Batch(8), latest_checkpoint=checkpoint.name)
    assert len(trial.seen) == 5 and trial.recorder.batches == 8
