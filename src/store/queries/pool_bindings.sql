-- name: pool_bindings_add
INSERT INTO pool_bindings (pool, workspace_id) VALUES ($1, $2) ON CONFLICT (pool, workspace_id) DO NOTHING;

-- name: pool_bindings_remove
DELETE FROM pool_bindings WHERE pool = $1 AND workspace_id = $2;

-- name: pool_bindings_clear
DELETE FROM pool_bindings WHERE pool = $1;

-- The workspaces that the pool is bound to, in the order of their ids.
-- name: pool_bindings_of_pool with pool: text
-- function: store_pool_workspaces returns ids
SELECT workspace_id FROM pool_bindings WHERE pool = $pool ORDER BY workspace_id;

-- The pools that are bound to some workspace.
-- name: pool_bindings_pools
-- function: store_pools_bound returns texts
SELECT DISTINCT pool FROM pool_bindings ORDER BY pool;

-- name: pool_bindings_allow with pool: text, workspace_id: id
-- function: store_pool_allows returns bool
SELECT CASE WHEN EXISTS (SELECT 1 FROM pool_bindings WHERE pool = $pool AND workspace_id = $workspace_id)
    OR NOT EXISTS (SELECT 1 FROM pool_bindings WHERE pool = $pool) THEN 1 ELSE 0 END;

-- An experiment that is not over, in a pool that the workspace may not use to which it is to go.
-- row: store_stranded of experiments x
x.id AS experiment_id, -- 0: there is none
x.resource_pool AS pool

-- Of a project ($1) that goes to another workspace ($3), or of one experiment in it ($2, 0: of all): the first that is not
-- over, and in a pool that this workspace may not use.
-- name: pool_bindings_stranded
SELECT {store_stranded} FROM experiments x JOIN projects p ON p.id = x.project_id
WHERE x.project_id = $1 AND (CAST($2 AS INTEGER) = 0 OR x.id = $2) AND p.workspace_id <> $3 AND x.unmanaged = 0
  AND x.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR', 'DELETING', 'DELETED', 'DELETE_FAILED')
  AND EXISTS (SELECT 1 FROM pool_bindings b WHERE b.pool = x.resource_pool)
  AND NOT EXISTS (SELECT 1 FROM pool_bindings b WHERE b.pool = x.resource_pool AND b.workspace_id = $3)
ORDER BY x.id LIMIT 1;
