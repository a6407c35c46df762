"""Stage 1: metrics, and progress."""
import logging

import determined as det


def train(core_context, hparams):
    x = 0
    for batch in range(hparams["batches"]):
        x += hparams["increment_by"]
        steps_completed = batch + 1
        if steps_completed % 4 == 0:
            core_context.train.report_training_metrics(steps_completed=steps_completed, metrics={"x": x})
            core_context.train.report_progress(steps_completed / hparams["batches"])
    core_context.train.report_validation_metrics(steps_completed=steps_completed, metrics={"x": x})
    print(f"outcome {x}", flush=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    with det.core.init() as core_context:
        train(core_context, det.get_cluster_info().trial.hparams)
