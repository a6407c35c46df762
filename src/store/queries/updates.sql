-- What the WebSocket of updates (/stream) tells of projects, models and versions of models. An object's `seq` is the number of its last change
-- in the audit log; 0: there is no record of it any more.

-- row: store_update of changes c
c.seq: i64, c.kind, c.object_id, c.action, c.old_values

-- The changes after `seq`, in their order.
-- name: updates_after with seq: i64, limit: i64
-- function: store_updates_after returns rows
SELECT {store_update} FROM changes c
WHERE c.seq > $seq AND c.kind IN ('project', 'model', 'model_version') ORDER BY c.seq LIMIT $limit;

-- row: store_update_project of projects p
p.id, p.workspace_id, p.user_id, p.name, p.description, p.archived: bool, p.created_us, p.notes, p.immutable: bool, p.state, p.key,
coalesce((SELECT max(c.seq) FROM changes c WHERE c.kind = 'project' AND c.object_id = CAST(p.id AS TEXT)), 0) AS seq: i64

-- The projects with these ids, and those in these workspaces.
-- name: update_projects with ids: ints, workspace_ids: ints
-- function: store_update_projects returns rows
SELECT {store_update_project} FROM projects p
-- sqlite: WHERE p.id IN (SELECT value FROM json_each($ids)) OR p.workspace_id IN (SELECT value FROM json_each($workspace_ids))
-- postgres: WHERE p.id IN (SELECT json_array_elements_text($ids::json)::bigint)
-- postgres: OR p.workspace_id IN (SELECT json_array_elements_text($workspace_ids::json)::bigint)
ORDER BY p.id;

-- row: store_update_model of models m
m.id, m.workspace_id, m.user_id, m.name, m.description, m.archived: bool, m.created_us, m.updated_us, m.notes, m.metadata, m.labels,
coalesce((SELECT max(c.seq) FROM changes c WHERE c.kind = 'model' AND c.object_id = CAST(m.id AS TEXT)), 0) AS seq: i64

-- name: update_models with ids: ints, workspace_ids: ints, user_ids: ints
-- function: store_update_models returns rows
SELECT {store_update_model} FROM models m
-- sqlite: WHERE m.id IN (SELECT value FROM json_each($ids)) OR m.workspace_id IN (SELECT value FROM json_each($workspace_ids))
-- sqlite: OR m.user_id IN (SELECT value FROM json_each($user_ids))
-- postgres: WHERE m.id IN (SELECT json_array_elements_text($ids::json)::bigint)
-- postgres: OR m.workspace_id IN (SELECT json_array_elements_text($workspace_ids::json)::bigint)
-- postgres: OR m.user_id IN (SELECT json_array_elements_text($user_ids::json)::bigint)
ORDER BY m.id;

-- A version is in the workspace of its model, so that a move of the model changes it, too.
-- row: store_update_version of model_versions v, models m
v.id, v.model_id, v.user_id, m.workspace_id, v.version: i32, v.name, v.checkpoint_uuid, v.created_us, v.updated_us, v.metadata, v.comment,
v.labels, v.notes,
coalesce((SELECT max(c.seq) FROM changes c WHERE (c.kind = 'model_version' AND c.object_id = CAST(v.id AS TEXT))
    OR (c.kind = 'model' AND c.object_id = CAST(v.model_id AS TEXT) AND c.route = 'MoveModel')), 0) AS seq: i64

-- name: update_versions with ids: ints, model_ids: ints, user_ids: ints
-- function: store_update_versions returns rows
SELECT {store_update_version} FROM model_versions v JOIN models m ON m.id = v.model_id
-- sqlite: WHERE v.id IN (SELECT value FROM json_each($ids)) OR v.model_id IN (SELECT value FROM json_each($model_ids))
-- sqlite: OR v.user_id IN (SELECT value FROM json_each($user_ids))
-- postgres: WHERE v.id IN (SELECT json_array_elements_text($ids::json)::bigint)
-- postgres: OR v.model_id IN (SELECT json_array_elements_text($model_ids::json)::bigint)
-- postgres: OR v.user_id IN (SELECT json_array_elements_text($user_ids::json)::bigint)
ORDER BY v.id;
