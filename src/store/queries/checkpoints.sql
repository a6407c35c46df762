-- row: store_checkpoint of checkpoints c, trials t, experiments x, experiment_documents d, metric_reports tr, metric_reports v
c.uuid, c.task_id,
c.allocation_id, -- NULL: there is none
c.trial_id,      -- 0: the checkpoint belongs to no trial
c.report_us,
c.state,                   -- ACTIVE, COMPLETED, ERROR, DELETED, PARTIALLY_DELETED
c.resources: text or "{}", -- JSON object: path → bytes
c.metadata: text or "{}",  -- JSON object
c.size: i64,               -- the sum of the sizes in resources; computed by the store
c.steps_completed: i32, c.storage_id: i32?,
-- read only: from the trial, its experiment, and the reports at the same step
t.experiment_id, x.user_id AS owner_id, -- the experiment's owner; 0: there is no experiment
t.hparams: text?,                         -- JSON
d.config AS experiment_config: text?,     -- JSON
tr.avg_metrics AS training_metrics: text?,  -- JSON; NULL: there are none at this step
v.avg_metrics AS validation_metrics: text?, -- JSON; NULL: there are none at this step
-- sqlite: (SELECT m.value FROM json_each(v.avg_metrics) m WHERE m.key = x.searcher_metric AND m.type
-- sqlite: IN ('integer', 'real')) AS searcher_metric: real?
-- postgres: CASE WHEN json_typeof(v.avg_metrics::json->x.searcher_metric) = 'number'
-- postgres: THEN (v.avg_metrics::json->>x.searcher_metric)::double precision END AS searcher_metric: real?

-- A checkpoint that a trial has reported stays that trial's: store_checkpoint_put() looks at checkpoints_owner first.
-- name: checkpoints_put
INSERT INTO {insert store_checkpoint}
ON CONFLICT (uuid) DO UPDATE SET task_id = excluded.task_id, allocation_id = excluded.allocation_id,
    report_us = excluded.report_us, state = excluded.state, resources = excluded.resources,
    metadata = excluded.metadata, size = excluded.size, steps_completed = excluded.steps_completed,
    storage_id = excluded.storage_id;

-- The owner of a checkpoint: the trial that reported it first.
-- row: store_checkpoint_owner of checkpoints c, experiments x
c.trial_id, x.id AS experiment_id, x.user_id, -- 0: the checkpoint belongs to no trial
c.task_id -- the task of the trial

-- name: checkpoints_owner
SELECT {store_checkpoint_owner} FROM checkpoints c
LEFT JOIN trials t ON t.id = c.trial_id
LEFT JOIN experiments x ON x.id = t.experiment_id
WHERE c.uuid = $1;

-- What a checkpoint adds to the counters of its trial and its experiment.
-- row: counted_checkpoint of checkpoints c, trials t
c.trial_id, -- 0: the checkpoint belongs to no trial
t.experiment_id, c.state, c.size: i64, c.resources

-- name: checkpoints_counted
SELECT {counted_checkpoint} FROM checkpoints c LEFT JOIN trials t ON t.id = c.trial_id WHERE c.uuid = $1;

-- name: checkpoints_set_metadata with uuid: text, metadata: text
-- function: store_checkpoint_set_metadata
-- missing: checkpoint $uuid
UPDATE checkpoints SET metadata = $metadata WHERE uuid = $uuid;

-- name: checkpoints_set_resources
UPDATE checkpoints SET resources = $2, size = $3, state = $4 WHERE uuid = $1;

-- The reports of the same trial at the same step as the checkpoint.
-- define: checkpoint_joins
LEFT JOIN trials t ON t.id = c.trial_id
LEFT JOIN experiments x ON x.id = t.experiment_id
LEFT JOIN experiment_documents d ON d.experiment_id = x.id
LEFT JOIN metric_reports tr ON tr.trial_id = c.trial_id AND tr.group_name = 'training' AND tr.steps = c.steps_completed
    AND tr.archived = 0 AND tr.stepless = 0
LEFT JOIN metric_reports v ON v.trial_id = c.trial_id AND v.group_name = 'validation' AND v.steps = c.steps_completed
    AND v.archived = 0 AND v.stepless = 0

-- name: checkpoints_by_uuid
SELECT {store_checkpoint} FROM checkpoints c {checkpoint_joins} WHERE c.uuid = $1;

-- row: uuid_range
min(uuid) AS first: text, max(uuid) AS last: text

-- The checkpoints whose UUID begins with this text; there is exactly one if the first and the last are the same.
-- name: checkpoints_by_beginning
SELECT {uuid_range} FROM checkpoints WHERE uuid LIKE $1 || '%';

-- fragment: checkpoints_count
SELECT count(*) FROM checkpoints c LEFT JOIN trials t ON t.id = c.trial_id WHERE 1 = 1

-- fragment: checkpoints_rows
SELECT {store_checkpoint} FROM checkpoints c {checkpoint_joins} WHERE 1 = 1

-- fragment: checkpoints_filter_trial with trial_id: id
AND c.trial_id = $trial_id

-- fragment: checkpoints_filter_experiment with experiment_id: id
AND c.trial_id IN (SELECT id FROM trials WHERE experiment_id = $experiment_id)

-- fragment: checkpoints_filter_states with states: texts
-- sqlite: AND c.state IN (SELECT value FROM json_each($states))
-- postgres: AND c.state IN (SELECT json_array_elements_text($states::json))

