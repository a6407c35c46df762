-- Tasks that users launch: commands, notebooks, shells, TensorBoards, generic tasks.

-- row: launched_plain into store_launched_task of launched_tasks l, tasks k, users u, allocations al, containers c
l.task_id AS id,
l.workspace_id, l.description, l.pool, l.slots: i32, l.millicores: i64, l.memory_bytes: i64,
l.priority: i32,         -- as it is now; `config` has the one that was asked for
l.max_slots: i32,        -- -1: no limit
l.weight: real, l.queue_position: i64,
l.run_id,                -- the number of its allocations
l.idle_timeout_us,
l.max_time_us: i64,      -- 0: it may run for ever
l.max_idle_us: i64,      -- 0: its slots may go unused for ever
l.context_hash,          -- of its archive in contexts; NULL: it has no files
l.experiment_ids,        -- of a TensorBoard: a JSON list of numbers; else NULL
l.trial_ids,
l.public_key,            -- of a shell, in OpenSSH's form; else NULL
l.agent_user_group,      -- of a shell: the account that one logs in as, JSON; else NULL
l.state AS generic: generic_state, -- the fields from here on are of generic tasks
l.no_pause: bool, l.preemption_timeout_s: i32,
l.parent_id,             -- NULL: none
l.forked_from,           -- NULL: none
-- read only: of its row of tasks, its owner, its latest allocation and the allocation's first container
k.type AS kind: task_kind, k.job_id, k.owner_id, k.start_us, k.end_us, u.username, u.display_name: text?,
al.id AS allocation_id: text?, -- NULL: it has no allocation
coalesce(al.state, 'PENDING') AS state: allocation_state, coalesce(al.ready, 0) AS ready: bool,
coalesce(al.exit_kind, 'NONE') AS exit_kind: exit_kind, coalesce(al.exit_code, 0) AS exit_code: i32,
c.id AS container_id: text?,   -- NULL: it has no container
c.agent_id: text?, coalesce(c.state, 'ASSIGNED') AS container_state: container_state,
c.device_ids: text?,           -- JSON list
c.address: text?,
c.account: text?               -- the login name that it runs as; empty: the agent has not told it

-- row: store_launched_task of launched_tasks l
{launched_plain},
-- when it is asked for; of a new one all are needed
l.config,                -- JSON: the effective configuration
l.private_key,           -- of a shell, in OpenSSH's form; else NULL
l.service_token          -- what a notebook's program lets its user in with; else NULL

-- The columns that the core owns.
-- row: launched_row in core/records/rows.h of launched_tasks l
l.workspace_id, l.task_id: chars, l.pool: chars, l.slots: i32, l.millicores: i64, l.memory_bytes: i64, l.priority: i32, l.max_slots: i32, l.weight: real, l.queue_position: i64,
l.run_id: i32, l.idle_timeout_us, l.max_time_us: i64, l.max_idle_us: i64, l.description,
l.state: generic_state, l.no_pause: bool, l.preemption_timeout_s: i32, l.parent_id: chars

-- name: launched_tasks_insert
-- function: store_launched_task_insert
-- conflict: task '$id' exists already
INSERT INTO {insert store_launched_task};

-- name: launched_tasks_update from launched_row
-- function: store_launched_task_update sends
UPDATE launched_tasks SET pool = $pool, slots = $slots, millicores = $millicores, memory_bytes = $memory_bytes, priority = $priority, max_slots = $max_slots, weight = $weight,
    queue_position = $queue_position, run_id = $run_id, idle_timeout_us = $idle_timeout_us, max_time_us = $max_time_us,
    max_idle_us = $max_idle_us, state = $state
WHERE task_id = $task_id;

-- Returns what the core keeps of the launched tasks that are not over.
-- name: launched_tasks_open
-- function: store_launched_tasks_open returns rows
SELECT {launched_row} FROM launched_tasks l JOIN tasks k ON k.id = l.task_id WHERE k.end_us IS NULL ORDER BY l.task_id;

-- define: launched_parts
JOIN tasks k ON k.id = l.task_id
JOIN users u ON u.id = k.owner_id
LEFT JOIN allocations al ON al.id = l.task_id || '.' || l.run_id
LEFT JOIN containers c ON c.allocation_id = al.id AND c.rank = 0

-- name: launched_tasks_by_id with id: text
-- function: store_launched_task_get returns row
-- missing: task '$id'
SELECT {store_launched_task} FROM launched_tasks l {launched_parts} WHERE l.task_id = $id;

-- ---- trees of generic tasks ----

