"""Putting the parts of a task together, and taking them apart again in the right order."""

import contextlib
import faulthandler
import logging
import pathlib
import signal
import sys
import threading
import types
from typing import Any, Callable, Dict, List, Optional, Type, Union

from determined import _http, _info, _process, _routes, _storage, errors
from determined.core import _tensorboard
from determined.core._checkpoint import CheckpointContext, DummyCheckpointContext
from determined.core._distributed import DistributedContext, DummyDistributedContext
from determined.core._environment import EnvironmentRecord
from determined.core._experimental import DummyExperimentalCoreContext, ExperimentalCoreContext
from determined.core._preempt import DummyPreemptContext, PreemptContext, PreemptMode, decide_after_validations
from determined.core._profiler import DummyProfilerContext, ProfilerContext
from determined.core._reports import Reporter
from determined.core._searcher import (
    DummySearcherContext,
    MasterSearcherContext,
    SearcherContext,
    SearcherContextMissing,
    asks_master,
    configured_length,
    configured_unit,
)
from determined.core._tensorboard import TensorboardFiles, TensorboardMode
from determined.core._train import DummyTrainContext, EarlyExitReason, TrainContext

logger = logging.getLogger("determined.core")

CheckpointStorage = Union[str, Dict[str, Any], None]

_LOG_LEVELS = {
    "debug": "LOG_LEVEL_DEBUG",
    "info": "LOG_LEVEL_INFO",
    "warn": "LOG_LEVEL_WARNING",
    "error": "LOG_LEVEL_ERROR",
}


