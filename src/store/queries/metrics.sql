-- define: report_columns
r.id, r.trial_id, r.run_id, r.group_name, r.steps, r.report_us, r.stepless, r.archived, r.avg_metrics,
    r.batch_metrics

-- SQLite gives the highest id plus one, and sealing takes the highest away: what it was is remembered.
-- name: reports_insert
-- sqlite: INSERT INTO metric_reports (id, trial_id, run_id, group_name, steps, stepless, report_us, avg_metrics, batch_metrics)
-- sqlite: VALUES (1 + max(coalesce((SELECT max(id) FROM metric_reports), 0),
-- sqlite:     coalesce((SELECT CAST(value AS INTEGER) FROM kv WHERE key = 'last_id.reports'), 0)),
-- postgres: INSERT INTO metric_reports (trial_id, run_id, group_name, steps, stepless, report_us, avg_metrics, batch_metrics)
-- postgres: VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8)
RETURNING id;

-- name: reports_mark_last_id
INSERT INTO kv (key, value) SELECT 'last_id.reports', CAST(max(id) AS TEXT) FROM metric_reports
WHERE true
ON CONFLICT (key) DO UPDATE SET value = excluded.value
WHERE CAST(kv.value AS INTEGER) < CAST(excluded.value AS INTEGER);

-- A report of a block that is taken apart, under the id it has.
-- name: reports_unseal
INSERT INTO metric_reports (id, trial_id, run_id, group_name, steps, stepless, report_us, avg_metrics, batch_metrics)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: reports_merge
UPDATE metric_reports SET run_id = $2, report_us = $3, avg_metrics = $4, batch_metrics = $5 WHERE id = $1;

-- The report that another one of the same trial, group and step merges into.
-- name: reports_to_merge
SELECT {report_columns} FROM metric_reports r
WHERE r.trial_id = $1 AND r.group_name = $2 AND r.steps = $3 AND r.archived = 0 AND r.stepless = 0;

-- Earlier runs' reports that a report at step $3 makes void ($4: its kind of group).
-- name: reports_archive
UPDATE metric_reports SET archived = 1
WHERE trial_id = $1 AND run_id < $2 AND archived = 0 AND (stepless = 0 OR steps > 0)
  AND (steps > $3 OR (steps = $3 AND $4 = CASE
        WHEN group_name IN ('training', 'validation') THEN group_name
        WHEN group_name IN ('gpu', 'cpu', 'memory', 'disk', 'network') THEN 'profiling'
        ELSE 'generic' END));

-- name: reports_of_group
SELECT {report_columns} FROM metric_reports r
WHERE r.trial_id = $1 AND r.group_name = $2 AND r.archived = 0 AND (r.steps, r.id) > ($3, $4)
ORDER BY r.steps, r.id LIMIT $5;

-- name: reports_of_trial
SELECT {report_columns} FROM metric_reports r
WHERE r.trial_id = $1 AND r.archived = 0 AND (r.steps, r.id) > ($2, $3)
ORDER BY r.steps, r.id LIMIT $4;

-- ---- blocks ----

-- name: metric_blocks_insert
INSERT INTO metric_blocks (trial_id, group_name, archived, report_n, first_steps, first_id, last_steps, last_id, least_run,
    greatest_run, least_us, greatest_us, reports, batches)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
RETURNING id;

-- name: metric_columns_insert
INSERT INTO metric_columns (block_id, name, summary, chart, content) VALUES ($1, $2, $3, $4, $5);

-- name: metric_blocks_delete
DELETE FROM metric_blocks WHERE id = $1;

-- name: metric_blocks_archive
UPDATE metric_blocks SET archived = 1 WHERE id = $1;

-- define: block_columns
b.id, b.group_name, b.report_n, b.first_steps, b.first_id, b.last_steps, b.last_id, b.least_run, b.greatest_run,
    b.least_us, b.greatest_us

-- Those that end at ($4, $5) or later, in order.
-- name: metric_blocks_from
SELECT {block_columns} FROM metric_blocks b
WHERE b.trial_id = $1 AND b.archived = $2 AND b.group_name = $3 AND (b.last_steps, b.last_id) >= ($4, $5)
ORDER BY b.first_steps, b.first_id LIMIT $6;

