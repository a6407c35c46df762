"""The Core API of a run that the platform did not start: what it reports goes into its journal."""

import datetime
import logging
import types
import uuid
from typing import Any, Dict, Optional, Union, cast

from determined import _http, _info, _routes, _storage, core, errors
from determined.core import _context, _tensorboard
from determined.core._reports import Reporter
from determined.experimental._determined import Determined, session_of
from determined.experimental.core_v2 import _journal

logger = logging.getLogger("determined.unmanaged")

# The master's numbers are not known while it is away.
_TRIAL, _RUN, _STORAGE = (cast(int, name) for name in (_journal.TRIAL, _journal.RUN, _journal.STORAGE))
# A run that ends does not wait for a master that is away; its journal is carried on later.
LAST_TRY = _http.Retry(attempts=3)


class JournalSession(_http.Session):
    """Stands where the Core API expects the master: what changes something goes into the journal.

    Parameters
    ----------
    journal : Journal
    delivery : Delivery
        Knows the master's numbers, once it has answered.
    session : Session, optional
        To ask the master with; None while it is away.
    """

    def __init__(
        self, journal: _journal.Journal, delivery: _journal.Delivery, session: Optional[_http.Session]
    ) -> None:
        self._journal, self._delivery, self._asking = journal, delivery, session

    def clone(self, retry: _http.Retry) -> _http.Session:
        return self

    def close(self) -> None:
        if self._asking is not None:
            self._asking.close()

    def request(self, method: str, path: str, body: Any = None, *, timeout_s: float = _http.READ_TIMEOUT_S) -> Any:
        """A question is asked, if the master is there; anything else is noted, and answered by itself."""
        if method == "GET":
            if self._asking is None or not self._delivery.ids:
                raise errors.MasterUnreachable(method, path, 1, "the master is away")
            return self._asking.request(method, self._delivery.filled(path), timeout_s=timeout_s)
        if isinstance(body, dict) and "group" in body:
            # A report may arrive much later than it is made.
            now = datetime.datetime.now(datetime.timezone.utc).isoformat()
            body["metrics"].setdefault("reportTime", now)
        self._journal.add(method, path, body)
        return body


