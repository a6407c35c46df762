"""Every call of the released Core API that one process can make, from within a trial."""
import json
import os
import time

import determined as det
from determined import core

assert det.__version__ == "0.38.1", det.__version__
info = det.get_cluster_info()
hparams = info.trial.hparams
# Without torch or tensorflow the library has no writer of event files, and says so by failing.
with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
    start = 0
    if hparams.get("refuse"):
        raise det.InvalidHP("these hyperparameters make no sense")
    if info.latest_checkpoint:
        with context.checkpoint.restore_path(info.latest_checkpoint) as path:
            start = int((path / "state.txt").read_text())
        context.checkpoint.download(info.latest_checkpoint, "copy")
        assert int(open("copy/state.txt").read()) == start
    print(f"run {info.trial._trial_run_id} starts at step {start}", flush=True)
    for step in range(start + 1, hparams["steps"] + 1):
        context.train.report_training_metrics(step, {"loss": 1 / step})
        context.train.report_validation_metrics(step, {"loss": 1.5 / step})
        context.train.report_metrics("inference", step, {"accuracy": step / 100})
        context.train.report_progress(step / hparams["steps"])
        with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
            (path / "state.txt").write_text(str(step))
        if context.preempt.should_preempt():
            print("preempted", flush=True)
            break
        time.sleep(hparams["pause_s"])
    for operation in context.searcher.operations():
        operation.report_completed(1.5)
    os.makedirs("uploaded", exist_ok=True)
    with open("uploaded/state.txt", "w") as state:
        state.write(str(step))
    last = context.checkpoint.upload("uploaded", {"steps_completed": step + 1})
    print("facts", json.dumps({
        "trial": info.trial.trial_id, "experiment": info.trial.experiment_id, "slots": len(info.slot_ids), "last": last,
        "best": context.train.get_experiment_best_validation(), "metadata": context.checkpoint.get_metadata(uuid),
        "size": context.distributed.size, "rank": context.distributed.rank, "gathered": context.distributed.allgather(5),
        "operation": operation.length, "seed": info.trial.trial_seed, "master": info.master_url, "uid": os.getuid(),
        "config": info.trial._config["name"]}), flush=True)
