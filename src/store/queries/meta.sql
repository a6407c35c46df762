-- name: epoch_get
SELECT epoch FROM master_epoch;

-- name: epoch_next
INSERT INTO master_epoch (one, epoch) VALUES (1, 1)
ON CONFLICT (one) DO UPDATE SET epoch = master_epoch.epoch + 1
RETURNING epoch;

-- name: epoch_raise
UPDATE master_epoch SET epoch = $1 WHERE epoch < $1;

-- Returns the value of a key; NULL if the key is not set.
-- name: kv_get with key: text
-- function: store_kv_get returns text
SELECT value FROM kv WHERE key = $key;

-- Small values by key. Keys are in lower case, with dots: "agent_token.sha256", "master.config.log".
-- name: kv_set with key: text, value: text
-- function: store_kv_set
INSERT INTO kv (key, value) VALUES ($key, $value) ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: kv_propose
INSERT INTO kv (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING;

-- Returns the highest id of a table, or the mark that was stored when the row with the highest id was deleted.
-- name: last_id_experiments
-- sqlite: SELECT max(
-- postgres: SELECT greatest(
           coalesce((SELECT max(id) FROM experiments), 0),
           coalesce((SELECT CAST(value AS INTEGER) FROM kv WHERE key = 'last_id.experiments'), 0));

-- name: last_id_trials
-- sqlite: SELECT max(
-- postgres: SELECT greatest(
           coalesce((SELECT max(id) FROM trials), 0),
           coalesce((SELECT CAST(value AS INTEGER) FROM kv WHERE key = 'last_id.trials'), 0));

-- name: last_id_users
SELECT coalesce(max(id), 0) FROM users;

-- name: last_id_workspaces
-- sqlite: SELECT max(
-- postgres: SELECT greatest(
           coalesce((SELECT max(id) FROM workspaces), 0),
           coalesce((SELECT CAST(value AS INTEGER) FROM kv WHERE key = 'last_id.workspaces'), 0));

-- name: last_id_projects
-- sqlite: SELECT max(
-- postgres: SELECT greatest(
           coalesce((SELECT max(id) FROM projects), 0),
           coalesce((SELECT CAST(value AS INTEGER) FROM kv WHERE key = 'last_id.projects'), 0));

-- name: last_id_models
-- sqlite: SELECT max(
-- postgres: SELECT greatest(
           coalesce((SELECT max(id) FROM models), 0),
           coalesce((SELECT CAST(value AS INTEGER) FROM kv WHERE key = 'last_id.models'), 0));
