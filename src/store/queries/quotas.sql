-- Quotas of workspaces and users (docs/spec/scheduling.md#quotas).

-- row: store_quota of quotas q, workspaces w, users u
q.workspace_id, -- 0: a user's quota in the whole cluster
q.user_id,      -- 0: a whole workspace's quota
q.own: i32, q.max_slots: i32,
-- read only
w.name AS workspace_name: text?, u.username: text?

-- An experiment that is not over, and where it is.
-- row: store_placed of experiments x, projects p
x.id AS experiment_id,
p.workspace_id

-- name: quotas_placed with project_id: id
-- function: store_quota_placed returns rows
SELECT {store_placed} FROM experiments x JOIN projects p ON p.id = x.project_id
WHERE x.project_id = $project_id AND x.unmanaged = 0
  AND x.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR', 'DELETING', 'DELETED', 'DELETE_FAILED')
ORDER BY x.id;

-- name: quotas_put from store_quota
-- function: store_quota_put
INSERT INTO quotas (workspace_id, user_id, own, max_slots) VALUES ($workspace_id, $user_id, $own, $max_slots)
ON CONFLICT (workspace_id, user_id) DO UPDATE SET own = excluded.own, max_slots = excluded.max_slots;

-- name: quotas_delete with workspace_id: id, user_id: id
-- function: store_quota_delete
DELETE FROM quotas WHERE workspace_id = $workspace_id AND user_id = $user_id;

-- Returns the quotas of the workspaces and users that there are.
-- name: quotas_all
-- function: store_quotas_all returns rows
SELECT {store_quota} FROM quotas q LEFT JOIN workspaces w ON w.id = q.workspace_id LEFT JOIN users u ON u.id = q.user_id
WHERE (q.workspace_id = 0 OR w.id IS NOT NULL) AND (q.user_id = 0 OR u.id IS NOT NULL) ORDER BY q.workspace_id, q.user_id;
