-- Who has used how many slots for how long (docs/spec/usage.md).

-- define: usage_columns
a.id, a.pool, a.slots, a.start_us, a.end_us, k.type, coalesce(x.user_id, k.owner_id, 0),
coalesce(p.workspace_id, l.workspace_id, 0), coalesce(x.id, 0), coalesce(x.labels, '[]'),
CASE WHEN a.exit_kind IN ('NONE', 'OK', 'KILLED', 'ABORTED') THEN 0 ELSE 1 END, coalesce(a.pulled_us, 0)

-- define: usage_parts
allocations a JOIN tasks k ON k.id = a.task_id
LEFT JOIN trials t ON t.id = k.trial_id
LEFT JOIN experiments x ON x.id = coalesce(t.experiment_id, k.experiment_id)
LEFT JOIN projects p ON p.id = x.project_id
LEFT JOIN launched_tasks l ON l.task_id = k.id

-- define: usage_device_count
-- sqlite: json_array_length(c.device_ids)
-- postgres: json_array_length(c.device_ids::json)

-- What has ended, and what runs.
-- define: usage_all
(SELECT allocation_id, pool, slots, start_us, end_us, task_type, owner_id, workspace_id, experiment_id, labels, failed, pulled_us FROM usage
UNION ALL SELECT {usage_columns} FROM {usage_parts} WHERE a.end_us IS NULL AND a.start_us IS NOT NULL)

-- The same, in which what runs ends now.
-- define: usage_until_now
(SELECT allocation_id, pool, slots, start_us, end_us, task_type, owner_id, workspace_id, experiment_id, labels, failed, pulled_us FROM usage
UNION ALL SELECT r.allocation_id, r.pool, r.slots, r.start_us, CAST($now_us AS INTEGER), r.task_type, r.owner_id, r.workspace_id, r.experiment_id,
    r.labels, r.failed, r.pulled_us FROM (SELECT a.id AS allocation_id, a.pool, a.slots, a.start_us, k.type AS task_type,
        coalesce(x.user_id, k.owner_id, 0) AS owner_id, coalesce(p.workspace_id, l.workspace_id, 0) AS workspace_id,
        coalesce(x.id, 0) AS experiment_id, coalesce(x.labels, '[]') AS labels, 0 AS failed, coalesce(a.pulled_us, 0) AS pulled_us
    FROM {usage_parts} WHERE a.end_us IS NULL AND a.start_us IS NOT NULL) r)

-- Keeps what an allocation has used that has ended. Nothing is kept of one that never started.
-- name: usage_keep with allocation_id: text
-- function: store_usage_keep sends
-- then: usage_keep_agents
INSERT INTO usage (allocation_id, pool, slots, start_us, end_us, task_type, owner_id, workspace_id, experiment_id, labels, failed, pulled_us)
SELECT {usage_columns} FROM {usage_parts} WHERE a.id = $allocation_id AND a.start_us IS NOT NULL AND a.end_us IS NOT NULL
ON CONFLICT (allocation_id) DO NOTHING;

-- name: usage_keep_agents with allocation_id: text
INSERT INTO usage_on_agents (allocation_id, agent_id, slots)
SELECT c.allocation_id, c.agent_id, SUM({usage_device_count}) FROM containers c JOIN usage u ON u.allocation_id = c.allocation_id
WHERE c.allocation_id = $allocation_id GROUP BY c.allocation_id, c.agent_id
ON CONFLICT (allocation_id, agent_id) DO NOTHING;

-- An agent is there, with so many slots. Its row goes on, if the agent was seen after since_us with the same slots in the same pool;
-- otherwise a new row begins.
-- name: usage_seen with agent_id: text, pool: text, slots: i32, now_us: i64, since_us: i64
-- function: store_usage_seen sends
INSERT INTO usage_presence (agent_id, start_us, seen_us, pool, slots)
SELECT CAST($agent_id AS TEXT), coalesce((SELECT g.start_us FROM usage_presence g WHERE g.agent_id = $agent_id AND g.pool = $pool
    AND g.slots = $slots AND g.seen_us >= $since_us
    AND g.start_us = (SELECT MAX(m.start_us) FROM usage_presence m WHERE m.agent_id = $agent_id)), CAST($now_us AS INTEGER)),
    CAST($now_us AS INTEGER), CAST($pool AS TEXT), CAST($slots AS INTEGER)
