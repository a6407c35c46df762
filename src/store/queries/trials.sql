-- The columns of a trial that the core owns.
-- row: trial_row in core/records/rows.h of trials t
t.id, t.experiment_id, t.request_id: chars, t.task_id: chars, t.state: run_state, t.start_us, t.end_us, t.seed: i64,
t.hparams: text or "{}", t.run_id, t.restarts: i32, t.steps_completed: i32, t.latest_checkpoint: chars,
t.warm_start_checkpoint: chars, t.early_exit: early_exit, t.stopped_by_searcher: bool, t.retries_canceled: bool,
t.excluded_agents, t.runs_before_task: i32, t.launch_failures: i32,
-- write only
t.log_retention_days: i32?has_log_retention

-- A validation in the form of trial.v1.MetricsWorkload. id 0: there is none.
-- row: store_validation of metric_reports v
v.id: i64, v.report_us AS end_us, v.steps AS total_batches: i32,
v.avg_metrics AS metrics: text? -- JSON object

-- row: trial_plain into store_trial of trials t
{trial_row} AS row,      -- what the core has; row.hparams lives in the arena
t.total_batches: i32,    -- the highest steps_completed that was reported
t.runner_state,          -- a text that the training library reports
t.log_retention_days: i32?has_log_retention,
t.external_id,           -- for unmanaged trials; NULL: none
t.log_policy_matched,    -- NULL: no policy has matched
t.last_activity_us,      -- when an unmanaged trial was last heard of
t.best_metric AS searcher_metric: real?, -- of the best validation, as it was reported (not negated)
t.checkpoint_size: i64, t.checkpoint_count: i32,
-- also: const char **task_ids; size_t task_ids_n; -- oldest first
t.metadata               -- JSON or NULL

-- row: store_trial of trials t
{trial_plain},
-- set only when they are asked for:
-- also: const char *summary_metrics; -- JSON as the client expects it
{store_validation b} AS best_validation, {store_validation l} AS latest_validation

-- copy: trials from trial_row

-- name: trials_update from trial_row
UPDATE trials SET task_id = $task_id, state = $state, start_us = $start_us, end_us = $end_us, run_id = $run_id,
    restarts = $restarts, steps_completed = $steps_completed, latest_checkpoint = $latest_checkpoint,
    warm_start_checkpoint = $warm_start_checkpoint, early_exit = $early_exit, stopped_by_searcher = $stopped_by_searcher,
    retries_canceled = $retries_canceled, excluded_agents = $excluded_agents, hparams = coalesce($hparams?, hparams),
    runs_before_task = $runs_before_task, launch_failures = $launch_failures
WHERE id = $id;

-- define: trial_full
SELECT {store_trial} FROM trials t
LEFT JOIN metric_reports b ON b.id = t.best_validation_id
LEFT JOIN metric_reports l ON l.id = t.latest_validation_id

-- name: trials_by_id
SELECT {trial_plain} FROM trials t WHERE t.id = $1;

-- name: trials_by_id_full
{trial_full} WHERE t.id = $1;

-- name: trials_by_ids_full
{trial_full}
-- sqlite: WHERE t.id IN (SELECT value FROM json_each($1))
-- postgres: WHERE t.id IN (SELECT json_array_elements_text($1::json)::bigint)
ORDER BY t.id;

-- Returns the ids of the trials of an experiment, ascending.
-- name: trial_ids_of_experiment with experiment_id: id
-- function: store_trial_ids_of_experiment returns ids
SELECT id FROM trials WHERE experiment_id = $experiment_id ORDER BY id;

-- The trials of an experiment as the core has them, in the order of their ids. Continuing an experiment reads them.
-- name: trials_of_experiment with experiment_id: id
-- function: store_trial_rows_of_experiment returns rows
SELECT {trial_row} FROM trials t WHERE t.experiment_id = $experiment_id ORDER BY t.id;

-- Returns the trials of experiments that are not over, in the order of their ids. A starting master restores them.
-- name: trials_unfinished
-- function: store_trials_unfinished returns rows
SELECT {trial_row} FROM trials t JOIN experiments x ON x.id = t.experiment_id
WHERE x.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR') AND x.state NOT IN ('DELETING', 'DELETED', 'DELETE_FAILED')
ORDER BY t.id;

-- row: task_of_trial of tasks k
k.trial_id: id, k.id

