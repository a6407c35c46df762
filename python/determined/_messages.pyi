"""The messages of the requests in ``_routes.py``, for type checkers: there is no module to import.

Made by tools/gen-python from contract/api.json: change that, and run it again.
"""

from typing import Any, Dict, List, Union

from typing_extensions import Required, TypedDict

# 64-bit integers travel as text, so that JSON readers that know only doubles keep their digits.
Int64 = Union[int, str]

class AckAllocationPreemptionSignalResponse(TypedDict, total=False): ...

class ActivateExperimentResponse(TypedDict, total=False): ...

class AddProjectNoteResponse(TypedDict, total=False):
    notes: Required[List[Note]]

class AllocationAllGatherResponse(TypedDict, total=False):
    data: Required[List[Dict[str, Any]]]

class ReportGangProbeResponse(TypedDict, total=False): ...

class AllocationPreemptionSignalResponse(TypedDict, total=False):
    preempt: bool

class ArchiveExperimentResponse(TypedDict, total=False): ...

class ArchiveModelResponse(TypedDict, total=False): ...

class ArchiveProjectResponse(TypedDict, total=False): ...

class BindRPToWorkspaceResponse(TypedDict, total=False): ...

class CancelExperimentResponse(TypedDict, total=False): ...

class CheckpointsRemoveFilesResponse(TypedDict, total=False): ...

class ClusterMessage(TypedDict, total=False):
    message: Required[str]
    startTime: Required[str]
    endTime: str
    createdTime: str

class CompleteTrialSearcherValidationResponse(TypedDict, total=False): ...

class CreateExperimentRequest(TypedDict, total=False):
    modelDefinition: List[File]
    config: str
    validateOnly: bool
    parentId: int
    activate: bool
    projectId: int
    template: str
    unmanaged: bool

class CreateExperimentResponse(TypedDict, total=False):
    experiment: Required[Experiment]
    config: Required[Dict[str, Any]]
    warnings: List[str]
    configWarnings: List[str]

class CreateTrialRequest(TypedDict, total=False):
    experimentId: int
    hparams: Dict[str, Any]
    unmanaged: bool

class DeleteCheckpointsResponse(TypedDict, total=False): ...

class DeleteExperimentResponse(TypedDict, total=False): ...

class DeleteModelAliasResponse(TypedDict, total=False): ...

class DeleteModelResponse(TypedDict, total=False): ...

class DeleteModelVersionResponse(TypedDict, total=False): ...

class DeleteProjectResponse(TypedDict, total=False):
    completed: Required[bool]

class DeleteTensorboardFilesResponse(TypedDict, total=False): ...

class DeleteWorkspaceResponse(TypedDict, total=False):
    completed: Required[bool]

class GetBestSearcherValidationMetricResponse(TypedDict, total=False):
    metric: float

class GetCheckpointResponse(TypedDict, total=False):
    checkpoint: Required[Checkpoint]

class GetCurrentTrialSearcherOperationResponse(TypedDict, total=False):
    op: SearcherOperation
    completed: Required[bool]

class GetExperimentCheckpointsResponse(TypedDict, total=False):
    checkpoints: Required[List[Checkpoint]]
    pagination: Required[Pagination]

class GetExperimentResponse(TypedDict, total=False):
    experiment: Required[Experiment]
    jobSummary: JobSummary
    config: Dict[str, Any]

class GetExperimentTrialsResponse(TypedDict, total=False):
    trials: Required[List[Trial]]
    pagination: Required[Pagination]

class GetExperimentsResponse(TypedDict, total=False):
    experiments: Required[List[Experiment]]
    pagination: Required[Pagination]

class GetMasterResponse(TypedDict, total=False):
    version: Required[str]
    masterId: Required[str]
    clusterId: Required[str]
    clusterName: Required[str]
    telemetryEnabled: bool
    ssoProviders: List[SSOProvider]
    externalLoginUri: str
    externalLogoutUri: str
    branding: str
    rbacEnabled: bool
    product: str
    featureSwitches: List[str]
    userManagementEnabled: bool
    strictJobQueueControl: Required[bool]
    clusterMessage: ClusterMessage
    hasCustomLogo: Required[bool]
    programVersion: str
    passwordMinLength: int

