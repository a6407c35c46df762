-- Lookups for experiments and runs. The matching rows and their order are found in memory (lookup_tables.h). The statements of this file
-- fill that memory, and read the rows of a page.

-- The texts are borrowed, since all rows are read when lookups begin.
-- row: lookup_summary_row of metric_summaries s
s.trial_id, s.group_name AS group: borrowed, s.metrics: borrowed

-- ---- columns in memory (lookup_tables.h) ----

-- columns: lookup_x of experiments x
x.id, x.name, x.description, x.labels: labels, x.searcher_type, x.searcher_metric, x.start_us AS start, x.end_us AS end, x.state,
x.num_trials, coalesce(x.progress, 0) * 100 AS progress: number, x.user_id AS user, x.parent_id AS parent, x.resource_pool AS pool,
x.project_id AS project, x.checkpoint_size, x.checkpoint_count, x.best_metric AS metric, x.external_id AS external,
x.best_trial_id AS best_run, x.archived

-- Rows are read a page at a time, since a result of PostgreSQL is held in memory as a whole.
-- define: lookup_experiments
SELECT {lookup_x} FROM experiments x

-- name: lookup_experiments_after
{lookup_experiments} WHERE x.id > $1 ORDER BY x.id LIMIT $2;

-- name: lookup_experiments_some
{lookup_experiments}
-- sqlite: WHERE x.id IN (SELECT value FROM json_each($1));
-- postgres: WHERE x.id IN (SELECT json_array_elements_text($1::json)::bigint);

-- columns: lookup_t of trials t
t.id, t.experiment_id AS experiment, t.start_us AS start, t.end_us AS end, t.state, t.checkpoint_size, t.checkpoint_count,
t.best_metric AS metric, t.external_id AS external, t.archived, t.hparams: document, t.metadata: document

-- define: lookup_runs
SELECT {lookup_t} FROM trials t

-- name: lookup_runs_after
{lookup_runs} WHERE t.id > $1 ORDER BY t.id LIMIT $2;

-- name: lookup_runs_some
{lookup_runs}
-- sqlite: WHERE t.id IN (SELECT value FROM json_each($1));
-- postgres: WHERE t.id IN (SELECT json_array_elements_text($1::json)::bigint);

-- name: lookup_summaries_after
SELECT {lookup_summary_row} FROM metric_summaries s
WHERE (s.trial_id, s.group_name) > ($1, $2) ORDER BY s.trial_id, s.group_name LIMIT $3;

-- name: lookup_summaries_some
SELECT {lookup_summary_row} FROM metric_summaries s
-- sqlite: WHERE s.trial_id IN (SELECT value FROM json_each($1));
-- postgres: WHERE s.trial_id IN (SELECT json_array_elements_text($1::json)::bigint);

-- The column "shown" has the name that is shown for a user: the display name, or else the user name.
-- columns: lookup_u of users u
u.id, coalesce(u.display_name, u.username) AS shown: text, u.username, u.display_name

-- name: lookup_users
SELECT {lookup_u} FROM users u;

-- The column "archived" is true if the project or its workspace is archived.
-- columns: lookup_p of projects p, workspaces w
p.id, p.key, CASE WHEN p.archived <> 0 OR w.archived <> 0 THEN 1 ELSE 0 END AS archived: number

-- name: lookup_projects
SELECT {lookup_p} FROM projects p JOIN workspaces w ON w.id = p.workspace_id;

-- Returns the projects in these workspaces, in the order of their ids.
-- name: lookup_projects_in with workspace_ids: ints
-- function: store_projects_in returns ids
-- sqlite: SELECT p.id FROM projects p WHERE p.workspace_id IN (SELECT value FROM json_each($workspace_ids)) ORDER BY p.id;
-- postgres: SELECT p.id FROM projects p WHERE p.workspace_id IN (SELECT json_array_elements_text($workspace_ids::json)::bigint) ORDER BY p.id;

-- ---- changes ----
-- Each of the two extremes is selected by itself: with both in one SELECT, SQLite would read all rows.
-- row: change_extent
(SELECT min(seq) FROM search_changes) AS first: i64, (SELECT max(seq) FROM search_changes) AS last: i64

-- name: lookup_changes_extent
SELECT {change_extent};

-- row: lookup_change_row of search_changes c
c.kind: i32, c.row_id AS id

-- name: lookup_changes_since
SELECT DISTINCT {lookup_change_row} FROM search_changes c WHERE c.seq > $1;