-- The same of all groups.
-- name: metric_blocks_of_trial_from
SELECT {block_columns} FROM metric_blocks b
WHERE b.trial_id = $1 AND b.archived = $2 AND (b.last_steps, b.last_id) >= ($3, $4)
ORDER BY b.first_steps, b.first_id, b.id LIMIT $5;

-- Those that begin before ($4, $5), the latest first.
-- name: metric_blocks_before
SELECT {block_columns} FROM metric_blocks b
WHERE b.trial_id = $1 AND b.archived = $2 AND b.group_name = $3 AND (b.first_steps, b.first_id) < ($4, $5)
ORDER BY b.first_steps DESC, b.first_id DESC LIMIT $6;

-- Those that hold reports of runs before $2 at step $3 or later.
-- name: metric_blocks_to_archive
SELECT {block_columns} FROM metric_blocks b
WHERE b.trial_id = $1 AND b.archived = 0 AND b.least_run < $2 AND b.last_steps >= $3
ORDER BY b.id;

-- The block that may hold the report of step $3.
-- name: metric_blocks_at_step
SELECT {block_columns} FROM metric_blocks b
WHERE b.trial_id = $1 AND b.archived = 0 AND b.group_name = $2 AND b.first_steps <= $3 AND b.last_steps >= $3
ORDER BY b.first_steps DESC, b.first_id DESC;

-- name: metric_blocks_count
SELECT count(*) FROM metric_blocks WHERE id = $1 AND archived = $2;

-- name: metric_block_reports
SELECT reports, batches FROM metric_blocks WHERE id = $1;

-- name: metric_block_columns
SELECT name, content FROM metric_columns WHERE block_id = $1 ORDER BY name;

-- name: metric_block_column
SELECT name, content FROM metric_columns WHERE block_id = $1 AND name = $2;

-- name: metric_charts
SELECT {block_columns}, c.chart FROM metric_blocks b JOIN metric_columns c ON c.block_id = b.id AND c.name = $3
WHERE b.trial_id = $1 AND b.archived = 0 AND b.group_name = $2
  AND b.last_steps >= $4 AND b.first_steps <= $5 AND b.greatest_us >= $6 AND b.least_us <= $7
ORDER BY b.first_steps, b.first_id;

-- name: metric_column_summaries
SELECT b.group_name, c.name, c.summary FROM metric_blocks b JOIN metric_columns c ON c.block_id = b.id
WHERE b.trial_id = $1 AND b.archived = 0
ORDER BY b.group_name, b.first_steps, b.first_id, c.name;

-- ---- sealing ----

-- What a trial has in rows. Validations stay rows: checkpoints and trials refer to them.
-- name: metric_heads_count
SELECT r.group_name, r.archived, count(*) FROM metric_reports r
WHERE r.trial_id = $1 AND r.group_name <> 'validation'
GROUP BY r.group_name, r.archived;

-- name: metric_heads
SELECT {report_columns} FROM metric_reports r
WHERE r.trial_id = $1 AND r.archived = $2 AND r.group_name = $3
ORDER BY r.steps, r.id LIMIT $4;

-- How many there are from ($4, $5) to ($6, $7), and how much of them: merging only ever adds.
-- name: metric_heads_measure
SELECT count(*),
-- sqlite: coalesce(sum(length(CAST(r.avg_metrics AS BLOB)) + coalesce(length(CAST(r.batch_metrics AS BLOB)), 0)), 0)
-- postgres: coalesce(sum(octet_length(r.avg_metrics) + coalesce(octet_length(r.batch_metrics), 0)), 0)::bigint
FROM metric_reports r
WHERE r.trial_id = $1 AND r.archived = $2 AND r.group_name = $3 AND (r.steps, r.id) >= ($4, $5)
  AND (r.steps, r.id) <= ($6, $7);

-- name: metric_heads_delete
DELETE FROM metric_reports
WHERE trial_id = $1 AND archived = $2 AND group_name = $3 AND (steps, id) >= ($4, $5) AND (steps, id) <= ($6, $7);

-- Trials that have at least $2 reports in rows, from $1 on: what a starting master looks after.
-- name: metric_heads_trials
SELECT r.trial_id FROM metric_reports r WHERE r.trial_id >= $1 AND r.group_name <> 'validation'
GROUP BY r.trial_id HAVING count(*) >= $2 ORDER BY r.trial_id LIMIT $3;