class GetMeResponse(TypedDict, total=False):
    user: Required[User]

class GetMetricsResponse(TypedDict, total=False):
    metrics: Required[List[MetricsReport]]

class GetModelDefResponse(TypedDict, total=False):
    b64Tgz: Required[str]

class GetModelAliasesResponse(TypedDict, total=False):
    aliases: Required[List[ModelAlias]]

class GetModelLabelsResponse(TypedDict, total=False):
    labels: Required[List[str]]

class GetModelResponse(TypedDict, total=False):
    model: Required[Model]

class GetModelVersionResponse(TypedDict, total=False):
    modelVersion: Required[ModelVersion]

class GetModelVersionsResponse(TypedDict, total=False):
    model: Required[Model]
    modelVersions: Required[List[ModelVersion]]
    pagination: Required[Pagination]

class GetModelsResponse(TypedDict, total=False):
    models: Required[List[Model]]
    pagination: Required[Pagination]

class GetProjectResponse(TypedDict, total=False):
    project: Required[Project]

class GetRunMetadataResponse(TypedDict, total=False):
    metadata: Dict[str, Any]

class GetTrainingMetricsResponse(TypedDict, total=False):
    metrics: Required[List[MetricsReport]]

class GetTrialCheckpointsResponse(TypedDict, total=False):
    checkpoints: Required[List[Checkpoint]]
    pagination: Required[Pagination]

class GetTrialMetricsByCheckpointResponse(TypedDict, total=False):
    metrics: Required[List[MetricsReport]]

class GetTrialMetricsByModelVersionResponse(TypedDict, total=False):
    metrics: Required[List[MetricsReport]]

class GetTrialResponse(TypedDict, total=False):
    trial: Required[Trial]

class GetUserByUsernameResponse(TypedDict, total=False):
    user: Required[User]

class GetUserResponse(TypedDict, total=False):
    user: Required[User]

class GetUsersResponse(TypedDict, total=False):
    users: List[User]
    pagination: Pagination

class GetValidationMetricsResponse(TypedDict, total=False):
    metrics: Required[List[MetricsReport]]

class GetWorkspaceProjectsResponse(TypedDict, total=False):
    projects: Required[List[Project]]
    pagination: Required[Pagination]

class GetWorkspaceResponse(TypedDict, total=False):
    workspace: Required[Workspace]

class GetWorkspacesResponse(TypedDict, total=False):
    workspaces: Required[List[Workspace]]
    pagination: Required[Pagination]

class HostEnvironment(TypedDict, total=False):
    hostname: str
    os: str
    kernel: str
    architecture: str
    processor: str
    processors: int
    memoryBytes: Int64
    driver: str
    devices: List[Device]
    image: str

class IdleNotebookResponse(TypedDict, total=False): ...

class KillExperimentResponse(TypedDict, total=False): ...

class KillTrialResponse(TypedDict, total=False): ...

class ListRPsBoundToWorkspaceResponse(TypedDict, total=False):
    resourcePools: List[str]
    pagination: Pagination

class ListWorkspacesBoundToRPResponse(TypedDict, total=False):
    workspaceIds: List[int]
    pagination: Pagination

class LoginResponse(TypedDict, total=False):
    token: Required[str]
    user: Required[User]

class LogoutResponse(TypedDict, total=False): ...

class MarkAllocationResourcesDaemonResponse(TypedDict, total=False): ...

class MoveExperimentResponse(TypedDict, total=False): ...

class MoveModelResponse(TypedDict, total=False): ...

class OverwriteRPWorkspaceBindingsResponse(TypedDict, total=False): ...

class Pagination(TypedDict, total=False):
    offset: int
    limit: int
    startIndex: int
    endIndex: int
    total: int

class PatchCheckpointsResponse(TypedDict, total=False): ...

class PatchExperimentResponse(TypedDict, total=False):
    experiment: Experiment

class PatchModelResponse(TypedDict, total=False):
    model: Required[Model]

class PatchModelVersionResponse(TypedDict, total=False):
    modelVersion: Required[ModelVersion]