-- Deletes the oldest $2 changes, but none of the newest $1.
-- name: lookup_changes_trim
DELETE FROM search_changes WHERE seq <= (SELECT max(seq) FROM search_changes) - CAST($1 AS INTEGER)
    AND seq < (SELECT min(seq) FROM search_changes) + CAST($2 AS INTEGER);

-- ---- names that filters and sorts of a project can use ----
-- The names of the values of hyperparameters, or of metadata if $2 is not 0. A name includes the names of the objects around the value.
-- PostgreSQL has no texts with a NUL, so a document with a NUL is left out on both engines.
-- row: value_name
name: text, numbers: bool, texts: bool -- whether all values of this name are numbers, or texts

-- name: lookup_value_names to value_name
-- sqlite: WITH RECURSIVE node(name, type, value) AS (
-- sqlite: SELECT j.key, j.type, j.value FROM experiments x JOIN trials t ON t.experiment_id = x.id,
-- sqlite: json_each(CASE WHEN $2 <> 0 THEN coalesce(t.metadata, '{}') ELSE t.hparams END) j WHERE x.project_id = $1
-- sqlite: AND instr(CASE WHEN $2 <> 0 THEN coalesce(t.metadata, '{}') ELSE t.hparams END, '\u0000') = 0
-- sqlite: UNION SELECT n.name || '.' || j.key, j.type, j.value FROM node n, json_each(n.value) j WHERE n.type = 'object')
-- sqlite: SELECT name, min(CASE WHEN type IN ('integer', 'real') THEN 1 ELSE 0 END) AS numbers,
-- sqlite: min(CASE WHEN type = 'text' THEN 1 ELSE 0 END) AS texts
-- sqlite: FROM node WHERE type NOT IN ('object', 'null') GROUP BY name ORDER BY name;
-- postgres: WITH RECURSIVE node(name, type, value) AS (
-- postgres: SELECT j.key, jsonb_typeof(j.value), j.value FROM (
-- postgres: SELECT CASE WHEN CAST($2 AS BIGINT) <> 0 THEN coalesce(t.metadata, '{}') ELSE t.hparams END AS text
-- postgres: FROM experiments x JOIN trials t ON t.experiment_id = x.id WHERE x.project_id = $1) kept,
-- postgres: jsonb_each(CAST(CASE WHEN position('\u0000' IN kept.text) = 0 THEN kept.text ELSE '{}' END AS jsonb)) j
-- postgres: UNION SELECT n.name || '.' || j.key, jsonb_typeof(j.value), j.value FROM node n,
-- postgres: jsonb_each(CASE WHEN n.type = 'object' THEN n.value ELSE '{}' END) j)
-- postgres: SELECT name, min(CASE WHEN type = 'number' THEN 1 ELSE 0 END) AS numbers,
-- postgres: min(CASE WHEN type = 'string' THEN 1 ELSE 0 END) AS texts
-- postgres: FROM node WHERE type NOT IN ('object', 'null') GROUP BY name ORDER BY name COLLATE "C";

