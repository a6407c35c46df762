"""Features of a task's context whose form may still change."""

from typing import TYPE_CHECKING, Any, Optional

from determined import _http, _routes

if TYPE_CHECKING:
    from determined import _messages


class ExperimentalCoreContext:
    """Says what a task works with, so that its metrics appear there, too. Reached as ``core_context.experimental``."""

    def __init__(self, session: Optional[_http.Session], trial_id: Optional[int]) -> None:
        self._session = session
        self._trial_id = trial_id

    def report_task_using_checkpoint(self, checkpoint: Any) -> None:
        """Link this trial, an inference, with a checkpoint.

        Parameters
        ----------
        checkpoint : Checkpoint
            Of the SDK; its ``uuid`` is used.
        """
        self._report(checkpoint.uuid)

    def report_task_using_model_version(self, model_version: Any) -> None:
        """Link this trial, an inference, with a version of a registered model.

        Parameters
        ----------
        model_version : ModelVersion
            Of the SDK; its ``checkpoint``, ``model_id`` and ``model_version`` are used.

        Raises
        ------
        ValueError
            If the version has no checkpoint.
        """
        if model_version.checkpoint is None:
            raise ValueError(f"version {model_version.model_version} of the model has no checkpoint to report")
        self._report(model_version.checkpoint.uuid, model_version)

    def _report(self, checkpoint_uuid: str, model_version: Any = None) -> None:
        assert self._session is not None and self._trial_id is not None
        info: _messages.TrialSourceInfo = {
            "checkpointUuid": checkpoint_uuid,
            "trialId": self._trial_id,
            "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE",
        }
        if model_version is not None:
            info["modelId"] = model_version.model_id
            info["modelVersion"] = model_version.model_version
        self._session.send(_routes.report_trial_source_info(trial_source_info=info))


class DummyExperimentalCoreContext(ExperimentalCoreContext):
    """Off the cluster there is nothing to link."""

    def __init__(self) -> None:
        super().__init__(None, None)

    def _report(self, checkpoint_uuid: str, model_version: Any = None) -> None:
        pass
