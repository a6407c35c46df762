-- row: store_task of tasks k
k.id,             -- for trials: EXPERIMENT.REQUEST_ID
k.type,           -- TRIAL, NOTEBOOK, SHELL, COMMAND, TENSORBOARD, CHECKPOINT_GC, GENERIC
k.job_id,
k.trial_id: i32?, -- the trial that the task belongs to
k.start_us, k.end_us, k.log_retention_days: i32?has_log_retention,
k.config,         -- what a task without an experiment was made from, JSON or YAML; NULL: none
k.snapshot,       -- the core's own state of the task, JSON; NULL: none
k.owner_id, k.experiment_id -- for a task of its own: its owner, and the experiment that it works for; else 0

-- copy: tasks from store_task

-- row: task_row in core/records/rows.h of tasks k
k.id: chars, k.job_id: chars, k.trial_id, k.type AS kind: task_kind, k.start_us, k.end_us, k.owner_id, k.experiment_id

-- name: tasks_set_end
UPDATE tasks SET end_us = $2 WHERE id = $1;

-- name: tasks_by_id with id: text
-- function: store_task_get returns row
-- missing: task '$id'
SELECT {store_task} FROM tasks k WHERE k.id = $id;

-- Returns the core's tasks that belong to no trial and are not over.
-- name: tasks_open_of_their_own
-- function: store_tasks_open_of_their_own returns rows
SELECT {task_row} FROM tasks k WHERE k.end_us IS NULL AND k.trial_id IS NULL AND k.type <> 'TRIAL'
ORDER BY k.start_us, k.id;

-- ---- allocations ----

-- row: allocation_row in core/records/rows.h of allocations a
a.id: chars, a.task_id: chars, a.pool: chars, a.trial_id, a.run_id, a.slots: i32, a.millicores: i64, a.memory_bytes: i64, a.state: allocation_state, a.ready: bool,
a.request_us, a.start_us, a.end_us, a.pulled_us, a.preempt_deadline_us, a.preempt_acked: bool, a.preempt_pending: bool, a.killed: bool,
a.over_limit: run_limit, a.warned_of_idleness: bool, a.ports: by allocation_ports, a.exit_kind: exit_kind, a.exit_code: i32

-- name: allocations_insert
INSERT INTO {insert allocation_row};

-- name: allocations_update from allocation_row
UPDATE allocations SET pool = $pool, slots = $slots, millicores = $millicores, memory_bytes = $memory_bytes, state = $state, ready = $ready, request_us = $request_us,
    start_us = $start_us, end_us = $end_us, pulled_us = $pulled_us, preempt_deadline_us = $preempt_deadline_us, preempt_acked = $preempt_acked,
    preempt_pending = $preempt_pending, killed = $killed, over_limit = $over_limit, warned_of_idleness = $warned_of_idleness, ports = $ports,
    exit_kind = $exit_kind, exit_code = $exit_code
WHERE id = $id;

-- name: allocations_by_id with id: text
-- function: store_allocation_get returns row
-- missing: allocation '$id'
SELECT {allocation_row} FROM allocations a WHERE a.id = $id;

-- Notes the address that a task has told for its ports. Nothing is written if the allocation has ended.
-- name: allocations_set_proxy_address with id: text, address: text
-- function: store_allocation_set_proxy_address returns changes
UPDATE allocations SET proxy_address = $address WHERE id = $id AND end_us IS NULL;

-- Returns "" if the task has told no address.
-- name: allocations_proxy_address with id: text
-- function: store_allocation_proxy_address returns text
SELECT coalesce(proxy_address, '') FROM allocations WHERE id = $id;

-- Returns the allocations of a task, in the order of their runs.
-- name: allocations_of_task with task_id: text
-- function: store_allocations_of_task returns rows
SELECT {allocation_row} FROM allocations a WHERE a.task_id = $task_id ORDER BY a.run_id, a.request_us, a.id;

-- name: allocations_open
-- function: store_allocations_open returns rows
SELECT {allocation_row} FROM allocations a WHERE a.end_us IS NULL ORDER BY a.request_us, a.id;

-- Returns how long the last n allocations of a pool took that ended by themselves, the newest first.
-- name: allocations_run_times with pool: text, n: i64
-- function: store_allocation_run_times returns i64s
SELECT end_us - start_us FROM allocations
WHERE pool = $pool AND exit_kind = 'OK' AND preempt_acked = 0 AND slots > 0 AND end_us > start_us ORDER BY end_us DESC LIMIT $n;

-- ---- containers ----

-- row: container_row in core/records/rows.h of containers c
c.id: chars, c.allocation_id: chars, c.agent_id: chars, c.rank: i32, c.device_ids: by container_devices,
c.state: container_state, c.daemon: bool, c.address: chars, c.account: chars, c.runtime_id: chars,
c.exit_kind: exit_kind, c.exit_code: i32

-- name: containers_insert
INSERT INTO {insert container_row};

-- name: containers_update from container_row
UPDATE containers SET agent_id = $agent_id, rank = $rank, device_ids = $device_ids, state = $state, daemon = $daemon,
    address = $address, account = $account, runtime_id = $runtime_id, exit_kind = $exit_kind, exit_code = $exit_code
WHERE id = $id;

-- Returns the containers of the allocations that are not over.
-- name: containers_open
-- function: store_containers_open returns rows
SELECT {container_row} FROM containers c JOIN allocations a ON a.id = c.allocation_id
WHERE a.end_us IS NULL ORDER BY c.allocation_id, c.rank, c.id;

-- ---- accelerators ----

-- row: store_accelerator of allocation_accelerators x, allocations a
x.container_id, x.allocation_id, x.node_name, x.accelerator_type,
x.uuids, -- JSON list
-- read only
a.task_id, a.pool AS resource_pool

-- name: accelerators_set
-- function: store_accelerator_set
-- conflict: allocation $allocation_id does not exist
INSERT INTO {insert store_accelerator}
ON CONFLICT (allocation_id, container_id) DO UPDATE SET {replace store_accelerator};

-- name: accelerators_of_task with task_id: text
-- function: store_accelerators_of_task returns rows
SELECT {store_accelerator} FROM allocation_accelerators x JOIN allocations a ON a.id = x.allocation_id
WHERE a.task_id = $task_id ORDER BY x.allocation_id, x.container_id;
