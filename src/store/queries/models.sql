-- The model registry: models, versions of models, which are registered checkpoints, and aliases of versions.

-- ---- models ----

-- row: store_model of models m, users u
m.id,
m.name, -- unique in the cluster, without regard to the case of ASCII letters
m.description,
m.metadata, -- JSON object
m.labels,   -- JSON list of texts
m.notes, m.workspace_id,
m.user_id, -- who made the model and owns it
m.archived: bool, m.created_us, m.updated_us,
m.version_n: i32, -- how many versions the model has
-- read only
u.username: text?

-- A model is named by its name or, in digits, by its id. A name never consists of digits alone.
-- define: model_is_named
-- sqlite: (m.id = CAST(CASE WHEN $named <> '' AND $named NOT GLOB '*[^0-9]*' THEN $named END AS INTEGER)
-- postgres: (m.id = CAST(CASE WHEN $named ~ '^[0-9]{1,9}$' THEN $named END AS BIGINT)
    OR lower(m.name) = lower($named))

-- name: models_insert
-- function: store_model_insert
-- conflict: a model is named "$name" already; names of models are unique in the cluster, without regard to case
-- unknown: workspace $workspace_id does not exist
INSERT INTO {insert store_model};

-- name: models_update from store_model
-- function: store_model_update
-- missing: model '$name'
-- conflict: a model is named "$name" already; names of models are unique in the cluster, without regard to case
-- unknown: workspace $workspace_id does not exist
UPDATE models SET name = $name, description = $description, metadata = $metadata, labels = $labels, notes = $notes,
    workspace_id = $workspace_id, archived = $archived, updated_us = $updated_us
WHERE id = $id;

-- name: models_delete with id: id
DELETE FROM models WHERE id = $id;

-- Finds a model by its name, or by its id in digits.
-- name: models_by_identifier with named: text
-- function: store_model_find returns row
-- missing: model '$named'
SELECT {store_model} FROM models m LEFT JOIN users u ON u.id = m.user_id WHERE {model_is_named};

-- The labels of all models, or of those in one workspace (0: all), the commonest first. `visible` are the workspaces that the one who asks
-- may see; none: all of them.
-- name: models_labels with workspace_id: id, visible: ints
-- function: store_model_labels returns texts
-- sqlite: SELECT l.value FROM models m, json_each(m.labels) l
-- postgres: SELECT l.value FROM models m, json_array_elements_text(m.labels::json) l(value)
WHERE (CAST($workspace_id AS INTEGER) = 0 OR m.workspace_id = $workspace_id)
-- sqlite: AND ($visible = '[]' OR m.workspace_id IN (SELECT value FROM json_each($visible)))
-- postgres: AND (CAST($visible AS TEXT) = '[]' OR m.workspace_id IN (SELECT json_array_elements_text(CAST($visible AS TEXT)::json)::bigint))
GROUP BY l.value ORDER BY count(*) DESC, l.value;

-- fragment: models_count
SELECT count(*) FROM models m LEFT JOIN users u ON u.id = m.user_id WHERE 1 = 1

-- fragment: models_rows
SELECT {store_model} FROM models m LEFT JOIN users u ON u.id = m.user_id WHERE 1 = 1

-- fragment: models_filter_id with id: id
AND m.id = $id

-- The name contains the text, without regard to case.
-- fragment: models_filter_name with name: text
-- sqlite: AND instr(lower(m.name), lower($name)) > 0
-- postgres: AND strpos(lower(m.name), lower($name)) > 0

-- The description contains the text, without regard to case.
-- fragment: models_filter_description with description: text
-- sqlite: AND instr(lower(m.description), lower($description)) > 0
-- postgres: AND strpos(lower(m.description), lower($description)) > 0

-- The model has all of these labels.
-- fragment: models_filter_labels with labels: texts
-- sqlite: AND NOT EXISTS (SELECT 1 FROM json_each($labels) w WHERE w.value NOT IN (SELECT l.value FROM json_each(m.labels) l))
-- postgres: AND NOT EXISTS (SELECT 1 FROM json_array_elements_text($labels::json) w(value)
-- postgres: WHERE w.value NOT IN (SELECT l.value FROM json_array_elements_text(m.labels::json) l(value)))

-- fragment: models_filter_archived with archived: bool
AND m.archived = $archived

-- The owner is one of usernames or of user_ids.
-- fragment: models_filter_owner with usernames: texts, user_ids: ints
-- sqlite: AND (u.username IN (SELECT value FROM json_each($usernames)) OR m.user_id IN (SELECT value FROM json_each($user_ids)))
-- postgres: AND (u.username IN (SELECT json_array_elements_text($usernames::json)) OR m.user_id IN (SELECT
-- postgres: json_array_elements_text($user_ids::json)::bigint))

-- The workspace is one of workspace_names or of workspace_ids.
-- fragment: models_filter_workspaces with workspace_names: texts, workspace_ids: ints
-- sqlite: AND (m.workspace_id IN (SELECT value FROM json_each($workspace_ids)) OR m.workspace_id IN (SELECT w.id FROM workspaces w
-- sqlite: WHERE w.name IN (SELECT value FROM json_each($workspace_names))))
-- postgres: AND (m.workspace_id IN (SELECT json_array_elements_text($workspace_ids::json)::bigint) OR m.workspace_id IN (SELECT w.id
-- postgres: FROM workspaces w WHERE w.name IN (SELECT json_array_elements_text($workspace_names::json))))

-- The workspaces that the one who asks may see; none: all of them.
-- fragment: models_filter_visible with visible: ints
-- sqlite: AND m.workspace_id IN (SELECT value FROM json_each($visible))
-- postgres: AND m.workspace_id IN (SELECT json_array_elements_text($visible::json)::bigint)

-- Sorted by the numbers of api.v1.GetModelsRequest.SortBy.
-- list: store_model_list of models in memory pages
-- sort: 0 m.id
-- sort: 1 m.name, m.id
-- sort: 2 m.description, m.id
-- sort: 4 m.created_us, m.id
-- sort: 5 m.updated_us, m.id
-- sort: 6 m.version_n, m.id
-- sort: 7 m.workspace_id, m.id

-- ---- versions ----

-- row: store_model_version of model_versions v, users u
v.id, v.model_id,
v.version: i32, -- from 1
v.checkpoint_uuid,
v.user_id, -- who registered the version
v.name, v.comment, v.notes,
v.metadata, -- JSON object
v.labels,   -- JSON list of texts
v.created_us, v.updated_us,
-- read only
u.username: text?,
-- sqlite: (SELECT json_group_array(a.name) FROM (SELECT a.name FROM model_aliases a
-- sqlite: WHERE a.model_id = v.model_id AND a.version = v.version ORDER BY a.name) a) AS aliases: text -- JSON list of texts
-- postgres: (SELECT CAST(coalesce(json_agg(a.name ORDER BY a.name), '[]'::json) AS text) FROM model_aliases a
-- postgres: WHERE a.model_id = v.model_id AND a.version = v.version) AS aliases: text -- JSON list of texts

-- The id is left out: the database chooses it.
-- name: model_versions_insert from store_model_version
INSERT INTO model_versions (model_id, version, checkpoint_uuid, user_id, name, comment, notes, metadata, labels, created_us, updated_us)
VALUES ($model_id, $version, $checkpoint_uuid, $user_id, $name, $comment, $notes, $metadata, $labels, $created_us, $updated_us);

-- name: model_versions_last with model_id: id
SELECT coalesce(max(version), 0) FROM model_versions WHERE model_id = $model_id;

-- name: model_versions_update from store_model_version
-- function: store_model_version_update
-- missing: version $version of the model
UPDATE model_versions SET name = $name, comment = $comment, notes = $notes, metadata = $metadata, labels = $labels,
    updated_us = $updated_us
WHERE model_id = $model_id AND version = $version;

-- name: model_versions_delete with model_id: id, version: i32
DELETE FROM model_versions WHERE model_id = $model_id AND version = $version;

-- Counts the versions of the model anew after one was added or deleted.
-- name: models_count_versions with model_id: id, now_us: i64
UPDATE models SET version_n = (SELECT count(*) FROM model_versions v WHERE v.model_id = $model_id), updated_us = $now_us
WHERE id = $model_id;

-- name: model_versions_by_number with model_id: id, version: i32
SELECT {store_model_version} FROM model_versions v LEFT JOIN users u ON u.id = v.user_id
WHERE v.model_id = $model_id AND v.version = $version;

-- fragment: model_versions_count
SELECT count(*) FROM model_versions v WHERE 1 = 1

-- fragment: model_versions_rows
SELECT {store_model_version} FROM model_versions v LEFT JOIN users u ON u.id = v.user_id WHERE 1 = 1

-- fragment: model_versions_filter_model with model_id: id
AND v.model_id = $model_id

-- Sorted by the numbers of api.v1.GetModelVersionsRequest.SortBy.
-- list: store_model_version_list of model_versions in memory pages
-- sort: 0, 3 v.version
-- sort: 4 v.created_us, v.version

-- ---- aliases ----

-- row: store_model_alias of model_aliases a, users u
a.model_id,
a.name, -- unique in the model
a.version: i32, a.user_id, a.updated_us,
-- read only
u.username: text?

-- Sets the alias, or moves it to another version.
-- name: model_aliases_put from store_model_alias
-- function: store_model_alias_put
-- conflict: version $version of the model does not exist
INSERT INTO {insert store_model_alias} ON CONFLICT (model_id, name) DO UPDATE SET {replace store_model_alias};

-- name: model_aliases_delete with model_id: id, name: text
-- function: store_model_alias_delete
-- missing: alias '$name' of the model
DELETE FROM model_aliases WHERE model_id = $model_id AND name = $name;

-- name: model_aliases_of with model_id: id
-- function: store_model_aliases returns rows
SELECT {store_model_alias} FROM model_aliases a LEFT JOIN users u ON u.id = a.user_id WHERE a.model_id = $model_id ORDER BY a.name;

-- name: model_aliases_version with model_id: id, name: text
SELECT version FROM model_aliases WHERE model_id = $model_id AND name = $name;

-- name: model_aliases_count with model_id: id
-- function: store_model_alias_count returns i64
SELECT count(*) FROM model_aliases WHERE model_id = $model_id;

-- ---- checkpoints that are registered ----

-- Where a checkpoint is registered. version 0: nowhere.
-- row: store_registration of model_versions v, models m
v.version: i32, v.checkpoint_uuid, m.name AS model_name

-- name: registrations_of_checkpoint with uuid: text
-- function: store_registration_of_checkpoint returns row
SELECT {store_registration} FROM model_versions v JOIN models m ON m.id = v.model_id
WHERE v.checkpoint_uuid = $uuid ORDER BY v.id LIMIT 1;

-- The first registration of a checkpoint of an experiment, or of one trial if trial_id is not 0.
-- name: registrations_of_experiment with experiment_id: id, trial_id: id
-- function: store_registration_of_experiment returns row
SELECT {store_registration} FROM trials t JOIN checkpoints c ON c.trial_id = t.id
JOIN model_versions v ON v.checkpoint_uuid = c.uuid JOIN models m ON m.id = v.model_id
WHERE t.experiment_id = $experiment_id AND (CAST($trial_id AS INTEGER) = 0 OR t.id = $trial_id)
ORDER BY v.id LIMIT 1;

-- The first registration of a checkpoint of an experiment in a project or in a workspace; one of the two ids is 0.
-- name: registrations_of_place with project_id: id, workspace_id: id
-- function: store_registration_of_place returns row
SELECT {store_registration} FROM model_versions v JOIN models m ON m.id = v.model_id
JOIN checkpoints c ON c.uuid = v.checkpoint_uuid JOIN trials t ON t.id = c.trial_id
JOIN experiments x ON x.id = t.experiment_id JOIN projects p ON p.id = x.project_id
WHERE (p.id = $project_id OR p.workspace_id = $workspace_id)
ORDER BY v.id LIMIT 1;

-- What decides whether a checkpoint may be registered.
-- row: store_registrable of checkpoints c
c.state,
-- the checkpoint's experiment or trial is being deleted, or the deletion has failed and may be asked for again
CASE WHEN coalesce(x.state, '') IN ('DELETING', 'DELETED', 'DELETE_FAILED')
    OR EXISTS (SELECT 1 FROM run_deletions d WHERE d.trial_id = c.trial_id) THEN 1 ELSE 0 END AS deleting: bool,
-- some of its files are to be removed; the pattern "/" removes none
CASE WHEN EXISTS (SELECT 1 FROM checkpoint_removals r WHERE r.uuid = c.uuid AND r.globs <> '["/"]') THEN 1 ELSE 0 END AS removing: bool

-- name: checkpoints_registrable with uuid: text
-- function: store_registrable_get returns row
-- missing: checkpoint '$uuid'
SELECT {store_registrable} FROM checkpoints c LEFT JOIN trials t ON t.id = c.trial_id
LEFT JOIN experiments x ON x.id = t.experiment_id WHERE c.uuid = $uuid;
