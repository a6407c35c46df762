-- row: experiment_plain into store_experiment of experiments x, users u, projects p, workspaces w, jobs j
x.id, x.job_id,
x.state, -- ACTIVE, PAUSED, STOPPING_…, CANCELED, COMPLETED, ERROR, DELETING, DELETE_FAILED
x.user_id, x.project_id, x.name, x.description, x.notes,
x.labels: text or "[]", -- JSON list of strings
x.archived: bool, x.unmanaged: bool,
x.parent_id: i32?, -- forked from
x.progress: real?, x.start_us, x.end_us, x.searcher_type, x.searcher_metric, x.smaller_is_better: bool, x.resource_pool,
x.external_id,     -- for unmanaged experiments, unique; NULL: none
x.model_definition_size: i64,
-- read only: kept by the store
coalesce(j.position, x.start_us) AS queue_position: i64, -- of a new one: 0 means its start time
x.num_trials: i32, x.checkpoint_count: i32, x.checkpoint_size: i64,
x.best_metric: real?has_best, x.best_trial_id,
u.username, u.display_name, p.name AS project_name, w.name AS workspace_name, w.id AS workspace_id,
p.user_id AS project_owner_id,
p.archived <> 0 OR w.archived <> 0 AS parent_archived: bool, -- the experiment's project or workspace is archived
x.failure -- why it ended in ERROR; NULL: it did not, or the reason is unknown

-- row: store_experiment of experiments x, experiment_documents d
{experiment_plain},
-- read only: when it is asked for; of a new one both are needed
d.config,         -- JSON: the effective configuration
d.original_config -- YAML: the configuration as submitted

-- The columns of an experiment that the core owns.
-- row: experiment_row in core/records/rows.h of experiments x, jobs j
-- write only
x.id, x.job_id: chars, x.state: run_state, x.progress, x.end_us, x.user_id AS owner_id, x.failure,
j.position AS queue_position: i64

-- name: experiments_insert
INSERT INTO {insert store_experiment};

-- name: experiment_documents_insert from store_experiment
INSERT INTO experiment_documents (experiment_id, config, original_config) VALUES ($id, $config, $original_config);

-- name: model_definitions_insert
INSERT INTO model_definitions (experiment_id, tgz) VALUES ($1, $2);

-- row: model_definition of model_definitions m
m.tgz

-- name: model_definitions_get
SELECT {model_definition} FROM model_definitions m WHERE m.experiment_id = $1;

-- define: experiment_names
JOIN users u ON u.id = x.user_id
JOIN projects p ON p.id = x.project_id
JOIN workspaces w ON w.id = p.workspace_id
LEFT JOIN jobs j ON j.id = x.job_id

-- name: experiments_by_id
SELECT {experiment_plain} FROM experiments x {experiment_names} WHERE x.id = $1;

-- name: experiments_by_id_with_config
SELECT {store_experiment}
FROM experiments x {experiment_names}
JOIN experiment_documents d ON d.experiment_id = x.id
WHERE x.id = $1;

-- name: experiments_by_external_id with external_id: text
-- function: store_experiment_by_external_id returns row
-- missing: experiment '$external_id'
SELECT {store_experiment}
FROM experiments x {experiment_names}
JOIN experiment_documents d ON d.experiment_id = x.id
WHERE x.external_id = $external_id;

-- The experiments of a page of a lookup.
-- name: experiments_shown
SELECT {store_experiment}
FROM experiments x {experiment_names}
JOIN experiment_documents d ON d.experiment_id = x.id
-- sqlite: WHERE x.id IN (SELECT value FROM json_each($1))
-- postgres: WHERE x.id IN (SELECT json_array_elements_text($1::json)::bigint)
ORDER BY x.id;

-- The experiments that are neither over nor being deleted, with their configurations. A starting master rebuilds them.
-- name: experiments_unfinished
-- function: store_experiments_unfinished returns rows
SELECT {store_experiment}
FROM experiments x {experiment_names}
JOIN experiment_documents d ON d.experiment_id = x.id
WHERE x.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR') AND x.state NOT IN ('DELETING', 'DELETED', 'DELETE_FAILED')
ORDER BY x.id;

-- What actions on experiments need to know of them.
-- row: store_experiment_brief of experiments x, users u, projects p, workspaces w
x.id, x.state: run_state, x.user_id,
u.username: chars[128], -- the owner's
x.project_id, p.workspace_id, x.archived: bool, x.unmanaged: bool,
p.archived <> 0 OR w.archived <> 0 AS place_archived: bool -- the experiment's project or workspace is archived

