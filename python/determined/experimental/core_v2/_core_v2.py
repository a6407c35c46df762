"""Beginning and ending a run, in either style."""

import atexit
import dataclasses
import logging
import sys
from typing import Any, Dict, List, Optional, Union

from determined import _info, core, errors
from determined.experimental import Determined, _api, _determined

logger = logging.getLogger("determined.unmanaged")

_context: Optional[core.Context] = None
_client: Optional[Determined] = None
_at_exit = False


@dataclasses.dataclass
class Config:
    """What an unmanaged run is. On the cluster, where the experiment's configuration says so, it has no effect.

    Attributes
    ----------
    name, description : str, optional
    hparams : dict, optional
        Hyperparameters of the trial.
    data : dict, optional
        Whatever you want to find again.
    labels : list of str, optional
    workspace, project : str, optional
    checkpoint_storage : str or dict, optional
        A path, a URL, or what an experiment configuration holds; by default a directory of the user's.
    searcher : dict, optional
        As in an experiment configuration; its ``metric`` is what lists are sorted by.
    external_experiment_id : str, optional
        Trials that give the same belong to one experiment.
    external_trial_id : str, optional
        Runs that give the same go on with one trial, from its latest checkpoint. With ``external_experiment_id``.
    """

    name: Optional[str] = None
    hparams: Optional[Dict[str, Any]] = None
    data: Optional[Dict[str, Any]] = None
    description: Optional[str] = None
    labels: Optional[List[str]] = None
    workspace: Optional[str] = None
    project: Optional[str] = None
    checkpoint_storage: Optional[Union[str, Dict[str, Any]]] = None
    searcher: Optional[Dict[str, Any]] = None
    external_experiment_id: Optional[str] = None
    external_trial_id: Optional[str] = None


@dataclasses.dataclass
class DefaultConfig(Config):
    """Older name of :class:`Config`."""

    def __init__(self, **kwargs: Any) -> None:
        _api.deprecated("DefaultConfig", "Config")
        super().__init__(**kwargs)


@dataclasses.dataclass
class UnmanagedConfig(Config):
    """Older name of :class:`Config`."""

    def __init__(self, **kwargs: Any) -> None:
        _api.deprecated("UnmanagedConfig", "Config")
        super().__init__(**kwargs)


def _merged(
    config: Optional[Config], defaults: Optional[DefaultConfig], unmanaged: Optional[UnmanagedConfig]
) -> Config:
    if defaults is not None or unmanaged is not None:
        _api.deprecated("defaults and unmanaged", "config")
    if config is not None:
        return config
    if defaults is None and unmanaged is None:
        raise ValueError("core_v2 needs config=Config(…) where the platform did not start this process")
    merged = Config()
    for one in (unmanaged, defaults):
        for field in dataclasses.fields(Config):
            if one is not None and getattr(one, field.name) is not None:
                setattr(merged, field.name, getattr(one, field.name))
    return merged


def _make(
    config: Optional[Config],
    defaults: Optional[DefaultConfig],
    unmanaged: Optional[UnmanagedConfig],
    client: Optional[Determined],
    distributed: Optional[core.DistributedContext],
    checkpoint_storage: Union[str, Dict[str, Any], None],
    preempt_mode: core.PreemptMode,
    tensorboard_mode: core.TensorboardMode,
) -> core.Context:
    global _client
    info = _info.get_cluster_info()
    if info is not None and info.task_type == "TRIAL":
        return core.init(
            distributed=distributed,
            checkpoint_storage=checkpoint_storage,
            preempt_mode=preempt_mode,
            tensorboard_mode=tensorboard_mode,
        )
    from determined.experimental.core_v2 import _unmanaged

    merged = _merged(config, defaults, unmanaged)
    start = _unmanaged.start_of(merged, checkpoint_storage)
    distributed = distributed or core.DummyDistributedContext()
    if client is None and distributed.rank == 0:
        try:
            client = Determined()
        except errors.MasterUnreachable as e:
            logger.warning("%s", e)
    _client = client
    return _unmanaged.make_context(start, client, distributed, preempt_mode, tensorboard_mode)