-- Returns the distinct texts under a key of metadata.
-- name: lookup_metadata_values with project_id: id, key: text
-- function: store_lookup_metadata_values returns texts
-- sqlite: WITH RECURSIVE node(name, type, value) AS (
-- sqlite: SELECT j.key, j.type, j.value FROM experiments x JOIN trials t ON t.experiment_id = x.id,
-- sqlite: json_each(coalesce(t.metadata, '{}')) j WHERE x.project_id = $project_id AND instr(t.metadata, '\u0000') = 0
-- sqlite: UNION SELECT n.name || '.' || j.key, j.type, j.value FROM node n, json_each(n.value) j WHERE n.type = 'object')
-- sqlite: SELECT DISTINCT value FROM node WHERE type = 'text' AND name = $key ORDER BY value;
-- postgres: WITH RECURSIVE node(name, type, value) AS (
-- postgres: SELECT j.key, jsonb_typeof(j.value), j.value FROM experiments x JOIN trials t ON t.experiment_id = x.id,
-- postgres: jsonb_each(CAST(CASE WHEN position('\u0000' IN t.metadata) = 0 THEN t.metadata ELSE '{}' END AS jsonb)) j
-- postgres: WHERE x.project_id = $project_id
-- postgres: UNION SELECT n.name || '.' || j.key, jsonb_typeof(j.value), j.value FROM node n,
-- postgres: jsonb_each(CASE WHEN n.type = 'object' THEN n.value ELSE '{}' END) j)
-- postgres: SELECT value #>> '{}' FROM node WHERE type = 'string' AND name = CAST($key AS TEXT)
-- postgres: GROUP BY 1 ORDER BY (value #>> '{}') COLLATE "C";

-- row: lookup_metric in store/lookup/lookup.h
group_name AS group: text, name AS name: text, min(number) AS number: bool,
min(low) AS extent[LOOKUP_MIN].min: real?known, max(low) AS extent[LOOKUP_MIN].max: real?known,
min(high) AS extent[LOOKUP_MAX].min: real?known, max(high) AS extent[LOOKUP_MAX].max: real?known,
min(mean) AS extent[LOOKUP_MEAN].min: real?known, max(mean) AS extent[LOOKUP_MEAN].max: real?known,
min(latest) AS extent[LOOKUP_LAST].min: real?known, max(latest) AS extent[LOOKUP_LAST].max: real?known

-- The metrics that were reported, with the least and the greatest of min, max, mean and last. $2: those of all runs; otherwise those of the
-- best run of each experiment, or of all runs of an experiment that has no best run yet.
-- name: lookup_metric_names
SELECT {lookup_metric} FROM (
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
WHERE x.project_id = $1 AND (CAST($2 AS BIGINT) <> 0 OR t.id = coalesce(x.best_trial_id, t.id))) reported
GROUP BY group_name, name
-- sqlite: ORDER BY group_name, name;
-- postgres: ORDER BY group_name COLLATE "C", name COLLATE "C";

-- row: lookup_extent in store/lookup/lookup.h
min(x.best_metric) AS min: real?known, max(x.best_metric) AS max: real?known

-- name: lookup_searcher_metric_extent
SELECT {lookup_extent} FROM experiments x WHERE x.project_id = $1;

-- ---- rows of a page ----
-- row: store_run_experiment of experiments x
x.id,
x.labels, -- JSON list
x.searcher_type, x.searcher_metric, x.parent_id: i32?, x.external_id, x.resource_pool,
coalesce(x.progress, 0) AS progress: real, x.description, x.name, x.unmanaged: bool,
x.num_trials > 1 OR x.searcher_type <> 'single' AS multitrial: bool, x.user_id

-- row: store_run of trials t, experiments x, projects p, workspaces w
t.id, t.start_us, t.end_us, t.state: run_state,
t.hparams, -- JSON object
t.checkpoint_size: i64, t.checkpoint_count: i32, t.best_metric AS metric: real?,
t.external_id, t.metadata, t.log_policy_matched, -- NULL: there is none
t.archived: bool,
{store_run_experiment} AS experiment,
x.project_id, p.name AS project_name, p.key AS project_key, w.id AS workspace_id, w.name AS workspace_name,
x.archived <> 0 OR p.archived <> 0 OR w.archived <> 0 AS parent_archived: bool
-- also: const char *summary_metrics; -- JSON as the client expects it

-- name: lookup_runs_shown
SELECT {store_run} FROM trials t JOIN experiments x ON x.id = t.experiment_id
JOIN projects p ON p.id = x.project_id JOIN workspaces w ON w.id = p.workspace_id JOIN users u ON u.id = x.user_id
-- sqlite: WHERE t.id IN (SELECT value FROM json_each($1))
-- postgres: WHERE t.id IN (SELECT json_array_elements_text($1::json)::bigint)
ORDER BY t.id;

-- What actions on runs need to know of them.
-- row: store_run_brief of trials t
t.id, t.state: run_state, t.archived: bool, {store_experiment_brief} AS experiment,
x.num_trials > 1 OR x.searcher_type <> 'single' AS multitrial: bool

-- The runs with these ids, in the order of their ids. Ids without a run are left out.
-- name: runs_briefs with ids: ints
-- function: store_run_briefs returns rows
SELECT {store_run_brief} FROM trials t JOIN experiments x ON x.id = t.experiment_id JOIN projects p ON p.id = x.project_id
JOIN workspaces w ON w.id = p.workspace_id JOIN users u ON u.id = x.user_id
-- sqlite: WHERE t.id IN (SELECT value FROM json_each($ids))
-- postgres: WHERE t.id IN (SELECT json_array_elements_text($ids::json)::bigint)
ORDER BY t.id;

-- name: runs_set_archived with id: id, archived: bool
-- function: store_run_set_archived
-- missing: run $id
UPDATE trials SET archived = $archived WHERE id = $id;