-- define: experiment_brief
SELECT {store_experiment_brief} FROM experiments x JOIN projects p ON p.id = x.project_id JOIN workspaces w ON w.id = p.workspace_id
JOIN users u ON u.id = x.user_id

-- name: experiments_brief with id: id
-- function: store_experiment_brief returns row
-- missing: experiment '$id'
{experiment_brief} WHERE x.id = $id;

-- The experiments with these ids, in the order of their ids. Ids without an experiment are left out.
-- name: experiments_briefs with ids: ints
-- function: store_experiment_briefs returns rows
{experiment_brief}
-- sqlite: WHERE x.id IN (SELECT value FROM json_each($ids))
-- postgres: WHERE x.id IN (SELECT json_array_elements_text($ids::json)::bigint)
ORDER BY x.id;

-- name: experiments_fail_deletions
UPDATE experiments SET state = 'DELETE_FAILED' WHERE state = 'DELETING';

-- Counts the checkpoints of the experiment, or of one trial (trial_id; 0: all trials), that may still have files.
-- name: experiments_count_checkpoints with id: id, trial_id: id
-- function: store_experiment_checkpoint_count returns i64
SELECT count(*) FROM checkpoints c JOIN trials t ON t.id = c.trial_id
WHERE t.experiment_id = $id AND (CAST($trial_id AS INTEGER) = 0 OR t.id = $trial_id) AND c.state <> 'DELETED';

-- Sets how many days the logs of all its trials are kept; -1: for ever.
-- name: experiments_set_log_retention with id: id, days: i32
-- function: store_experiment_set_log_retention
-- then: experiments_set_log_retention_of_tasks
UPDATE trials SET log_retention_days = $days WHERE experiment_id = $id;

-- name: experiments_set_log_retention_of_tasks with id: id, days: i32
UPDATE tasks SET log_retention_days = $days WHERE trial_id IN (SELECT id FROM trials WHERE experiment_id = $id);

-- A failure that is stored stays with the experiment as long as the experiment is in a state of failure and no other failure is given.
-- name: experiments_put from experiment_row
UPDATE experiments SET state = $state, progress = $progress, end_us = $end_us, user_id = $owner_id,
    failure = coalesce($failure, CASE WHEN $state IN ('STOPPING_ERROR', 'ERROR') THEN failure END) WHERE id = $id;

-- name: experiments_set_state with id: id, state: text, end_us: us
-- function: store_experiment_set_state
-- missing: experiment $id
-- conflict: experiment $id: there is no state "$state"
UPDATE experiments SET state = $state, end_us = $end_us WHERE id = $id;

-- name: experiments_set_archived with id: id, archived: bool
-- function: store_experiment_set_archived
-- missing: experiment $id
UPDATE experiments SET archived = $archived WHERE id = $id;

-- name: experiments_set_project
UPDATE experiments SET project_id = $2 WHERE id = $1;

-- name: experiments_set_pool
UPDATE experiments SET resource_pool = $2 WHERE id = $1;

-- name: experiment_documents_set_config
UPDATE experiment_documents SET config = $2 WHERE experiment_id = $1;

-- A field that is NULL is not changed.
-- row: store_experiment_patch of experiments x
-- write only
x.name: text?, x.description: text?, x.notes: text?, x.labels: text?

-- name: experiments_patch from store_experiment_patch with id: id
UPDATE experiments SET name = coalesce($name, name), description = coalesce($description, description),
    notes = coalesce($notes, notes), labels = coalesce($labels, labels)
WHERE id = $id;

-- name: experiments_add_trials
UPDATE experiments SET num_trials = num_trials + $2 WHERE id = $1;

-- name: experiments_add_checkpoint
UPDATE experiments SET checkpoint_count = checkpoint_count + $2, checkpoint_size = checkpoint_size + $3 WHERE id = $1;

-- Stores a better validation; if the validation is not better, nothing is written.
-- name: experiments_improve
UPDATE experiments SET best_trial_id = $2, best_metric = $3
WHERE id = $1 AND (best_metric IS NULL OR (smaller_is_better <> 0 AND $3 < best_metric)
                   OR (smaller_is_better = 0 AND $3 > best_metric));