class _TrainContext(core.TrainContext):
    """What has to be asked is unknown while the master is away."""

    _metadata: Optional[Dict[str, Any]] = None

    def set_metadata(self, metadata: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        self._metadata = super().set_metadata(metadata)
        return self._metadata

    def get_metadata(self) -> Optional[Dict[str, Any]]:
        if self._metadata is not None:
            return self._metadata
        try:
            return super().get_metadata()
        except errors.MasterUnreachable:
            return None

    def get_experiment_best_validation(self) -> Optional[float]:
        try:
            return super().get_experiment_best_validation()
        except errors.MasterUnreachable:
            return None


class _CheckpointContext(core.CheckpointContext):
    """Metadata lies in the checkpoint, too."""

    def get_metadata(self, storage_id: str) -> Dict[str, Any]:
        try:
            return super().get_metadata(storage_id)
        except (errors.MasterUnreachable, errors.NotFound):
            return core.DummyCheckpointContext(self._dist, self._storage).get_metadata(storage_id)


class UnmanagedContext(core.Context):
    """The context of an unmanaged run; its end is part of what it tells."""

    def __init__(self, run: "UnmanagedRun", **parts: Any) -> None:
        super().__init__(**parts)
        self._run = run

    def start(self) -> None:
        super().start()
        self._run.start()

    def close(
        self,
        exc_type: Optional[type] = None,
        exc_val: Optional[BaseException] = None,
        exc_tb: Optional[types.TracebackType] = None,
    ) -> None:
        in_order = exc_type is None or (isinstance(exc_val, SystemExit) and not exc_val.code)
        try:
            super().close(exc_type, exc_val, exc_tb)
        except BaseException:
            in_order = False
            raise
        finally:
            self._run.end("STATE_COMPLETED" if in_order or isinstance(exc_val, errors.InvalidHP) else "STATE_ERROR")

    def _tell_invalid_hp(self) -> None:
        """There is no search that would have to hear of it."""


class UnmanagedRun:
    """Journal, courier and master of a run.

    Parameters
    ----------
    start : Start
    cluster : Determined, optional
        None while the master is away.
    """

    def __init__(self, start: _journal.Start, cluster: Optional[Determined]) -> None:
        self.start_of_run = start
        self.session = session_of(cluster).clone(_http.ONCE) if cluster is not None else None
        self.cluster_id = "unmanaged"
        if self.session is not None:
            self._catch_up(self.session)
        # Before there is a journal of our own, whose checkpoints are still to come.
        self._latest = _journal.latest_checkpoint(start)
        self.journal = _journal.Journal(start)
        self.delivery = _journal.Delivery(self.journal.path)
        self._courier: Optional[_journal.Courier] = None
        self._ended = False
        if self.session is not None:
            self._begin(self.session)
        if not self.delivery.ids:
            logger.warning("the master is away: this run is kept in %s until it is back", self.journal.path)

    def _catch_up(self, session: _http.Session) -> None:
        """Earlier runs of this trial come first, so that this one goes on from their checkpoint."""
        try:
            done = _journal.sync(session, only=self.start_of_run)
        except errors.MasterUnreachable as e:
            logger.warning("%s", e)
            return
        if done.runs:
            logger.info("told the master of %d earlier runs of this trial", done.runs)

    def _begin(self, session: _http.Session) -> None:
        try:
            self.delivery.advance(session)
            self.cluster_id = session.send(_routes.get_master())["clusterId"]
        except errors.MasterUnreachable as e:
            logger.warning("%s", e)
        except errors.ApiError:
            # The configuration is wrong, or we may not: nothing of this run is worth keeping.
            self.journal.close()
            self.journal.path.unlink()
            raise
        self._courier = _journal.Courier(self.journal, self.delivery, session)

    def info(self) -> _info.ClusterInfo:
        """What the run knows of itself; numbers are 0 while the master is away."""
        ids, answer = self.delivery.ids, self.delivery.answer
        local, steps = self._latest
        task = str(ids.get(_journal.TASK) or self.journal.path.stem)
        return _info.ClusterInfo(
            master_url=self.session.url if self.session is not None else "",
            cluster_id=self.cluster_id,
            agent_id="unmanaged",
            slot_ids=[],
            task_id=task,
            allocation_id=task,
            session_token=self.session.token if self.session is not None else "",
            task_type="TRIAL",
            latest_checkpoint=answer.get("latestCheckpoint") or local,
            trial_info=_info.TrialInfo(
                trial_id=ids.get(_journal.TRIAL, 0),
                experiment_id=ids.get("experiment", 0),
                trial_seed=0,
                hparams=self.start_of_run.hparams,
                config=self.start_of_run.config,
                steps_completed=int(answer.get("stepsCompleted") or steps),
                trial_run_id=ids.get(_journal.RUN, 0),
                debug=False,
                inter_node_network_interface=None,
            ),
        )

    def start(self) -> None:
        """Begin to carry reports."""
        if self._courier is not None:
            self._courier.start()

    def end(self, state: str) -> None:
        """The last report; then what is left is carried, if the master is there."""
        if self._ended:
            return
        self._ended = True
        ended = _routes.patch_trial(_TRIAL, state=state)
        self.journal.add(ended.method, ended.target, ended.body)
        if self._courier is not None:
            self._courier.close()
        self.journal.close()
        if self.session is None:
            return self._say_where()
        try:
            session = self.session.clone(LAST_TRY)
            self.delivery.advance(session)
            self.delivery.finish(session)
        except errors.MasterUnreachable:
            self._say_where()

    def _say_where(self) -> None:
        logger.warning(
            "the master does not know all of this run yet; `python -m determined.experimental.core_v2` tells it, "
            "and so does the next run of this trial (%s)",
            self.journal.path,
        )


def start_of(config: Any, checkpoint_storage: Union[str, Dict[str, Any], None]) -> _journal.Start:
    """The run that a :class:`Config` describes; ids that it lacks are made up."""
    used = checkpoint_storage or config.checkpoint_storage or str(_storage.default_base_path() / "checkpoints")
    whole = {
        "name": config.name or f"unmanaged-{uuid.uuid4().hex[:8]}",
        "data": config.data,
        "description": config.description,
        "labels": config.labels,
        "searcher": config.searcher or {"name": "single", "metric": "unmanaged"},
        "workspace": config.workspace,
        "project": config.project,
        "checkpoint_storage": _storage.shortcut_to_config(used) if isinstance(used, str) else used,
    }
    if config.external_trial_id is not None and config.external_experiment_id is None:
        raise ValueError("external_trial_id goes with external_experiment_id: the trial is one of that experiment's")
    return _journal.Start(
        config={name: value for name, value in whole.items() if value is not None},
        hparams=config.hparams or {},
        external_experiment_id=config.external_experiment_id or str(uuid.uuid4()),
        external_trial_id=config.external_trial_id or str(uuid.uuid4()),
    )


def make_context(
    start: _journal.Start,
    cluster: Optional[Determined],
    distributed: core.DistributedContext,
    preempt_mode: core.PreemptMode,
    tensorboard_mode: core.TensorboardMode,
) -> core.Context:
    """The context of rank 0, which reports; others get one that stores checkpoints with it and logs."""
    storage = _storage.from_config(start.config["checkpoint_storage"])
    if distributed.rank != 0:
        return core.Context(
            checkpoint=core.DummyCheckpointContext(distributed, storage),
            distributed=distributed,
            preempt=core.DummyPreemptContext(distributed, preempt_mode),
            train=core.DummyTrainContext(),
        )
    run = UnmanagedRun(start, cluster)
    info = run.info()
    session = JournalSession(run.journal, run.delivery, run.session)
    reporter = Reporter(session, _TRIAL, _RUN)
    trial = info.trial
    files = _tensorboard.TensorboardFiles(
        _tensorboard.local_path(info.allocation_id), storage, info.cluster_id, trial.experiment_id, trial.trial_id
    )
    return UnmanagedContext(
        run,
        checkpoint=_CheckpointContext(distributed, storage, session, _journal.TASK, None, _STORAGE),
        _session=session,
        distributed=distributed,
        preempt=core.DummyPreemptContext(distributed, preempt_mode),
        train=_TrainContext(session, _TRIAL, trial.experiment_id, reporter, distributed, tensorboard_mode, files),
        searcher=_context.searcher_context(reporter, distributed, session, info),
        info=info,
        profiler=core.ProfilerContext("unmanaged", reporter, distributed),
        experimental=core.ExperimentalCoreContext(session, _TRIAL),
        _reporter=reporter,
        _tensorboard_files=files,
        _tensorboard_mode=tensorboard_mode,
    )