class PatchProjectResponse(TypedDict, total=False):
    project: Required[Project]

class PatchTrialResponse(TypedDict, total=False):
    trial: Required[Trial]

class PatchUserResponse(TypedDict, total=False):
    user: Required[User]

class PauseExperimentResponse(TypedDict, total=False): ...

class PostCheckpointMetadataResponse(TypedDict, total=False):
    checkpoint: Checkpoint

class PostModelResponse(TypedDict, total=False):
    model: Required[Model]

class PostModelVersionResponse(TypedDict, total=False):
    modelVersion: Required[ModelVersion]

class PostProjectResponse(TypedDict, total=False):
    project: Required[Project]

class PostRunMetadataResponse(TypedDict, total=False):
    metadata: Dict[str, Any]

class PostTrialRunnerMetadataResponse(TypedDict, total=False): ...

class PostUserResponse(TypedDict, total=False):
    user: User

class PostWebhookEventDataResponse(TypedDict, total=False): ...

class PostWorkspaceResponse(TypedDict, total=False):
    workspace: Required[Workspace]
    namespaceBindings: Dict[str, WorkspaceNamespaceBinding]

class PutAllocationEnvironmentResponse(TypedDict, total=False): ...

class PutExperimentResponse(TypedDict, total=False):
    experiment: Required[Experiment]
    config: Required[Dict[str, Any]]

class PutModelAliasResponse(TypedDict, total=False):
    alias: Required[ModelAlias]

class PutProjectNotesResponse(TypedDict, total=False):
    notes: Required[List[Note]]

class PutTrialResponse(TypedDict, total=False):
    trial: Required[Trial]

class PythonEnvironment(TypedDict, total=False):
    executable: str
    version: str
    frameworks: Dict[str, str]
    packages: Dict[str, str]
    seenByAgent: bool

class ReportCheckpointResponse(TypedDict, total=False): ...

class ReportTrialMetricsResponse(TypedDict, total=False): ...

class ReportTrialProgressResponse(TypedDict, total=False): ...

class ReportTrialSearcherEarlyExitResponse(TypedDict, total=False): ...

class ReportTrialSourceInfoResponse(TypedDict, total=False):
    trialId: Required[int]
    checkpointUuid: Required[str]

class RunPrepareForReportingResponse(TypedDict, total=False):
    storageId: int

class SSOProvider(TypedDict, total=False):
    name: Required[str]
    ssoUrl: Required[str]
    type: Required[str]
    alwaysRedirect: bool

class StartTrialResponse(TypedDict, total=False):
    trialRunId: Required[int]
    latestCheckpoint: str
    stepsCompleted: Required[int]

class TrialLogsResponse(TypedDict, total=False):
    id: Required[str]
    timestamp: Required[str]
    message: Required[str]
    level: Required[str]
    trialId: Required[int]
    agentId: str
    containerId: str
    rankId: int
    log: str
    source: str
    stdtype: str

class UnarchiveExperimentResponse(TypedDict, total=False): ...

class UnarchiveModelResponse(TypedDict, total=False): ...

class UnarchiveProjectResponse(TypedDict, total=False): ...

class UnbindRPFromWorkspaceResponse(TypedDict, total=False): ...

class Checkpoint(TypedDict, total=False):
    taskId: str
    allocationId: str
    uuid: Required[str]
    reportTime: str
    resources: Required[Dict[str, Int64]]
    metadata: Required[Dict[str, Any]]
    state: Required[str]
    training: Required[CheckpointTrainingMetadata]
    storageId: int

class CheckpointTrainingMetadata(TypedDict, total=False):
    trialId: int
    experimentId: int
    experimentConfig: Dict[str, Any]
    hparams: Dict[str, Any]
    trainingMetrics: Metrics
    validationMetrics: Metrics
    searcherMetric: float

class PatchCheckpoint(TypedDict, total=False):
    uuid: Required[str]
    resources: OptionalResources

class OptionalResources(TypedDict, total=False):
    resources: Dict[str, Int64]

class Int32FieldFilter(TypedDict, total=False):
    lt: int
    lte: int
    gt: int
    gte: int
    incl: List[int]
    notIn: List[int]

