-- Experiments and trials that run outside of the cluster and only report to it.

-- Returns the id of the unmanaged trial that has this external id; 0: there is none.
-- name: unmanaged_trial_by_external_id with experiment_id: id, external_id: text
-- function: store_unmanaged_trial_id returns i32
SELECT t.id FROM trials t JOIN experiments x ON x.id = t.experiment_id
WHERE t.experiment_id = $experiment_id AND t.external_id = $external_id AND x.unmanaged <> 0;

-- name: unmanaged_trial_by_external_ids with external_experiment_id: text, external_id: text
-- function: store_unmanaged_trial_id_by_external returns i32
SELECT t.id FROM trials t JOIN experiments x ON x.id = t.experiment_id
WHERE x.external_id = $external_experiment_id AND t.external_id = $external_id;

-- name: unmanaged_trial_set_state
UPDATE trials SET state = $2, end_us = $3, last_activity_us = $4 WHERE id = $1;

-- Begins the next run of a trial.
-- name: unmanaged_trial_start with trial_id: id, now_us: i64
-- function: store_unmanaged_trial_start
-- missing: trial $trial_id
-- The core notes the latest checkpoint of other trials, but does not know these trials.
UPDATE trials SET state = 'ACTIVE', run_id = run_id + 1, end_us = NULL, last_activity_us = $now_us,
    latest_checkpoint = (SELECT c.uuid FROM checkpoints c WHERE c.trial_id = $trial_id AND c.state = 'COMPLETED'
        ORDER BY c.steps_completed DESC, c.report_us DESC LIMIT 1),
    steps_completed = coalesce((SELECT max(c.steps_completed) FROM checkpoints c
        WHERE c.trial_id = $trial_id AND c.state = 'COMPLETED'), 0)
WHERE id = $trial_id;

-- row: trial_state of trials t
t.state: run_state, t.end_us

-- name: unmanaged_trial_states
SELECT {trial_state} FROM trials t WHERE t.experiment_id = $1;

-- name: unmanaged_experiment_set
UPDATE experiments SET state = $2, end_us = $3, progress = coalesce($4, progress)
WHERE id = $1 AND state NOT IN ('DELETING', 'DELETE_FAILED');

-- Ends trials that have not been heard of for too long. Their end is the time when they were last heard of.
-- name: unmanaged_trials_expire
UPDATE trials SET state = 'ERROR', end_us = last_activity_us
WHERE state = 'ACTIVE' AND last_activity_us IS NOT NULL AND last_activity_us < $1
    AND experiment_id IN (SELECT id FROM experiments WHERE unmanaged <> 0)
RETURNING experiment_id;

-- ---- checkpoints that trials start from ----

-- Notes that a trial uses a checkpoint, which may be registered as a version of a model. The same use again replaces the row.
-- row: store_trial_source of trial_source_infos s
s.trial_id, s.checkpoint_uuid,
s.type, -- INFERENCE, FINE_TUNING
s.model_id: i32?, s.model_version: i32?has_version

-- name: trial_source_infos_insert
-- function: store_trial_source_put
-- conflict: trial $trial_id or checkpoint $checkpoint_uuid does not exist
INSERT INTO {insert store_trial_source}
ON CONFLICT (trial_id, checkpoint_uuid, type) DO UPDATE SET {replace store_trial_source};

-- $2 is one type; "" stands for all types.
-- name: trial_source_infos_of_checkpoint
SELECT DISTINCT trial_id FROM trial_source_infos WHERE checkpoint_uuid = $1 AND ($2 = '' OR type = $2) ORDER BY trial_id;

-- The trials that have said that they use this version of a model. $3 is one type; "" stands for all types.
-- name: trial_source_infos_of_version
SELECT DISTINCT trial_id FROM trial_source_infos WHERE model_id = $1 AND model_version = $2 AND ($3 = '' OR type = $3) ORDER BY trial_id;

-- Forgets that trials have used this version of a model, or any version if $2 is 0. What they say of the checkpoint stays. Without this, a
-- later version with the same number would show their metrics.
-- name: trial_source_infos_forget_version with model_id: id, version: i32
UPDATE trial_source_infos SET model_id = NULL, model_version = NULL
WHERE model_id = $model_id AND (CAST($version AS INTEGER) = 0 OR model_version = $version);
