"""Trials of test_deepspeed.py, and what each of its processes runs, as in distributed_program.py."""

import json
import os
import pathlib
import sys

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch
from deepspeed.pipe import PipelineModule
from trials import Recorder

from determined import pytorch
from determined.pytorch import deepspeed as det_deepspeed

RECORDS = 24
MICRO_BATCH = 2
ACCUMULATION = 2
ADAM = {"type": "Adam", "params": {"lr": 0.05, "torch_adam": True}}
WARM_UP = {"type": "WarmupLR", "params": {"warmup_min_lr": 0.001, "warmup_max_lr": 0.05, "warmup_num_steps": 20}}


class LineTrial(det_deepspeed.DeepSpeedTrial):
    """Shuffled data, dropout, Adam, a scheduler: to resume it exactly, all of these have to be restored."""

    stage, stop_after, dropout, scheduled = 1, 0, 0.5, True

    def __init__(self, context):
        self.context = context
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(self.dropout), torch.nn.Linear(8, 1))
        config = {
            "train_micro_batch_size_per_gpu": MICRO_BATCH,
            "gradient_accumulation_steps": ACCUMULATION,
            "optimizer": ADAM,
            "gradient_clipping": 0.0,  # unless told so, DeepSpeed clips at 1
            **({"scheduler": WARM_UP} if self.scheduled else {}),
            "zero_optimization": {"stage": self.stage},
        }
        engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
        self.engine = context.wrap_model_engine(engine)
        self.recorder = Recorder()
        self.seen, self.rates, self.calls, self.validations = [], [], [], []

    def build_training_data_loader(self):
        records = torch.rand(RECORDS, 3, generator=torch.Generator().manual_seed(0))
        data = list(zip(range(RECORDS), records))
        return pytorch.DataLoader(data, self.context.get_train_micro_batch_size_per_gpu(), shuffle=True)

    def build_validation_data_loader(self):
        return pytorch.DataLoader(torch.arange(12.0).reshape(12, 1).repeat(1, 3), batch_size=2)

    def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
        indices, records = self.context.to_device(next(dataloader_iter))
        self.seen.append(indices.tolist())
        self.calls.append([epoch_idx, batch_idx])
        loss = ((self.engine(records) - records.sum(dim=1, keepdim=True)) ** 2).mean()
        self.engine.backward(loss)
        self.engine.step()
        self.rates.append(self.engine.get_lr()[0])
        if batch_idx + 1 == self.stop_after:
            self.context.set_stop_requested(True)
        return {"loss": loss}

    def evaluate_batch(self, dataloader_iter, batch_idx):
        records = next(dataloader_iter)
        self.engine(records)
        self.validations.append(records[:, 0].tolist())
        return {"accuracy": records[:, 0].mean()}

    def build_callbacks(self):
        return {"recorder": self.recorder}

    def weights(self):
        parameters = list(self.engine.module.parameters())
        with deepspeed.zero.GatheredParameters(parameters):
            return [float(x) for p in parameters for x in p.detach().flatten()]


class AtOnce(LineTrial):
    """Evaluates all validation data in one call."""

    evaluate_batch = det_deepspeed.DeepSpeedTrial.evaluate_batch

    def evaluate_full_dataset(self, data_loader):
        total = 0.0
        for records in data_loader:
            self.engine(records)
            self.validations.append(records[:, 0].tolist())
            total += float(records[:, 0].sum())
        return {"accuracy": total}


class Uneven(LineTrial):
    """An odd number of batches to validate."""

    def build_validation_data_loader(self):
        return pytorch.DataLoader(torch.rand(14, 3), batch_size=2)


