"""What the platform tells a task about itself: JSON files under ``$DET_RUN_DIR/info``.

=================  ===============================================================
``cluster.json``   who and where we are; its presence means "on the cluster"
``trial.json``     only for trials
``resources.json`` the GPUs given to this container
``rendezvous.json`` the containers of this allocation, in rank order
=================  ===============================================================
"""

import json
import os
import pathlib
from typing import Any, Dict, List, Optional

DEFAULT_RUN_DIR = "/run/determined"
# A launcher gives the processes of a trial this key, by which they know each other across machines.
TRIAL_KEY_VARIABLE = "DET_TRIAL_KEY"


def run_dir() -> pathlib.Path:
    """Directory in which the platform leaves files for this task."""
    return pathlib.Path(os.environ.get("DET_RUN_DIR") or DEFAULT_RUN_DIR)


def in_container() -> bool:
    """Whether this task sees a container's places, such as mounts; a plain process sees those of its machine."""
    return run_dir() == pathlib.Path(DEFAULT_RUN_DIR)


def short_run_dir() -> pathlib.Path:
    """The same directory, by its short name where this task knows it by that.

    A task with a view of its own finds its directory at :data:`DEFAULT_RUN_DIR`, too.
    """
    try:
        known = os.path.samefile(DEFAULT_RUN_DIR, run_dir())
    except OSError:
        known = False
    return pathlib.Path(DEFAULT_RUN_DIR) if known else run_dir()


def listen_address() -> str:
    """Where a service of this task that the platform's proxy reaches has to listen.

    Usually the agent connects to it, from the same machine. A master that connects by itself comes from elsewhere.
    """
    return os.environ.get("DET_LISTEN_ADDRESS") or "127.0.0.1"


class RendezvousInfo:
    """The containers of an allocation, in rank order.

    Parameters
    ----------
    container_addrs : list of str
        Address of each container.
    container_rank : int
        Index of our own.
    container_slot_counts : list of int
        Slots of each container.
    """

    def __init__(self, container_addrs: List[str], container_rank: int, container_slot_counts: List[int]):
        self.container_addrs = container_addrs
        self.container_rank = container_rank
        self.container_slot_counts = container_slot_counts


class ResourcesInfo:
    """The devices of a container.

    Parameters
    ----------
    gpu_uuids : list of str
        Identifiers of its GPUs.
    """

    def __init__(self, gpu_uuids: List[str]) -> None:
        self._gpu_uuids = gpu_uuids

    @property
    def gpu_uuids(self) -> List[str]:
        """Identifiers of the GPUs given to this container."""
        return self._gpu_uuids


class TrialInfo:
    """What a trial knows of itself.

    Attributes
    ----------
    trial_id, experiment_id : int
    trial_seed : int
        Seed for everything random, in [0, 2³¹).
    hparams : dict
        The sampled hyperparameters.

    Made by :func:`get_cluster_info`.
    """

    def __init__(
        self,
        trial_id: int,
        experiment_id: int,
        trial_seed: int,
        hparams: Dict[str, Any],
        config: Dict[str, Any],
        steps_completed: int,
        trial_run_id: int,
        debug: bool,
        inter_node_network_interface: Optional[str],
    ):
        self.trial_id = trial_id
        self.experiment_id = experiment_id
        self.trial_seed = trial_seed
        self.hparams = hparams
        self._config = config
        self._steps_completed = steps_completed
        self._trial_run_id = trial_run_id
        self._debug = debug
        self._inter_node_network_interface = inter_node_network_interface


# What other modules of the library ask of a trial, and users should not have to: programs of release 0.38.1 know these
# attributes by their private names, so the names stay.


def config_of(trial: TrialInfo) -> Dict[str, Any]:
    """The effective configuration of the trial's experiment."""
    return trial._config


def steps_completed_of(trial: TrialInfo) -> int:
    """The steps that were done when the latest checkpoint was saved; 0 without a checkpoint."""
    return trial._steps_completed


def run_id_of(trial: TrialInfo) -> int:
    """Which allocation of the trial this is, counted from 1."""
    return trial._trial_run_id


def is_debugged(trial: TrialInfo) -> bool:
    """Whether the experiment asks for detailed logs."""
    return trial._debug


def network_interface_of(trial: TrialInfo) -> Optional[str]:
    """The network interface by which the containers reach each other, if the cluster's configuration names one."""
    return trial._inter_node_network_interface