-- ---- summaries ----

-- name: summaries_set
INSERT INTO metric_summaries (trial_id, group_name, metrics) VALUES ($1, $2, $3)
ON CONFLICT (trial_id, group_name) DO UPDATE SET metrics = excluded.metrics;

-- name: summaries_of_trials
SELECT trial_id, group_name, metrics FROM metric_summaries
-- sqlite: WHERE trial_id IN (SELECT value FROM json_each($1))
-- postgres: WHERE trial_id IN (SELECT json_array_elements_text($1::json)::bigint)
ORDER BY trial_id, group_name;

-- name: summaries_delete
DELETE FROM metric_summaries WHERE trial_id = $1;

-- name: best_metric
SELECT best_trial_id, best_metric FROM experiments WHERE id = $1 AND best_metric IS NOT NULL;

-- name: metric_names
SELECT DISTINCT s.group_name, m.key
-- sqlite: FROM trials t JOIN metric_summaries s ON s.trial_id = t.id JOIN json_each(s.metrics) m
-- postgres: FROM trials t JOIN metric_summaries s ON s.trial_id = t.id
-- postgres: CROSS JOIN LATERAL (SELECT k COLLATE "C" AS key FROM json_object_keys(s.metrics::json) k) m
-- sqlite: WHERE t.experiment_id IN (SELECT value FROM json_each($1))
-- postgres: WHERE t.experiment_id IN (SELECT json_array_elements_text($1::json)::bigint)
ORDER BY s.group_name, m.key;

-- name: metric_names_of_trial
SELECT s.group_name, m.key
-- sqlite: FROM metric_summaries s JOIN json_each(s.metrics) m
-- postgres: FROM metric_summaries s CROSS JOIN LATERAL (SELECT k AS key FROM json_object_keys(s.metrics::json) k) m
WHERE s.trial_id = $1 AND s.group_name = $2;

-- name: metric_batches
SELECT DISTINCT r.steps FROM trials t JOIN metric_reports r ON r.trial_id = t.id
WHERE t.experiment_id = $1 AND r.group_name = $2 AND r.archived = 0 AND r.steps > $4
-- sqlite: AND EXISTS (SELECT 1 FROM json_each(r.avg_metrics) m WHERE m.key = $3)
-- postgres: AND r.avg_metrics::json->$3::text IS NOT NULL
ORDER BY r.steps;

-- Blocks of an experiment with a column $3 and steps beyond $4.
-- name: metric_blocks_with
SELECT b.id FROM trials t JOIN metric_blocks b ON b.trial_id = t.id AND b.archived = 0 AND b.group_name = $2
JOIN metric_columns c ON c.block_id = b.id AND c.name = $3
WHERE t.experiment_id = $1 AND b.last_steps > $4
ORDER BY b.trial_id, b.first_steps, b.first_id;

-- ---- workloads: reports (rows and blocks) and checkpoints in one list ----

-- Rows of group $2, or of training and validation; $3 training and others, $4 validation.
-- define: workload_reports
FROM metric_reports r WHERE r.trial_id = $1 AND r.archived = 0
    AND (r.group_name = $2 OR ($2 IS NULL AND r.group_name IN ('training', 'validation')))
    AND ((r.group_name <> 'validation' AND $3 <> 0) OR (r.group_name = 'validation' AND $4 <> 0))

-- name: workload_reports_count
SELECT count(*) {workload_reports};

-- name: workload_reports_next
SELECT {report_columns} {workload_reports} AND (r.steps, r.id) > ($5, $6) ORDER BY r.steps, r.id LIMIT $7;

-- name: workload_report
SELECT {report_columns} FROM metric_reports r WHERE r.id = $1;

-- name: workload_blocks
SELECT {block_columns} FROM metric_blocks b WHERE b.trial_id = $1 AND b.archived = 0
    AND (b.group_name = $2 OR ($2 IS NULL AND b.group_name = 'training')) AND $3 <> 0
ORDER BY b.first_steps, b.first_id;

-- $2: deleted ones, too.
-- name: workload_checkpoints
SELECT c.steps_completed, c.report_us, c.uuid, c.state, c.resources, c.metadata
FROM checkpoints c WHERE c.trial_id = $1 AND ($2 <> 0 OR c.state <> 'DELETED') ORDER BY c.steps_completed, c.uuid;
