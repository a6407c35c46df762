-- copy: trials (id, experiment_id, request_id, task_id, state, start_us, end_us, seed, hparams, run_id, restarts,
--     steps_completed, latest_checkpoint, warm_start_checkpoint, early_exit, stopped_by_searcher, retries_canceled,
--     excluded_agents, log_retention_days)

-- name: trials_update
UPDATE trials SET task_id = $2, state = $3, start_us = $4, end_us = $5, run_id = $6, restarts = $7,
    steps_completed = $8,
    latest_checkpoint = $9, warm_start_checkpoint = $10, early_exit = $11, stopped_by_searcher = $12,
    retries_canceled = $13, excluded_agents = $14, hparams = coalesce($15, hparams), runs_before_task = $16,
    launch_failures = $17
WHERE id = $1;

-- What the core owns, in the order of struct trial_row.
-- define: trial_core
t.id, t.experiment_id, t.request_id, t.task_id, t.state, t.start_us, t.end_us, t.seed, t.hparams, t.run_id, t.restarts,
t.steps_completed, t.latest_checkpoint, t.warm_start_checkpoint, t.early_exit, t.stopped_by_searcher,
t.retries_canceled, t.excluded_agents, t.runs_before_task, t.launch_failures

-- define: trial_columns
{trial_core},
t.total_batches, t.runner_state, t.log_retention_days, t.external_id, t.log_policy_matched, t.last_activity_us,
t.best_metric, t.checkpoint_size, t.checkpoint_count, t.metadata

-- define: trial_validations
LEFT JOIN metric_reports b ON b.id = t.best_validation_id
LEFT JOIN metric_reports l ON l.id = t.latest_validation_id

-- define: trial_full
SELECT {trial_columns}, b.id, b.report_us, b.steps, b.avg_metrics, l.id, l.report_us, l.steps, l.avg_metrics
FROM trials t {trial_validations}

-- define: trial_plain
SELECT {trial_columns}, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM trials t

-- name: trials_by_id
{trial_plain} WHERE t.id = $1;

-- name: trials_by_id_full
{trial_full} WHERE t.id = $1;

-- name: trials_by_ids_full
{trial_full}
-- sqlite: WHERE t.id IN (SELECT value FROM json_each($1))
-- postgres: WHERE t.id IN (SELECT json_array_elements_text($1::json)::bigint)
ORDER BY t.id;

-- name: trial_ids_of_experiment
SELECT id FROM trials WHERE experiment_id = $1 ORDER BY id;

-- name: trials_of_experiment
SELECT {trial_core} FROM trials t WHERE t.experiment_id = $1 ORDER BY t.id;

-- name: trials_unfinished
SELECT {trial_core} FROM trials t JOIN experiments x ON x.id = t.experiment_id
WHERE x.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR') AND x.state NOT IN ('DELETING', 'DELETED', 'DELETE_FAILED')
ORDER BY t.id;

-- name: task_ids_of_trials
SELECT trial_id, id FROM tasks
-- sqlite: WHERE trial_id IN (SELECT value FROM json_each($1))
-- postgres: WHERE trial_id IN (SELECT json_array_elements_text($1::json)::bigint)
ORDER BY trial_id, start_us, id;

-- name: trials_set_external_id
UPDATE trials SET external_id = $2 WHERE id = $1;

-- name: trials_set_runner_state
UPDATE trials SET runner_state = $2 WHERE id = $1;

-- name: trials_set_log_retention
UPDATE trials SET log_retention_days = $2 WHERE id = $1;

-- name: trials_set_log_retention_of_tasks
UPDATE tasks SET log_retention_days = $2 WHERE trial_id = $1;

-- name: trials_set_metadata
UPDATE trials SET metadata = $2 WHERE id = $1;

-- name: trials_touch
UPDATE trials SET last_activity_us = $2 WHERE id = $1;

-- name: trials_set_log_policy_matched
UPDATE trials SET log_policy_matched = $2 WHERE id = $1;

-- ---- what reports and checkpoints change ----

-- name: trials_progress
UPDATE trials SET total_batches = $2 WHERE id = $1 AND total_batches < $2;

-- What a report needs to know of its trial.
-- name: trials_searcher
SELECT t.experiment_id, x.searcher_metric, x.smaller_is_better, t.report_run_id, t.stale_steps, t.total_batches, t.run_id,
    t.state, t.best_metric, s.metrics
