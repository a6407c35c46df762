"""Telling the master how training goes."""

import datetime
import enum
import logging
import pathlib
import tempfile
from typing import Any, Callable, Dict, List, Optional

from determined import _http, _routes, errors
from determined.core._distributed import DistributedContext
from determined.core._events import MetricEvents
from determined.core._reports import VALIDATION, Reporter
from determined.core._tensorboard import TensorboardFiles, TensorboardMode

logger = logging.getLogger("determined.core")

TRAINING = "training"


class EarlyExitReason(enum.Enum):
    """Why a trial ends before its time."""

    INVALID_HP = "EXITED_REASON_INVALID_HP"
    USER_REQUESTED_STOP = "EXITED_REASON_USER_REQUESTED_STOP"


def _reportable_validation(metrics: Dict[str, Any]) -> Dict[str, Any]:
    """Leave out what is no metric (bytes); a searcher would wait in vain for one that is None."""
    missing = [name for name, value in metrics.items() if value is None]
    if missing:
        raise RuntimeError(f"validation metric {missing[0]!r} is None")
    dropped = [name for name, value in metrics.items() if isinstance(value, (bytes, bytearray))]
    if dropped:
        logger.warning("validation metrics that hold bytes are not reported: %s", ", ".join(dropped))
    return {name: value for name, value in metrics.items() if name not in dropped}


def _readable(metrics: Dict[str, Any]) -> str:
    """As people read them: ``loss 0.3535, batches 60``. What is reported keeps all its digits."""
    texts = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in metrics.values())
    return ", ".join(f"{name} {text}" for name, text in zip(metrics, texts))