-- Checkpoints of a trial or of an experiment, sorted by the numbers of checkpoint.v1.SortBy or by a validation metric. Exactly one of
-- trial_id and experiment_id is not 0.
-- list: checkpoint_list of checkpoints in memory pages
-- sort: 0, 4 c.report_us, c.uuid
-- sort: 1 c.uuid
-- sort: 2 c.trial_id, c.steps_completed, c.uuid
-- sort: 3 c.steps_completed, c.report_us, c.uuid
-- sort: 5 c.state, c.report_us, c.uuid
-- sort: 6 searcher_metric NULLS LAST, c.report_us ASC, c.uuid ASC
-- sort: when sort_by_metric: text
-- sqlite: (SELECT m.value FROM json_each(v.avg_metrics) m WHERE m.key = $sort_by_metric AND m.type IN ('integer', 'real'))
-- postgres: CASE WHEN json_typeof(v.avg_metrics::json->$sort_by_metric::text) = 'number'
-- postgres: THEN (v.avg_metrics::json->>$sort_by_metric::text)::double precision END
NULLS LAST, c.report_us ASC, c.uuid ASC

-- The candidates of a collection: COMPLETED checkpoints of the experiment that are not in the model registry, the oldest first.
-- row: store_collection_candidate of checkpoints c
c.uuid, c.trial_id, c.steps_completed: i32,
-- sqlite: (SELECT m.value FROM json_each(v.avg_metrics) m WHERE m.key = x.searcher_metric AND m.type
-- sqlite: IN ('integer', 'real')) AS metric: real?,
-- postgres: CASE WHEN json_typeof(v.avg_metrics::json->x.searcher_metric) = 'number'
-- postgres: THEN (v.avg_metrics::json->>x.searcher_metric)::double precision END AS metric: real?,
coalesce(v.id, 0) AS validation_id: i64,
CASE WHEN c.uuid = t.latest_checkpoint AND t.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR') THEN 1 ELSE 0 END
    AS in_use: bool -- the trial goes on from the checkpoint

-- name: checkpoints_for_collection with experiment_id: id
-- function: store_checkpoints_for_collection returns rows
SELECT {store_collection_candidate} FROM trials t
JOIN experiments x ON x.id = t.experiment_id
JOIN checkpoints c ON c.trial_id = t.id
LEFT JOIN metric_reports v ON v.trial_id = c.trial_id AND v.group_name = 'validation' AND v.steps = c.steps_completed
    AND v.archived = 0 AND v.stepless = 0
WHERE t.experiment_id = $experiment_id AND c.state = 'COMPLETED'
  AND c.uuid NOT IN (SELECT w.warm_start_checkpoint FROM trials w WHERE w.warm_start_checkpoint IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM model_versions m WHERE m.checkpoint_uuid = c.uuid)
ORDER BY c.report_us, c.uuid;

-- The latest checkpoint of a trial that still has its files; later ones may have been collected. Its uuid is "" if there is none.
-- row: store_latest_checkpoint of checkpoints c
c.uuid: chars[CORE_UUID_MAX], c.steps_completed: i32

-- name: checkpoints_latest with trial_id: id
-- function: store_checkpoint_latest returns row
SELECT {store_latest_checkpoint} FROM checkpoints c WHERE c.trial_id = $trial_id AND c.state = 'COMPLETED'
ORDER BY c.steps_completed DESC, c.report_us DESC, c.uuid LIMIT 1;

-- name: storage_backends_put
INSERT INTO storage_backends (config) VALUES ($1) ON CONFLICT (config) DO NOTHING;

-- name: storage_backends_id
SELECT id FROM storage_backends WHERE config = $1;

-- Notes that checkpoints of a trial may lie in a storage, since the trial has registered the storage. A storage may hold credentials, so a
-- trial may use only storages that it has registered itself.
-- name: trial_storages_put with trial_id: id, storage_id: id
-- function: store_trial_storage_add
INSERT INTO trial_storages (trial_id, storage_id) VALUES ($trial_id, $storage_id) ON CONFLICT (trial_id, storage_id) DO NOTHING;

-- name: trial_storages_has with trial_id: id, storage_id: id
-- function: store_trial_has_storage returns bool
SELECT count(*) FROM trial_storages WHERE trial_id = $trial_id AND storage_id = $storage_id;

-- Returns a trial that is not over and that starts from the checkpoint or goes on from it; 0: there is none.
-- name: checkpoints_user with uuid: text
-- function: store_checkpoint_user returns i32
SELECT t.id FROM trials t WHERE t.warm_start_checkpoint = $uuid AND t.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR')
UNION ALL
SELECT t.id FROM checkpoints c JOIN trials t ON t.id = c.trial_id
WHERE c.uuid = $uuid AND t.latest_checkpoint = c.uuid AND t.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR')
LIMIT 1;

-- The storage of checkpoints that an admin has set for the workspace of an experiment x; NULL: none is set.
-- define: admin_storage
(SELECT w.checkpoint_storage FROM projects p JOIN workspaces w ON w.id = p.workspace_id
 WHERE p.id = x.project_id AND w.storage_by_admin = 1)

-- Where files are stored, as JSON texts.
-- row: store_site of experiments x, storage_backends b, experiment_documents d
b.config AS storage: text?,           -- a storage backend; NULL: the storage of the experiment's configuration
d.config AS experiment_config: text?, -- NULL: the files belong to no experiment
{admin_storage} AS admin_storage: text?, -- what an admin has set for the experiment's workspace; NULL: nothing
x.user_id AS owner_id                 -- the experiment's owner

-- Finds where the files of a checkpoint are.
-- name: checkpoints_storage with uuid: text
-- function: store_checkpoint_site returns row
-- missing: checkpoint '$uuid'
SELECT {store_site} FROM checkpoints c
LEFT JOIN storage_backends b ON b.id = c.storage_id
LEFT JOIN trials t ON t.id = c.trial_id
LEFT JOIN experiments x ON x.id = t.experiment_id
LEFT JOIN experiment_documents d ON d.experiment_id = t.experiment_id
WHERE c.uuid = $uuid;