-- Returns the tasks whose parent is this one, in the order in which they were launched.
-- name: launched_tasks_children with id: text
-- function: store_launched_task_children returns texts
SELECT l.task_id FROM launched_tasks l JOIN tasks k ON k.id = l.task_id WHERE l.parent_id = $id ORDER BY k.start_us, l.task_id;

-- Returns a task and all tasks below it.
-- name: launched_tasks_below with id: text
-- function: store_launched_task_below returns texts
WITH RECURSIVE below(id) AS (
    SELECT l.task_id FROM launched_tasks l WHERE l.task_id = $id
    UNION SELECT l.task_id FROM launched_tasks l JOIN below b ON l.parent_id = b.id)
SELECT id FROM below ORDER BY id;

-- Returns the task at the root of the tree that a task is in.
-- name: launched_tasks_root with id: text
-- function: store_launched_task_root returns text
WITH RECURSIVE above(id, parent_id) AS (
    SELECT l.task_id, l.parent_id FROM launched_tasks l WHERE l.task_id = $id
    UNION SELECT l.task_id, l.parent_id FROM launched_tasks l JOIN above a ON l.task_id = a.parent_id)
SELECT id FROM above WHERE parent_id IS NULL;

-- A list has the tasks of one kind that are not over, or that ended after a time.
-- fragment: launched_tasks_count with kind: text, ended_after_us: us
SELECT count(*) FROM launched_tasks l {launched_parts}
WHERE k.trial_id IS NULL AND k.type = $kind AND (k.end_us IS NULL OR k.end_us > $ended_after_us)

-- fragment: launched_tasks_rows with kind: text, ended_after_us: us
SELECT {launched_plain} FROM launched_tasks l {launched_parts}
WHERE k.trial_id IS NULL AND k.type = $kind AND (k.end_us IS NULL OR k.end_us > $ended_after_us)

-- The owner is one of usernames or of user_ids.
-- fragment: launched_tasks_filter_owner with usernames: texts, user_ids: ints
-- sqlite: AND (u.username IN (SELECT value FROM json_each($usernames)) OR k.owner_id IN (SELECT value FROM json_each($user_ids)))
-- postgres: AND (u.username IN (SELECT json_array_elements_text($usernames::json)) OR k.owner_id IN (SELECT
-- postgres: json_array_elements_text($user_ids::json)::bigint))

-- fragment: launched_tasks_filter_workspace with workspace_id: id
AND l.workspace_id = $workspace_id

-- The workspaces that the one who asks may see; none: all of them.
-- fragment: launched_tasks_filter_visible with visible: ints
-- sqlite: AND l.workspace_id IN (SELECT value FROM json_each($visible))
-- postgres: AND l.workspace_id IN (SELECT json_array_elements_text($visible::json)::bigint)

-- Sorted by the numbers of api.v1.GetCommandsRequest.SortBy, which are those of the other kinds, too.
-- list: store_launched_task_list of launched_tasks in memory pages
-- sort: 0, 1 l.task_id
-- sort: 2 l.description, l.task_id
-- sort: 4 k.start_us, l.task_id
-- sort: 5 l.workspace_id, l.task_id

-- ---- the files that were sent with tasks ----

-- Keeps an archive, unless it is there already.
-- name: contexts_add
INSERT INTO contexts (hash, tgz) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING;

-- name: contexts_exists with hash: text
-- function: store_context_exists returns bool
SELECT count(*) FROM contexts WHERE hash = $hash;

-- Whether files were sent with a task, or taken over by it, even if they are not kept any more.
-- name: contexts_sent with task_id: text
-- function: store_context_sent returns bool
SELECT count(*) FROM launched_tasks WHERE task_id = $task_id AND context_hash IS NOT NULL;

-- Returns the hashes of archives in their order, from the one after this.
-- name: contexts_after with hash: text, most: i64
-- function: store_contexts_after returns texts
SELECT hash FROM contexts WHERE hash > $hash ORDER BY hash LIMIT $most;

-- Deletes an archive if all tasks that were sent with it, or took it over, had ended at that time.
-- name: contexts_delete_unused with hash: text, ended_us: us
-- function: store_context_delete_unused returns changes
DELETE FROM contexts WHERE hash = $hash AND NOT EXISTS (
    SELECT 1 FROM launched_tasks l JOIN tasks k ON k.id = l.task_id
    WHERE l.context_hash = $hash AND (k.end_us IS NULL OR k.end_us > $ended_us));

-- row: task_context of contexts x
x.tgz

-- name: contexts_get to task_context
SELECT {task_context} FROM contexts x JOIN launched_tasks l ON l.context_hash = x.hash WHERE l.task_id = $1;
