-- define: report_columns
r.id, r.trial_id, r.run_id, r.group_name, r.steps, r.report_us, r.archived, r.avg_metrics, r.batch_metrics

-- name: reports_insert
INSERT INTO metric_reports (trial_id, run_id, group_name, steps, stepless, report_us, avg_metrics, batch_metrics)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
RETURNING id;

-- name: reports_merge
UPDATE metric_reports SET run_id = $2, report_us = $3, avg_metrics = $4, batch_metrics = $5 WHERE id = $1;

-- The report that another one of the same trial, group and step merges into.
-- name: reports_to_merge
SELECT {report_columns} FROM metric_reports r
WHERE r.trial_id = $1 AND r.group_name = $2 AND r.steps = $3 AND r.archived = 0 AND r.stepless = 0;

-- Earlier runs' reports that a report at step $3 makes void ($4: its kind of group).
-- name: reports_archive
UPDATE metric_reports SET archived = 1
WHERE trial_id = $1 AND run_id < $2 AND archived = 0 AND stepless = 0
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

-- name: reports_at_step
SELECT {report_columns} FROM metric_reports r
WHERE r.trial_id = $1 AND r.group_name = $2 AND r.steps = $3 AND r.archived = 0
ORDER BY r.id;

-- name: reports_in_range
SELECT {report_columns} FROM metric_reports r
WHERE r.trial_id = $1 AND r.group_name = $2 AND r.archived = 0 AND r.steps >= $3 AND ($4 = 0 OR r.steps <= $4)
ORDER BY r.steps, r.id;

-- ---- summaries ----

-- name: summaries_get
SELECT metrics FROM metric_summaries WHERE trial_id = $1 AND group_name = $2;

-- name: summaries_set
INSERT INTO metric_summaries (trial_id, group_name, metrics) VALUES ($1, $2, $3)
ON CONFLICT (trial_id, group_name) DO UPDATE SET metrics = excluded.metrics;

-- name: summaries_of_trial
SELECT group_name, metrics FROM metric_summaries WHERE trial_id = $1 ORDER BY group_name;

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

-- name: metric_batches
SELECT DISTINCT r.steps FROM trials t JOIN metric_reports r ON r.trial_id = t.id
WHERE t.experiment_id = $1 AND r.group_name = $2 AND r.archived = 0
-- sqlite: AND EXISTS (SELECT 1 FROM json_each(r.avg_metrics) m WHERE m.key = $3)
-- postgres: AND r.avg_metrics::json->$3::text IS NOT NULL
ORDER BY r.steps;

-- ---- workloads: reports and checkpoints in one list ----

-- define: workload_reports
SELECT CASE r.group_name WHEN 'validation' THEN 1 ELSE 0 END AS kind, r.steps AS steps, r.report_us AS end_us,
    r.avg_metrics, r.batch_metrics, NULL AS uuid, NULL AS state, NULL AS resources, NULL AS metadata, r.id AS tie
FROM metric_reports r WHERE r.trial_id = $1 AND r.archived = 0

-- define: workload_checkpoints
SELECT 2 AS kind, c.steps_completed AS steps, c.report_us AS end_us, NULL AS avg_metrics,
    NULL AS batch_metrics, c.uuid AS uuid, c.state AS state, c.resources AS resources, c.metadata AS metadata, 0 AS tie
FROM checkpoints c WHERE c.trial_id = $1

-- Parameters of both: trial, a group or NULL (training and validation), take the reports or NULL's worth of kinds:
-- $3 training, $4 validation, $5 checkpoints, $6 deleted checkpoints.
-- define: workload_union
(SELECT * FROM ({workload_reports}
        AND (r.group_name = $2 OR ($2 IS NULL AND r.group_name IN ('training', 'validation')))
        AND ((r.group_name <> 'validation' AND $3 <> 0) OR (r.group_name = 'validation' AND $4 <> 0))) q1
    UNION ALL
    SELECT * FROM ({workload_checkpoints} AND $5 <> 0 AND ($6 <> 0 OR c.state <> 'DELETED')) q2) w

-- fragment: workloads_count
SELECT count(*) FROM {workload_union}

-- fragment: workloads_rows
SELECT w.kind, w.steps, w.end_us, w.avg_metrics, w.batch_metrics, w.uuid, w.state, w.resources, w.metadata
FROM {workload_union}

-- fragment: workload_sort_batches
ORDER BY w.steps, w.kind, w.tie
-- fragment: workload_sort_batches_desc
ORDER BY w.steps DESC, w.kind DESC, w.tie DESC
-- fragment: workload_sort_end
ORDER BY w.end_us, w.steps, w.kind, w.tie
-- fragment: workload_sort_end_desc
ORDER BY w.end_us DESC, w.steps DESC, w.kind DESC, w.tie DESC
-- fragment: workload_sort_metric
-- sqlite: ORDER BY (SELECT m.value FROM json_each(w.avg_metrics) m WHERE m.key = $1 AND m.type IN ('integer', 'real'))
-- sqlite: NULLS LAST, w.steps, w.kind, w.tie
-- postgres: ORDER BY
-- postgres: CASE WHEN json_typeof(w.avg_metrics::json->$1::text) = 'number'
-- postgres: THEN (w.avg_metrics::json->>$1::text)::double precision END NULLS LAST, w.steps, w.kind, w.tie
-- fragment: workload_sort_metric_desc
-- sqlite: ORDER BY (SELECT m.value FROM json_each(w.avg_metrics) m WHERE m.key = $1 AND m.type IN ('integer', 'real'))
-- sqlite: DESC NULLS LAST, w.steps, w.kind, w.tie
-- postgres: ORDER BY
-- postgres: CASE WHEN json_typeof(w.avg_metrics::json->$1::text) = 'number'
-- postgres: THEN (w.avg_metrics::json->>$1::text)::double precision END DESC NULLS LAST, w.steps, w.kind, w.tie