class PipelineTrial(LineTrial):
    """A model in two stages, each in a process of its own; weights are those of the process's stage."""

    stages = 2

    def __init__(self, context):
        self.context = context
        torch.manual_seed(3)
        layers = [torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)]
        model = PipelineModule(
            layers, num_stages=self.stages, loss_fn=torch.nn.functional.mse_loss, partition_method="uniform"
        )
        config = {
            "train_micro_batch_size_per_gpu": MICRO_BATCH,
            "gradient_accumulation_steps": ACCUMULATION,
            "optimizer": ADAM,
            "gradient_clipping": 0.0,
        }
        engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
        self.engine = context.wrap_model_engine(engine)
        self.recorder = Recorder()
        self.seen, self.rates, self.calls, self.validations = [], [], [], []

    def data(self, count, seed):
        records = torch.rand(count, 3, generator=torch.Generator().manual_seed(seed))
        return list(zip(records, records.sum(dim=1, keepdim=True)))

    def build_training_data_loader(self):
        return pytorch.DataLoader(
            self.data(RECORDS, 0), self.context.get_train_micro_batch_size_per_gpu(), shuffle=True
        )

    def build_validation_data_loader(self):
        return pytorch.DataLoader(self.data(16, 1), self.context.get_train_micro_batch_size_per_gpu())

    def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
        loss = self.engine.train_batch(dataloader_iter)
        self.calls.append([epoch_idx, batch_idx])
        if batch_idx + 1 == self.stop_after:
            self.context.set_stop_requested(True)
        return {"loss": loss}

    def evaluate_batch(self, dataloader_iter, batch_idx):
        loss = self.engine.eval_batch(dataloader_iter)
        self.validations.append(float(loss))
        return {"accuracy": loss}


def fit(trial_class, **arguments):
    torch.manual_seed(5)
    with det_deepspeed.init() as context:
        trial = trial_class(context)
        arguments.setdefault("max_length", pytorch.Batch(8))
        arguments.setdefault("checkpoint_policy", "none")
        uuids = trial.uuids = []
        trial.recorder.on_checkpoint_upload_end = lambda uuid: uuids.append(uuid)
        metrics = trial.metrics = []
        trial.recorder.on_validation_end = lambda m: metrics.append({k: float(v) for k, v in m.items()})
        det_deepspeed.Trainer(trial, context).fit(**arguments)
        trial.final_weights = trial.weights()
    return trial


def told(trial):
    names = ("final_weights", "seen", "rates", "calls", "validations", "metrics", "uuids")
    return {name: getattr(trial, name) for name in names}


def of_stage(stage, base=LineTrial, **more):
    return type(f"Stage{stage}", (base,), {"stage": stage, **more})


def paused(trial_class):
    """Train with a pause; what was seen in both runs, and how it ended."""
    first = fit(type("Stopping", (trial_class,), {"stop_after": 3}), reporting_period=pytorch.Batch(1))
    second = told(fit(trial_class, latest_checkpoint=first.uuids[-1]))
    return {**second, "seen": first.seen + second["seen"], "rates": first.rates + second["rates"]}


SCENARIOS = {
    "uneven1": lambda: told(fit(Uneven)),
    "pipeline": lambda: told(fit(PipelineTrial)),
    "paused_pipeline": lambda: paused(PipelineTrial),
    "unstaged": lambda: told(fit(type("Unstaged", (PipelineTrial,), {"stages": 1}))),
}
for _stage in (0, 1, 2, 3):
    SCENARIOS[f"zero{_stage}"] = lambda stage=_stage: told(fit(of_stage(stage, dropout=0.0, scheduled=False)))
    SCENARIOS[f"noisy{_stage}"] = lambda stage=_stage: told(fit(of_stage(stage)))
    SCENARIOS[f"paused{_stage}"] = lambda stage=_stage: paused(of_stage(stage))
    SCENARIOS[f"at_once{_stage}"] = lambda stage=_stage: told(fit(of_stage(stage, AtOnce)))

if __name__ == "__main__":
    torch.set_num_threads(1)
    # Once for all scenarios: a second group would find the addresses of the first one in torchrun's store.
    torch.distributed.init_process_group("gloo")
    out, *scenarios = sys.argv[1:]
    for scenario in scenarios:
        result = SCENARIOS[scenario]()
        (pathlib.Path(out) / f"{scenario}.{os.environ['RANK']}.json").write_text(json.dumps(result))
    torch.distributed.destroy_process_group()
