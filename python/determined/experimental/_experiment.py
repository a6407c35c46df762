"""Experiments."""

import base64
import enum
import functools
import io
import pathlib
import sys
import time
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Set, Union

from determined import _http, _routes
from determined.experimental import _api, _checkpoint
from determined.experimental._api import OrderBy
from determined.experimental._checkpoint import Checkpoint, CheckpointSortBy, checkpoint_from_answer
from determined.experimental._trial import Trial, TrialSortBy, trial_from_answer

if TYPE_CHECKING:
    from determined import _messages

# Tell that we still wait this often.
WORD_EVERY_S = 60.0


class ExperimentState(enum.Enum):
    """The state of an experiment, as the master names it."""

    ACTIVE = "STATE_ACTIVE"
    PAUSED = "STATE_PAUSED"
    STOPPING_COMPLETED = "STATE_STOPPING_COMPLETED"
    STOPPING_CANCELED = "STATE_STOPPING_CANCELED"
    STOPPING_ERROR = "STATE_STOPPING_ERROR"
    COMPLETED = "STATE_COMPLETED"
    CANCELED = "STATE_CANCELED"
    ERROR = "STATE_ERROR"
    DELETED = "STATE_DELETED"
    DELETING = "STATE_DELETING"
    DELETE_FAILED = "STATE_DELETE_FAILED"
    STOPPING_KILLED = "STATE_STOPPING_KILLED"
    QUEUED = "STATE_QUEUED"
    PULLING = "STATE_PULLING"
    STARTING = "STATE_STARTING"
    RUNNING = "STATE_RUNNING"


class ExperimentSortBy(enum.Enum):
    """The order of a list of experiments."""

    ID = "SORT_BY_ID"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    START_TIME = "SORT_BY_START_TIME"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    NUM_TRIALS = "SORT_BY_NUM_TRIALS"
    PROGRESS = "SORT_BY_PROGRESS"
    USER = "SORT_BY_USER"
    NAME = "SORT_BY_NAME"
    FORKED_FROM = "SORT_BY_FORKED_FROM"
    RESOURCE_POOL = "SORT_BY_RESOURCE_POOL"
    PROJECT_ID = "SORT_BY_PROJECT_ID"
    CHECKPOINT_SIZE = "SORT_BY_CHECKPOINT_SIZE"
    CHECKPOINT_COUNT = "SORT_BY_CHECKPOINT_COUNT"
    SEARCHER_METRIC_VAL = "SORT_BY_SEARCHER_METRIC_VAL"


class ExperimentOrderBy(enum.Enum):
    """Older form of :class:`OrderBy`."""

    ASCENDING = "ORDER_BY_ASC"
    ASC = ASCENDING
    DESCENDING = "ORDER_BY_DESC"
    DESC = DESCENDING


TERMINAL_STATES = {
    ExperimentState.COMPLETED,
    ExperimentState.CANCELED,
    ExperimentState.ERROR,
    ExperimentState.DELETED,
    ExperimentState.DELETE_FAILED,
}


