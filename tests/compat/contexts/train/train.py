"""Three steps; each reports both kinds of metrics and writes a checkpoint. The loss falls."""
from determined import core

with core.init() as context:
    print("training starts", flush=True)
    for step in (1, 2, 3):
        context.train.report_training_metrics(step, {"loss": 1 / step})
        context.train.report_validation_metrics(step, {"loss": 1.5 / step, "accuracy": step / 4})
        with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
            (path / "state.txt").write_text(str(step))