-- Computes the best validation from those that are left, after validations were archived.
-- name: experiments_recompute_best
UPDATE experiments SET (best_trial_id, best_metric) = (
    SELECT t.id, t.best_metric FROM trials t JOIN experiments x ON x.id = t.experiment_id
    WHERE x.id = $1 AND t.best_metric IS NOT NULL
    ORDER BY CASE WHEN x.smaller_is_better <> 0 THEN t.best_metric ELSE -t.best_metric END, t.id LIMIT 1)
WHERE id = $1;

-- ---- deletion: rows that belong to an experiment without a foreign key ----

-- name: experiments_delete_logs
DELETE FROM task_log_blocks WHERE task_id IN (
    SELECT k.id FROM tasks k JOIN trials t ON t.id = k.trial_id WHERE t.experiment_id = $1);

-- name: experiments_delete_log_state
DELETE FROM task_log_state WHERE task_id IN (
    SELECT k.id FROM tasks k JOIN trials t ON t.id = k.trial_id WHERE t.experiment_id = $1);

-- name: experiments_delete_log_marks
DELETE FROM container_log_marks WHERE task_id IN (
    SELECT k.id FROM tasks k JOIN trials t ON t.id = k.trial_id WHERE t.experiment_id = $1);

-- Selects trials of experiment $1: all of them if $2 is 0, else the trial $2.
-- define: of_deletion
t.experiment_id = $1 AND (CAST($2 AS INTEGER) = 0 OR t.id = $2)

-- The following statements delete what may be many rows. Each deletes a limited number of rows, so that the writer is never held for long.
-- name: experiments_delete_some_reports
DELETE FROM metric_reports WHERE id IN (
    SELECT r.id FROM metric_reports r JOIN trials t ON t.id = r.trial_id WHERE {of_deletion} LIMIT $3);

-- A block holds some thousand reports, so fewer blocks are deleted at a time.
-- name: experiments_delete_some_blocks
DELETE FROM metric_blocks WHERE id IN (
    SELECT b.id FROM metric_blocks b JOIN trials t ON t.id = b.trial_id WHERE {of_deletion} LIMIT 1 + $3 / 1000);

-- A block of a log holds up to 256 KiB of text, so fewer blocks are deleted at a time.
-- name: experiments_delete_some_logs
DELETE FROM task_log_blocks WHERE id IN (
    SELECT h.id FROM task_log_blocks h JOIN tasks k ON k.id = h.task_id JOIN trials t ON t.id = k.trial_id
    WHERE {of_deletion} LIMIT 1 + $3 / 20);

-- name: experiments_delete_some_log_states
DELETE FROM task_log_state WHERE task_id IN (
    SELECT s.task_id FROM task_log_state s JOIN tasks k ON k.id = s.task_id JOIN trials t ON t.id = k.trial_id
    WHERE {of_deletion} LIMIT $3);

-- name: experiments_delete_some_log_marks
DELETE FROM container_log_marks WHERE container_id IN (
    SELECT m.container_id FROM container_log_marks m JOIN tasks k ON k.id = m.task_id JOIN trials t ON t.id = k.trial_id
    WHERE {of_deletion} LIMIT $3);

-- name: experiments_delete_some_checkpoints
DELETE FROM checkpoints WHERE uuid IN (
    SELECT c.uuid FROM checkpoints c JOIN trials t ON t.id = c.trial_id WHERE {of_deletion} LIMIT $3);

-- name: experiments_delete_some_tasks
DELETE FROM tasks WHERE id IN (
    SELECT k.id FROM tasks k JOIN trials t ON t.id = k.trial_id WHERE {of_deletion} LIMIT $3);

-- name: experiments_delete_some_trials
DELETE FROM trials WHERE id IN (SELECT t.id FROM trials t WHERE {of_deletion} LIMIT $3);

-- Asks for the deletion of one trial. If an earlier deletion of this trial failed, it is tried again.
-- name: run_deletions_add with experiment_id: id, trial_id: id
-- function: store_run_deletion_add
INSERT INTO run_deletions (trial_id, experiment_id) VALUES ($trial_id, $experiment_id)
ON CONFLICT (trial_id) DO UPDATE SET reason = '';

-- name: run_deletions_failed with trial_id: id, reason: text
-- function: store_run_deletion_failed
UPDATE run_deletions SET reason = $reason WHERE trial_id = $trial_id;

-- Withdraws a deletion that was asked for and has not begun.
-- name: run_deletions_forget with trial_id: id
-- function: store_run_deletion_forget
DELETE FROM run_deletions WHERE trial_id = $trial_id;

