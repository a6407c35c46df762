"""Event files for TensorBoard, written where the platform collects those of a trial.

``determined.tensorboard.metric_writers.pytorch`` has a writer that PyTorch's users know,
``determined.tensorboard.metric_writers.tensorflow`` one that needs no framework at all.
"""

import pathlib
import tempfile
from typing import Any, Dict, Optional

from determined import _info
from determined.tensorboard.metric_writers import BatchMetricWriter, MetricWriter

__all__ = [
    "BatchMetricWriter",
    "MetricWriter",
    "get_base_path",
    "get_experiment_sync_path",
    "get_metric_writer",
    "get_sync_path",
]


def get_base_path(checkpoint_config: Optional[Dict[str, Any]] = None) -> pathlib.Path:
    """The directory to write event files to; off the cluster, one beneath the system's for temporary files.

    Parameters
    ----------
    checkpoint_config : dict
        Not looked at.

    Returns
    -------
    pathlib.Path
        It exists.
    """
    from determined.core import _tensorboard

    info = _info.get_cluster_info()
    path = pathlib.Path(tempfile.gettempdir()) / "tensorboard"
    if info is not None:
        path = _tensorboard.local_path(info.allocation_id)
    path.mkdir(parents=True, exist_ok=True)
    return path


def get_experiment_sync_path(cluster_id: str, experiment_id: str) -> pathlib.Path:
    """Where the event files of an experiment lie, relative to the root of its checkpoint storage.

    Parameters
    ----------
    cluster_id, experiment_id : str

    >>> get_experiment_sync_path("c", "7").as_posix()
    'c/tensorboard/experiment/7'
    """
    from determined.core import _tensorboard

    return pathlib.Path(_tensorboard.experiment_path(cluster_id, int(experiment_id)))


def get_sync_path(cluster_id: str, experiment_id: str, trial_id: str) -> pathlib.Path:
    """Where the event files of a trial lie, relative to the root of its experiment's checkpoint storage.

    Parameters
    ----------
    cluster_id, experiment_id, trial_id : str

    >>> get_sync_path("c", "7", "11").as_posix()
    'c/tensorboard/experiment/7/trial/11'
    """
    return get_experiment_sync_path(cluster_id, experiment_id) / "trial" / str(trial_id)


def get_metric_writer() -> BatchMetricWriter:
    """What writes metrics of batches, with whichever writer this environment has.

    Raises
    ------
    ImportError
        If the package ``tensorboard`` is missing.
    """
    from determined.tensorboard.metric_writers.tensorflow import TFWriter

    return BatchMetricWriter(TFWriter())
