-- name: environments_find
SELECT id FROM environments WHERE fingerprint = $1 AND document = $2;

-- name: environments_insert
INSERT INTO environments (fingerprint, document) VALUES ($1, $2);

-- The agent sends one half of it, the task the other. A half that is NULL leaves the stored half as it is. $5: the agent has found what is
-- said of Python; what the task itself says takes precedence.
-- name: allocation_environments_put
INSERT INTO allocation_environments (allocation_id, container_id, host_id, python_id)
VALUES ($1, $2, CAST($3 AS INTEGER), CAST($4 AS INTEGER))
ON CONFLICT (allocation_id, container_id) DO UPDATE SET
    host_id = coalesce(excluded.host_id, allocation_environments.host_id),
    python_id = CASE WHEN CAST($5 AS INTEGER) = 1 THEN coalesce(allocation_environments.python_id, excluded.python_id)
                ELSE coalesce(excluded.python_id, allocation_environments.python_id) END;

-- Deletes the documents that no allocation refers to any more.
-- name: environments_forget
-- function: store_environments_forget
-- Such documents remain after runs were deleted, and after a run has sent another document.
DELETE FROM environments
WHERE NOT EXISTS (SELECT 1 FROM allocation_environments x WHERE x.host_id = environments.id)
AND NOT EXISTS (SELECT 1 FROM allocation_environments x WHERE x.python_id = environments.id);

-- row: store_environment of allocation_environments x, allocations a, containers c, environments h, environments p
x.allocation_id, x.container_id,
h.document AS host: text?, p.document AS python: text?, -- NULL: not known, or not to be changed
-- also: bool python_seen; -- by the agent: only until the task itself says something
-- read only
c.agent_id, a.run_id, c.rank: i32

-- Reads what the containers of a trial ran in, in the order of the trial's runs and of the containers' ranks.
-- name: environments_of_trial with trial_id: id
-- function: store_environments_of_trial returns rows
SELECT {store_environment} FROM tasks k
JOIN allocations a ON a.task_id = k.id
JOIN allocation_environments x ON x.allocation_id = a.id
LEFT JOIN containers c ON c.id = x.container_id
LEFT JOIN environments h ON h.id = x.host_id
LEFT JOIN environments p ON p.id = x.python_id
WHERE k.trial_id = $trial_id ORDER BY a.run_id, a.request_us, a.id, c.rank, x.container_id;