class ClusterInfo:
    """What a task knows of the cluster and of itself. Get it from :func:`get_cluster_info`.

    Attributes
    ----------
    master_url : str
    cluster_id, agent_id, task_id, allocation_id : str
    slot_ids : list of int
    session_token : str
        Authorises requests in the name of this allocation.
    task_type : str
        TRIAL, NOTEBOOK, SHELL, COMMAND, TENSORBOARD, CHECKPOINT_GC or GENERIC.
    """

    def __init__(
        self,
        master_url: str,
        cluster_id: str,
        agent_id: str,
        slot_ids: List[int],
        task_id: str,
        allocation_id: str,
        session_token: str,
        task_type: str,
        master_cert_name: Optional[str] = None,
        master_cert_file: Optional[str] = None,
        latest_checkpoint: Optional[str] = None,
        trial_info: Optional[TrialInfo] = None,
        rendezvous_info: Optional[RendezvousInfo] = None,
        resources_info: Optional[ResourcesInfo] = None,
    ):
        self.master_url = master_url
        self.cluster_id = cluster_id
        self.agent_id = agent_id
        self.slot_ids = slot_ids
        self.task_id = task_id
        self.allocation_id = allocation_id
        self.session_token = session_token
        self.task_type = task_type
        self.master_cert_name = master_cert_name
        self.master_cert_file = master_cert_file
        self._latest_checkpoint = latest_checkpoint
        self._trial_info = trial_info
        # A task of a single container needs no rendezvous; it meets nobody but itself.
        self._rendezvous_info = rendezvous_info or RendezvousInfo(["127.0.0.1"], 0, [len(slot_ids)])
        self._resources_info = resources_info or ResourcesInfo([])

    @property
    def latest_checkpoint(self) -> Optional[str]:
        """Id of the checkpoint to start from: our own latest, else the one to warm-start from, else None."""
        return self._latest_checkpoint

    @property
    def user_data(self) -> Dict[str, Any]:
        """The field ``data`` of the experiment configuration; a trial's only.

        Raises
        ------
        RuntimeError
            If this task is not a trial.
        """
        return self.trial._config.get("data") or {}

    @property
    def trial(self) -> TrialInfo:
        """What concerns trials.

        Raises
        ------
        RuntimeError
            If this task is not a trial.
        """
        if self._trial_info is None:
            raise RuntimeError(f"task {self.task_id} is of type {self.task_type}, not TRIAL: it has no trial info")
        return self._trial_info

    @property
    def container_addrs(self) -> List[str]:
        """Address of each container of this allocation, in rank order."""
        return self._rendezvous_info.container_addrs

    @property
    def container_slot_counts(self) -> List[int]:
        """Number of slots of each container of this allocation, in rank order."""
        return self._rendezvous_info.container_slot_counts

    @property
    def container_rank(self) -> int:
        """Rank of this container among those of the allocation."""
        return self._rendezvous_info.container_rank

    @property
    def gpu_uuids(self) -> List[str]:
        """Identifiers of the GPUs given to this container."""
        return self._resources_info.gpu_uuids


def _read_info(name: str) -> Optional[Dict[str, Any]]:
    try:
        with open(run_dir() / "info" / name, encoding="utf-8") as f:
            value = json.load(f)
    except FileNotFoundError:
        return None
    if not isinstance(value, dict):
        raise RuntimeError(f"{run_dir() / 'info' / name} must hold a JSON object, not {type(value).__name__}")
    return value


def get_cluster_info() -> Optional[ClusterInfo]:
    """Tell what the cluster gave to this task.

    Returns
    -------
    ClusterInfo or None
        None when not running on a cluster.

    Examples
    --------
    >>> import determined as det
    >>> info = det.get_cluster_info()
    >>> if info is not None and info.task_type == "TRIAL":
    ...     print("trial", info.trial.trial_id, "starts from", info.latest_checkpoint)
    """
    cluster = _read_info("cluster.json")
    if cluster is None:
        return None
    trial = _read_info("trial.json")
    rendezvous = _read_info("rendezvous.json")
    resources = _read_info("resources.json")
    return ClusterInfo(
        **cluster,
        trial_info=TrialInfo(**trial) if trial is not None else None,
        rendezvous_info=RendezvousInfo(**rendezvous) if rendezvous is not None else None,
        resources_info=ResourcesInfo(**resources) if resources is not None else None,
    )