-- name: run_deletions_done
UPDATE run_deletions SET done = 1 WHERE trial_id = $1;

-- Deletions of runs that a starting master goes on with.
-- row: store_run_deletion of run_deletions r
r.experiment_id, r.trial_id

-- name: run_deletions_open
-- function: store_run_deletions_open returns rows
SELECT {store_run_deletion} FROM run_deletions r WHERE r.done = 0 AND r.reason = '' ORDER BY r.trial_id;

-- Counts the deletions of runs of the experiment that have been asked for, including those that are done.
-- name: run_deletions_count with experiment_id: id
-- function: store_run_deletions_count returns i64
SELECT count(*) FROM run_deletions WHERE experiment_id = $experiment_id;

-- name: experiments_count_trials
UPDATE experiments SET num_trials = (SELECT count(*) FROM trials t WHERE t.experiment_id = $1) WHERE id = $1;

-- name: experiments_delete_job
DELETE FROM jobs WHERE id = (SELECT job_id FROM experiments WHERE id = $1);

-- name: experiments_delete
DELETE FROM experiments WHERE id = $1;

-- ---- snapshots ----

-- The searcher's state, JSON, and the events that came after it. Setting or deleting a snapshot deletes the events.
-- name: snapshots_set with experiment_id: id, content: text
-- function: store_snapshot_set
-- conflict: experiment $experiment_id does not exist
-- then: searcher_events_delete
INSERT INTO searcher_snapshots (experiment_id, content) VALUES ($experiment_id, $content)
ON CONFLICT (experiment_id) DO UPDATE SET content = excluded.content;

-- name: snapshots_get with experiment_id: id
-- function: store_snapshot_get returns text
SELECT content FROM searcher_snapshots WHERE experiment_id = $experiment_id;

-- name: snapshots_delete with experiment_id: id
-- function: store_snapshot_delete sends
-- then: searcher_events_delete
DELETE FROM searcher_snapshots WHERE experiment_id = $experiment_id;

-- name: searcher_events_add with experiment_id: id, from: i64, lines: text
-- function: store_searcher_events_add
-- conflict: experiment $experiment_id does not exist
INSERT INTO searcher_events (experiment_id, first, lines) VALUES ($experiment_id, $from, $lines);

-- name: searcher_events_get
SELECT lines FROM searcher_events WHERE experiment_id = $1 ORDER BY first;

-- name: searcher_events_delete with experiment_id: id
DELETE FROM searcher_events WHERE experiment_id = $experiment_id;

-- ---- labels ----

-- Returns the distinct labels of experiments in a project (0: in all projects), the most used first. `visible` are the workspaces that the
-- one who asks may see; none: all of them.
-- name: experiment_labels with project_id: id, visible: ints
-- function: store_experiment_labels returns texts
SELECT label FROM label_counts WHERE ($project_id = 0 OR project_id = $project_id)
-- sqlite: AND ($visible = '[]' OR project_id IN (SELECT p.id FROM projects p WHERE p.workspace_id IN (SELECT value FROM json_each($visible))))
-- postgres: AND (CAST($visible AS TEXT) = '[]' OR project_id IN (SELECT p.id FROM projects p
-- postgres: WHERE p.workspace_id IN (SELECT json_array_elements_text(CAST($visible AS TEXT)::json)::bigint)))
GROUP BY label ORDER BY sum(n) DESC, label;

-- name: labels_count
INSERT INTO label_counts (project_id, label, n)
-- sqlite: SELECT DISTINCT x.project_id, l.value, $2 FROM experiments x, json_each(x.labels) l WHERE x.id = $1
-- postgres: SELECT DISTINCT x.project_id, l.value, CAST($2 AS BIGINT) FROM experiments x,
-- postgres: LATERAL (SELECT e COLLATE "C" AS value FROM json_array_elements_text(x.labels::json) e) l WHERE x.id = $1
ON CONFLICT (project_id, label) DO UPDATE SET n = label_counts.n + excluded.n;

-- name: labels_forget
DELETE FROM label_counts WHERE n <= 0;

-- What collectors are told about an experiment that is not over.
-- row: store_labelled of experiments x
x.id, x.job_id, x.labels

-- name: experiments_labelled
-- function: store_experiments_labelled returns rows
SELECT {store_labelled} FROM experiments x
WHERE x.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR') AND x.state NOT IN ('DELETING', 'DELETED', 'DELETE_FAILED') AND x.unmanaged = 0
ORDER BY x.id;