class Metrics(TypedDict, total=False):
    avgMetrics: Required[Dict[str, Any]]
    batchMetrics: List[Dict[str, Any]]

class Device(TypedDict, total=False):
    id: int
    brand: str
    uuid: str
    type: str

class Experiment(TypedDict, total=False):
    id: Required[int]
    description: str
    labels: List[str]
    startTime: Required[str]
    endTime: str
    state: Required[str]
    archived: Required[bool]
    numTrials: Required[int]
    trialIds: List[int]
    displayName: str
    userId: int
    username: Required[str]
    resourcePool: str
    searcherType: Required[str]
    searcherMetric: str
    hyperparameters: Dict[str, Any]
    name: Required[str]
    notes: str
    jobId: Required[str]
    forkedFrom: int
    progress: float
    projectId: Required[int]
    projectName: str
    workspaceId: int
    workspaceName: str
    parentArchived: bool
    config: Required[Dict[str, Any]]
    originalConfig: Required[str]
    projectOwnerId: Required[int]
    checkpointSize: Int64
    checkpointCount: int
    bestTrialSearcherMetric: float
    bestTrialId: int
    unmanaged: bool
    duration: int
    externalExperimentId: str
    externalTrialId: str
    modelDefinitionSize: int
    pachydermIntegration: Dict[str, Any]
    failure: str

class PatchExperiment(TypedDict, total=False):
    id: Required[int]
    description: str
    labels: List[Any]
    name: str
    notes: str
    resources: PatchResources
    checkpointStorage: PatchCheckpointStorage

class PatchCheckpointStorage(TypedDict, total=False):
    saveExperimentBest: int
    saveTrialBest: int
    saveTrialLatest: int

class PatchResources(TypedDict, total=False):
    maxSlots: int
    weight: float
    priority: int

class JobSummary(TypedDict, total=False):
    state: Required[str]
    jobsAhead: Required[int]
    reason: str
    estimatedStart: str

class Model(TypedDict, total=False):
    name: Required[str]
    description: str
    metadata: Required[Dict[str, Any]]
    creationTime: Required[str]
    lastUpdatedTime: Required[str]
    id: Required[int]
    numVersions: Required[int]
    labels: List[str]
    username: Required[str]
    workspaceId: Required[int]
    userId: Required[int]
    archived: Required[bool]
    notes: str

class ModelAlias(TypedDict, total=False):
    name: Required[str]
    version: Required[int]
    userId: Required[int]
    username: Required[str]
    lastUpdatedTime: Required[str]

class ModelVersion(TypedDict, total=False):
    model: Required[Model]
    checkpoint: Required[Checkpoint]
    version: Required[int]
    creationTime: Required[str]
    id: Required[int]
    name: str
    metadata: Dict[str, Any]
    lastUpdatedTime: Required[str]
    comment: str
    username: str
    userId: int
    labels: List[str]
    notes: str
    aliases: List[str]

class PatchModel(TypedDict, total=False):
    name: str
    description: str
    metadata: Dict[str, Any]
    labels: List[Any]
    notes: str
    workspaceName: str
    workspaceId: int
    ifLastUpdatedTime: str

class PatchModelVersion(TypedDict, total=False):
    checkpoint: Checkpoint
    name: str
    metadata: Dict[str, Any]
    comment: str
    labels: List[Any]
    notes: str
    ifLastUpdatedTime: str

class Note(TypedDict, total=False):
    name: Required[str]
    contents: Required[str]

class PatchProject(TypedDict, total=False):
    name: str
    description: str
    key: str
    ifModifiedAt: str

class Project(TypedDict, total=False):
    id: Required[int]
    name: Required[str]
    workspaceId: Required[int]
    description: str
    lastExperimentStartedAt: str
    notes: Required[List[Note]]
    numExperiments: Required[int]
    numActiveExperiments: Required[int]
    archived: Required[bool]
    username: Required[str]
    immutable: Required[bool]
    userId: Required[int]
    workspaceName: str
    state: Required[str]
    errorMessage: Required[str]
    key: Required[str]
    numRuns: Required[int]
    modifiedAt: str

