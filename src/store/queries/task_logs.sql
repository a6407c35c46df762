-- The state of a task's log: the last line's number, and the distinct values of the fields (JSON).
-- row: log_state of task_log_state s
s.last_id: i64, s.fields

-- name: task_log_state_get
SELECT {log_state} FROM task_log_state s WHERE s.task_id = $1;

-- Where the lines of the next batch are added.
-- row: log_place
-- also: struct log_state state;
coalesce((SELECT last_id FROM task_log_state WHERE task_id = $1), 0) AS state.last_id: i64,
coalesce((SELECT fields FROM task_log_state WHERE task_id = $1), '{}') AS state.fields: text,
coalesce((SELECT seq FROM container_log_marks WHERE container_id = $2), 0) AS mark: i64 -- the last stored line of the container

-- name: task_log_place
SELECT {log_place};

-- Whether an agent may send lines of a container: the container must be on that agent, and belong to that allocation and task.
-- name: containers_of_agent
SELECT count(*) FROM containers c JOIN allocations a ON a.id = c.allocation_id
WHERE c.id = $1 AND c.agent_id = $2 AND c.allocation_id = $3 AND a.task_id = $4;

-- name: task_log_state_set
INSERT INTO task_log_state (task_id, last_id, fields) VALUES ($1, $2, $3)
ON CONFLICT (task_id) DO UPDATE SET last_id = excluded.last_id, fields = excluded.fields;

-- name: task_log_state_forget_fields
UPDATE task_log_state SET fields = '{}' WHERE task_id = $1;

-- row: log_block_row of task_log_blocks b
b.task_id, b.first_id: i64, b.last_id: i64, b.sealed: bool, b.first_us: i64, b.last_us: i64, b.level_mask: i64, b.rank_mask: i64,
b.text_bytes: i64

-- name: task_log_blocks_insert from log_block_row with words: strbuf, lines: strbuf
INSERT INTO task_log_blocks (task_id, first_id, last_id, sealed, first_us, last_us, level_mask, rank_mask, text_bytes,
    words, lines)
VALUES ($task_id, $first_id, $last_id, $sealed, $first_us, $last_us, $level_mask, $rank_mask, $text_bytes, $words, $lines);

-- What a reader asks of a block before it reads the block's lines. A block that cannot hold what the reader looks for is left out. 0 means
-- that there is no condition.
-- define: block_filters
  AND ($levels = 0 OR (b.level_mask & $levels) <> 0)
  AND ($ranks = 0 OR (b.rank_mask & $ranks) <> 0)
  AND ($before_us = 0 OR b.first_us <= $before_us)
  AND ($after_us = 0 OR b.last_us > $after_us)

-- row: log_candidate of task_log_blocks b
b.first_id: i64, b.last_id: i64, b.text_bytes: i64, b.words: borrowed

-- row: log_lines of task_log_blocks b
b.first_id: i64, b.last_id: i64, b.lines: borrowed

-- The block that holds the line after $line, and the blocks after it.
-- name: task_log_blocks_after with task_id: text, line: i64, levels: i64, ranks: i64, before_us: i64, after_us: i64, most: i64
SELECT {log_candidate} FROM task_log_blocks b
WHERE b.task_id = $task_id
  AND b.first_id >= coalesce(
    (SELECT max(h.first_id) FROM task_log_blocks h WHERE h.task_id = $task_id AND h.first_id <= $line + 1), 0)
  AND b.last_id > $line
  {block_filters}
ORDER BY b.first_id LIMIT $most;

-- name: task_log_blocks_before with task_id: text, line: i64, levels: i64, ranks: i64, before_us: i64, after_us: i64, most: i64
SELECT {log_candidate} FROM task_log_blocks b
WHERE b.task_id = $task_id AND b.first_id < $line
  {block_filters}
ORDER BY b.first_id DESC LIMIT $most;

-- name: task_log_lines_up
SELECT {log_lines} FROM task_log_blocks b
WHERE task_id = $1 AND first_id >= $2 AND first_id <= $3 ORDER BY first_id;

-- name: task_log_lines_down
SELECT {log_lines} FROM task_log_blocks b
WHERE task_id = $1 AND first_id >= $2 AND first_id <= $3 ORDER BY first_id DESC;

-- Counts the lines of the oldest $2 blocks of a task.
-- name: task_log_count_some
SELECT CAST(coalesce(sum(last_id - first_id + 1), 0) AS INTEGER) FROM (
    SELECT first_id, last_id FROM task_log_blocks WHERE task_id = $1 ORDER BY first_id LIMIT $2) s;

-- name: task_log_blocks_delete_some
DELETE FROM task_log_blocks WHERE id IN (
    SELECT id FROM task_log_blocks WHERE task_id = $1 ORDER BY first_id LIMIT $2);

-- The heads of a task that have waited longest.
-- name: task_log_heads_first
SELECT {log_lines} FROM task_log_blocks b
WHERE task_id = $1 AND sealed = 0 ORDER BY first_id LIMIT $2;

-- name: task_log_heads_delete
DELETE FROM task_log_blocks WHERE task_id = $1 AND sealed = 0 AND first_id >= $2 AND last_id <= $3;

-- row: store_log_waiting in store/logs/log_seal.h of task_log_blocks b
b.task_id, CAST(sum(b.text_bytes) AS INTEGER) AS size.text_bytes: i64, count(*) AS size.heads: i64

-- name: task_log_heads_by_task
-- function: store_log_waiting returns rows
SELECT {store_log_waiting} FROM task_log_blocks b WHERE b.sealed = 0 GROUP BY b.task_id;

-- Returns the number of the container's last stored line; 0: there is none yet.
-- name: container_log_marks_get with container_id: text
-- function: store_task_log_mark returns i64
SELECT seq FROM container_log_marks WHERE container_id = $container_id;

-- name: container_log_marks_set
INSERT INTO container_log_marks (container_id, task_id, seq) VALUES ($1, $2, $3)
ON CONFLICT (container_id) DO UPDATE SET seq = excluded.seq;

-- name: container_log_marks_delete
DELETE FROM container_log_marks WHERE task_id = $1;

-- Tasks whose retention is over at $1 and that still have lines. The retention is the task's own, or else $2 days.
-- name: task_log_expired
SELECT k.id FROM tasks k
WHERE k.end_us IS NOT NULL AND coalesce(k.log_retention_days, $2) >= 0
  AND k.end_us <= $1 - coalesce(k.log_retention_days, $2) * 86400000000
  AND EXISTS (SELECT 1 FROM task_log_blocks b WHERE b.task_id = k.id)
ORDER BY k.end_us, k.id LIMIT $3;

-- ---- log policies ----

-- row: store_log_match of log_matches m
m.trial_id, m.agent_id, m.pattern,
m.policy, -- the policy's name; NULL: it has none
-- also: enum log_policy_action action;
m.action: by log_match_action,
-- write only
m.task_id

-- name: log_matches_add from store_log_match with now_us: i64
INSERT INTO log_matches (task_id, agent_id, pattern, policy, action, trial_id, matched_us)
VALUES ($task_id, $agent_id, $pattern, $policy, $action, $trial_id, $now_us)
ON CONFLICT (task_id, agent_id, pattern) DO NOTHING;

-- Returns matches of policies that have an action, for trials that are not over.
-- name: log_matches_open
-- function: store_log_matches_open returns rows
SELECT {store_log_match} FROM log_matches m JOIN trials t ON t.id = m.trial_id
WHERE m.action <> '' AND t.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR')
ORDER BY m.trial_id, m.matched_us, m.agent_id, m.pattern;