FROM trials t JOIN experiments x ON x.id = t.experiment_id
LEFT JOIN metric_summaries s ON s.trial_id = t.id AND s.group_name = $2
WHERE t.id = $1;

-- name: trials_set_report_run
UPDATE trials SET report_run_id = $2, stale_steps = $3 WHERE id = $1;

-- The newest by step; a later report of the same step is newer.
-- name: trials_latest_validation
UPDATE trials SET latest_validation_id = $2,
    latest_metric = CASE WHEN latest_validation_id = $2 THEN coalesce($3, latest_metric) ELSE $3 END
WHERE id = $1 AND (latest_validation_id IS NULL OR latest_validation_id = $2
    OR coalesce((SELECT r.steps FROM metric_reports r WHERE r.id = trials.latest_validation_id), 0) <= $4);

-- name: trials_improve
UPDATE trials SET best_validation_id = $2, best_metric = $3
WHERE id = $1;

-- name: trials_set_validations
UPDATE trials SET best_validation_id = $2, best_metric = $3, latest_validation_id = $4, latest_metric = $5,
    total_batches = (SELECT coalesce(max(q.steps), 0) FROM (
        SELECT r.steps FROM metric_reports r WHERE r.trial_id = $1 AND r.archived = 0
        UNION ALL SELECT b.last_steps FROM metric_blocks b WHERE b.trial_id = $1 AND b.archived = 0) q)
WHERE id = $1;

-- name: trials_add_checkpoint
UPDATE trials SET checkpoint_count = checkpoint_count + $2, checkpoint_size = checkpoint_size + $3 WHERE id = $1;

-- ---- the list ----

-- fragment: trials_count
SELECT count(*) FROM trials t WHERE t.experiment_id = $1

-- fragment: trials_rows
{trial_full} WHERE t.experiment_id = $1

-- fragment: trial_filter_states
-- sqlite: AND t.state IN (SELECT value FROM json_each($1))
-- postgres: AND t.state IN (SELECT json_array_elements_text($1::json))

-- fragment: trial_sort_id
ORDER BY t.id
-- fragment: trial_sort_id_desc
ORDER BY t.id DESC
-- fragment: trial_sort_start
ORDER BY t.start_us, t.id
-- fragment: trial_sort_start_desc
ORDER BY t.start_us DESC, t.id DESC
-- fragment: trial_sort_end
ORDER BY t.end_us NULLS LAST, t.id
-- fragment: trial_sort_end_desc
ORDER BY t.end_us DESC NULLS LAST, t.id DESC
-- fragment: trial_sort_state
ORDER BY t.state, t.id
-- fragment: trial_sort_state_desc
ORDER BY t.state DESC, t.id DESC
-- fragment: trial_sort_best
ORDER BY t.best_metric NULLS LAST, t.id
-- fragment: trial_sort_best_desc
ORDER BY t.best_metric DESC NULLS LAST, t.id DESC
-- fragment: trial_sort_latest
ORDER BY t.latest_metric NULLS LAST, t.id
-- fragment: trial_sort_latest_desc
ORDER BY t.latest_metric DESC NULLS LAST, t.id DESC
-- fragment: trial_sort_batches
ORDER BY t.total_batches, t.id
-- fragment: trial_sort_batches_desc
ORDER BY t.total_batches DESC, t.id DESC
-- An open trial lasts until now ($1).
-- fragment: trial_sort_duration
ORDER BY coalesce(t.end_us, $1) - t.start_us, t.id
-- fragment: trial_sort_duration_desc
ORDER BY coalesce(t.end_us, $1) - t.start_us DESC, t.id DESC
-- fragment: trial_sort_restarts
ORDER BY t.restarts, t.id
-- fragment: trial_sort_restarts_desc
ORDER BY t.restarts DESC, t.id DESC
-- fragment: trial_sort_checkpoint_size
ORDER BY t.checkpoint_size, t.id
-- fragment: trial_sort_checkpoint_size_desc
ORDER BY t.checkpoint_size DESC, t.id DESC
-- fragment: trial_sort_log_retention
ORDER BY t.log_retention_days NULLS LAST, t.id
-- fragment: trial_sort_log_retention_desc
ORDER BY t.log_retention_days DESC NULLS LAST, t.id DESC
