-- name: task_log_state_get
SELECT last_id, fields FROM task_log_state WHERE task_id = $1;

-- name: task_log_state_set
INSERT INTO task_log_state (task_id, last_id, fields) VALUES ($1, $2, $3)
ON CONFLICT (task_id) DO UPDATE SET last_id = excluded.last_id, fields = excluded.fields;

-- name: task_log_state_forget_fields
UPDATE task_log_state SET fields = '{}' WHERE task_id = $1;

-- name: task_log_heads_insert
INSERT INTO task_log_heads (task_id, first_id, last_id, first_us, last_us, level_mask, rank_mask, allocation_id,
    agent_id, container_id, lines)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- Whole batches that cannot hold a line the reader wants are passed over: NULL or 0 means that any will do.
-- define: head_filters
  AND ($3 = 0 OR (h.level_mask & $3) <> 0)
  AND ($4 = 0 OR (h.rank_mask & $4) <> 0)
  AND ($5 = 0 OR h.first_us <= $5)
  AND ($6 = 0 OR h.last_us > $6)
-- sqlite: AND ($7 IS NULL OR h.allocation_id IS NULL OR h.allocation_id IN (SELECT value FROM json_each($7)))
-- postgres: AND ($7::text IS NULL OR h.allocation_id IS NULL OR h.allocation_id IN (SELECT
-- postgres: json_array_elements_text($7::json)))
-- sqlite: AND ($8 IS NULL OR h.agent_id IS NULL OR h.agent_id IN (SELECT value FROM json_each($8)))
-- postgres: AND ($8::text IS NULL OR h.agent_id IS NULL OR h.agent_id IN (SELECT json_array_elements_text($8::json)))
-- sqlite: AND ($9 IS NULL OR h.container_id IS NULL OR h.container_id IN (SELECT value FROM json_each($9)))
-- postgres: AND ($9::text IS NULL OR h.container_id IS NULL OR h.container_id IN (SELECT
-- postgres: json_array_elements_text($9::json)))

-- The batch that line $2 + 1 lies in, and those after it.
-- name: task_log_heads_after
SELECT h.first_id, h.last_id, h.lines FROM task_log_heads h
WHERE h.task_id = $1
  AND h.first_id >= coalesce(
    (SELECT max(b.first_id) FROM task_log_heads b WHERE b.task_id = $1 AND b.first_id <= $2 + 1), 0)
  {head_filters}
ORDER BY h.first_id LIMIT $10;

-- name: task_log_heads_before
SELECT h.first_id, h.last_id, h.lines FROM task_log_heads h
WHERE h.task_id = $1 AND h.first_id < $2
  {head_filters}
ORDER BY h.first_id DESC LIMIT $10;

-- name: task_log_count
SELECT CAST(coalesce(sum(last_id - first_id + 1), 0) AS INTEGER) FROM task_log_heads WHERE task_id = $1;

-- name: task_log_heads_delete
DELETE FROM task_log_heads WHERE task_id = $1;

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
  AND EXISTS (SELECT 1 FROM task_log_heads h WHERE h.task_id = k.id);
