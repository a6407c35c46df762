"""Run a Trial class as the experiment configuration says: ``python3 -m determined.exec.harness module:Class``.

This is what ``entrypoint: module:Class`` stands for.
"""

import argparse
import faulthandler
import logging
import os
import sys
from typing import Any, Dict, List, Optional

import determined as det
from determined import errors

logger = logging.getLogger("determined")

# A debug log gets the stacks of all threads this often, to see what a trial is waiting for.
STACKS_EVERY_S = 30


def module_spec(entrypoint: str) -> str:
    """The entrypoint in the form that can be imported.

    >>> module_spec("model_def:DigitsTrial"), module_spec("./src/model_def:DigitsTrial")
    ('model_def:DigitsTrial', 'src.model_def:DigitsTrial')
    """
    module, _, name = entrypoint.partition(":")
    return ".".join(part for part in module.split("/") if part != ".") + ":" + name


def _fit_arguments(config: det.ExperimentConfig, hparams: Dict[str, Any]) -> Dict[str, Any]:
    """Arguments of ``Trainer.fit()`` from the configuration; its length comes from ``searcher.max_length`` there."""
    from determined import pytorch
    from determined.pytorch._units import unit_from_config

    global_batch_size = hparams.get("global_batch_size")
    return {
        "checkpoint_period": unit_from_config(config.get_min_checkpoint_period(), global_batch_size),
        "validation_period": unit_from_config(config.get_min_validation_period(), global_batch_size),
        "reporting_period": pytorch.Batch(config.scheduling_unit()),
        "checkpoint_policy": config.get("checkpoint_policy") or "best",
        "step_zero_validation": bool(config.get("perform_initial_validation", False)),
    }


def _apply_optimizations(context: Any, optimizations: Dict[str, Any]) -> None:
    context._average_aggregated_gradients = bool(optimizations.get("average_aggregated_gradients", True))
    context._average_training_metrics = bool(optimizations.get("average_training_metrics", True))
    if optimizations.get("gradient_compression"):
        context.experimental.compress_gradients()


def run_trial(entrypoint: str, info: det.ClusterInfo) -> None:
    """Import the class, build the trial, train."""
    from determined import pytorch
    from determined.pytorch._load import trial_class_from_entrypoint

    config = det.ExperimentConfig(info.trial._config)
    optimizations = config.get_optimizations_config()
    trial_class = trial_class_from_entrypoint(module_spec(entrypoint))
    with pytorch.init(
        hparams=info.trial.hparams,
        aggregation_frequency=int(optimizations.get("aggregation_frequency") or 1),
    ) as context:
        _apply_optimizations(context, optimizations)
        trainer = pytorch.Trainer(trial_class(context), context)
        trainer._by_trainer = False
        begin, end = config.profiling_interval()
        trainer.configure_profiler(config.profiling_sync_timings(), config.profiling_enabled(), begin, end)
        trainer.fit(latest_checkpoint=info.latest_checkpoint, **_fit_arguments(config, info.trial.hparams))


def main(args: Optional[List[str]] = None) -> int:
    """Run the program; returns its exit status."""
    parser = argparse.ArgumentParser(prog="determined.exec.harness", description="Run a Trial class.")
    parser.add_argument("entrypoint", nargs="?", help="module:Class")
    parser.add_argument("--train-entrypoint", metavar="module:Class", help="the same")
    options = parser.parse_args(args)
    entrypoint = options.entrypoint or options.train_entrypoint
    if not entrypoint or ":" not in entrypoint:
        parser.error("an entrypoint of the form module:Class is needed")
    info = det.get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        parser.error("this runs in trials on a cluster only")
    debug = info.trial._debug
    logging.basicConfig(level=logging.DEBUG if debug else logging.INFO, format=det.LOG_FORMAT)
    if debug:
        faulthandler.dump_traceback_later(STACKS_EVERY_S, repeat=True)
    # The user's modules lie in the working directory; python3 -m has it on the path, other ways to get here do not.
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        run_trial(entrypoint, info)
    except errors.InvalidExperimentException as e:
        # Where in our code it was noticed helps nobody; what is wrong with the trial does.
        logger.error("%s", e)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
