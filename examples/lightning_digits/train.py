"""Handwritten digits with Lightning; the class ``Platform`` fits any LightningModule."""

import pathlib
from typing import Any

import lightning
import sklearn.datasets
import torch
from torch.utils.data import DataLoader, TensorDataset, random_split

import determined as det


class Digits(lightning.LightningModule):
    def __init__(self, width: int, lr: float) -> None:
        super().__init__()
        self.lr = lr
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, 10))

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        x, y = batch
        loss = torch.nn.functional.cross_entropy(self.layers(x), y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: Any, index: int) -> None:
        x, y = batch
        self.log("accuracy", (self.layers(x).argmax(1) == y).float().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), self.lr)


class Platform(lightning.Callback):
    """Reports metrics and progress, stores a checkpoint after each epoch, stops when the slots are wanted."""

    def __init__(self, core_context: det.core.Context) -> None:
        self.core = core_context

    @staticmethod
    def metrics(trainer: lightning.Trainer, *names: str) -> Any:
        return {name: trainer.callback_metrics[name].item() for name in names if name in trainer.callback_metrics}

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if not trainer.sanity_checking:
            self.core.train.report_validation_metrics(trainer.global_step, self.metrics(trainer, "accuracy"))

    def on_train_epoch_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        step, done = trainer.global_step, trainer.current_epoch + 1
        self.core.train.report_training_metrics(step, self.metrics(trainer, "loss"))
        self.core.train.report_progress(done / trainer.max_epochs)
        with self.core.checkpoint.store_path({"steps_completed": step}) as (path, _):
            trainer.save_checkpoint(path / "lightning.ckpt")
        if self.core.preempt.should_preempt():
            trainer.should_stop = True


def main() -> None:
    info = det.get_cluster_info()
    hparams = info.trial.hparams if info else {"width": 32, "lr": 0.003, "epochs": 2}
    lightning.seed_everything(info.trial.trial_seed if info else 0)
    x, y = sklearn.datasets.load_digits(return_X_y=True)
    data = TensorDataset(torch.tensor(x / 16, dtype=torch.float32), torch.tensor(y))
    train, validation = random_split(data, [1400, len(data) - 1400], torch.Generator().manual_seed(0))
    with det.core.init() as core_context:
        trainer = lightning.Trainer(
            max_epochs=hparams["epochs"],
            callbacks=[Platform(core_context)],
            accelerator="auto",
            devices=1,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
        )
        model = Digits(hparams["width"], hparams["lr"])
        loaders = DataLoader(train, 32, shuffle=True), DataLoader(validation, 256)
        if info is None or info.latest_checkpoint is None:
            trainer.fit(model, *loaders)
        else:
            with core_context.checkpoint.restore_path(info.latest_checkpoint) as path:
                trainer.fit(model, *loaders, ckpt_path=str(pathlib.Path(path) / "lightning.ckpt"))


if __name__ == "__main__":
    main()
