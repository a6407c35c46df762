-- name: pool_bindings_add
INSERT INTO pool_bindings (pool, workspace_id) VALUES ($1, $2) ON CONFLICT (pool, workspace_id) DO NOTHING;

-- name: pool_bindings_remove
DELETE FROM pool_bindings WHERE pool = $1 AND workspace_id = $2;

-- name: pool_bindings_clear
DELETE FROM pool_bindings WHERE pool = $1;

-- Returns the workspaces that the pool is bound to, in the order of their ids.
-- name: pool_bindings_of_pool with pool: text
-- function: store_pool_workspaces returns ids
SELECT workspace_id FROM pool_bindings WHERE pool = $pool ORDER BY workspace_id;

-- Returns the pools that are bound to some workspace.
-- name: pool_bindings_pools
-- function: store_pools_bound returns texts
SELECT DISTINCT pool FROM pool_bindings ORDER BY pool;

-- name: pool_bindings_allow with pool: text, workspace_id: id
-- function: store_pool_allows returns bool
SELECT CASE WHEN EXISTS (SELECT 1 FROM pool_bindings WHERE pool = $pool AND workspace_id = $workspace_id)
    OR NOT EXISTS (SELECT 1 FROM pool_bindings WHERE pool = $pool) THEN 1 ELSE 0 END;

-- An experiment that is not over, is to move to another workspace, and is in a pool that this workspace may not use.
-- row: store_stranded of experiments x
x.id AS experiment_id, -- 0: there is none
x.resource_pool AS pool

-- Finds the first experiment of a project that is not over, is to move with the project to another workspace, and is in a pool that this
-- workspace may not use. With experiment_id only that experiment is looked at (0: all). An experiment that stays in its workspace is not
-- found.
-- name: pool_bindings_stranded with project_id: id, experiment_id: id, workspace_id: id
-- function: store_pool_stranded returns row
SELECT {store_stranded} FROM experiments x JOIN projects p ON p.id = x.project_id
WHERE x.project_id = $project_id AND (CAST($experiment_id AS INTEGER) = 0 OR x.id = $experiment_id) AND p.workspace_id <> $workspace_id AND x.unmanaged = 0
  AND x.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR', 'DELETING', 'DELETED', 'DELETE_FAILED')
  AND EXISTS (SELECT 1 FROM pool_bindings b WHERE b.pool = x.resource_pool)
  AND NOT EXISTS (SELECT 1 FROM pool_bindings b WHERE b.pool = x.resource_pool AND b.workspace_id = $workspace_id)
ORDER BY x.id LIMIT 1;