WHERE CAST($now_us AS INTEGER) > 0
ON CONFLICT (agent_id, start_us) DO UPDATE SET seen_us = excluded.seen_us;

-- ---- one by one ----

-- One allocation, or the time in which an agent was there.
-- row: store_usage of usage v, users u, workspaces w, experiments x
v.allocation_id,           -- of an agent: its id
v.task_type,               -- AGENT for an agent
u.username: text?, v.owner_id,
w.name AS workspace_name: text?,
v.experiment_id,           -- 0: none
x.labels,                  -- JSON list: those that the experiment has; if it was deleted, those that it had
v.slots: i32, v.pool, v.start_us,
v.end_us: us,              -- 0: it still runs
v.pulled_us: us            -- when its images were there; 0: it is not known

-- Returns the next n rows that overlap the time from from_us to to_us, behind the row (after_us, after_id). with_agents 1: agents, too.
-- name: usage_page with from_us: i64, to_us: i64, after_us: i64, after_id: text, n: i64, with_agents: i32 to store_usage
-- function: store_usage_page returns rows
SELECT v.allocation_id, v.task_type, CASE WHEN v.task_type = 'AGENT' THEN v.allocation_id ELSE u.username END AS username, v.owner_id,
    w.name AS workspace_name, v.experiment_id, coalesce(x.labels, v.labels) AS labels, v.slots, v.pool,
    v.start_us, v.end_us, v.pulled_us
FROM (SELECT e.allocation_id, e.task_type, e.owner_id, e.workspace_id, e.experiment_id, e.labels, e.slots, e.pool, e.start_us, e.end_us, e.pulled_us
    FROM {usage_all} e
    UNION ALL SELECT g.agent_id, 'AGENT', 0, 0, 0, '[]', g.slots, g.pool, g.start_us, g.seen_us, 0 FROM usage_presence g
        WHERE CAST($with_agents AS INTEGER) = 1) v
LEFT JOIN users u ON u.id = v.owner_id LEFT JOIN workspaces w ON w.id = v.workspace_id LEFT JOIN experiments x ON x.id = v.experiment_id
WHERE v.start_us >= $after_us AND (v.start_us > $after_us OR v.allocation_id > $after_id)
    AND v.start_us < $to_us AND (v.end_us IS NULL OR v.end_us > $from_us)
ORDER BY v.start_us, v.allocation_id LIMIT $n;

-- ---- sums ----

-- row: store_usage_sum of usage v
v.allocation_id AS key,
v.pool,
v.start_us AS used_us: i64,   -- slots times microseconds
v.end_us AS failed_us: i64    -- of these: what ended with an error

-- define: usage_overlap
(CASE WHEN v.end_us < $to_us THEN v.end_us ELSE $to_us END
    - CASE WHEN v.start_us > $from_us THEN v.start_us ELSE $from_us END)

-- define: usage_in_span
v.start_us < $to_us AND v.end_us > $from_us

-- Returns what was used from from_us to to_us, by key and pool. `by` is username, workspace, experiment, task_type or resource_pool;
-- with any other word there is one key, total.
-- name: usage_sums with by: text, from_us: i64, to_us: i64, now_us: i64 to store_usage_sum
-- function: store_usage_sums returns rows
SELECT s.key, s.pool, CAST(SUM(s.us) AS INTEGER) AS used_us, CAST(SUM(s.us * s.failed) AS INTEGER) AS failed_us
FROM (SELECT CASE CAST($by AS TEXT) WHEN 'username' THEN coalesce(u.username, '') WHEN 'workspace' THEN coalesce(w.name, '')
        WHEN 'experiment' THEN CAST(v.experiment_id AS TEXT) WHEN 'task_type' THEN v.task_type WHEN 'resource_pool' THEN v.pool ELSE 'total' END AS key,
        v.pool, v.failed, v.slots * {usage_overlap} AS us
    FROM {usage_until_now} v LEFT JOIN users u ON u.id = v.owner_id LEFT JOIN workspaces w ON w.id = v.workspace_id
    WHERE {usage_in_span} AND (CAST($by AS TEXT) <> 'experiment' OR v.experiment_id > 0)) s