class Experiment:
    """An experiment. Get it from ``client.get_experiment()`` or ``client.create_experiment()``.

    Attributes
    ----------
    config : dict or None
        The effective configuration.
    state : ExperimentState or None
    labels : set of str or None
    archived : bool or None
    name, description, notes : str or None
    progress : float or None
        From 0 to 1.
    project_id, workspace_id : int or None
    """

    def __init__(self, experiment_id: int, session: _http.Session) -> None:
        self._id = experiment_id
        self._session = session
        self.config: Optional[Dict[str, Any]] = None
        self.state: Optional[ExperimentState] = None
        self.labels: Optional[Set[str]] = None
        self.archived: Optional[bool] = None
        self.name: Optional[str] = None
        self.progress: Optional[float] = None
        self.description: Optional[str] = None
        self.notes: Optional[str] = None
        self.project_id: Optional[int] = None
        self.workspace_id: Optional[int] = None

    def __repr__(self) -> str:
        return f"Experiment(id={self.id})"

    @property
    def id(self) -> int:
        """The experiment's number."""
        return self._id

    def _take(self, answer: "_messages.Experiment") -> None:
        self.config = answer.get("config") or self.config
        self.state = ExperimentState(answer["state"])
        self.archived = answer["archived"]
        self.name = answer["name"]
        self.progress = answer.get("progress")
        self.description = answer.get("description")
        self.notes = answer.get("notes")
        self.labels = set(answer.get("labels") or [])
        self.project_id = answer["projectId"]
        self.workspace_id = answer.get("workspaceId")

    def reload(self) -> None:
        """Fetch the experiment from the master again, and replace the values of all attributes."""
        self._take(self._session.send(_routes.get_experiment(self._id))["experiment"])

    # ---- changes ----

    def _patch(self, changes: "_messages.PatchExperiment") -> "_messages.Experiment":
        request = _routes.patch_experiment(self._id, experiment={**changes, "id": self._id})
        answer = self._session.send(request)["experiment"]
        self.labels = set(answer.get("labels") or [])
        return answer

    def set_name(self, name: str) -> None:
        """Change the experiment's name."""
        self.name = self._patch({"id": self._id, "name": name})["name"]

    def set_description(self, description: str) -> None:
        """Replace the experiment's description."""
        self.description = self._patch({"id": self._id, "description": description}).get("description")

    def set_notes(self, notes: str) -> None:
        """Replace the experiment's notes, a text in Markdown."""
        self.notes = self._patch({"id": self._id, "notes": notes}).get("notes")

    def set_labels(self, labels: Set[str]) -> None:
        """Replace the experiment's labels."""
        self._patch({"id": self._id, "labels": sorted(labels)})

    def add_label(self, label: str) -> None:
        """Add a label. It is no error if the experiment has the label already."""
        self.reload()
        self.set_labels({*(self.labels or ()), label})

    def remove_label(self, label: str) -> None:
        """Remove a label. It is no error if the experiment does not have the label."""
        self.reload()
        self.set_labels(set(self.labels or ()) - {label})

    def activate(self) -> None:
        """Let the experiment's trials run again after :meth:`pause`."""
        self._session.send(_routes.activate_experiment(self._id))

    def pause(self) -> None:
        """Ask the experiment's trials to save a checkpoint and release their slots, until :meth:`activate`."""
        self._session.send(_routes.pause_experiment(self._id))

    def cancel(self) -> None:
        """Ask the experiment's trials to save a checkpoint, and end the experiment in the state ``CANCELED``."""
        self._session.send(_routes.cancel_experiment(self._id))

    def kill(self) -> None:
        """End the experiment without waiting for a checkpoint, in the state ``CANCELED``."""
        self._session.send(_routes.kill_experiment(self._id))

    def archive(self) -> None:
        """Hide the experiment from lists that do not ask for archived experiments. It must have ended."""
        self._session.send(_routes.archive_experiment(self._id))
        self.archived = True

    def unarchive(self) -> None:
        """Show the experiment in lists again."""
        self._session.send(_routes.unarchive_experiment(self._id))
        self.archived = False

    def delete(self) -> None:
        """Delete the experiment with its trials, logs, metrics and checkpoints. This cannot be undone.

        The master deletes in the background: the call returns when the state is ``DELETING``.
        """
        self._session.send(_routes.delete_experiment(self._id))

    def move_to_project(self, workspace_name: str, project_name: str) -> None:
        """Move the experiment to another project.

        Parameters
        ----------
        workspace_name, project_name : str

        Raises
        ------
        ValueError
            If there is no such workspace or project.
        """
        from determined.experimental._workspace import Workspace

        project = Workspace(self._session, workspace_name=workspace_name).get_project(project_name)
        self._session.send(_routes.move_experiment(self._id, destination_project_id=project.id))
        self.project_id, self.workspace_id = project.id, project.workspace_id

    def delete_tensorboard_files(self) -> None:
        """Delete the files that the experiment has stored for TensorBoard."""
        self._session.send(_routes.delete_tensorboard_files(self._id))

    # ---- what belongs to it ----

    def download_code(self, output_dir: Optional[str] = None) -> str:
        """Fetch the files that the experiment was created with, as one file ``exp-ID_model_def.tar.gz``.

        Parameters
        ----------
        output_dir : str, optional
            The directory to write the file into, which is made if it is missing; by default the current directory.

        Returns
        -------
        str
            The file's path.
        """
        import tarfile  # programs that fetch nothing start sooner without it

        packed = base64.b64decode(self._session.send(_routes.get_model_def(self._id))["b64Tgz"])
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz"):
            pass  # so that nothing else is called a tar.gz
        path = pathlib.Path(output_dir or ".").expanduser() / f"exp-{self._id}_model_def.tar.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(packed)
        return str(path)

    def iter_trials(
        self,
        sort_by: TrialSortBy = TrialSortBy.ID,
        order_by: OrderBy = OrderBy.ASCENDING,
        limit: Optional[int] = None,
    ) -> Iterator[Trial]:
        """Yield the experiment's trials. They are fetched in pages of 200, when they are asked for.

        Parameters
        ----------
        sort_by : TrialSortBy
        order_by : OrderBy
        limit : int, optional
            Yield at most this many trials.
        """
        page = functools.partial(_routes.get_experiment_trials, self._id, sort_by=sort_by, order_by=order_by)
        for answer in _api.pages(self._session, page, lambda answer: answer.get("trials"), limit):
            yield trial_from_answer(answer, self._session)

    def list_trials(self, sort_by: TrialSortBy = TrialSortBy.ID, order_by: OrderBy = OrderBy.ASCENDING) -> List[Trial]:
        """Return all trials of the experiment.

        Parameters
        ----------
        sort_by : TrialSortBy
        order_by : OrderBy
        """
        return list(self.iter_trials(sort_by, order_by))

    def get_trials(self, sort_by: TrialSortBy = TrialSortBy.ID, order_by: OrderBy = OrderBy.ASCENDING) -> List[Trial]:
        """Return all trials of the experiment: an older name of :meth:`list_trials`."""
        _api.deprecated("Experiment.get_trials()", "Experiment.list_trials()")
        return self.list_trials(sort_by, order_by)

    def await_first_trial(self, interval: float = 0.1) -> Trial:
        """Wait until the experiment has a trial, and return the first one. There is no time limit.

        Parameters
        ----------
        interval : float
            Seconds between two requests to the master.
        """
        while True:
            for trial in self.iter_trials(TrialSortBy.START_TIME, OrderBy.ASCENDING, limit=1):
                return trial
            time.sleep(interval)

    def wait(self, interval: float = 5.0) -> ExperimentState:
        """Wait until the experiment has ended. There is no time limit.

        Parameters
        ----------
        interval : float
            Seconds between two requests to the master.

        Returns
        -------
        ExperimentState
            The state in which the experiment has ended.

        Raises
        ------
        ValueError
            If the experiment is paused: it would not end by itself.
        """
        said = time.monotonic()
        while True:
            self.reload()
            assert self.state is not None
            if self.state in TERMINAL_STATES:
                return self.state
            if self.state == ExperimentState.PAUSED:
                raise ValueError(f"experiment {self.id} is paused: activate() it before waiting for its end")
            if time.monotonic() - said >= WORD_EVERY_S:
                said = time.monotonic()
                print(f"still waiting for experiment {self.id} ({self.state.name})", file=sys.stderr)
            time.sleep(interval)

    def list_checkpoints(
        self,
        sort_by: Optional[Union[str, CheckpointSortBy]] = None,
        order_by: Optional[OrderBy] = None,
        max_results: Optional[int] = None,
    ) -> List[Checkpoint]:
        """Return the complete checkpoints of all trials. Parameters: see :meth:`Trial.list_checkpoints`."""
        page = functools.partial(_routes.get_experiment_checkpoints, self._id, **_checkpoint.choice(sort_by, order_by))
        found = _api.pages(self._session, page, lambda answer: answer.get("checkpoints"), max_results)
        return [checkpoint_from_answer(c, self._session) for c in found]

    def top_checkpoint(self, sort_by: Optional[str] = None, smaller_is_better: Optional[bool] = None) -> Checkpoint:
        """Return the best checkpoint. Deprecated: :meth:`list_checkpoints` with ``max_results=1``."""
        _api.deprecated("Experiment.top_checkpoint()", "Experiment.list_checkpoints(max_results=1)")
        order = None if sort_by is None else OrderBy.ASC if smaller_is_better else OrderBy.DESC
        found = self.list_checkpoints(sort_by, order, 1)
        if not found:
            raise AssertionError(f"experiment {self.id} has no complete checkpoint")
        return found[0]

    def top_n_checkpoints(
        self, limit: int, sort_by: Optional[str] = None, smaller_is_better: Optional[bool] = None
    ) -> List[Checkpoint]:
        """Return the best checkpoint of each of the best trials. Deprecated: :meth:`list_checkpoints`.

        Parameters
        ----------
        limit : int
            How many at most.
        sort_by : str, optional
            A validation metric; by default the searcher's.
        smaller_is_better : bool, optional
            With ``sort_by``.
        """
        _api.deprecated("Experiment.top_n_checkpoints()", "Experiment.list_checkpoints()")
        order = None if sort_by is None else OrderBy.ASC if smaller_is_better else OrderBy.DESC
        best: Dict[Optional[int], Checkpoint] = {}
        for checkpoint in self.list_checkpoints(sort_by, order):
            best.setdefault(checkpoint.training.trial_id if checkpoint.training else None, checkpoint)
        if not best:
            raise AssertionError(f"experiment {self.id} has no complete checkpoint")
        return list(best.values())[:limit]

    def get_pachyderm_config(self) -> Dict[str, Any]:
        """Raise ``ValueError``: this platform has no integration with Pachyderm."""
        raise ValueError("there is no integration with Pachyderm")


def experiment_from_answer(answer: "_messages.Experiment", session: _http.Session) -> Experiment:
    """The experiment that an answer of the master describes."""
    experiment = Experiment(answer["id"], session)
    experiment._take(answer)
    return experiment


class ExperimentReference(Experiment):
    """Older name of :class:`Experiment`."""

    def __init__(self, experiment_id: int, session: _http.Session) -> None:
        _api.deprecated("ExperimentReference", "Experiment")
        super().__init__(experiment_id, session)