class Context:
    """All that a task has to do with the platform. Get it from :func:`init`, as a context manager.

    Attributes
    ----------
    train : TrainContext
    checkpoint : CheckpointContext
    preempt : PreemptContext
    searcher : SearcherContext
    distributed : DistributedContext
    profiler : ProfilerContext
    experimental : ExperimentalCoreContext
    info : ClusterInfo or None
        None off the cluster.
    """

    def __init__(
        self,
        checkpoint: CheckpointContext,
        _session: Optional[_http.Session] = None,
        distributed: Optional[DistributedContext] = None,
        preempt: Optional[PreemptContext] = None,
        train: Optional[TrainContext] = None,
        searcher: Optional[SearcherContext] = None,
        info: Optional[_info.ClusterInfo] = None,
        profiler: Optional[ProfilerContext] = None,
        experimental: Optional[ExperimentalCoreContext] = None,
        _reporter: Optional[Reporter] = None,
        _environment: Optional[EnvironmentRecord] = None,
        _tensorboard_files: Optional[TensorboardFiles] = None,
        _tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
    ) -> None:
        self.checkpoint = checkpoint
        self.distributed = distributed or DummyDistributedContext()
        self.preempt = preempt or DummyPreemptContext(self.distributed)
        self.train = train or DummyTrainContext()
        self.searcher = searcher or SearcherContextMissing()
        self.profiler = profiler or DummyProfilerContext()
        self.experimental = experimental or DummyExperimentalCoreContext()
        self.info = info
        self._session = _session
        self._reporter = _reporter
        self._environment = _environment
        self._tensorboard_files = _tensorboard_files
        self._syncs_tensorboard = _tensorboard_mode == TensorboardMode.AUTO

    def start(self) -> None:
        """Begin background work: shipping metrics, listening for preemption."""
        if self._reporter is not None:
            self._reporter.start()
        if self._environment is not None:
            self._environment.start()
        self.preempt.start()

    def close(
        self,
        exc_type: Optional[type] = None,
        exc_val: Optional[BaseException] = None,
        exc_tb: Optional[types.TracebackType] = None,
    ) -> None:
        """Finish background work: everything reported reaches the master before this returns.

        Every part is closed, whatever becomes of the others. The first error is raised, unless ``exc_val`` says that
        there is another one on its way (an exit with status 0 is none).

        Parameters
        ----------
        exc_type, exc_val, exc_tb : optional
            What ``__exit__()`` is given.
        """
        first: Optional[Exception] = None
        for close in self._closers():
            try:
                close()
            except Exception as e:
                logger.error("while closing: %s", e)
                first = first or e
        in_order = exc_val is None or (isinstance(exc_val, SystemExit) and not exc_val.code)
        if first is not None and in_order:
            raise first

    def _closers(self) -> List[Callable[[], None]]:
        closers = [self.preempt.close, self.profiler.off, self.checkpoint.close]
        if self._reporter is not None:
            closers.append(self._reporter.close)
        files = self._tensorboard_files
        if files is not None:
            closers.append(lambda: files.close(last_sync=self._syncs_tensorboard))
        if self._environment is not None:
            closers.append(self._environment.close)
        closers.append(self.distributed.close)
        return closers

    def __enter__(self) -> "Context":
        self.start()
        return self

    def __exit__(
        self,
        exc_type: Optional[type],
        exc_val: Optional[BaseException],
        exc_tb: Optional[types.TracebackType],
    ) -> None:
        try:
            self.close(exc_type, exc_val, exc_tb)
            if isinstance(exc_val, errors.InvalidHP):
                self._tell_invalid_hp()
                logger.info("these hyperparameters are invalid, leaving with status 0: %s", exc_val)
                sys.exit(0)
        finally:
            if self._session is not None:
                self._session.close()

    def _tell_invalid_hp(self) -> None:
        """The search reckons with this: for the task it is a proper end."""
        self.train.report_early_exit(EarlyExitReason.INVALID_HP)

    def alert(
        self, title: Optional[str] = None, description: Optional[str] = None, level: Optional[str] = "info"
    ) -> None:
        """Fire the custom webhooks that watch this experiment.

        Parameters
        ----------
        title, description : str, optional
        level : {"debug", "info", "warn", "error"}

        Raises
        ------
        ValueError
            Off the cluster, in a task that is not a trial, or if ``level`` is unknown.
        """
        if self._session is None or self.info is None or self.info.task_type != "TRIAL":
            raise ValueError("alert() works only in a trial on a cluster")
        if level not in _LOG_LEVELS:
            raise ValueError(f"level {level!r} is none of {', '.join(_LOG_LEVELS)}")
        trial = self.info.trial
        self._session.send(
            _routes.post_webhook_event_data(
                data={"title": title or "", "description": description or "", "level": _LOG_LEVELS[level]},
                experiment_id=trial.experiment_id,
                trial_id=trial.trial_id,
            )
        )


def _show_sentences_only() -> None:
    """A program that ends for what is wrong around it shows the sentence on it: where in our code it was noticed is no
    help."""
    shown = sys.excepthook
    if getattr(shown, "shows_sentences", False):
        return

    def show(kind: Type[BaseException], error: BaseException, traceback: Optional[types.TracebackType]) -> None:
        if isinstance(error, errors.StorageUnusable):
            print(f"error: {error}", file=sys.stderr)
        else:
            shown(kind, error, traceback)

    show.shows_sentences = True  # type: ignore[attr-defined]
    sys.excepthook = show


def _dump_stacks_on_sigusr1() -> None:
    """Let ``kill -USR1`` print what every thread is doing, for a trial that seems to hang."""
    if not hasattr(signal, "SIGUSR1") or threading.current_thread() is not threading.main_thread():
        return
    # stderr may be something without a file descriptor, as in a notebook.
    with contextlib.suppress(AttributeError, OSError, ValueError):
        faulthandler.register(signal.SIGUSR1, chain=callable(signal.getsignal(signal.SIGUSR1)))