-- name: task_ids_of_trials
SELECT {task_of_trial} FROM tasks k
-- sqlite: WHERE k.trial_id IN (SELECT value FROM json_each($1))
-- postgres: WHERE k.trial_id IN (SELECT json_array_elements_text($1::json)::bigint)
ORDER BY k.trial_id, k.start_us, k.id;

-- name: trials_set_external_id with id: id, external_id: text?
-- function: store_trial_set_external_id
-- missing: trial $id
-- conflict: the experiment already has a trial with the external id "$external_id"
UPDATE trials SET external_id = $external_id WHERE id = $id;

-- name: trials_set_runner_state with id: id, runner_state: text
-- function: store_trial_set_runner_state
-- missing: trial $id
UPDATE trials SET runner_state = $runner_state WHERE id = $id;

-- name: trials_set_log_retention with id: id, days: i32?
-- function: store_trial_set_log_retention
-- missing: trial $id
-- then: trials_set_log_retention_of_tasks
UPDATE trials SET log_retention_days = $days WHERE id = $id;

-- name: trials_set_log_retention_of_tasks with id: id, days: i32?
UPDATE tasks SET log_retention_days = $days WHERE trial_id = $id;

-- name: trials_set_metadata with id: id, metadata: text?
-- function: store_trial_set_metadata
-- missing: trial $id
UPDATE trials SET metadata = $metadata WHERE id = $id;

-- Notes that the trial has been heard of (last_activity_us).
-- name: trials_touch with id: id, now_us: i64
-- function: store_trial_touch
-- missing: trial $id
UPDATE trials SET last_activity_us = $now_us WHERE id = $id;

-- name: trials_set_log_policy_matched with id: id, policy: text?
-- function: store_trial_set_log_policy_matched
-- missing: trial $id
UPDATE trials SET log_policy_matched = $policy WHERE id = $id;

-- ---- what storing a report or a checkpoint reads and changes ----

-- name: trials_progress
UPDATE trials SET total_batches = $2 WHERE id = $1 AND total_batches < $2;

-- What storing a report needs to know of the trial.
-- row: metric_trial of trials t, experiments x, metric_summaries s
t.experiment_id, x.searcher_metric, x.smaller_is_better: bool, t.report_run_id, t.stale_steps: i32, t.total_batches: i32,
t.run_id, t.state: run_state,
t.best_metric AS best: real?, -- the best validation
s.metrics AS summary: text?   -- the stored summary of the report's group; NULL: none yet

-- Reads a trial for storing a report of one of its groups.
-- name: trials_searcher with trial_id: id, group: text
-- function: metric_trial_get returns row
-- missing: trial '$trial_id'
SELECT {metric_trial} FROM trials t JOIN experiments x ON x.id = t.experiment_id
LEFT JOIN metric_summaries s ON s.trial_id = t.id AND s.group_name = $group
WHERE t.id = $trial_id;

-- name: trials_set_report_run
UPDATE trials SET report_run_id = $2, stale_steps = $3 WHERE id = $1;

-- The newest validation is the one with the highest step; of those at the same step it is the later report.
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

-- fragment: trials_count with experiment_id: id
SELECT count(*) FROM trials t WHERE t.experiment_id = $experiment_id

-- fragment: trials_rows with experiment_id: id
{trial_full} WHERE t.experiment_id = $experiment_id

-- fragment: trials_filter_states with states: texts
-- sqlite: AND t.state IN (SELECT value FROM json_each($states))
-- postgres: AND t.state IN (SELECT json_array_elements_text($states::json))

-- Trials of an experiment, sorted by the numbers of api.v1.GetExperimentTrialsRequest.SortBy.
-- list: trial_list of trials in query pages
-- sort: 0, 1 t.id
-- sort: 4 t.start_us, t.id
-- sort: 5 t.end_us NULLS LAST, t.id
-- sort: 6 t.state, t.id
-- sort: 7 t.best_metric NULLS LAST, t.id
-- sort: 8 t.latest_metric NULLS LAST, t.id
-- sort: 9 t.total_batches, t.id
-- A trial that has not ended lasts until now.
-- sort: 10 with now_us: us coalesce(t.end_us, $now_us) - t.start_us, t.id
-- sort: 11 t.restarts, t.id
-- sort: 12 t.checkpoint_size, t.id
-- sort: 13 t.log_retention_days NULLS LAST, t.id
