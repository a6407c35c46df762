"""Features of a task's context whose form may still change."""

from typing import Any, Dict, Optional

from determined import _http


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
        self._report({"checkpointUuid": checkpoint.uuid})

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
        self._report(
            {
                "checkpointUuid": model_version.checkpoint.uuid,
                "modelId": model_version.model_id,
                "modelVersion": model_version.model_version,
            }
        )

    def _report(self, source: Dict[str, Any]) -> None:
        assert self._session is not None
        info = {**source, "trialId": self._trial_id, "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE"}
        self._session.post("/api/v1/trial-source-info", {"trialSourceInfo": info})


class DummyExperimentalCoreContext(ExperimentalCoreContext):
    """Off the cluster there is nothing to link."""

    def __init__(self) -> None:
        super().__init__(None, None)

    def _report(self, source: Dict[str, Any]) -> None:
        pass