GROUP BY s.key, s.pool ORDER BY s.key, s.pool;

-- The same by label: an allocation counts for each label of its experiment.
-- name: usage_sums_by_label with from_us: i64, to_us: i64, now_us: i64 to store_usage_sum
-- function: store_usage_sums_by_label returns rows
SELECT s.key, s.pool, CAST(SUM(s.us) AS INTEGER) AS used_us, CAST(SUM(s.us * s.failed) AS INTEGER) AS failed_us
-- sqlite: FROM (SELECT DISTINCT l.value AS key, v.allocation_id, v.pool, v.failed, v.slots * {usage_overlap} AS us
-- postgres: FROM (SELECT DISTINCT l.value COLLATE "C" AS key, v.allocation_id, v.pool, v.failed, v.slots * {usage_overlap} AS us
    FROM {usage_until_now} v LEFT JOIN experiments x ON x.id = v.experiment_id,
-- sqlite: json_each(coalesce(x.labels, v.labels)) l
-- postgres: LATERAL json_array_elements_text(coalesce(x.labels, v.labels)::json) l(value)
    WHERE {usage_in_span}) s
GROUP BY s.key, s.pool ORDER BY s.key, s.pool;

-- The same by agent.
-- name: usage_sums_by_agent with from_us: i64, to_us: i64, now_us: i64 to store_usage_sum
-- function: store_usage_sums_by_agent returns rows
SELECT s.key, s.pool, CAST(SUM(s.us) AS INTEGER) AS used_us, CAST(SUM(s.us * s.failed) AS INTEGER) AS failed_us
FROM (SELECT o.agent_id AS key, v.pool, v.failed, o.slots * {usage_overlap} AS us
    FROM usage v JOIN usage_on_agents o ON o.allocation_id = v.allocation_id WHERE {usage_in_span}
    UNION ALL SELECT c.agent_id AS key, v.pool, 0 AS failed, {usage_device_count} * {usage_overlap} AS us
    FROM (SELECT a.id, a.pool, a.start_us, CAST($now_us AS INTEGER) AS end_us FROM allocations a WHERE a.end_us IS NULL AND a.start_us IS NOT NULL) v
    JOIN containers c ON c.allocation_id = v.id WHERE {usage_in_span}) s
GROUP BY s.key, s.pool ORDER BY s.key, s.pool;

-- What there was to use, by pool: key and pool are the same.
-- name: usage_capacity with from_us: i64, to_us: i64 to store_usage_sum
-- function: store_usage_capacity returns rows
SELECT g.pool AS key, g.pool, CAST(SUM(g.slots * (CASE WHEN g.seen_us < $to_us THEN g.seen_us ELSE $to_us END
        - CASE WHEN g.start_us > $from_us THEN g.start_us ELSE $from_us END)) AS INTEGER) AS used_us, 0 AS failed_us
FROM usage_presence g WHERE g.start_us < $to_us AND g.seen_us > $from_us GROUP BY g.pool ORDER BY g.pool;

-- Returns when the first allocation or agent that is known began; 0: none has.
-- name: usage_first
-- function: store_usage_first returns i64
SELECT coalesce(MIN(s.start_us), 0) FROM (SELECT MIN(start_us) AS start_us FROM usage UNION ALL SELECT MIN(start_us) FROM usage_presence
    UNION ALL SELECT MIN(start_us) FROM allocations WHERE end_us IS NULL) s;