def _chosen_storage(checkpoint_storage: CheckpointStorage) -> Optional[_storage.Storage]:
    if checkpoint_storage is None:
        return None
    if isinstance(checkpoint_storage, str):
        return _storage.from_shortcut(checkpoint_storage)
    if isinstance(checkpoint_storage, dict):
        if checkpoint_storage.get("type") == "shared_fs":
            raise ValueError("checkpoint_storage: a shared_fs is passed as a path, not as a dictionary")
        return _storage.from_config(checkpoint_storage)
    raise TypeError(
        f"checkpoint_storage must be a string, a dictionary or None, not {type(checkpoint_storage).__name__}"
    )


def _local_storage() -> _storage.DirectoryStorage:
    base_path = _storage.default_base_path()
    logger.info("checkpoints are stored in %s", base_path)
    return _storage.DirectoryStorage(base_path)


def _off_cluster_context(
    distributed: DistributedContext,
    checkpoint_storage: CheckpointStorage,
    preempt_mode: PreemptMode,
    tensorboard_path: Optional[pathlib.Path] = None,
) -> Context:
    storage = _chosen_storage(checkpoint_storage) or _local_storage()
    return Context(
        checkpoint=DummyCheckpointContext(distributed, storage),
        distributed=distributed,
        preempt=DummyPreemptContext(distributed, preempt_mode),
        train=DummyTrainContext(tensorboard_path),
        searcher=DummySearcherContext(distributed),
    )


def dummy_init(
    *,
    distributed: Optional[DistributedContext] = None,
    checkpoint_storage: CheckpointStorage = None,
    tensorboard_path: Optional[pathlib.Path] = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
) -> Context:
    """A context that behaves as off the cluster wherever it is; tests of users' code call it by this name."""
    return _off_cluster_context(
        distributed or DummyDistributedContext(), checkpoint_storage, preempt_mode, tensorboard_path
    )


def _other_task_context(
    info: _info.ClusterInfo,
    session: _http.Session,
    distributed: DistributedContext,
    checkpoint_storage: CheckpointStorage,
    preempt_mode: PreemptMode,
) -> Context:
    """A notebook, a command …: it may use checkpoint storage, but has no trial to report about."""
    storage = _chosen_storage(checkpoint_storage) or _local_storage()
    return Context(
        checkpoint=DummyCheckpointContext(distributed, storage),
        _session=session,
        distributed=distributed,
        preempt=DummyPreemptContext(distributed, preempt_mode),
        info=info,
    )


def _register_storage(session: _http.Session, trial_id: int, used: Union[str, Dict[str, Any]]) -> Optional[int]:
    """Tell the master which storage this run uses; it answers with a number to name in checkpoint reports."""
    config = _storage.shortcut_to_config(used) if isinstance(used, str) else used
    return session.send(_routes.run_prepare_for_reporting(run_id=trial_id, checkpoint_storage=config)).get("storageId")


def searcher_context(
    reporter: Reporter, distributed: DistributedContext, session: _http.Session, info: _info.ClusterInfo
) -> Optional[SearcherContext]:
    trial = info.trial
    length, unit = configured_length(_info.config_of(trial)), configured_unit(_info.config_of(trial))
    if not length:
        return None
    if asks_master(_info.config_of(trial)):
        return MasterSearcherContext(reporter, distributed, session, trial.trial_id, info.allocation_id, unit)
    return SearcherContext(reporter, distributed, length, unit)


