-- Searches for experiments and runs: pieces of their filters and sorts. What a name of the contract stands for is in
-- search_columns.c. x is the experiment, t the run, p the project; a search for experiments has no t but where a piece brings it along.

-- ---- how pieces are put together ----
-- fragment: search_and
AND
-- fragment: search_or
OR
-- fragment: search_open
(
-- fragment: search_close
)
-- What has no value is not equal, and contains nothing.
-- fragment: search_not
NOT coalesce(
-- fragment: search_not_close
, FALSE)
-- fragment: search_nothing
1 = 1
-- fragment: search_never
1 = 0

-- ---- operators ----
-- fragment: search_equal
= CAST($1 AS DOUBLE PRECISION)
-- fragment: search_less
< CAST($1 AS DOUBLE PRECISION)
-- fragment: search_less_equal
<= CAST($1 AS DOUBLE PRECISION)
-- fragment: search_greater
> CAST($1 AS DOUBLE PRECISION)
-- fragment: search_greater_equal
>= CAST($1 AS DOUBLE PRECISION)
-- fragment: search_equal_text
= CAST($1 AS TEXT)
-- fragment: search_contains
-- sqlite: LIKE $1 ESCAPE '\'
-- postgres: ILIKE $1 ESCAPE '\'
-- fragment: search_is_null
IS NULL
-- fragment: search_is_empty_text
IN ('', '[]')
-- fragment: search_coalesce
coalesce(
-- fragment: search_coalesce_text
, '')

