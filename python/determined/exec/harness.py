"""Run a Trial class as the experiment configuration says: ``python3 -m determined.exec.harness module:Class``.

This is what ``entrypoint: module:Class`` stands for. ``--local FILE`` trains off the cluster, as the configuration in a
file of JSON says; ``det experiment create --local`` does so.
"""

import argparse
import faulthandler
import logging
import os
import sys
from typing import Any, Dict, List, Optional

import determined as det
from determined import _info, _process, errors
from determined.exec import _local

logger = logging.getLogger("determined")

# Libraries for Trial classes, and the class to derive from in each.
_LIBRARIES = {
    "determined.pytorch.deepspeed": "DeepSpeedTrial",
    "determined.pytorch": "PyTorchTrial",
    "determined.keras": "TFKerasTrial",
}
# A debug log gets the stacks of all threads this often, to see what a trial is waiting for.
STACKS_EVERY_S = 30


def module_spec(entrypoint: str) -> str:
    """The entrypoint in the form that can be imported.

    >>> module_spec("model_def:DigitsTrial"), module_spec("./src/model_def:DigitsTrial")
    ('model_def:DigitsTrial', 'src.model_def:DigitsTrial')
    """
    module, _, name = entrypoint.partition(":")
    return ".".join(part for part in module.split("/") if part != ".") + ":" + name


def _fit_arguments(config: det.ExperimentConfig, trainer: Any) -> Dict[str, Any]:
    """Arguments of ``Trainer.fit()`` from the configuration; its length comes from ``searcher.max_length`` there."""
    from determined._training import _trainer
    from determined._training._units import Batch

    return {
        "checkpoint_period": _trainer.unit_of(trainer, config.get_min_checkpoint_period()),
        "validation_period": _trainer.unit_of(trainer, config.get_min_validation_period()),
        "reporting_period": Batch(config.scheduling_unit()),
        "checkpoint_policy": config.get("checkpoint_policy") or "best",
        "step_zero_validation": bool(config.get("perform_initial_validation", False)),
    }


def _library_of(trial_class: type) -> Any:
    """The module whose ``init()`` and ``Trainer`` the class is made for."""
    # Whoever derives from a library's class has imported that library; nobody needs all of them.
    for name, base in _LIBRARIES.items():
        library: Any = sys.modules.get(name)
        if library is not None and issubclass(trial_class, getattr(library, base)):
            return library
    raise errors.InvalidExperimentException(
        f"{trial_class.__name__} is a subclass of none of {', '.join(_LIBRARIES.values())}"
    )


def _init_arguments(library: Any, optimizations: Dict[str, Any]) -> Dict[str, Any]:
    frequency = int(optimizations.get("aggregation_frequency") or 1)
    if not library.__name__.endswith("deepspeed"):
        return {"aggregation_frequency": frequency}
    if frequency != 1:
        logger.warning(
            "optimizations.aggregation_frequency is %d, but a DeepSpeedTrial goes by gradient_accumulation_steps in "
            "DeepSpeed's own configuration",
            frequency,
        )
    return {}


def _imported(entrypoint: str) -> type:
    from determined._training._description import trial_class_from_entrypoint

    return trial_class_from_entrypoint(module_spec(entrypoint))


def run_trial(
    trial_class: type,
    config: det.ExperimentConfig,
    hparams: Dict[str, Any],
    length: Optional[Dict[str, Any]] = None,
    **fit: Any,
) -> None:
    """Build a trial of the class, and train.

    Parameters
    ----------
    trial_class : type
    config : ExperimentConfig
    hparams : dict
    length : dict, optional
        How long to train, in the form of ``searcher.max_length``; off the cluster.
    **fit
        Arguments of ``Trainer.fit()`` beyond the configured.
    """
    from determined import _trial_context
    from determined._training import _trainer

    optimizations = config.get_optimizations_config()
    library = _library_of(trial_class)
    with library.init(hparams=hparams, exp_conf=config, **_init_arguments(library, optimizations)) as context:
        _trial_context.apply_optimizations(context, optimizations)
        trainer = library.Trainer(trial_class(context), context)
        _trainer.be_configured(trainer)
        begin, end = config.profiling_interval()
        trainer.configure_profiler(config.profiling_sync_timings(), config.profiling_enabled(), begin, end)
        if length is not None:
            fit["max_length"] = _trainer.unit_of(trainer, length)
        trainer.fit(**_fit_arguments(config, trainer), **fit)


def run_local(
    trial_class: type, config: det.ExperimentConfig, test_mode: bool, trial_seed: Optional[int] = None
) -> None:
    """Train off the cluster: all of it, or one batch and one of validation."""
    from determined._training import _trainer

    hparams, chosen = _local.choose_hparams(config.get("hyperparameters") or {})
    if chosen:
        logger.info("there is no search off the cluster; this trains with %s", ", ".join(chosen))
    length = {"batches": 1} if test_mode else _local.max_length(config)
    _trainer.seed_off_cluster = trial_seed
    run_trial(trial_class, config, hparams, length, test_mode=test_mode)


def main(args: Optional[List[str]] = None) -> int:
    """Run the program; returns its exit status."""
    parser = argparse.ArgumentParser(prog="determined.exec.harness", description="Run a Trial class.")
    parser.add_argument("entrypoint", nargs="?", help="module:Class")
    parser.add_argument("--train-entrypoint", metavar="module:Class", help="the same")
    parser.add_argument("--local", metavar="FILE", help="train off the cluster, as this configuration (JSON) says")
    parser.add_argument("--test", action="store_true", help="one batch only; with --local")
    parser.add_argument("--seed", type=int, help="of the trial; with --local (default: nothing is seeded)")
    options = parser.parse_args(args)
    entrypoint = options.entrypoint or options.train_entrypoint
    if not entrypoint or ":" not in entrypoint:
        parser.error("an entrypoint of the form module:Class is needed")
    info = det.get_cluster_info()
    on_cluster = info is not None and info.task_type == "TRIAL"
    if options.local and on_cluster:
        parser.error("--local is for training off the cluster; this is a trial")
    if not options.local and (not on_cluster or options.test):
        parser.error("this runs in trials on a cluster only" if not on_cluster else "--test goes with --local")
    debug = bool(info is not None and on_cluster and _info.is_debugged(info.trial))
    logging.basicConfig(level=logging.DEBUG if debug else logging.INFO, format=det.LOG_FORMAT)
    if debug:
        faulthandler.dump_traceback_later(STACKS_EVERY_S, repeat=True)
    # The user's modules lie in the working directory; python3 -m has it on the path, other ways to get here do not.
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        if options.local:
            run_local(_imported(entrypoint), _local.read_config(options.local), options.test, options.seed)
        elif info is not None:
            config = det.ExperimentConfig(_info.config_of(info.trial))
            run_trial(_imported(entrypoint), config, info.trial.hparams, latest_checkpoint=info.latest_checkpoint)
    except (errors.InvalidExperimentException, errors.StorageUnusable) as e:
        # Where in our code it was noticed helps nobody; what is wrong with the trial, or around it, does.
        logger.error("%s", e)
        return 1
    return 0


def _status() -> int:
    """What :func:`main` comes to, also where it leaves by ``sys.exit()``, as for hyperparameters that are invalid."""
    try:
        return main()
    except SystemExit as e:
        if e.code is not None and not isinstance(e.code, int):
            raise
        return int(e.code or 0)


if __name__ == "__main__":
    _process.leave(_status())
