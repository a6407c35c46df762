"""The requests to the master that the library makes, one function for each route.

Made by tools/gen-python from contract/api.json: change that, and run it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

from determined._request import Choice, Request, Stream, path_part

if TYPE_CHECKING:
    from determined import _messages


def login(
    *,
    username: str,
    password: str,
    is_hashed: Optional[bool] = None,
) -> Request[_messages.LoginResponse]:
    """``POST /api/v1/auth/login``"""
    return Request(
        "POST",
        "/api/v1/auth/login",
        members={
            "username": username,
            "password": password,
            "isHashed": is_hashed,
        },
    )


def logout(
    *,
    everywhere: Optional[bool] = None,
) -> Request[_messages.LogoutResponse]:
    """``POST /api/v1/auth/logout``"""
    return Request(
        "POST",
        "/api/v1/auth/logout",
        parameters={
            "everywhere": everywhere,
        },
    )


def get_users(
    *,
    sort_by: Optional[Choice] = None,
    order_by: Optional[Choice] = None,
    offset: Optional[int] = None,
    limit: Optional[int] = None,
    name: Optional[str] = None,
    active: Optional[bool] = None,
    admin: Optional[bool] = None,
    role_id_assigned_directly_to_user: Optional[Sequence[int]] = None,
) -> Request[_messages.GetUsersResponse]:
    """``GET /api/v1/users``"""
    return Request(
        "GET",
        "/api/v1/users",
        parameters={
            "sortBy": sort_by,
            "orderBy": order_by,
            "offset": offset,
            "limit": limit,
            "name": name,
            "active": active,
            "admin": admin,
            "roleIdAssignedDirectlyToUser": role_id_assigned_directly_to_user,
        },
    )


def get_user(
    user_id: int,
) -> Request[_messages.GetUserResponse]:
    """``GET /api/v1/users/{userId}``"""
    return Request(
        "GET",
        f"/api/v1/users/{user_id}",
    )


def get_user_by_username(
    username: str,
) -> Request[_messages.GetUserByUsernameResponse]:
    """``GET /api/v1/users/{username}/by-username``"""
    return Request(
        "GET",
        f"/api/v1/users/{path_part(username)}/by-username",
    )


def get_me() -> Request[_messages.GetMeResponse]:
    """``GET /api/v1/me``"""
    return Request(
        "GET",
        "/api/v1/me",
    )


def post_user(
    *,
    user: Optional[_messages.User] = None,
    password: Optional[str] = None,
    is_hashed: Optional[bool] = None,
) -> Request[_messages.PostUserResponse]:
    """``POST /api/v1/users``"""
    return Request(
        "POST",
        "/api/v1/users",
        members={
            "user": user,
            "password": password,
            "isHashed": is_hashed,
        },
    )


def patch_user(
    user_id: int,
    *,
    user: _messages.PatchUser,
) -> Request[_messages.PatchUserResponse]:
    """``PATCH /api/v1/users/{userId}``"""
    return Request(
        "PATCH",
        f"/api/v1/users/{user_id}",
        body=user,
    )


def get_master() -> Request[_messages.GetMasterResponse]:
    """``GET /api/v1/master``"""
    return Request(
        "GET",
        "/api/v1/master",
    )


def create_experiment(
    *,
    model_definition: Optional[List[_messages.File]] = None,
    config: Optional[str] = None,
    validate_only: Optional[bool] = None,
    parent_id: Optional[int] = None,
    activate: Optional[bool] = None,
    project_id: Optional[int] = None,
    template: Optional[str] = None,
    unmanaged: Optional[bool] = None,
) -> Request[_messages.CreateExperimentResponse]:
    """``POST /api/v1/experiments``"""
    return Request(
        "POST",
        "/api/v1/experiments",
        members={
            "modelDefinition": model_definition,
            "config": config,
            "validateOnly": validate_only,
            "parentId": parent_id,
            "activate": activate,
            "projectId": project_id,
            "template": template,
            "unmanaged": unmanaged,
        },
    )


def put_experiment(
    external_experiment_id: str,
    *,
    create_experiment_request: _messages.CreateExperimentRequest,
) -> Request[_messages.PutExperimentResponse]:
    """``PUT /api/v1/experiments/by-external-id/{externalExperimentId}``"""
    return Request(
        "PUT",
        f"/api/v1/experiments/by-external-id/{path_part(external_experiment_id)}",
        body=create_experiment_request,
    )


def get_experiment(
    experiment_id: int,
) -> Request[_messages.GetExperimentResponse]:
    """``GET /api/v1/experiments/{experimentId}``"""
    return Request(
        "GET",
        f"/api/v1/experiments/{experiment_id}",
    )


def get_experiments(
    *,
    sort_by: Optional[Choice] = None,
    order_by: Optional[Choice] = None,
    offset: Optional[int] = None,
    limit: Optional[int] = None,
    description: Optional[str] = None,
    name: Optional[str] = None,
    labels: Optional[Sequence[str]] = None,
    archived: Optional[bool] = None,
    states: Optional[Sequence[Choice]] = None,
    users: Optional[Sequence[str]] = None,
    user_ids: Optional[Sequence[int]] = None,
    project_id: Optional[int] = None,
    experiment_id_filter_lt: Optional[int] = None,
    experiment_id_filter_lte: Optional[int] = None,
    experiment_id_filter_gt: Optional[int] = None,
    experiment_id_filter_gte: Optional[int] = None,
    experiment_id_filter_incl: Optional[Sequence[int]] = None,
    experiment_id_filter_not_in: Optional[Sequence[int]] = None,
    show_trial_data: Optional[bool] = None,
    brief: Optional[bool] = None,
) -> Request[_messages.GetExperimentsResponse]:
    """``GET /api/v1/experiments``"""
    return Request(
        "GET",
        "/api/v1/experiments",
        parameters={
            "sortBy": sort_by,
            "orderBy": order_by,
            "offset": offset,
            "limit": limit,
            "description": description,
            "name": name,
            "labels": labels,
            "archived": archived,
            "states": states,
            "users": users,
            "userIds": user_ids,
            "projectId": project_id,
            "experimentIdFilter.lt": experiment_id_filter_lt,
            "experimentIdFilter.lte": experiment_id_filter_lte,
            "experimentIdFilter.gt": experiment_id_filter_gt,
            "experimentIdFilter.gte": experiment_id_filter_gte,
            "experimentIdFilter.incl": experiment_id_filter_incl,
            "experimentIdFilter.notIn": experiment_id_filter_not_in,
            "showTrialData": show_trial_data,
            "brief": brief,
        },
    )


def get_model_def(
    experiment_id: int,
) -> Request[_messages.GetModelDefResponse]:
    """``GET /api/v1/experiments/{experimentId}/model_def``"""
    return Request(
        "GET",
        f"/api/v1/experiments/{experiment_id}/model_def",
    )


def activate_experiment(
    id: int,
) -> Request[_messages.ActivateExperimentResponse]:
    """``POST /api/v1/experiments/{id}/activate``"""
    return Request(
        "POST",
        f"/api/v1/experiments/{id}/activate",
    )


def pause_experiment(
    id: int,
) -> Request[_messages.PauseExperimentResponse]:
    """``POST /api/v1/experiments/{id}/pause``"""
    return Request(
        "POST",
        f"/api/v1/experiments/{id}/pause",
    )


def cancel_experiment(
    id: int,
) -> Request[_messages.CancelExperimentResponse]:
    """``POST /api/v1/experiments/{id}/cancel``"""
    return Request(
        "POST",
        f"/api/v1/experiments/{id}/cancel",
    )


def kill_experiment(
    id: int,
) -> Request[_messages.KillExperimentResponse]:
    """``POST /api/v1/experiments/{id}/kill``"""
    return Request(
        "POST",
        f"/api/v1/experiments/{id}/kill",
    )


def archive_experiment(
    id: int,
) -> Request[_messages.ArchiveExperimentResponse]:
    """``POST /api/v1/experiments/{id}/archive``"""
    return Request(
        "POST",
        f"/api/v1/experiments/{id}/archive",
    )


def unarchive_experiment(
    id: int,
) -> Request[_messages.UnarchiveExperimentResponse]:
    """``POST /api/v1/experiments/{id}/unarchive``"""
    return Request(
        "POST",
        f"/api/v1/experiments/{id}/unarchive",
    )


def patch_experiment(
    experiment_id: int,
    *,
    experiment: _messages.PatchExperiment,
) -> Request[_messages.PatchExperimentResponse]:
    """``PATCH /api/v1/experiments/{experiment.id}``"""
    return Request(
        "PATCH",
        f"/api/v1/experiments/{experiment_id}",
        body=experiment,
    )


def delete_experiment(
    experiment_id: int,
) -> Request[_messages.DeleteExperimentResponse]:
    """``DELETE /api/v1/experiments/{experimentId}``"""
    return Request(
        "DELETE",
        f"/api/v1/experiments/{experiment_id}",
    )


def get_best_searcher_validation_metric(
    experiment_id: int,
) -> Request[_messages.GetBestSearcherValidationMetricResponse]:
    """``GET /api/v1/experiments/{experimentId}/searcher/best_searcher_validation_metric``"""
    return Request(
        "GET",
        f"/api/v1/experiments/{experiment_id}/searcher/best_searcher_validation_metric",
    )


def get_experiment_checkpoints(
    id: int,
    *,
    sort_by_attr: Optional[Choice] = None,
    sort_by_metric: Optional[str] = None,
    order_by: Optional[Choice] = None,
    offset: Optional[int] = None,
    limit: Optional[int] = None,
    states: Optional[Sequence[Choice]] = None,
) -> Request[_messages.GetExperimentCheckpointsResponse]:
    """``GET /api/v1/experiments/{id}/checkpoints``"""
    return Request(
        "GET",
        f"/api/v1/experiments/{id}/checkpoints",
        parameters={
            "sortByAttr": sort_by_attr,
            "sortByMetric": sort_by_metric,
            "orderBy": order_by,
            "offset": offset,
            "limit": limit,
            "states": states,
        },
    )


def get_experiment_trials(
    experiment_id: int,
    *,
    sort_by: Optional[Choice] = None,
    order_by: Optional[Choice] = None,
    offset: Optional[int] = None,
    limit: Optional[int] = None,
    states: Optional[Sequence[Choice]] = None,
) -> Request[_messages.GetExperimentTrialsResponse]:
    """``GET /api/v1/experiments/{experimentId}/trials``"""
    return Request(
        "GET",
        f"/api/v1/experiments/{experiment_id}/trials",
        parameters={
            "sortBy": sort_by,
            "orderBy": order_by,
            "offset": offset,
            "limit": limit,
            "states": states,
        },
    )


def report_trial_source_info(
    *,
    trial_source_info: _messages.TrialSourceInfo,
) -> Request[_messages.ReportTrialSourceInfoResponse]:
    """``POST /api/v1/trial-source-info``"""
    return Request(
        "POST",
        "/api/v1/trial-source-info",
        members={
            "trialSourceInfo": trial_source_info,
        },
    )


def put_trial(
    *,
    create_trial_request: Optional[_messages.CreateTrialRequest] = None,
    external_trial_id: Optional[str] = None,
) -> Request[_messages.PutTrialResponse]:
    """``PUT /api/v1/trials``"""
    return Request(
        "PUT",
        "/api/v1/trials",
        members={
            "createTrialRequest": create_trial_request,
            "externalTrialId": external_trial_id,
        },
    )


def patch_trial(
    trial_id: int,
    *,
    state: Optional[str] = None,
) -> Request[_messages.PatchTrialResponse]:
    """``PATCH /api/v1/trials/{trialId}``"""
    return Request(
        "PATCH",
        f"/api/v1/trials/{trial_id}",
        members={
            "state": state,
        },
    )


def start_trial(
    trial_id: int,
    *,
    resume: Optional[bool] = None,
) -> Request[_messages.StartTrialResponse]:
    """``POST /api/v1/trials/{trialId}/start``"""
    return Request(
        "POST",
        f"/api/v1/trials/{trial_id}/start",
        members={
            "resume": resume,
        },
    )


def run_prepare_for_reporting(
    *,
    run_id: int,
    checkpoint_storage: Optional[Dict[str, Any]] = None,
) -> Request[_messages.RunPrepareForReportingResponse]:
    """``POST /api/v1/runs/start``"""
    return Request(
        "POST",
        "/api/v1/runs/start",
        members={
            "runId": run_id,
            "checkpointStorage": checkpoint_storage,
        },
    )


def get_trial(
    trial_id: int,
) -> Request[_messages.GetTrialResponse]:
    """``GET /api/v1/trials/{trialId}``"""
    return Request(
        "GET",
        f"/api/v1/trials/{trial_id}",
    )


def trial_logs(
    trial_id: int,
    *,
    limit: Optional[int] = None,
    follow: Optional[bool] = None,
    agent_ids: Optional[Sequence[str]] = None,
    container_ids: Optional[Sequence[str]] = None,
    rank_ids: Optional[Sequence[int]] = None,
    levels: Optional[Sequence[Choice]] = None,
    stdtypes: Optional[Sequence[str]] = None,
    sources: Optional[Sequence[str]] = None,
    timestamp_before: Optional[str] = None,
    timestamp_after: Optional[str] = None,
    order_by: Optional[Choice] = None,
    search_text: Optional[str] = None,
    enable_regex: Optional[bool] = None,
) -> Stream[_messages.TrialLogsResponse]:
    """``GET /api/v1/trials/{trialId}/logs``"""
    return Stream(
        "GET",
        f"/api/v1/trials/{trial_id}/logs",
        parameters={
            "limit": limit,
            "follow": follow,
            "agentIds": agent_ids,
            "containerIds": container_ids,
            "rankIds": rank_ids,
            "levels": levels,
            "stdtypes": stdtypes,
            "sources": sources,
            "timestampBefore": timestamp_before,
            "timestampAfter": timestamp_after,
            "orderBy": order_by,
            "searchText": search_text,
            "enableRegex": enable_regex,
        },
    )


def get_metrics(
    *,
    trial_ids: Optional[Sequence[int]] = None,
    group: Optional[str] = None,
) -> Stream[_messages.GetMetricsResponse]:
    """``GET /api/v1/trials/metrics/trial_metrics``"""
    return Stream(
        "GET",
        "/api/v1/trials/metrics/trial_metrics",
        parameters={
            "trialIds": trial_ids,
            "group": group,
        },
    )


def get_training_metrics(
    *,
    trial_ids: Optional[Sequence[int]] = None,
) -> Stream[_messages.GetTrainingMetricsResponse]:
    """``GET /api/v1/trials/metrics/training_metrics``"""
    return Stream(
        "GET",
        "/api/v1/trials/metrics/training_metrics",
        parameters={
            "trialIds": trial_ids,
        },
    )


def get_validation_metrics(
    *,
    trial_ids: Optional[Sequence[int]] = None,
) -> Stream[_messages.GetValidationMetricsResponse]:
    """``GET /api/v1/trials/metrics/validation_metrics``"""
    return Stream(
        "GET",
        "/api/v1/trials/metrics/validation_metrics",
        parameters={
            "trialIds": trial_ids,
        },
    )


def kill_trial(
    id: int,
) -> Request[_messages.KillTrialResponse]:
    """``POST /api/v1/trials/{id}/kill``"""
    return Request(
        "POST",
        f"/api/v1/trials/{id}/kill",
    )


def get_trial_checkpoints(
    id: int,
    *,
    sort_by_attr: Optional[Choice] = None,
    sort_by_metric: Optional[str] = None,
    order_by: Optional[Choice] = None,
    offset: Optional[int] = None,
    limit: Optional[int] = None,
    states: Optional[Sequence[Choice]] = None,
) -> Request[_messages.GetTrialCheckpointsResponse]:
    """``GET /api/v1/trials/{id}/checkpoints``"""
    return Request(
        "GET",
        f"/api/v1/trials/{id}/checkpoints",
        parameters={
            "sortByAttr": sort_by_attr,
            "sortByMetric": sort_by_metric,
            "orderBy": order_by,
            "offset": offset,
            "limit": limit,
            "states": states,
        },
    )


def allocation_preemption_signal(
    allocation_id: str,
    *,
    timeout_seconds: Optional[int] = None,
) -> Request[_messages.AllocationPreemptionSignalResponse]:
    """``GET /api/v1/allocations/{allocationId}/signals/preemption``"""
    return Request(
        "GET",
        f"/api/v1/allocations/{path_part(allocation_id)}/signals/preemption",
        parameters={
            "timeoutSeconds": timeout_seconds,
        },
    )


def ack_allocation_preemption_signal(
    allocation_id: str,
) -> Request[_messages.AckAllocationPreemptionSignalResponse]:
    """``POST /api/v1/allocations/{allocationId}/signals/ack_preemption``"""
    return Request(
        "POST",
        f"/api/v1/allocations/{path_part(allocation_id)}/signals/ack_preemption",
        members={},
    )


def mark_allocation_resources_daemon(
    allocation_id: str,
    resources_id: str,
) -> Request[_messages.MarkAllocationResourcesDaemonResponse]:
    """``POST /api/v1/allocations/{allocationId}/resources/{resourcesId}/daemon``"""
    return Request(
        "POST",
        f"/api/v1/allocations/{path_part(allocation_id)}/resources/{path_part(resources_id)}/daemon",
        members={},
    )


def put_allocation_environment(
    allocation_id: str,
    *,
    container_id: str,
    host: Optional[_messages.HostEnvironment] = None,
    python: Optional[_messages.PythonEnvironment] = None,
) -> Request[_messages.PutAllocationEnvironmentResponse]:
    """``PUT /api/v1/allocations/{allocationId}/environment``"""
    return Request(
        "PUT",
        f"/api/v1/allocations/{path_part(allocation_id)}/environment",
        members={
            "containerId": container_id,
            "host": host,
            "python": python,
        },
    )


def allocation_all_gather(
    allocation_id: str,
    *,
    data: Dict[str, Any],
    request_uuid: Optional[str] = None,
    num_peers: Optional[int] = None,
) -> Request[_messages.AllocationAllGatherResponse]:
    """``POST /api/v1/allocations/{allocationId}/all_gather``"""
    return Request(
        "POST",
        f"/api/v1/allocations/{path_part(allocation_id)}/all_gather",
        members={
            "requestUuid": request_uuid,
            "numPeers": num_peers,
            "data": data,
        },
    )


def report_gang_probe(
    allocation_id: str,
    *,
    failed: Optional[bool] = None,
    bad_agents: Optional[List[str]] = None,
    report: Optional[str] = None,
) -> Request[_messages.ReportGangProbeResponse]:
    """``POST /api/v1/allocations/{allocationId}/gang_probe``"""
    return Request(
        "POST",
        f"/api/v1/allocations/{path_part(allocation_id)}/gang_probe",
        members={
            "failed": failed,
            "badAgents": bad_agents,
            "report": report,
        },
    )


def report_trial_searcher_early_exit(
    trial_id: int,
    *,
    early_exit: _messages.TrialEarlyExit,
) -> Request[_messages.ReportTrialSearcherEarlyExitResponse]:
    """``POST /api/v1/trials/{trialId}/early_exit``"""
    return Request(
        "POST",
        f"/api/v1/trials/{trial_id}/early_exit",
        body=early_exit,
    )


def report_trial_progress(
    trial_id: int,
    *,
    progress: float,
    is_raw: Optional[bool] = None,
) -> Request[_messages.ReportTrialProgressResponse]:
    """``POST /api/v1/trials/{trialId}/progress``"""
    return Request(
        "POST",
        f"/api/v1/trials/{trial_id}/progress",
        members={
            "progress": progress,
            "isRaw": is_raw,
        },
    )


def get_current_trial_searcher_operation(
    trial_id: int,
) -> Request[_messages.GetCurrentTrialSearcherOperationResponse]:
    """``GET /api/v1/trials/{trialId}/searcher/operation``"""
    return Request(
        "GET",
        f"/api/v1/trials/{trial_id}/searcher/operation",
    )


def complete_trial_searcher_validation(
    trial_id: int,
    *,
    completed_operation: _messages.CompletedSearcherOperation,
) -> Request[_messages.CompleteTrialSearcherValidationResponse]:
    """``POST /api/v1/trials/{trialId}/searcher/completed_operation``"""
    return Request(
        "POST",
        f"/api/v1/trials/{trial_id}/searcher/completed_operation",
        body=completed_operation,
    )


def post_trial_runner_metadata(
    trial_id: int,
    *,
    metadata: _messages.TrialRunnerMetadata,
) -> Request[_messages.PostTrialRunnerMetadataResponse]:
    """``POST /api/v1/trials/{trialId}/runner/metadata``"""
    return Request(
        "POST",
        f"/api/v1/trials/{trial_id}/runner/metadata",
        body=metadata,
    )


def report_trial_metrics(
    metrics_trial_id: int,
    *,
    metrics: _messages.TrialMetrics,
    group: str,
) -> Request[_messages.ReportTrialMetricsResponse]:
    """``POST /api/v1/trials/{metrics.trialId}/metrics``"""
    return Request(
        "POST",
        f"/api/v1/trials/{metrics_trial_id}/metrics",
        members={
            "metrics": metrics,
            "group": group,
        },
    )


def report_checkpoint(
    *,
    checkpoint: _messages.Checkpoint,
) -> Request[_messages.ReportCheckpointResponse]:
    """``POST /api/v1/checkpoints``"""
    return Request(
        "POST",
        "/api/v1/checkpoints",
        body=checkpoint,
    )


def idle_notebook(
    notebook_id: str,
    *,
    idle: Optional[bool] = None,
) -> Request[_messages.IdleNotebookResponse]:
    """``PUT /api/v1/notebooks/{notebookId}/report_idle``"""
    return Request(
        "PUT",
        f"/api/v1/notebooks/{path_part(notebook_id)}/report_idle",
        members={
            "idle": idle,
        },
    )


def delete_tensorboard_files(
    experiment_id: int,
) -> Request[_messages.DeleteTensorboardFilesResponse]:
    """``DELETE /api/v1/experiments/{experimentId}/tensorboard-files``"""
    return Request(
        "DELETE",
        f"/api/v1/experiments/{experiment_id}/tensorboard-files",
    )


def get_model(
    model_name: str,
) -> Request[_messages.GetModelResponse]:
    """``GET /api/v1/models/{modelName}``"""
    return Request(
        "GET",
        f"/api/v1/models/{path_part(model_name)}",
    )


def post_model(
    *,
    name: str,
    description: Optional[str] = None,
    metadata: Optional[Dict[str, Any]] = None,
    labels: Optional[List[str]] = None,
    workspace_name: Optional[str] = None,
    workspace_id: Optional[int] = None,
    notes: Optional[str] = None,
) -> Request[_messages.PostModelResponse]:
    """``POST /api/v1/models``"""
    return Request(
        "POST",
        "/api/v1/models",
        members={
            "name": name,
            "description": description,
            "metadata": metadata,
            "labels": labels,
            "workspaceName": workspace_name,
            "workspaceId": workspace_id,
            "notes": notes,
        },
    )


def patch_model(
    model_name: str,
    *,
    model: _messages.PatchModel,
) -> Request[_messages.PatchModelResponse]:
    """``PATCH /api/v1/models/{modelName}``"""
    return Request(
        "PATCH",
        f"/api/v1/models/{path_part(model_name)}",
        body=model,
    )


def archive_model(
    model_name: str,
) -> Request[_messages.ArchiveModelResponse]:
    """``POST /api/v1/models/{modelName}/archive``"""
    return Request(
        "POST",
        f"/api/v1/models/{path_part(model_name)}/archive",
    )


def unarchive_model(
    model_name: str,
) -> Request[_messages.UnarchiveModelResponse]:
    """``POST /api/v1/models/{modelName}/unarchive``"""
    return Request(
        "POST",
        f"/api/v1/models/{path_part(model_name)}/unarchive",
    )


def move_model(
    model_name: str,
    *,
    destination_workspace_id: int,
) -> Request[_messages.MoveModelResponse]:
    """``POST /api/v1/models/{modelName}/move``"""
    return Request(
        "POST",
        f"/api/v1/models/{path_part(model_name)}/move",
        members={
            "destinationWorkspaceId": destination_workspace_id,
        },
    )


def delete_model(
    model_name: str,
) -> Request[_messages.DeleteModelResponse]:
    """``DELETE /api/v1/models/{modelName}``"""
    return Request(
        "DELETE",
        f"/api/v1/models/{path_part(model_name)}",
    )


def get_models(
    *,
    sort_by: Optional[Choice] = None,
    order_by: Optional[Choice] = None,
    offset: Optional[int] = None,
    limit: Optional[int] = None,
    name: Optional[str] = None,
    description: Optional[str] = None,
    labels: Optional[Sequence[str]] = None,
    archived: Optional[bool] = None,
    users: Optional[Sequence[str]] = None,
    workspace_names: Optional[Sequence[str]] = None,
    user_ids: Optional[Sequence[int]] = None,
    id: Optional[int] = None,
    workspace_ids: Optional[Sequence[int]] = None,
) -> Request[_messages.GetModelsResponse]:
    """``GET /api/v1/models``"""
    return Request(
        "GET",
        "/api/v1/models",
        parameters={
            "sortBy": sort_by,
            "orderBy": order_by,
            "offset": offset,
            "limit": limit,
            "name": name,
            "description": description,
            "labels": labels,
            "archived": archived,
            "users": users,
            "workspaceNames": workspace_names,
            "userIds": user_ids,
            "id": id,
            "workspaceIds": workspace_ids,
        },
    )


def get_model_labels(
    *,
    workspace_id: Optional[int] = None,
) -> Request[_messages.GetModelLabelsResponse]:
    """``GET /api/v1/model/labels``"""
    return Request(
        "GET",
        "/api/v1/model/labels",
        parameters={
            "workspaceId": workspace_id,
        },
    )


def get_model_version(
    model_name: str,
    model_version_num: str,
) -> Request[_messages.GetModelVersionResponse]:
    """``GET /api/v1/models/{modelName}/versions/{modelVersionNum}``"""
    return Request(
        "GET",
        f"/api/v1/models/{path_part(model_name)}/versions/{path_part(model_version_num)}",
    )


def get_model_versions(
    model_name: str,
    *,
    sort_by: Optional[Choice] = None,
    order_by: Optional[Choice] = None,
    offset: Optional[int] = None,
    limit: Optional[int] = None,
) -> Request[_messages.GetModelVersionsResponse]:
    """``GET /api/v1/models/{modelName}/versions``"""
    return Request(
        "GET",
        f"/api/v1/models/{path_part(model_name)}/versions",
        parameters={
            "sortBy": sort_by,
            "orderBy": order_by,
            "offset": offset,
            "limit": limit,
        },
    )


def post_model_version(
    model_name: str,
    *,
    checkpoint_uuid: str,
    name: Optional[str] = None,
    comment: Optional[str] = None,
    metadata: Optional[Dict[str, Any]] = None,
    labels: Optional[List[str]] = None,
    notes: Optional[str] = None,
) -> Request[_messages.PostModelVersionResponse]:
    """``POST /api/v1/models/{modelName}/versions``"""
    return Request(
        "POST",
        f"/api/v1/models/{path_part(model_name)}/versions",
        members={
            "checkpointUuid": checkpoint_uuid,
            "name": name,
            "comment": comment,
            "metadata": metadata,
            "labels": labels,
            "notes": notes,
        },
    )


def patch_model_version(
    model_name: str,
    model_version_num: str,
    *,
    model_version: _messages.PatchModelVersion,
) -> Request[_messages.PatchModelVersionResponse]:
    """``PATCH /api/v1/models/{modelName}/versions/{modelVersionNum}``"""
    return Request(
        "PATCH",
        f"/api/v1/models/{path_part(model_name)}/versions/{path_part(model_version_num)}",
        body=model_version,
    )


def delete_model_version(
    model_name: str,
    model_version_num: str,
) -> Request[_messages.DeleteModelVersionResponse]:
    """``DELETE /api/v1/models/{modelName}/versions/{modelVersionNum}``"""
    return Request(
        "DELETE",
        f"/api/v1/models/{path_part(model_name)}/versions/{path_part(model_version_num)}",
    )


def get_trial_metrics_by_model_version(
    model_name: str,
    model_version_num: str,
    *,
    trial_source_info_type: Optional[Choice] = None,
    metric_group: Optional[str] = None,
) -> Request[_messages.GetTrialMetricsByModelVersionResponse]:
    """``GET /api/v1/models/{modelName}/versions/{modelVersionNum}/metrics``"""
    return Request(
        "GET",
        f"/api/v1/models/{path_part(model_name)}/versions/{path_part(model_version_num)}/metrics",
        parameters={
            "trialSourceInfoType": trial_source_info_type,
            "metricGroup": metric_group,
        },
    )


def get_model_aliases(
    model_name: str,
) -> Request[_messages.GetModelAliasesResponse]:
    """``GET /api/v1/models/{modelName}/aliases``"""
    return Request(
        "GET",
        f"/api/v1/models/{path_part(model_name)}/aliases",
    )


def put_model_alias(
    model_name: str,
    alias: str,
    *,
    version: int,
) -> Request[_messages.PutModelAliasResponse]:
    """``PUT /api/v1/models/{modelName}/aliases/{alias}``"""
    return Request(
        "PUT",
        f"/api/v1/models/{path_part(model_name)}/aliases/{path_part(alias)}",
        members={
            "version": version,
        },
    )


def delete_model_alias(
    model_name: str,
    alias: str,
) -> Request[_messages.DeleteModelAliasResponse]:
    """``DELETE /api/v1/models/{modelName}/aliases/{alias}``"""
    return Request(
        "DELETE",
        f"/api/v1/models/{path_part(model_name)}/aliases/{path_part(alias)}",
    )


def get_checkpoint(
    checkpoint_uuid: str,
) -> Request[_messages.GetCheckpointResponse]:
    """``GET /api/v1/checkpoints/{checkpointUuid}``"""
    return Request(
        "GET",
        f"/api/v1/checkpoints/{path_part(checkpoint_uuid)}",
    )


def post_checkpoint_metadata(
    checkpoint_uuid: str,
    *,
    checkpoint: Optional[_messages.Checkpoint] = None,
) -> Request[_messages.PostCheckpointMetadataResponse]:
    """``POST /api/v1/checkpoints/{checkpoint.uuid}/metadata``"""
    return Request(
        "POST",
        f"/api/v1/checkpoints/{path_part(checkpoint_uuid)}/metadata",
        members={
            "checkpoint": checkpoint,
        },
    )


def checkpoints_remove_files(
    *,
    checkpoint_uuids: List[str],
    checkpoint_globs: List[str],
) -> Request[_messages.CheckpointsRemoveFilesResponse]:
    """``POST /api/v1/checkpoints/rm``"""
    return Request(
        "POST",
        "/api/v1/checkpoints/rm",
        members={
            "checkpointUuids": checkpoint_uuids,
            "checkpointGlobs": checkpoint_globs,
        },
    )


def patch_checkpoints(
    *,
    checkpoints: List[_messages.PatchCheckpoint],
) -> Request[_messages.PatchCheckpointsResponse]:
    """``PATCH /api/v1/checkpoints``"""
    return Request(
        "PATCH",
        "/api/v1/checkpoints",
        members={
            "checkpoints": checkpoints,
        },
    )


def delete_checkpoints(
    *,
    checkpoint_uuids: List[str],
) -> Request[_messages.DeleteCheckpointsResponse]:
    """``DELETE /api/v1/checkpoints``"""
    return Request(
        "DELETE",
        "/api/v1/checkpoints",
        members={
            "checkpointUuids": checkpoint_uuids,
        },
    )


def get_trial_metrics_by_checkpoint(
    checkpoint_uuid: str,
    *,
    trial_source_info_type: Optional[Choice] = None,
    metric_group: Optional[str] = None,
) -> Request[_messages.GetTrialMetricsByCheckpointResponse]:
    """``GET /api/v1/checkpoints/{checkpointUuid}/metrics``"""
    return Request(
        "GET",
        f"/api/v1/checkpoints/{path_part(checkpoint_uuid)}/metrics",
        parameters={
            "trialSourceInfoType": trial_source_info_type,
            "metricGroup": metric_group,
        },
    )


def get_workspace(
    id: int,
) -> Request[_messages.GetWorkspaceResponse]:
    """``GET /api/v1/workspaces/{id}``"""
    return Request(
        "GET",
        f"/api/v1/workspaces/{id}",
    )


def get_workspace_projects(
    id: int,
    *,
    sort_by: Optional[Choice] = None,
    order_by: Optional[Choice] = None,
    offset: Optional[int] = None,
    limit: Optional[int] = None,
    name: Optional[str] = None,
    archived: Optional[bool] = None,
    users: Optional[Sequence[str]] = None,
    user_ids: Optional[Sequence[int]] = None,
) -> Request[_messages.GetWorkspaceProjectsResponse]:
    """``GET /api/v1/workspaces/{id}/projects``"""
    return Request(
        "GET",
        f"/api/v1/workspaces/{id}/projects",
        parameters={
            "sortBy": sort_by,
            "orderBy": order_by,
            "offset": offset,
            "limit": limit,
            "name": name,
            "archived": archived,
            "users": users,
            "userIds": user_ids,
        },
    )


def get_workspaces(
    *,
    sort_by: Optional[Choice] = None,
    order_by: Optional[Choice] = None,
    offset: Optional[int] = None,
    limit: Optional[int] = None,
    name: Optional[str] = None,
    archived: Optional[bool] = None,
    users: Optional[Sequence[str]] = None,
    user_ids: Optional[Sequence[int]] = None,
    pinned: Optional[bool] = None,
    name_case_sensitive: Optional[str] = None,
) -> Request[_messages.GetWorkspacesResponse]:
    """``GET /api/v1/workspaces``"""
    return Request(
        "GET",
        "/api/v1/workspaces",
        parameters={
            "sortBy": sort_by,
            "orderBy": order_by,
            "offset": offset,
            "limit": limit,
            "name": name,
            "archived": archived,
            "users": users,
            "userIds": user_ids,
            "pinned": pinned,
            "nameCaseSensitive": name_case_sensitive,
        },
    )


def post_workspace(
    *,
    name: str,
    agent_user_group: Optional[_messages.AgentUserGroup] = None,
    checkpoint_storage_config: Optional[Dict[str, Any]] = None,
    default_compute_pool: Optional[str] = None,
    default_aux_pool: Optional[str] = None,
    cluster_namespace_meta: Optional[Dict[str, _messages.WorkspaceNamespaceMeta]] = None,
    cluster_quota_pairs: Optional[Dict[str, int]] = None,
) -> Request[_messages.PostWorkspaceResponse]:
    """``POST /api/v1/workspaces``"""
    return Request(
        "POST",
        "/api/v1/workspaces",
        members={
            "name": name,
            "agentUserGroup": agent_user_group,
            "checkpointStorageConfig": checkpoint_storage_config,
            "defaultComputePool": default_compute_pool,
            "defaultAuxPool": default_aux_pool,
            "clusterNamespaceMeta": cluster_namespace_meta,
            "clusterQuotaPairs": cluster_quota_pairs,
        },
    )


def delete_workspace(
    id: int,
) -> Request[_messages.DeleteWorkspaceResponse]:
    """``DELETE /api/v1/workspaces/{id}``"""
    return Request(
        "DELETE",
        f"/api/v1/workspaces/{id}",
    )


def get_project(
    id: int,
) -> Request[_messages.GetProjectResponse]:
    """``GET /api/v1/projects/{id}``"""
    return Request(
        "GET",
        f"/api/v1/projects/{id}",
    )


def post_project(
    workspace_id: int,
    *,
    name: str,
    description: Optional[str] = None,
    key: Optional[str] = None,
) -> Request[_messages.PostProjectResponse]:
    """``POST /api/v1/workspaces/{workspaceId}/projects``"""
    return Request(
        "POST",
        f"/api/v1/workspaces/{workspace_id}/projects",
        members={
            "name": name,
            "description": description,
            "key": key,
        },
    )


def add_project_note(
    project_id: int,
    *,
    note: _messages.Note,
) -> Request[_messages.AddProjectNoteResponse]:
    """``POST /api/v1/projects/{projectId}/notes``"""
    return Request(
        "POST",
        f"/api/v1/projects/{project_id}/notes",
        body=note,
    )


def put_project_notes(
    project_id: int,
    *,
    notes: List[_messages.Note],
    if_modified_at: Optional[str] = None,
) -> Request[_messages.PutProjectNotesResponse]:
    """``PUT /api/v1/projects/{projectId}/notes``"""
    return Request(
        "PUT",
        f"/api/v1/projects/{project_id}/notes",
        members={
            "notes": notes,
            "ifModifiedAt": if_modified_at,
        },
    )


def patch_project(
    id: int,
    *,
    project: _messages.PatchProject,
) -> Request[_messages.PatchProjectResponse]:
    """``PATCH /api/v1/projects/{id}``"""
    return Request(
        "PATCH",
        f"/api/v1/projects/{id}",
        body=project,
    )


def delete_project(
    id: int,
) -> Request[_messages.DeleteProjectResponse]:
    """``DELETE /api/v1/projects/{id}``"""
    return Request(
        "DELETE",
        f"/api/v1/projects/{id}",
    )


def archive_project(
    id: int,
) -> Request[_messages.ArchiveProjectResponse]:
    """``POST /api/v1/projects/{id}/archive``"""
    return Request(
        "POST",
        f"/api/v1/projects/{id}/archive",
    )


def unarchive_project(
    id: int,
) -> Request[_messages.UnarchiveProjectResponse]:
    """``POST /api/v1/projects/{id}/unarchive``"""
    return Request(
        "POST",
        f"/api/v1/projects/{id}/unarchive",
    )


def move_experiment(
    experiment_id: int,
    *,
    destination_project_id: int,
) -> Request[_messages.MoveExperimentResponse]:
    """``POST /api/v1/experiments/{experimentId}/move``"""
    return Request(
        "POST",
        f"/api/v1/experiments/{experiment_id}/move",
        members={
            "destinationProjectId": destination_project_id,
        },
    )


def post_webhook_event_data(
    *,
    data: _messages.CustomWebhookEventData,
    experiment_id: int,
    trial_id: Optional[int] = None,
) -> Request[_messages.PostWebhookEventDataResponse]:
    """``POST /api/v1/webhooks/custom``"""
    return Request(
        "POST",
        "/api/v1/webhooks/custom",
        members={
            "data": data,
            "experimentId": experiment_id,
            "trialId": trial_id,
        },
    )


def bind_rp_to_workspace(
    resource_pool_name: str,
    *,
    workspace_ids: Optional[List[int]] = None,
    workspace_names: Optional[List[str]] = None,
) -> Request[_messages.BindRPToWorkspaceResponse]:
    """``POST /api/v1/resource-pools/{resourcePoolName}/workspace-bindings``"""
    return Request(
        "POST",
        f"/api/v1/resource-pools/{path_part(resource_pool_name)}/workspace-bindings",
        members={
            "workspaceIds": workspace_ids,
            "workspaceNames": workspace_names,
        },
    )


def unbind_rp_from_workspace(
    resource_pool_name: str,
    *,
    workspace_ids: Optional[List[int]] = None,
    workspace_names: Optional[List[str]] = None,
) -> Request[_messages.UnbindRPFromWorkspaceResponse]:
    """``DELETE /api/v1/resource-pools/{resourcePoolName}/workspace-bindings``"""
    return Request(
        "DELETE",
        f"/api/v1/resource-pools/{path_part(resource_pool_name)}/workspace-bindings",
        members={
            "workspaceIds": workspace_ids,
            "workspaceNames": workspace_names,
        },
    )


def overwrite_rp_workspace_bindings(
    resource_pool_name: str,
    *,
    workspace_ids: Optional[List[int]] = None,
    workspace_names: Optional[List[str]] = None,
) -> Request[_messages.OverwriteRPWorkspaceBindingsResponse]:
    """``PUT /api/v1/resource-pools/{resourcePoolName}/workspace-bindings``"""
    return Request(
        "PUT",
        f"/api/v1/resource-pools/{path_part(resource_pool_name)}/workspace-bindings",
        members={
            "workspaceIds": workspace_ids,
            "workspaceNames": workspace_names,
        },
    )


def list_r_ps_bound_to_workspace(
    workspace_id: int,
    *,
    offset: Optional[int] = None,
    limit: Optional[int] = None,
) -> Request[_messages.ListRPsBoundToWorkspaceResponse]:
    """``GET /api/v1/workspaces/{workspaceId}/available-resource-pools``"""
    return Request(
        "GET",
        f"/api/v1/workspaces/{workspace_id}/available-resource-pools",
        parameters={
            "offset": offset,
            "limit": limit,
        },
    )


def list_workspaces_bound_to_rp(
    resource_pool_name: str,
    *,
    offset: Optional[int] = None,
    limit: Optional[int] = None,
) -> Request[_messages.ListWorkspacesBoundToRPResponse]:
    """``GET /api/v1/resource-pools/{resourcePoolName}/workspace-bindings``"""
    return Request(
        "GET",
        f"/api/v1/resource-pools/{path_part(resource_pool_name)}/workspace-bindings",
        parameters={
            "offset": offset,
            "limit": limit,
        },
    )


def get_run_metadata(
    run_id: int,
) -> Request[_messages.GetRunMetadataResponse]:
    """``GET /api/v1/runs/{runId}/metadata``"""
    return Request(
        "GET",
        f"/api/v1/runs/{run_id}/metadata",
    )


def post_run_metadata(
    run_id: int,
    *,
    metadata: Dict[str, Any],
) -> Request[_messages.PostRunMetadataResponse]:
    """``POST /api/v1/runs/{runId}/metadata``"""
    return Request(
        "POST",
        f"/api/v1/runs/{run_id}/metadata",
        members={
            "metadata": metadata,
        },
    )
