"""Start what the experiment configuration names as ``entrypoint``: ``python3 -m determined.exec.launch``.

============================  =====================================================================
entrypoint                    what runs
============================  =====================================================================
``module:Class``              the Trial class, by ``determined.exec.harness``; in a trial of several
                              slots by way of ``determined.launch.horovod --autohorovod``, if the
                              environment has Horovod, else of ``determined.launch.torch_distributed``, or
                              where there is TensorFlow but no torch, of ``determined.launch.tensorflow``
``dir.module:Class``          …
``dir/module:Class``          …
any other string              ``sh -c STRING``
a list                        the program ``LIST[0]`` with the arguments that follow
============================  =====================================================================

Before that, the checkpoint storage is tried out: better to fail now than at the first checkpoint. The rules are in
docs/spec/launchers.md#trial-classes.
"""

import importlib.util
import json
import logging
import os
import re
import shlex
import sys
from typing import List, Union

import determined as det
from determined import _info, _process, _secrets, _storage

logger = logging.getLogger("determined")

_CLASS = re.compile(r"^(?:[\w.-]+/)*[\w.]+:\w+$", re.ASCII)


def is_trial_class(entrypoint: str) -> bool:
    """Whether ``entrypoint`` names a Trial class.

    With a slash in it, it could as well be a program: the module's file decides.

    >>> is_trial_class("model_def:MnistTrial"), is_trial_class("python3 train.py"), is_trial_class("./run:fast")
    (True, False, False)
    """
    if not _CLASS.match(entrypoint):
        return False
    module = entrypoint.partition(":")[0]
    return "/" not in module or os.path.isfile(module + ".py")


def command_of(entrypoint: Union[str, List[str]], slots: int) -> List[str]:
    """What to run for ``entrypoint`` in a task of ``slots`` slots.

    >>> command_of("python3 train.py --lr 0.1", slots=1)
    ['sh', '-c', 'python3 train.py --lr 0.1']
    """
    if isinstance(entrypoint, list):
        return entrypoint
    if not is_trial_class(entrypoint):
        return ["sh", "-c", entrypoint]
    if slots <= 1:
        return [sys.executable, "-m", "determined.exec.harness", entrypoint]
    launcher = ["determined.launch.torch_distributed"]
    if importlib.util.find_spec("horovod") is not None:
        launcher = ["determined.launch.horovod", "--autohorovod"]
    elif importlib.util.find_spec("torch") is None and importlib.util.find_spec("tensorflow") is not None:
        launcher = ["determined.launch.tensorflow"]
    return [sys.executable, "-m", *launcher, "--trial", entrypoint]


def main() -> int:
    """Run the entrypoint of the trial that this is; returns its exit status."""
    info = det.get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        logger.error("determined.exec.launch runs in trials on a cluster only")
        return 1
    config = det.ExperimentConfig(_info.config_of(info.trial))
    logging.getLogger().setLevel(logging.DEBUG if config.debug_enabled() else logging.INFO)
    logger.info(
        "New trial runner in (container %s) on agent %s: trial %d of experiment %d, hyperparameters %s",
        os.environ.get("DET_RESOURCES_ID", ""),
        info.agent_id,
        info.trial.trial_id,
        info.trial.experiment_id,
        json.dumps(info.trial.hparams),
    )
    logger.debug("The experiment's configuration: %s", json.dumps(_secrets.masked(config)))
    try:
        _storage.from_config(config.get_checkpoint_storage()).validate()
    except Exception as e:
        logger.error("Checkpoint storage validation failed: %s", e)
        return 1
    argv = command_of(config.get_entrypoint(), slots=sum(info.container_slot_counts))
    logger.info("Launching: %s", shlex.join(argv))
    status = _process.run(argv, env=_process.environment())
    if status in (126, 127):
        logger.error("entrypoint %s: cannot be run (status %d)", shlex.join(argv), status)
    return status


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    sys.exit(main())
