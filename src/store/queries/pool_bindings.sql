-- name: pool_bindings_add
INSERT INTO pool_bindings (pool, workspace_id) VALUES ($1, $2) ON CONFLICT (pool, workspace_id) DO NOTHING;

-- name: pool_bindings_remove
DELETE FROM pool_bindings WHERE pool = $1 AND workspace_id = $2;

-- name: pool_bindings_clear
DELETE FROM pool_bindings WHERE pool = $1;

-- name: pool_bindings_of_pool
SELECT workspace_id FROM pool_bindings WHERE pool = $1 ORDER BY workspace_id;

-- name: pool_bindings_pools
SELECT DISTINCT pool FROM pool_bindings ORDER BY pool;

-- name: pool_bindings_allow
SELECT CASE WHEN EXISTS (SELECT 1 FROM pool_bindings WHERE pool = $1 AND workspace_id = $2)
    OR NOT EXISTS (SELECT 1 FROM pool_bindings WHERE pool = $1) THEN 1 ELSE 0 END;
