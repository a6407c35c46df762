"""What a trial reports is drawn in TensorBoard, and lies in checkpoint storage afterwards."""

import logging

import torch
import trials
from event_files import points_of

from determined import pytorch
from determined._training import _curves


def train(**init):
    torch.manual_seed(3)
    with pytorch.init(hparams={"lr": 1}, **init) as context:
        trial = trials.NoisyTrial(context)
        pytorch.Trainer(trial, context).fit(
            max_length=pytorch.Batch(4), reporting_period=pytorch.Batch(2), validation_period=pytorch.Batch(4)
        )


def test_metrics__are_drawn_and_stored(cluster):
    train()
    points = points_of(cluster.storage / "the-cluster/tensorboard/experiment/7/trial/11")
    for group, prefix in (("training", ""), ("validation", "val_")):
        for step, metrics in cluster.master.reports(group):
            for name, value in metrics.items():
                if name not in ("batches", "epochs") and isinstance(value, float):
                    stored = name if name.startswith("val") else prefix + name
                    assert (step, torch.tensor(value).item()) in points[f"Determined/{stored}"]
    assert points


def test_metrics__are_not_drawn_when_nobody_wants_it(cluster):
    train(enable_tensorboard_logging=False)
    assert not (cluster.storage / "the-cluster").exists()


def test_curves__without_the_package_say_so_once(monkeypatch, caplog):
    monkeypatch.setattr(_curves.importlib.util, "find_spec", lambda name: None)
    caplog.set_level(logging.INFO)
    curves = _curves.Curves(lambda: 1 / 0)
    for _ in range(2):
        curves.draw(iter([("a", 1.0, 1)]))
    assert caplog.text.count("tensorboard is not installed") == 1
