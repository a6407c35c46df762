-- name: task_log_state_get
SELECT last_id, fields FROM task_log_state WHERE task_id = $1;

-- What a batch needs to know, in one row: the task's last line and fields, and how much of the container is stored.
-- name: task_log_place
SELECT coalesce((SELECT last_id FROM task_log_state WHERE task_id = $1), 0),
    coalesce((SELECT fields FROM task_log_state WHERE task_id = $1), '{}'),
    coalesce((SELECT seq FROM container_log_marks WHERE container_id = $2), 0);

-- Whether an agent may speak for a container: it is on that agent, and of that allocation and task.
-- name: containers_of_agent
SELECT count(*) FROM containers c JOIN allocations a ON a.id = c.allocation_id
WHERE c.id = $1 AND c.agent_id = $2 AND c.allocation_id = $3 AND a.task_id = $4;

-- name: task_log_state_set
INSERT INTO task_log_state (task_id, last_id, fields) VALUES ($1, $2, $3)
ON CONFLICT (task_id) DO UPDATE SET last_id = excluded.last_id, fields = excluded.fields;

-- name: task_log_state_forget_fields
UPDATE task_log_state SET fields = '{}' WHERE task_id = $1;

-- name: task_log_blocks_insert
INSERT INTO task_log_blocks (task_id, first_id, last_id, sealed, first_us, last_us, level_mask, rank_mask, text_bytes,
    words, lines)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- What a reader wants to know of blocks before it reads their lines. Those that cannot hold what it looks for are
-- passed over: 0 means that any will do.
-- define: block_filters
  AND ($3 = 0 OR (b.level_mask & $3) <> 0)
  AND ($4 = 0 OR (b.rank_mask & $4) <> 0)
  AND ($5 = 0 OR b.first_us <= $5)
  AND ($6 = 0 OR b.last_us > $6)

-- The block that line $2 + 1 lies in, and those after it.
-- name: task_log_blocks_after
SELECT b.first_id, b.last_id, b.text_bytes, b.words FROM task_log_blocks b
WHERE b.task_id = $1
  AND b.first_id >= coalesce(
    (SELECT max(h.first_id) FROM task_log_blocks h WHERE h.task_id = $1 AND h.first_id <= $2 + 1), 0)
  AND b.last_id > $2
  {block_filters}
ORDER BY b.first_id LIMIT $7;

-- name: task_log_blocks_before
SELECT b.first_id, b.last_id, b.text_bytes, b.words FROM task_log_blocks b
WHERE b.task_id = $1 AND b.first_id < $2
  {block_filters}
ORDER BY b.first_id DESC LIMIT $7;

-- name: task_log_lines_up
SELECT first_id, lines FROM task_log_blocks
WHERE task_id = $1 AND first_id >= $2 AND first_id <= $3 ORDER BY first_id;

-- name: task_log_lines_down
SELECT first_id, lines FROM task_log_blocks
WHERE task_id = $1 AND first_id >= $2 AND first_id <= $3 ORDER BY first_id DESC;

-- The oldest $2 blocks of a task.
-- name: task_log_count_some
SELECT CAST(coalesce(sum(last_id - first_id + 1), 0) AS INTEGER) FROM (
    SELECT first_id, last_id FROM task_log_blocks WHERE task_id = $1 ORDER BY first_id LIMIT $2) s;

-- name: task_log_blocks_delete_some
DELETE FROM task_log_blocks WHERE id IN (
    SELECT id FROM task_log_blocks WHERE task_id = $1 ORDER BY first_id LIMIT $2);

-- The heads of a task that have waited longest.
-- name: task_log_heads_first
SELECT first_id, last_id, text_bytes, lines FROM task_log_blocks
WHERE task_id = $1 AND sealed = 0 ORDER BY first_id LIMIT $2;

-- name: task_log_heads_delete
DELETE FROM task_log_blocks WHERE task_id = $1 AND sealed = 0 AND first_id >= $2 AND last_id <= $3;

-- name: task_log_heads_by_task
SELECT task_id, CAST(sum(text_bytes) AS INTEGER), count(*) FROM task_log_blocks WHERE sealed = 0 GROUP BY task_id;

-- name: container_log_marks_get
SELECT seq FROM container_log_marks WHERE container_id = $1;

-- name: container_log_marks_set
INSERT INTO container_log_marks (container_id, task_id, seq) VALUES ($1, $2, $3)
ON CONFLICT (container_id) DO UPDATE SET seq = excluded.seq;

-- name: container_log_marks_delete
DELETE FROM container_log_marks WHERE task_id = $1;

-- Tasks whose retention ($2 days, unless they have their own) is over at $1, and that still have lines.
-- name: task_log_expired
SELECT k.id FROM tasks k
WHERE k.end_us IS NOT NULL AND coalesce(k.log_retention_days, $2) >= 0
  AND k.end_us <= $1 - coalesce(k.log_retention_days, $2) * 86400000000
  AND EXISTS (SELECT 1 FROM task_log_blocks b WHERE b.task_id = k.id)
ORDER BY k.end_us, k.id LIMIT $3;

-- ---- log policies ----

-- name: log_matches_add
INSERT INTO log_matches (task_id, agent_id, pattern, policy, action, trial_id, matched_us)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (task_id, agent_id, pattern) DO NOTHING;

-- name: log_matches_open
SELECT m.trial_id, m.agent_id, m.pattern, m.policy, m.action FROM log_matches m JOIN trials t ON t.id = m.trial_id
WHERE m.action <> '' AND t.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR')
ORDER BY m.trial_id, m.matched_us, m.agent_id, m.pattern;
