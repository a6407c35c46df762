"""A trial that raises an alert, registers a checkpoint that it has saved, and reports metrics for the version."""
import json
import time

import determined as det
from determined import core
from determined.experimental import client

info = det.get_cluster_info()
with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
    context.alert(title="half way", description="the loss is nan", level="error")
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "state.txt").write_text("1")
    model = client.create_model(f"of trial {info.trial.trial_id}")
    version = model.register_version(uuid)
    context.experimental.report_task_using_model_version(version)
    context.train.report_metrics("inference", 1, {"accuracy": 0.5})
    found = []
    while not found:  # metrics are sent by a thread of their own
        time.sleep(0.05)  # between two looks
        found = [m.metrics for m in model.get_version(1).iter_metrics("inference")]
    print("facts", json.dumps({"model": model.name, "uuid": uuid, "metrics": found}), flush=True)
