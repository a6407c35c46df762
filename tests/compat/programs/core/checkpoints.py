"""Stage 2: checkpoints, and going on from one; stops where it is told to."""
import json
import logging
import pathlib
import time

import determined as det


def save(core_context, x, steps_completed):
    with core_context.checkpoint.store_path({"steps_completed": steps_completed}) as (path, uuid):
        (path / "state.json").write_text(json.dumps([x, steps_completed]))


def load(core_context, checkpoint):
    if checkpoint is None:
        return 0, 0
    with core_context.checkpoint.restore_path(checkpoint) as path:
        return json.loads((pathlib.Path(path) / "state.json").read_text())


def train(core_context, info):
    hparams = info.trial.hparams
    x, start = load(core_context, info.latest_checkpoint)
    print(f"starts at {start}", flush=True)
    for batch in range(start, hparams["batches"]):
        x += hparams["increment_by"]
        time.sleep(hparams["pause_s"])
        steps_completed = batch + 1
        if steps_completed % 4 == 0:
            core_context.train.report_training_metrics(steps_completed=steps_completed, metrics={"x": x})
            save(core_context, x, steps_completed)
            if core_context.preempt.should_preempt():
                return
    core_context.train.report_validation_metrics(steps_completed=steps_completed, metrics={"x": x})
    print(f"outcome {x}", flush=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    with det.core.init() as core_context:
        train(core_context, det.get_cluster_info())