class TrainContext:
    """Reports of a trial: metrics, progress, status. Reached as ``core_context.train``.

    They are sent in the background, in order: a report returns at once, and the end of ``with core.init()`` waits for
    what is left. Metrics may be numbers, strings, booleans, None, and lists and dictionaries of these; numbers may come
    from NumPy or PyTorch.
    """

    def __init__(
        self,
        session: _http.Session,
        trial_id: int,
        exp_id: int,
        reporter: Reporter,
        distributed: DistributedContext,
        tensorboard_mode: TensorboardMode,
        tensorboard_manager: Optional[TensorboardFiles],
    ) -> None:
        self._session = session
        self._trial_id = trial_id
        self._exp_id = exp_id
        self._reporter = reporter
        self._distributed = distributed
        self._tensorboard_mode = tensorboard_mode
        self._tensorboard = tensorboard_manager
        self._events: Optional[MetricEvents] = None
        if tensorboard_mode == TensorboardMode.AUTO and tensorboard_manager is not None and distributed.rank == 0:
            self._events = MetricEvents(tensorboard_manager.base_path)

    def set_status(self, status: str) -> None:
        """Say in a word what the trial is doing, such as "validating"; shown beside the trial."""
        self._reporter.status(str(status))

    def set_metadata(self, metadata: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """Replace the metadata of this run.

        Returns
        -------
        dict or None
            As the master stored it.
        """
        return self._session.send(_routes.post_run_metadata(self._trial_id, metadata=metadata)).get("metadata")

    def get_metadata(self) -> Optional[Dict[str, Any]]:
        """The metadata of this run, or None."""
        return self._session.send(_routes.get_run_metadata(self._trial_id)).get("metadata")

    def report_training_metrics(
        self,
        steps_completed: int,
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        """Report how training went.

        Parameters
        ----------
        steps_completed : int
            Batches trained so far, from the trial's start.
        metrics : dict
            By name, such as ``{"loss": 0.4}``; usually averages since the last report.
        batch_metrics : list of dict, optional
            One for each batch since the last report; kept, but not drawn.

        Raises
        ------
        TypeError
            If a value cannot be sent; the message tells which.
        errors.ApiError, errors.MasterUnreachable
            If an *earlier* report could not be delivered.

        Examples
        --------
        >>> with core.init() as core_context:  # doctest: +SKIP
        ...     core_context.train.report_training_metrics(steps_completed=100, metrics={"loss": 0.4})
        """
        self._report(TRAINING, steps_completed, metrics, batch_metrics)

    def report_validation_metrics(self, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Report how validation went; the searcher looks for its metric here.

        Parameters
        ----------
        steps_completed : int
            Batches trained so far, from the trial's start.
        metrics : dict
            By name. None is refused, bytes are left out with a warning.

        Raises
        ------
        RuntimeError
            If a metric is None.
        TypeError, errors.ApiError, errors.MasterUnreachable
            As for :meth:`report_training_metrics`.
        """
        self._report(VALIDATION, steps_completed, metrics)

    def report_metrics(
        self,
        group: str,
        steps_completed: int,
        metrics: Dict[str, Any],
        *,
        report_time: Optional[datetime.datetime] = None,
    ) -> None:
        """Report metrics of any group.

        Parameters
        ----------
        group : str
            Name of the series, not empty and without ``.``; "training" and "validation" are the built-in ones.
        steps_completed : int
            Batches trained so far, from the trial's start.
        metrics : dict
            By name. Reports of the same group and step are merged; a name reported again must have the same value.
        report_time : datetime, optional
            When it was measured; the master's clock otherwise.

        Raises
        ------
        ValueError
            If the group's name will not do.
        TypeError, errors.ApiError, errors.MasterUnreachable
            As for :meth:`report_training_metrics`.
        """
        self._report(group, steps_completed, metrics, report_time=report_time)

    def _report(
        self,
        group: str,
        steps_completed: int,
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
        report_time: Optional[datetime.datetime] = None,
    ) -> None:
        if group == VALIDATION:
            metrics = _reportable_validation(metrics)
        logger.info("%s metrics after %s steps: %s", group, steps_completed, _readable(metrics))
        self._reporter.metrics(group, metrics, steps_completed, batch_metrics, report_time)
        self._draw(group, int(steps_completed), metrics, batch_metrics)
        if self._tensorboard is not None and self._tensorboard_mode == TensorboardMode.AUTO:
            self._tensorboard.sync(at_once=False)

    def _draw(
        self,
        group: str,
        steps_completed: int,
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]],
    ) -> None:
        """Write what is reported into TensorBoard's files, too."""
        if self._events is None:
            return
        try:
            if group == TRAINING:
                self._events.training(steps_completed, metrics, batch_metrics)
            elif group == VALIDATION:
                self._events.validation(steps_completed, metrics)
        except OSError as e:
            # A curve in TensorBoard is not worth a training run.
            self._events = None
            logger.warning("metrics are not drawn in TensorBoard any more: %s", e)

    def report_progress(self, progress: float) -> None:
        """Report which part of training is done.

        Parameters
        ----------
        progress : float
            From 0 to 1.

        Raises
        ------
        ValueError
            If it is not.
        """
        progress = float(progress)
        if not 0 <= progress <= 1:
            raise ValueError(f"progress must be between 0 and 1, not {progress}")
        self._reporter.progress(progress)

    def report_early_exit(self, reason: EarlyExitReason) -> None:
        """Announce that the trial is going to end before its time; the searcher reckons with it from now on.

        ``raise det.InvalidHP`` does it for you.
        """
        try:
            self._session.send(
                _routes.report_trial_searcher_early_exit(
                    self._trial_id, early_exit={"reason": EarlyExitReason(reason).value}
                )
            )
        except errors.BadRequest as e:
            logger.warning("the master did not take this early exit (was it told before?): %s", e.message)

    def get_experiment_best_validation(self) -> Optional[float]:
        """Best value of the searcher's metric in any trial of this experiment so far, or None."""
        # Our own latest validation counts, too, so it must have arrived.
        self._reporter.flush()
        try:
            return float(self._session.send(_routes.get_best_searcher_validation_metric(self._exp_id))["metric"])
        except errors.NotFound:
            return None

    def _get_last_validation(self) -> Optional[int]:
        """Steps completed at this trial's latest validation, as the master knows it."""
        trial = self._session.send(_routes.get_trial(self._trial_id))["trial"]
        latest = trial.get("latestValidation")
        return latest.get("totalBatches") if latest else None

    def get_tensorboard_path(self) -> pathlib.Path:
        """Directory to write TensorBoard's event files to."""
        if self._tensorboard is None:
            raise ValueError("this task has no directory for TensorBoard's files")
        return self._tensorboard.base_path

    def upload_tensorboard_files(
        self,
        selector: Callable[[pathlib.Path], bool] = lambda _: True,
        mangler: Callable[[pathlib.Path, int], pathlib.Path] = lambda p, __: p,
    ) -> None:
        """Copy new and changed files of :meth:`get_tensorboard_path` to checkpoint storage, in the background.

        The end of ``with core.init()`` waits for it.

        Parameters
        ----------
        selector : callable
            Gets a path relative to the directory, tells whether to copy the file.
        mangler : callable
            Gets that path and this process's rank, returns the path to store the file under.

        Raises
        ------
        RuntimeError
            In :attr:`TensorboardMode.AUTO`, where it happens by itself.
        """
        if self._tensorboard_mode == TensorboardMode.AUTO:
            raise RuntimeError("upload_tensorboard_files() needs core.init(tensorboard_mode=TensorboardMode.MANUAL)")
        if self._tensorboard is None:
            raise ValueError("this task has no directory for TensorBoard's files")
        self._tensorboard.sync(selector, mangler, self._distributed.rank)


def last_validation(train: TrainContext) -> Optional[int]:
    """The steps completed at this trial's latest validation, as the master knows it; None if there was none."""
    return train._get_last_validation()


class DummyTrainContext(TrainContext):
    """Reports off the cluster: they go to the log."""

    def __init__(self, tensorboard_path: Optional[pathlib.Path] = None) -> None:
        self._tensorboard_path = tensorboard_path
        self._metadata: Optional[Dict[str, Any]] = None

    def set_status(self, status: str) -> None:
        logger.info("status: %s", status)

    def set_metadata(self, metadata: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        self._metadata = metadata
        logger.info("metadata: %s", metadata)
        return metadata

    def get_metadata(self) -> Optional[Dict[str, Any]]:
        return self._metadata

    def _report(
        self,
        group: str,
        steps_completed: int,
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
        report_time: Optional[datetime.datetime] = None,
    ) -> None:
        logger.info("%s metrics after %s steps: %s", group, steps_completed, _readable(metrics))

    def report_progress(self, progress: float) -> None:
        logger.info("progress: %.1f %%", 100 * progress)

    def report_early_exit(self, reason: EarlyExitReason) -> None:
        logger.info("early exit: %s", EarlyExitReason(reason).name)

    def get_experiment_best_validation(self) -> Optional[float]:
        return None

    def _get_last_validation(self) -> Optional[int]:
        return None

    def get_tensorboard_path(self) -> pathlib.Path:
        if self._tensorboard_path is None:
            self._tensorboard_path = pathlib.Path(tempfile.mkdtemp(prefix="tensorboard-"))
        return self._tensorboard_path

    def upload_tensorboard_files(
        self,
        selector: Callable[[pathlib.Path], bool] = lambda _: True,
        mangler: Callable[[pathlib.Path, int], pathlib.Path] = lambda p, __: p,
    ) -> None:
        logger.info("TensorBoard's files stay in %s", self.get_tensorboard_path())