-- ---- columns of experiments ----
-- fragment: search_x_id
x.id
-- fragment: search_x_description
x.description
-- fragment: search_x_description_sort
substr(x.description, 1, 200)
-- fragment: search_x_name
x.name
-- fragment: search_x_name_sort
substr(x.name, 1, 200)
-- fragment: search_x_labels
x.labels
-- fragment: search_x_searcher_type
x.searcher_type
-- fragment: search_x_searcher_metric
x.searcher_metric
-- fragment: search_x_start
x.start_us
-- fragment: search_x_end
x.end_us
-- In seconds, until now ($1) for what goes on.
-- fragment: search_x_duration
(coalesce(x.end_us, $1) - x.start_us) / 1000000
-- fragment: search_x_state
x.state
-- fragment: search_x_num_trials
x.num_trials
-- fragment: search_x_progress
coalesce(x.progress, 0) * 100
-- fragment: search_x_progress_sort
coalesce(x.progress, 0)
-- fragment: search_x_user
(SELECT coalesce(u.display_name, u.username) FROM users u WHERE u.id = x.user_id)
-- fragment: search_x_user_sort
coalesce(u.display_name, u.username)
-- fragment: search_x_user_is
-- sqlite: +x.user_id IN (SELECT id FROM users WHERE username = CAST($1 AS TEXT) OR display_name = CAST($1 AS TEXT))
-- postgres: x.user_id IN (SELECT id FROM users WHERE username = CAST($1 AS TEXT) OR display_name = CAST($1 AS TEXT))
-- fragment: search_x_user_id
x.user_id
-- fragment: search_x_parent
x.parent_id
-- fragment: search_x_pool
x.resource_pool
-- fragment: search_x_project
x.project_id
-- fragment: search_x_checkpoint_size
x.checkpoint_size
-- fragment: search_x_checkpoint_count
x.checkpoint_count
-- fragment: search_x_metric
x.best_metric
-- fragment: search_x_external
x.external_id
-- fragment: search_x_external_trial
(SELECT b.external_id FROM trials b WHERE b.id = x.best_trial_id)
-- One label that is, or contains.
-- fragment: search_x_label_is
-- sqlite: EXISTS (SELECT 1 FROM json_each(x.labels) l WHERE l.value = CAST($1 AS TEXT))
-- postgres: x.labels::jsonb @> to_jsonb(CAST($1 AS TEXT))
-- fragment: search_x_label_contains
-- sqlite: EXISTS (SELECT 1 FROM json_each(x.labels) l WHERE l.value LIKE $1 ESCAPE '\')
-- postgres: EXISTS (SELECT 1 FROM json_array_elements_text(x.labels::json) l WHERE l ILIKE $1 ESCAPE '\')

-- ---- columns of runs ----
-- fragment: search_t_id
t.id
-- fragment: search_t_start
t.start_us
-- fragment: search_t_end
t.end_us
-- fragment: search_t_duration
(coalesce(t.end_us, $1) - t.start_us) / 1000000
-- fragment: search_t_state
t.state
-- fragment: search_t_checkpoint_size
t.checkpoint_size
-- fragment: search_t_checkpoint_count
t.checkpoint_count
-- fragment: search_t_metric
t.best_metric
-- fragment: search_t_external
t.external_id
-- fragment: search_t_archived
t.archived
-- fragment: search_t_local_id
(SELECT k.key FROM projects k WHERE k.id = x.project_id) || '-' || CAST(t.id AS TEXT)
-- fragment: search_x_multitrial
CASE WHEN x.num_trials > 1 OR x.searcher_type <> 'single' THEN 1 ELSE 0 END
-- fragment: search_x_parent_archived
(SELECT CASE WHEN x.archived <> 0 OR k.archived <> 0 OR w.archived <> 0 THEN 1 ELSE 0 END
FROM projects k JOIN workspaces w ON w.id = k.workspace_id WHERE k.id = x.project_id)

-- ---- values within JSON: hyperparameters and metadata of a run, by path ($1) ----
-- fragment: search_hparam_number
-- sqlite: CASE WHEN json_type(t.hparams, $1) IN ('integer', 'real') THEN json_extract(t.hparams, $1) END
-- postgres: CASE WHEN json_typeof(t.hparams::json #> ARRAY(SELECT json_array_elements_text($1::json))) = 'number'
-- postgres: THEN CAST(t.hparams::json #>> ARRAY(SELECT json_array_elements_text($1::json)) AS DOUBLE PRECISION) END
-- fragment: search_hparam_text
-- sqlite: CASE json_type(t.hparams, $1) WHEN 'true' THEN 'true' WHEN 'false' THEN 'false'
-- sqlite: ELSE CAST(json_extract(t.hparams, $1) AS TEXT) END
-- postgres: t.hparams::json #>> ARRAY(SELECT json_array_elements_text($1::json))
-- fragment: search_metadata_number
-- sqlite: CASE WHEN json_type(t.metadata, $1) IN ('integer', 'real') THEN json_extract(t.metadata, $1) END
-- postgres: CASE WHEN json_typeof(t.metadata::json #> ARRAY(SELECT json_array_elements_text($1::json))) = 'number'
-- postgres: THEN CAST(t.metadata::json #>> ARRAY(SELECT json_array_elements_text($1::json)) AS DOUBLE PRECISION) END
-- fragment: search_metadata_text
-- sqlite: CASE json_type(t.metadata, $1) WHEN 'true' THEN 'true' WHEN 'false' THEN 'false'
-- sqlite: ELSE CAST(json_extract(t.metadata, $1) AS TEXT) END
-- postgres: t.metadata::json #>> ARRAY(SELECT json_array_elements_text($1::json))

-- An experiment has the hyperparameters of its runs: one of them is enough.
-- fragment: search_any_run
EXISTS (SELECT 1 FROM trials t WHERE t.experiment_id = x.id AND
-- It is sorted by those of its best run, or of the first.
-- fragment: search_shown_run
(SELECT
-- fragment: search_shown_run_close
FROM trials t WHERE t.id = coalesce(x.best_trial_id, (SELECT min(f.id) FROM trials f WHERE f.experiment_id = x.id)))

-- ---- summaries of metrics: group $1; $2 is the path of the value, $3 that of what it is divided by ----
-- fragment: search_t_metric_number
-- sqlite: (SELECT CASE WHEN json_type(s.metrics, $2) IN ('integer', 'real') THEN json_extract(s.metrics, $2) END
-- postgres: (SELECT CASE WHEN json_typeof(s.metrics::json #> ARRAY(SELECT json_array_elements_text($2::json))) = 'number'
-- postgres: THEN CAST(s.metrics::json #>> ARRAY(SELECT json_array_elements_text($2::json)) AS DOUBLE PRECISION) END
FROM metric_summaries s WHERE s.trial_id = t.id AND s.group_name = $1)
-- fragment: search_t_metric_mean
-- sqlite: (SELECT CASE WHEN json_type(s.metrics, $2) IN ('integer', 'real')
-- sqlite: THEN json_extract(s.metrics, $2) / json_extract(s.metrics, $3) END
-- postgres: (SELECT CASE WHEN json_typeof(s.metrics::json #> ARRAY(SELECT json_array_elements_text($2::json))) = 'number'
-- postgres: THEN CAST(s.metrics::json #>> ARRAY(SELECT json_array_elements_text($2::json)) AS DOUBLE PRECISION)
-- postgres: / CAST(s.metrics::json #>> ARRAY(SELECT json_array_elements_text($3::json)) AS DOUBLE PRECISION) END
FROM metric_summaries s WHERE s.trial_id = t.id AND s.group_name = $1)
-- fragment: search_t_metric_text
-- sqlite: (SELECT CAST(json_extract(s.metrics, $2) AS TEXT)
-- postgres: (SELECT s.metrics::json #>> ARRAY(SELECT json_array_elements_text($2::json))
FROM metric_summaries s WHERE s.trial_id = t.id AND s.group_name = $1)
-- An experiment has the metrics of its best run.
-- fragment: search_x_metric_number
-- sqlite: (SELECT CASE WHEN json_type(s.metrics, $2) IN ('integer', 'real') THEN json_extract(s.metrics, $2) END
-- postgres: (SELECT CASE WHEN json_typeof(s.metrics::json #> ARRAY(SELECT json_array_elements_text($2::json))) = 'number'
-- postgres: THEN CAST(s.metrics::json #>> ARRAY(SELECT json_array_elements_text($2::json)) AS DOUBLE PRECISION) END
FROM metric_summaries s WHERE s.trial_id = x.best_trial_id AND s.group_name = $1)
-- fragment: search_x_metric_mean
-- sqlite: (SELECT CASE WHEN json_type(s.metrics, $2) IN ('integer', 'real')
-- sqlite: THEN json_extract(s.metrics, $2) / json_extract(s.metrics, $3) END
-- postgres: (SELECT CASE WHEN json_typeof(s.metrics::json #> ARRAY(SELECT json_array_elements_text($2::json))) = 'number'
-- postgres: THEN CAST(s.metrics::json #>> ARRAY(SELECT json_array_elements_text($2::json)) AS DOUBLE PRECISION)
-- postgres: / CAST(s.metrics::json #>> ARRAY(SELECT json_array_elements_text($3::json)) AS DOUBLE PRECISION) END
FROM metric_summaries s WHERE s.trial_id = x.best_trial_id AND s.group_name = $1)
-- fragment: search_x_metric_text
-- sqlite: (SELECT CAST(json_extract(s.metrics, $2) AS TEXT)
-- postgres: (SELECT s.metrics::json #>> ARRAY(SELECT json_array_elements_text($2::json))
FROM metric_summaries s WHERE s.trial_id = x.best_trial_id AND s.group_name = $1)

-- ---- what a project can be searched by ----
-- The values of hyperparameters or ($2) metadata, with the names of those around them. PostgreSQL has no texts with a NUL: what holds
-- one is passed over, on both engines.
-- name: search_value_names
-- sqlite: WITH RECURSIVE node(name, type, value) AS (
-- sqlite: SELECT j.key, j.type, j.value FROM experiments x JOIN trials t ON t.experiment_id = x.id,
-- sqlite: json_each(CASE WHEN $2 <> 0 THEN coalesce(t.metadata, '{}') ELSE t.hparams END) j WHERE x.project_id = $1
-- sqlite: AND instr(CASE WHEN $2 <> 0 THEN coalesce(t.metadata, '{}') ELSE t.hparams END, '\u0000') = 0
-- sqlite: UNION SELECT n.name || '.' || j.key, j.type, j.value FROM node n, json_each(n.value) j WHERE n.type = 'object')
-- sqlite: SELECT name, min(CASE WHEN type IN ('integer', 'real') THEN 1 ELSE 0 END), min(CASE WHEN type = 'text' THEN 1 ELSE 0 END)
-- sqlite: FROM node WHERE type NOT IN ('object', 'null') GROUP BY name ORDER BY name;
-- postgres: WITH RECURSIVE node(name, type, value) AS (
-- postgres: SELECT j.key, jsonb_typeof(j.value), j.value FROM (
-- postgres: SELECT CASE WHEN CAST($2 AS BIGINT) <> 0 THEN coalesce(t.metadata, '{}') ELSE t.hparams END AS text
-- postgres: FROM experiments x JOIN trials t ON t.experiment_id = x.id WHERE x.project_id = $1) kept,
-- postgres: jsonb_each(CAST(CASE WHEN position('\u0000' IN kept.text) = 0 THEN kept.text ELSE '{}' END AS jsonb)) j
-- postgres: UNION SELECT n.name || '.' || j.key, jsonb_typeof(j.value), j.value FROM node n,
-- postgres: jsonb_each(CASE WHEN n.type = 'object' THEN n.value ELSE '{}' END) j)
-- postgres: SELECT name, min(CASE WHEN type = 'number' THEN 1 ELSE 0 END), min(CASE WHEN type = 'string' THEN 1 ELSE 0 END)
-- postgres: FROM node WHERE type NOT IN ('object', 'null') GROUP BY name ORDER BY name COLLATE "C";

-- name: search_metadata_values
-- sqlite: WITH RECURSIVE node(name, type, value) AS (
-- sqlite: SELECT j.key, j.type, j.value FROM experiments x JOIN trials t ON t.experiment_id = x.id,
-- sqlite: json_each(coalesce(t.metadata, '{}')) j WHERE x.project_id = $1 AND instr(t.metadata, '\u0000') = 0
-- sqlite: UNION SELECT n.name || '.' || j.key, j.type, j.value FROM node n, json_each(n.value) j WHERE n.type = 'object')
-- sqlite: SELECT DISTINCT value FROM node WHERE type = 'text' AND name = $2 ORDER BY value;
-- postgres: WITH RECURSIVE node(name, type, value) AS (
-- postgres: SELECT j.key, jsonb_typeof(j.value), j.value FROM experiments x JOIN trials t ON t.experiment_id = x.id,
-- postgres: jsonb_each(CAST(CASE WHEN position('\u0000' IN t.metadata) = 0 THEN t.metadata ELSE '{}' END AS jsonb)) j
-- postgres: WHERE x.project_id = $1
-- postgres: UNION SELECT n.name || '.' || j.key, jsonb_typeof(j.value), j.value FROM node n,
-- postgres: jsonb_each(CASE WHEN n.type = 'object' THEN n.value ELSE '{}' END) j)
-- postgres: SELECT value #>> '{}' FROM node WHERE type = 'string' AND name = CAST($2 AS TEXT)
-- postgres: GROUP BY 1 ORDER BY (value #>> '{}') COLLATE "C";

-- What was reported by all runs ($2) or by the best one of each experiment: extents of min, max, mean and last.
-- name: search_metric_names
SELECT group_name, name, min(number), min(low), max(low), min(high), max(high), min(mean), max(mean), min(latest), max(latest) FROM (
-- sqlite: SELECT s.group_name, m.key AS name, CASE WHEN json_extract(m.value, '$[0]') = 'number' THEN 1 ELSE 0 END AS number,
-- sqlite: CASE WHEN json_type(m.value, '$[3]') IN ('integer', 'real') THEN json_extract(m.value, '$[3]') END AS low,
-- sqlite: CASE WHEN json_type(m.value, '$[4]') IN ('integer', 'real') THEN json_extract(m.value, '$[4]') END AS high,
-- sqlite: CASE WHEN json_type(m.value, '$[2]') IN ('integer', 'real')
-- sqlite: THEN CAST(json_extract(m.value, '$[2]') AS REAL) / json_extract(m.value, '$[1]') END AS mean,
-- sqlite: CASE WHEN json_type(m.value, '$[5]') IN ('integer', 'real') THEN json_extract(m.value, '$[5]') END AS latest
-- postgres: SELECT s.group_name, m.key AS name, CASE WHEN m.value ->> 0 = 'number' THEN 1 ELSE 0 END AS number,
-- postgres: CASE WHEN json_typeof(m.value -> 3) = 'number' THEN CAST(m.value ->> 3 AS DOUBLE PRECISION) END AS low,
-- postgres: CASE WHEN json_typeof(m.value -> 4) = 'number' THEN CAST(m.value ->> 4 AS DOUBLE PRECISION) END AS high,
-- postgres: CASE WHEN json_typeof(m.value -> 2) = 'number'
-- postgres: THEN CAST(m.value ->> 2 AS DOUBLE PRECISION) / CAST(m.value ->> 1 AS DOUBLE PRECISION) END AS mean,
-- postgres: CASE WHEN json_typeof(m.value -> 5) = 'number' THEN CAST(m.value ->> 5 AS DOUBLE PRECISION) END AS latest
FROM experiments x JOIN trials t ON t.experiment_id = x.id JOIN metric_summaries s ON s.trial_id = t.id,
-- sqlite: json_each(s.metrics) m
-- postgres: json_each(CAST(s.metrics AS json)) m
WHERE x.project_id = $1 AND (CAST($2 AS BIGINT) <> 0 OR t.id = x.best_trial_id)) reported
GROUP BY group_name, name
-- sqlite: ORDER BY group_name, name;
-- postgres: ORDER BY group_name COLLATE "C", name COLLATE "C";

-- name: search_searcher_metric_extent
SELECT min(best_metric), max(best_metric) FROM experiments WHERE project_id = $1;

-- ---- order ----
-- fragment: search_order
ORDER BY
-- fragment: search_next
,
-- fragment: search_ascending
ASC
-- fragment: search_descending
DESC
-- fragment: search_nulls_last
NULLS LAST

-- ---- experiments ----
-- fragment: search_experiments_with_user
SELECT x.id FROM experiments x JOIN users u ON u.id = x.user_id WHERE 1 = 1

-- ---- runs ----
-- fragment: runs_count
SELECT count(*) FROM trials t JOIN experiments x ON x.id = t.experiment_id WHERE 1 = 1

-- fragment: runs_ids
SELECT t.id FROM trials t JOIN experiments x ON x.id = t.experiment_id WHERE 1 = 1

-- fragment: runs_page
SELECT t.id FROM trials t JOIN experiments x ON x.id = t.experiment_id JOIN users u ON u.id = x.user_id WHERE 1 = 1

-- fragment: runs_among
-- sqlite: SELECT t.id FROM json_each($1) few CROSS JOIN trials t JOIN experiments x ON x.id = t.experiment_id
-- sqlite: JOIN users u ON u.id = x.user_id WHERE t.id = few.value
-- postgres: SELECT t.id FROM trials t JOIN experiments x ON x.id = t.experiment_id JOIN users u ON u.id = x.user_id
-- postgres: WHERE t.id IN (SELECT json_array_elements_text($1::json)::bigint)

-- fragment: runs_wide_open
SELECT t.id, t.start_us, t.end_us, t.state, t.hparams, t.checkpoint_size, t.checkpoint_count, t.best_metric, t.external_id,
    t.metadata, t.archived, t.log_policy_matched, x.id, x.labels, x.searcher_type, x.searcher_metric, x.parent_id,
    x.external_id, x.resource_pool, coalesce(x.progress, 0), x.description, x.name, x.unmanaged,
    x.num_trials > 1 OR x.searcher_type <> 'single', x.user_id, x.project_id, p.name, p.key, w.id, w.name,
    x.archived <> 0 OR p.archived <> 0 OR w.archived <> 0
FROM (

-- fragment: runs_wide_close
) page JOIN trials t ON t.id = page.id JOIN experiments x ON x.id = t.experiment_id JOIN users u ON u.id = x.user_id
JOIN projects p ON p.id = x.project_id JOIN workspaces w ON w.id = p.workspace_id

-- fragment: search_run_archived
AND t.archived = $1 AND x.archived = $1

-- What actions on runs need to know of them.
-- name: runs_briefs
SELECT t.id, t.state, t.archived, x.id, x.state, x.user_id, x.project_id, x.archived, x.unmanaged,
    x.num_trials > 1 OR x.searcher_type <> 'single', p.archived <> 0 OR w.archived <> 0
FROM trials t JOIN experiments x ON x.id = t.experiment_id JOIN projects p ON p.id = x.project_id
JOIN workspaces w ON w.id = p.workspace_id
-- sqlite: WHERE t.id IN (SELECT value FROM json_each($1))
-- postgres: WHERE t.id IN (SELECT json_array_elements_text($1::json)::bigint)
ORDER BY t.id;

-- name: runs_set_archived
UPDATE trials SET archived = $2 WHERE id = $1;