def init_context(
    *,
    config: Optional[Config] = None,
    defaults: Optional[DefaultConfig] = None,
    unmanaged: Optional[UnmanagedConfig] = None,
    client: Optional[Determined] = None,
    distributed: Optional[core.DistributedContext] = None,
    checkpoint_storage: Optional[Union[str, Dict[str, Any]]] = None,
    preempt_mode: core.PreemptMode = core.PreemptMode.WorkersAskChief,
    tensorboard_mode: core.TensorboardMode = core.TensorboardMode.AUTO,
) -> core.Context:
    """Begin a run; use what is returned as a context manager.

    Parameters
    ----------
    config : Config
        Needed unless the platform started this process.
    defaults, unmanaged
        Older forms of ``config``.
    client : Determined, optional
        The master to report to; by default as for :class:`Determined`. Without one in reach the run is kept on disk.
    distributed, checkpoint_storage, preempt_mode, tensorboard_mode
        As for ``core.init()``.

    Returns
    -------
    core.Context

    Raises
    ------
    ValueError
        If ``config`` is missing.
    errors.ApiError
        If the master refuses the run.
    """
    return _make(config, defaults, unmanaged, client, distributed, checkpoint_storage, preempt_mode, tensorboard_mode)


def init(
    *,
    config: Optional[Config] = None,
    defaults: Optional[DefaultConfig] = None,
    unmanaged: Optional[UnmanagedConfig] = None,
    client: Optional[Determined] = None,
    distributed: Optional[core.DistributedContext] = None,
    checkpoint_storage: Optional[Union[str, Dict[str, Any]]] = None,
    preempt_mode: core.PreemptMode = core.PreemptMode.WorkersAskChief,
    tensorboard_mode: core.TensorboardMode = core.TensorboardMode.AUTO,
) -> None:
    """Begin a run, whose parts are ``core_v2.train``, ``core_v2.checkpoint`` and so on until :func:`close`, or the
    program's end. Parameters and errors are those of :func:`init_context`. A run that goes on is ended."""
    global _context, _at_exit
    close()
    _context = _make(
        config, defaults, unmanaged, client, distributed, checkpoint_storage, preempt_mode, tensorboard_mode
    )
    _context.start()
    _show_parts(_context)
    if not _at_exit:
        _at_exit = True
        _notice_exceptions()
        atexit.register(close)


def _show_parts(context: Optional[core.Context]) -> None:
    from determined.experimental import core_v2

    for name in ("train", "distributed", "preempt", "checkpoint", "searcher", "info"):
        setattr(core_v2, name, getattr(context, name, None))


_uncaught: Optional[BaseException] = None


def _notice_exceptions() -> None:
    """A program that ends by an exception ends its run with it."""
    before = sys.excepthook

    def note(kind: Any, e: BaseException, traceback: Any) -> None:
        global _uncaught
        _uncaught = e
        before(kind, e, traceback)

    sys.excepthook = note


def close() -> None:
    """End the run that :func:`init` has begun."""
    global _context
    context, _context = _context, None
    _show_parts(None)
    if context is not None:
        context.close(type(_uncaught) if _uncaught is not None else None, _uncaught)


def url_reverse_webui_exp_view() -> str:
    """The page of this run's experiment.

    Raises
    ------
    RuntimeError
        If no run goes on, or the master does not know it yet.
    """
    from determined.experimental import core_v2

    if core_v2.info is None or _client is None or not core_v2.info.trial.experiment_id:
        raise RuntimeError("there is no run of core_v2.init() that a master knows")
    return f"{_determined.address_of(_client)}/det/experiments/{core_v2.info.trial.experiment_id}"