class CheckpointWorkload(TypedDict, total=False):
    uuid: str
    endTime: str
    state: Required[str]
    resources: Dict[str, Int64]
    totalBatches: Required[int]
    metadata: Dict[str, Any]

class MetricsReport(TypedDict, total=False):
    trialId: Required[int]
    endTime: Required[str]
    metrics: Required[Dict[str, Any]]
    totalBatches: Required[int]
    archived: Required[bool]
    id: Required[int]
    trialRunId: Required[int]
    group: Required[str]

class MetricsWorkload(TypedDict, total=False):
    endTime: str
    metrics: Required[Metrics]
    numInputs: Required[int]
    totalBatches: Required[int]

class Trial(TypedDict, total=False):
    id: Required[int]
    experimentId: Required[int]
    startTime: Required[str]
    endTime: str
    state: Required[str]
    restarts: Required[int]
    hparams: Required[Dict[str, Any]]
    totalBatchesProcessed: Required[int]
    bestValidation: MetricsWorkload
    latestValidation: MetricsWorkload
    bestCheckpoint: CheckpointWorkload
    runnerState: str
    wallClockTime: float
    warmStartCheckpointUuid: str
    taskId: str
    totalCheckpointSize: Int64
    checkpointCount: int
    summaryMetrics: Dict[str, Any]
    taskIds: List[str]
    searcherMetricValue: float
    logRetentionDays: int
    metadata: Dict[str, Any]
    logPolicyMatched: str

class CompletedSearcherOperation(TypedDict, total=False):
    op: ValidateAfterOperation
    searcherMetric: float

class SearcherOperation(TypedDict, total=False):
    validateAfter: ValidateAfterOperation

class ValidateAfterOperation(TypedDict, total=False):
    length: Required[Int64]

class TrialEarlyExit(TypedDict, total=False):
    reason: Required[str]

class TrialMetrics(TypedDict, total=False):
    trialId: Required[int]
    trialRunId: Required[int]
    stepsCompleted: int
    reportTime: str
    metrics: Required[Metrics]

class TrialRunnerMetadata(TypedDict, total=False):
    state: Required[str]

class TrialSourceInfo(TypedDict, total=False):
    trialId: Required[int]
    checkpointUuid: Required[str]
    modelId: int
    modelVersion: int
    trialSourceInfoType: Required[str]

class AgentUserGroup(TypedDict, total=False):
    agentUid: int
    agentGid: int
    agentUser: str
    agentGroup: str

class PatchUser(TypedDict, total=False):
    username: str
    password: str
    admin: bool
    active: bool
    displayName: str
    agentUserGroup: AgentUserGroup
    isHashed: bool
    remote: bool
    ifModifiedAt: str

class User(TypedDict, total=False):
    id: int
    username: Required[str]
    admin: Required[bool]
    active: Required[bool]
    agentUserGroup: AgentUserGroup
    displayName: str
    modifiedAt: str
    remote: bool
    lastAuthAt: str

class File(TypedDict, total=False):
    path: Required[str]
    type: Required[int]
    content: Required[str]
    mtime: Required[Int64]
    mode: Required[int]
    uid: Required[int]
    gid: Required[int]

class CustomWebhookEventData(TypedDict, total=False):
    level: str
    title: str
    description: str

class Workspace(TypedDict, total=False):
    id: Required[int]
    name: Required[str]
    archived: Required[bool]
    username: Required[str]
    immutable: Required[bool]
    numProjects: Required[int]
    pinned: Required[bool]
    userId: Required[int]
    numExperiments: Required[int]
    state: Required[str]
    errorMessage: Required[str]
    agentUserGroup: AgentUserGroup
    checkpointStorageConfig: Dict[str, Any]
    pinnedAt: str
    defaultComputePool: str
    defaultAuxPool: str
    autoCreatedNamespace: str
    modifiedAt: str

class WorkspaceNamespaceBinding(TypedDict, total=False):
    workspaceId: int
    namespace: str
    clusterName: str
    autoCreateNamespace: bool

class WorkspaceNamespaceMeta(TypedDict, total=False):
    namespace: str
    autoCreateNamespace: bool
    autoCreateNamespaceAllClusters: bool
    clusterName: str
    resourceQuota: int
