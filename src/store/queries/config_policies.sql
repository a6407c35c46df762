-- Configuration policies, by scope and type of workload. The whole cluster is workspace 0.

-- row: store_config_policy of config_policies p, workspaces w
coalesce(p.workspace_id, 0) AS workspace_id: id, -- 0: the whole cluster
w.name AS workspace: text? or "", -- "": the whole cluster
p.policy

-- name: config_policies_set with workspace_id: id, workload: text, policy: text, user_id: id, now_us: us
-- function: store_config_policy_set
-- unknown: workspace $workspace_id does not exist
INSERT INTO config_policies (workspace_id, workload, policy, user_id, changed_us)
VALUES (nullif(CAST($workspace_id AS INTEGER), 0), $workload, $policy, $user_id, $now_us)
ON CONFLICT (coalesce(workspace_id, 0), workload) DO UPDATE SET policy = excluded.policy, user_id = excluded.user_id, changed_us = excluded.changed_us;

-- name: config_policies_delete with workspace_id: id, workload: text
-- function: store_config_policy_delete
DELETE FROM config_policies WHERE coalesce(workspace_id, 0) = $workspace_id AND workload = $workload;

-- Returns the policies that hold in a workspace: its own one and then the cluster's, if there are any.
-- name: config_policies_of with workspace_id: id, workload: text
-- function: store_config_policies_of returns rows
SELECT {store_config_policy} FROM config_policies p LEFT JOIN workspaces w ON w.id = p.workspace_id
WHERE coalesce(p.workspace_id, 0) IN (0, $workspace_id) AND p.workload = $workload ORDER BY 1 DESC;

-- An experiment that is not over and is to move to another workspace, with its effective configuration.
-- row: store_moving of experiments x, experiment_documents d
x.id AS experiment_id,
d.config

-- Returns the experiments of a project that are not over and are to move with the project to another workspace. With experiment_id only that
-- experiment is looked at (0: all). An experiment that stays in its workspace is left out.
-- name: config_policies_moving with project_id: id, experiment_id: id, workspace_id: id
-- function: store_moving_list returns rows
SELECT {store_moving} FROM experiments x JOIN projects p ON p.id = x.project_id JOIN experiment_documents d ON d.experiment_id = x.id
WHERE x.project_id = $project_id AND (CAST($experiment_id AS INTEGER) = 0 OR x.id = $experiment_id) AND p.workspace_id <> $workspace_id AND x.unmanaged = 0
  AND x.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR', 'DELETING', 'DELETED', 'DELETE_FAILED')
ORDER BY x.id;
