"""``DetLogger`` with a Trainer that fits y = 2x, four batches an epoch."""

import pytest

lightning = pytest.importorskip("lightning")
torch = pytest.importorskip("torch")

from determined.experimental import core_v2  # noqa: E402
from determined.lightning.experimental import DetLogger  # noqa: E402
from tests import test_core_v2  # noqa: E402

# An unmanaged trial's master.
master, _quick = test_core_v2.master, test_core_v2._quick


class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.save_hyperparameters({"width": 1})
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1])
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


def fit(logger, epochs=2):
    x = torch.linspace(0, 1, 8).reshape(8, 1)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, 2 * x), 2)
    options = {"enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = lightning.Trainer(max_epochs=epochs, logger=logger, log_every_n_steps=2, accelerator="cpu", **options)
    trainer.fit(Line(), loader)


def test_a_run__is_reported_from_its_first_metric_to_its_end(master, tmp_path):
    logger = DetLogger(config=test_core_v2.config(tmp_path, hparams={"width": 1}))
    assert (logger.name, logger.version) == ("DetLogger", "0.1") and master.states == []
    fit(logger)
    assert [(steps, sorted(metrics)) for steps, metrics in master.reports("training")] == [
        (1, ["epoch", "loss"]),
        (3, ["epoch", "loss"]),
        (5, ["epoch", "loss"]),
        (7, ["epoch", "loss"]),
    ], "the steps of Lightning's own logs"
    assert master.states[-1] == (100, "STATE_COMPLETED") and core_v2.train is None


def test_a_second_run__begins_anew(master, tmp_path):
    ids = {"external_experiment_id": "x", "external_trial_id": "t"}
    logger = DetLogger(config=test_core_v2.config(tmp_path, **ids))
    fit(logger, epochs=1)
    fit(logger, epochs=1)
    assert len(master.reports("training")) == 4 and len(master.trials) == 1
    assert [state for _, state in master.states].count("STATE_COMPLETED") == 2
