-- copy: tasks (id, type, job_id, trial_id, start_us, end_us, log_retention_days, state, config, parent_id,
--     forked_from, no_pause, snapshot, owner_id, experiment_id)

-- name: tasks_set_end
UPDATE tasks SET end_us = $2 WHERE id = $1;

-- define: task_columns
id, type, job_id, trial_id, start_us, end_us, log_retention_days, state, config, parent_id, forked_from, no_pause,
    snapshot, owner_id, experiment_id

-- name: tasks_by_id
SELECT {task_columns} FROM tasks WHERE id = $1;

-- name: tasks_open_of_their_own
SELECT {task_columns} FROM tasks WHERE end_us IS NULL AND trial_id IS NULL AND type = 'CHECKPOINT_GC' ORDER BY start_us, id;

-- ---- allocations ----

-- name: allocations_insert
INSERT INTO allocations (id, task_id, pool, trial_id, run_id, slots, state, ready, request_us, start_us, end_us,
                         preempt_deadline_us, preempt_acked, preempt_pending, killed, ports, exit_kind, exit_code)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18);

-- name: allocations_update
UPDATE allocations SET pool = $2, slots = $3, state = $4, ready = $5, request_us = $6, start_us = $7, end_us = $8,
    preempt_deadline_us = $9, preempt_acked = $10, preempt_pending = $11, killed = $12, ports = $13,
    exit_kind = $14, exit_code = $15
WHERE id = $1;

-- define: allocation_columns
id, task_id, pool, trial_id, run_id, slots, state, ready, request_us, start_us, end_us,
preempt_deadline_us, preempt_acked, preempt_pending, killed, ports, exit_kind, exit_code

-- name: allocations_by_id
SELECT {allocation_columns} FROM allocations WHERE id = $1;

-- name: allocations_of_task
SELECT {allocation_columns} FROM allocations WHERE task_id = $1 ORDER BY run_id, request_us, id;

-- name: allocations_open
SELECT {allocation_columns} FROM allocations WHERE end_us IS NULL ORDER BY request_us, id;

-- name: allocations_run_times
SELECT end_us - start_us FROM allocations
WHERE pool = $1 AND exit_kind = 'OK' AND preempt_acked = 0 AND slots > 0 AND end_us > start_us ORDER BY end_us DESC LIMIT $2;

-- ---- containers ----

-- name: containers_insert
INSERT INTO containers (id, allocation_id, agent_id, rank, device_ids, state, daemon, address, exit_kind, exit_code)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: containers_update
UPDATE containers SET agent_id = $2, rank = $3, device_ids = $4, state = $5, daemon = $6, address = $7, exit_kind = $8,
    exit_code = $9
WHERE id = $1;

-- define: container_columns
c.id, c.allocation_id, c.agent_id, c.rank, c.device_ids, c.state, c.daemon, c.address, c.exit_kind, c.exit_code

-- name: containers_open
SELECT {container_columns} FROM containers c JOIN allocations a ON a.id = c.allocation_id
WHERE a.end_us IS NULL ORDER BY c.allocation_id, c.rank, c.id;

-- ---- accelerators ----

-- name: accelerators_set
INSERT INTO allocation_accelerators (allocation_id, container_id, node_name, accelerator_type, uuids)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (allocation_id, container_id) DO UPDATE SET node_name = excluded.node_name,
    accelerator_type = excluded.accelerator_type, uuids = excluded.uuids;

-- name: accelerators_of_task
SELECT x.container_id, x.allocation_id, x.node_name, x.accelerator_type, x.uuids, a.task_id, a.pool
FROM allocation_accelerators x JOIN allocations a ON a.id = x.allocation_id
WHERE a.task_id = $1 ORDER BY x.allocation_id, x.container_id;
