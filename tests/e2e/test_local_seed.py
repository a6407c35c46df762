"""A trial class that trains off the cluster has the seed that the cluster gives the first trial of its search."""
import json
import os
import random
import subprocess
import sys

import pytest
from support.cluster import BUILD, ROOT

TRIAL = """
import pathlib, random
import torch
from determined import pytorch

class Line(pytorch.PyTorchTrial):
    def __init__(self, context):
        pathlib.Path("seen").write_text(f"{context.get_trial_seed()} {torch.initial_seed()} {random.random()}")
        raise SystemExit(0)

    build_training_data_loader = build_validation_data_loader = train_batch = evaluate_batch = lambda self, *a: None
"""
SPACE = {"b": {"type": "int", "minval": 1, "maxval": 9}, "a": {"type": "double", "minval": 0, "maxval": 1}, "global_batch_size": 8}


@pytest.mark.parametrize("searcher", [{"name": "single"}, {"name": "adaptive_asha", "max_trials": 4}])
def test_local_training_is_seeded_as_the_first_trial(new_cluster, tmp_path, searcher):
    pytest.importorskip("torch")
    search = {"metric": "loss", "max_length": {"batches": 5}, **searcher}
    config = {"name": "seeded", "searcher": search, "hyperparameters": SPACE, "reproducibility": {"experiment_seed": 1234}}
    c = new_cluster()
    c.start_master()
    c.start_agent()
    c.login()
    x = c.create(config={**config, "entrypoint": "echo seed is $DET_TRIAL_SEED", "max_restarts": 0})
    first = min(c.trial_ids(x))
    c.wait_experiment(x)
    seed = int(c.trial_log(first).split("seed is ")[1].split()[0])
    model = tmp_path / "model"
    model.mkdir()
    (model / "line.py").write_text(TRIAL)
    (tmp_path / "local.json").write_text(json.dumps({**config, "entrypoint": "line:Line"}))
    env = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "python"), "HOME": str(tmp_path)}
    done = subprocess.run([BUILD / "det", "experiment", "create", "--local", "--test", tmp_path / "local.json", model],
                          capture_output=True, text=True, env=env, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert (model / "seen").read_text() == f"{seed} {seed} {random.Random(seed).random()}"
