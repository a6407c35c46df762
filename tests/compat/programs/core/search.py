"""Stage 3: a search over hyperparameters, whose length comes from the searcher's operations."""
import logging

import determined as det


def train(core_context, hparams):
    x, batch = 0, 0
    for op in core_context.searcher.operations():
        while batch < op.length:
            x += hparams["increment_by"]
            batch += 1
            if batch % 4 == 0:
                core_context.train.report_training_metrics(steps_completed=batch, metrics={"x": x})
                op.report_progress(batch)
                if core_context.preempt.should_preempt():
                    return
        core_context.train.report_validation_metrics(steps_completed=batch, metrics={"x": x})
        op.report_completed(x)
    print(f"outcome {x}", flush=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    hparams = det.get_cluster_info().trial.hparams
    if hparams["increment_by"] == 0:
        with det.core.init():
            raise det.InvalidHP("nothing would ever change")
    with det.core.init() as core_context:
        train(core_context, hparams)