def _trial_context(
    info: _info.ClusterInfo,
    session: _http.Session,
    distributed: DistributedContext,
    checkpoint_storage: CheckpointStorage,
    preempt_mode: PreemptMode,
    tensorboard_mode: TensorboardMode,
) -> Context:
    # A trial's slots are free only when its program has ended.
    _process.leave_when_program_ends()
    trial = info.trial
    configured = _info.config_of(trial)["checkpoint_storage"]
    storage = _chosen_storage(checkpoint_storage) or _storage.from_config(configured)
    problem = storage.foreseen_problem() if distributed.rank == 0 else None
    if problem is not None:
        # Not every trial stores a checkpoint; one that does should not train for hours to learn it.
        logger.warning("no checkpoint can be stored: %s", problem)
    storage_id = _register_storage(session, trial.trial_id, checkpoint_storage or configured)
    tensorboard_files = TensorboardFiles(
        _tensorboard.local_path(info.allocation_id), storage, info.cluster_id, trial.experiment_id, trial.trial_id
    )
    reporter = Reporter(session, trial.trial_id, _info.run_id_of(trial))
    preempt = PreemptContext(session, info.allocation_id, distributed, preempt_mode)
    decide_after_validations(preempt, reporter.validation_arrived)
    return Context(
        checkpoint=CheckpointContext(distributed, storage, session, info.task_id, info.allocation_id, storage_id),
        _session=session,
        distributed=distributed,
        preempt=preempt,
        train=TrainContext(
            session, trial.trial_id, trial.experiment_id, reporter, distributed, tensorboard_mode, tensorboard_files
        ),
        searcher=searcher_context(reporter, distributed, session, info),
        info=info,
        profiler=ProfilerContext(info.agent_id, reporter, distributed),
        experimental=ExperimentalCoreContext(session, trial.trial_id),
        _reporter=reporter,
        # One process of each container knows it.
        _environment=EnvironmentRecord(session, info) if distributed.local_rank == 0 else None,
        _tensorboard_files=tensorboard_files,
        _tensorboard_mode=tensorboard_mode,
    )


def init(
    *,
    distributed: Optional[DistributedContext] = None,
    checkpoint_storage: CheckpointStorage = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> Context:
    """Connect this process with the platform, if it runs on one.

    Use it as a context manager around all of training: what was reported is certain to have arrived when the context
    ends. Off the cluster everything works, too: reports go to the log, checkpoints into a directory.

    Parameters
    ----------
    distributed : DistributedContext, optional
        Needed when training in several processes.
    checkpoint_storage : str or dict, optional
        Other storage than the experiment's: a path, or what ``checkpoint_storage`` in an experiment configuration holds
        (but not of type shared_fs). Off the cluster the default is ``~/.local/share/determined``.
    preempt_mode : PreemptMode
        Which processes call ``should_preempt()``.
    tensorboard_mode : TensorboardMode
        Who uploads TensorBoard's files.

    Returns
    -------
    Context

    Raises
    ------
    ValueError
        If the task has several slots but ``distributed`` is missing, or the storage cannot be used.
    errors.MasterUnreachable, errors.ApiError
        If the master does not take us in.

    Examples
    --------
    >>> from determined import core
    >>> with core.init() as core_context:  # doctest: +SKIP
    ...     core_context.train.report_training_metrics(steps_completed=1, metrics={"loss": 0.5})
    ...     with core_context.checkpoint.store_path({"steps_completed": 1}) as (path, storage_id):
    ...         (path / "weights.txt").write_text("0.5")
    """
    _dump_stacks_on_sigusr1()
    _show_sentences_only()
    info = _info.get_cluster_info()
    if info is None:
        return _off_cluster_context(distributed or DummyDistributedContext(), checkpoint_storage, preempt_mode)
    if distributed is None and (len(info.container_addrs) > 1 or len(info.slot_ids) > 1):
        raise ValueError(
            f"this task has {len(info.slot_ids)} slots in each of {len(info.container_addrs)} containers: "
            "core.init() needs distributed=core.DistributedContext.from_…()"
        )
    distributed = distributed or DummyDistributedContext()
    session = _http.Session(
        info.master_url, info.session_token, cert_file=info.master_cert_file, cert_name=info.master_cert_name
    )
    try:
        if info.task_type != "TRIAL":
            return _other_task_context(info, session, distributed, checkpoint_storage, preempt_mode)
        return _trial_context(info, session, distributed, checkpoint_storage, preempt_mode, tensorboard_mode)
    except BaseException:
        session.close()
        raise
