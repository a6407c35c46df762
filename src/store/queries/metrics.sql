-- row: report_row of metric_reports r
r.id: i64, r.trial_id, r.run_id, r.group_name AS group, r.steps: i32, r.report_us, r.stepless: bool,
r.archived: bool, r.avg_metrics,
r.batch_metrics -- NULL: there are none

-- SQLite would give a new row the highest id plus one. Sealing deletes the row with the highest id, so that id is stored and looked at
-- here.
-- name: reports_insert from report_row
-- sqlite: INSERT INTO metric_reports (id, trial_id, run_id, group_name, steps, stepless, report_us, avg_metrics, batch_metrics)
-- sqlite: VALUES (1 + max(coalesce((SELECT max(id) FROM metric_reports), 0),
-- sqlite:     coalesce((SELECT CAST(value AS INTEGER) FROM kv WHERE key = 'last_id.reports'), 0)),
-- postgres: INSERT INTO metric_reports (trial_id, run_id, group_name, steps, stepless, report_us, avg_metrics, batch_metrics)
-- postgres: VALUES (
    $trial_id, $run_id, $group, $steps, $stepless, $report_us, $avg_metrics, $batch_metrics)
RETURNING id;

-- name: reports_mark_last_id
INSERT INTO kv (key, value) SELECT 'last_id.reports', CAST(max(id) AS TEXT) FROM metric_reports
WHERE true
ON CONFLICT (key) DO UPDATE SET value = excluded.value
WHERE CAST(kv.value AS INTEGER) < CAST(excluded.value AS INTEGER);

-- Inserts a report of a block that is unsealed, with the id that the report has.
-- name: reports_unseal from report_row
INSERT INTO metric_reports (id, trial_id, run_id, group_name, steps, stepless, report_us, avg_metrics, batch_metrics)
VALUES ($id, $trial_id, $run_id, $group, $steps, $stepless, $report_us, $avg_metrics, $batch_metrics);

-- name: reports_merge from report_row
UPDATE metric_reports SET run_id = $run_id, report_us = $report_us, avg_metrics = $avg_metrics, batch_metrics = $batch_metrics
WHERE id = $id;

-- Finds the report that another one of the same trial, group and step is merged into.
-- name: reports_to_merge
SELECT {report_row} FROM metric_reports r
WHERE r.trial_id = $1 AND r.group_name = $2 AND r.steps = $3 AND r.archived = 0 AND r.stepless = 0;

-- Archives reports of earlier runs that a report at step $3 makes void. $4 is the kind of the report's group.
-- name: reports_archive
UPDATE metric_reports SET archived = 1
WHERE trial_id = $1 AND run_id < $2 AND archived = 0 AND (stepless = 0 OR steps > 0)
  AND (steps > $3 OR (steps = $3 AND $4 = CASE
        WHEN group_name IN ('training', 'validation') THEN group_name
        WHEN group_name IN ('gpu', 'cpu', 'memory', 'disk', 'network') THEN 'profiling'
        ELSE 'generic' END));

-- name: reports_of_group
SELECT {report_row} FROM metric_reports r
WHERE r.trial_id = $1 AND r.group_name = $2 AND r.archived = 0 AND (r.steps, r.id) > ($3, $4)
ORDER BY r.steps, r.id LIMIT $5;

-- name: reports_of_trial
SELECT {report_row} FROM metric_reports r
WHERE r.trial_id = $1 AND r.archived = 0 AND (r.steps, r.id) > ($2, $3)
ORDER BY r.steps, r.id LIMIT $4;

-- ---- blocks ----

-- row: metric_block_row in store/metrics/metric_key.h of metric_blocks b
b.id: i64, b.group_name AS group, b.report_n AS n: i64, b.first_steps AS first.steps: i64, b.first_id AS first.id: i64,
b.last_steps AS last.steps: i64, b.last_id AS last.id: i64, b.least_run: i32, b.greatest_run: i32, b.least_us, b.greatest_us

-- name: metric_blocks_insert from metric_block_row with trial_id: id, archived: bool, group_name: text, reports: strbuf, batches: strbuf
INSERT INTO metric_blocks (trial_id, group_name, archived, report_n, first_steps, first_id, last_steps, last_id, least_run,
    greatest_run, least_us, greatest_us, reports, batches)
VALUES ($trial_id, $group_name, $archived, $n, $first.steps, $first.id, $last.steps, $last.id, $least_run,
    $greatest_run, $least_us, $greatest_us, $reports, $batches)
RETURNING id;

-- name: metric_columns_insert with block_id: i64, name: text, summary: text, chart: strbuf, content: strbuf
INSERT INTO metric_columns (block_id, name, summary, chart, content) VALUES ($block_id, $name, $summary, $chart, $content);

-- name: metric_blocks_delete
DELETE FROM metric_blocks WHERE id = $1;

-- name: metric_blocks_archive
UPDATE metric_blocks SET archived = 1 WHERE id = $1;

-- Blocks that end at ($steps, $id) or later, in order.
-- name: metric_blocks_from with trial_id: id, archived: bool, group: text, steps: i64, id: i64, most: i64
SELECT {metric_block_row} FROM metric_blocks b
WHERE b.trial_id = $trial_id AND b.archived = $archived AND b.group_name = $group AND (b.last_steps, b.last_id) >= ($steps, $id)
ORDER BY b.first_steps, b.first_id LIMIT $most;

-- Blocks of all groups that end at ($steps, $id) or later, in order.
-- name: metric_blocks_of_trial_from with trial_id: id, archived: bool, steps: i64, id: i64, most: i64
SELECT {metric_block_row} FROM metric_blocks b
WHERE b.trial_id = $trial_id AND b.archived = $archived AND (b.last_steps, b.last_id) >= ($steps, $id)
ORDER BY b.first_steps, b.first_id, b.id LIMIT $most;

-- Blocks that begin before ($steps, $id), the latest first.
-- name: metric_blocks_before with trial_id: id, archived: bool, group: text, steps: i64, id: i64, most: i64
SELECT {metric_block_row} FROM metric_blocks b
WHERE b.trial_id = $trial_id AND b.archived = $archived AND b.group_name = $group AND (b.first_steps, b.first_id) < ($steps, $id)
ORDER BY b.first_steps DESC, b.first_id DESC LIMIT $most;

-- Blocks that hold reports of runs before $2 at step $3 or later.
-- name: metric_blocks_to_archive
SELECT {metric_block_row} FROM metric_blocks b
WHERE b.trial_id = $1 AND b.archived = 0 AND b.least_run < $2 AND b.last_steps >= $3
ORDER BY b.id;

-- The block that may hold the report of step $3.
-- name: metric_blocks_at_step
SELECT {metric_block_row} FROM metric_blocks b
WHERE b.trial_id = $1 AND b.archived = 0 AND b.group_name = $2 AND b.first_steps <= $3 AND b.last_steps >= $3
ORDER BY b.first_steps DESC, b.first_id DESC;

-- name: metric_blocks_count
SELECT count(*) FROM metric_blocks WHERE id = $1 AND archived = $2;

-- row: metric_block_packed of metric_blocks b
b.reports, b.batches

-- name: metric_block_reports
SELECT {metric_block_packed} FROM metric_blocks b WHERE b.id = $1;

-- row: metric_column_packed of metric_columns c
c.name, c.content: borrowed

-- name: metric_block_columns
SELECT {metric_column_packed} FROM metric_columns c WHERE c.block_id = $1 ORDER BY c.name;

-- name: metric_block_column
SELECT {metric_column_packed} FROM metric_columns c WHERE c.block_id = $1 AND c.name = $2;

-- row: metric_chart_row of metric_blocks b, metric_columns c
{metric_block_row} AS block, c.chart: borrowed

-- name: metric_charts with trial_id: id, group: text, name: text, from_steps: i64, to_steps: i64, from_us: i64, to_us: i64
SELECT {metric_chart_row} FROM metric_blocks b JOIN metric_columns c ON c.block_id = b.id AND c.name = $name
WHERE b.trial_id = $trial_id AND b.archived = 0 AND b.group_name = $group
  AND b.last_steps >= $from_steps AND b.first_steps <= $to_steps AND b.greatest_us >= $from_us AND b.least_us <= $to_us
ORDER BY b.first_steps, b.first_id;

-- row: column_summary of metric_blocks b, metric_columns c
b.group_name AS group, c.summary

-- name: metric_column_summaries
SELECT {column_summary} FROM metric_blocks b JOIN metric_columns c ON c.block_id = b.id
WHERE b.trial_id = $1 AND b.archived = 0
ORDER BY b.group_name, b.first_steps, b.first_id, c.name;

-- ---- sealing ----

-- How many reports a trial has in rows. Validations are not counted, since they stay rows: checkpoints and trials refer to them.
-- row: heads_count of metric_reports r
r.group_name AS group, r.archived: bool, count(*) AS n: i64

-- name: metric_heads_count
SELECT {heads_count} FROM metric_reports r
WHERE r.trial_id = $1 AND r.group_name <> 'validation'
GROUP BY r.group_name, r.archived;

-- name: metric_heads
SELECT {report_row} FROM metric_reports r
WHERE r.trial_id = $1 AND r.archived = $2 AND r.group_name = $3
ORDER BY r.steps, r.id LIMIT $4;

-- row: heads_measure
count(*) AS n: i64,
-- sqlite: coalesce(sum(length(CAST(r.avg_metrics AS BLOB)) + coalesce(length(CAST(r.batch_metrics AS BLOB)), 0)), 0) AS bytes: i64
-- postgres: coalesce(sum(octet_length(r.avg_metrics) + coalesce(octet_length(r.batch_metrics), 0)), 0)::bigint AS bytes: i64

-- A range of reports, from the first to the last.
-- row: report_range in store/metrics/metric_key.h of metric_reports r
-- write only
r.trial_id, r.archived: bool, r.group_name AS group, r.steps AS first.steps: i64, r.id AS first.id: i64,
r.steps AS last.steps: i64, r.id AS last.id: i64

-- Counts the reports of a range and their bytes. Merging only ever adds bytes, so a change shows in these numbers.
-- name: metric_heads_measure from report_range
SELECT {heads_measure} FROM metric_reports r
WHERE r.trial_id = $trial_id AND r.archived = $archived AND r.group_name = $group
  AND (r.steps, r.id) >= ($first.steps, $first.id) AND (r.steps, r.id) <= ($last.steps, $last.id);

-- name: metric_heads_delete from report_range
DELETE FROM metric_reports WHERE trial_id = $trial_id AND archived = $archived AND group_name = $group
  AND (steps, id) >= ($first.steps, $first.id) AND (steps, id) <= ($last.steps, $last.id);

-- Returns trials whose id is at least from_trial_id and that have at least at_least rows that may be sealed. A starting master seals them.
-- name: metric_heads_trials with from_trial_id: id, at_least: i32, limit: i32
-- function: store_seal_trials returns ids
SELECT r.trial_id FROM metric_reports r WHERE r.trial_id >= $from_trial_id AND r.group_name <> 'validation'
GROUP BY r.trial_id HAVING count(*) >= $at_least ORDER BY r.trial_id LIMIT $limit;

-- ---- summaries ----

-- name: summaries_set
INSERT INTO metric_summaries (trial_id, group_name, metrics) VALUES ($1, $2, $3)
ON CONFLICT (trial_id, group_name) DO UPDATE SET metrics = excluded.metrics;

-- row: summary_row of metric_summaries s
s.trial_id, s.group_name AS group, s.metrics

-- name: summaries_of_trials
SELECT {summary_row} FROM metric_summaries s
-- sqlite: WHERE s.trial_id IN (SELECT value FROM json_each($1))
-- postgres: WHERE s.trial_id IN (SELECT json_array_elements_text($1::json)::bigint)
ORDER BY s.trial_id, s.group_name;

-- name: summaries_delete
DELETE FROM metric_summaries WHERE trial_id = $1;

-- row: best_row of experiments x
x.best_trial_id AS trial_id, x.best_metric AS metric: real?

-- name: best_metric
SELECT {best_row} FROM experiments x WHERE x.id = $1 AND x.best_metric IS NOT NULL;

-- row: store_metric_name of metric_summaries s
s.group_name AS group, m.key AS name: text

-- Names of metrics that trials of the experiments have reported, by group.
-- name: metric_names with experiment_ids: ints
-- function: store_metric_names returns rows
SELECT DISTINCT {store_metric_name}
-- sqlite: FROM trials t JOIN metric_summaries s ON s.trial_id = t.id JOIN json_each(s.metrics) m
-- postgres: FROM trials t JOIN metric_summaries s ON s.trial_id = t.id
-- postgres: CROSS JOIN LATERAL (SELECT k COLLATE "C" AS key FROM json_object_keys(s.metrics::json) k) m
-- sqlite: WHERE t.experiment_id IN (SELECT value FROM json_each($experiment_ids))
-- postgres: WHERE t.experiment_id IN (SELECT json_array_elements_text($experiment_ids::json)::bigint)
ORDER BY s.group_name, m.key;

-- name: metric_names_of_trial
SELECT {store_metric_name}
-- sqlite: FROM metric_summaries s JOIN json_each(s.metrics) m
-- postgres: FROM metric_summaries s CROSS JOIN LATERAL (SELECT k AS key FROM json_object_keys(s.metrics::json) k) m
WHERE s.trial_id = $1 AND s.group_name = $2;

-- name: metric_batches
SELECT DISTINCT r.steps FROM trials t JOIN metric_reports r ON r.trial_id = t.id
WHERE t.experiment_id = $1 AND r.group_name = $2 AND r.archived = 0 AND r.steps > $4
-- sqlite: AND EXISTS (SELECT 1 FROM json_each(r.avg_metrics) m WHERE m.key = $3)
-- postgres: AND r.avg_metrics::json->$3::text IS NOT NULL
ORDER BY r.steps;

-- Blocks of an experiment that have a column $3 and steps beyond $4.
-- name: metric_blocks_with
SELECT b.id FROM trials t JOIN metric_blocks b ON b.trial_id = t.id AND b.archived = 0 AND b.group_name = $2
JOIN metric_columns c ON c.block_id = b.id AND c.name = $3
WHERE t.experiment_id = $1 AND b.last_steps > $4
ORDER BY b.trial_id, b.first_steps, b.first_id;

-- ---- workloads: reports (rows and blocks) and checkpoints in one list ----

-- Reports in rows, of group $2, or of training and validation if $2 is NULL. $3: other groups than validation are included, $4: validation
-- is included.
-- define: workload_reports
FROM metric_reports r WHERE r.trial_id = $1 AND r.archived = 0
    AND (r.group_name = $2 OR ($2 IS NULL AND r.group_name IN ('training', 'validation')))
    AND ((r.group_name <> 'validation' AND $3 <> 0) OR (r.group_name = 'validation' AND $4 <> 0))

-- name: workload_reports_count
SELECT count(*) {workload_reports};

-- name: workload_reports_next
SELECT {report_row} {workload_reports} AND (r.steps, r.id) > ($5, $6) ORDER BY r.steps, r.id LIMIT $7;

-- name: workload_report
SELECT {report_row} FROM metric_reports r WHERE r.id = $1;

-- name: workload_blocks
SELECT {metric_block_row} FROM metric_blocks b WHERE b.trial_id = $1 AND b.archived = 0
    AND (b.group_name = $2 OR ($2 IS NULL AND b.group_name = 'training')) AND $3 <> 0
ORDER BY b.first_steps, b.first_id;

-- row: workload_checkpoint in store/metrics/metrics.h into store_workload of checkpoints c
c.steps_completed AS total_batches: i32, c.report_us AS end_us, c.uuid, c.state, c.resources, c.metadata

-- $2: deleted checkpoints are included.
-- name: workload_checkpoints
SELECT {workload_checkpoint} FROM checkpoints c WHERE c.trial_id = $1 AND ($2 <> 0 OR c.state <> 'DELETED') ORDER BY c.steps_completed, c.uuid;
