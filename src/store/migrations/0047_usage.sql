-- Who has used how many slots for how long. A row is written when an allocation ends, and stays when its experiment is deleted:
-- otherwise somebody could hide what was used. What still runs is read from the table of allocations.
CREATE TABLE usage (
    allocation_id TEXT PRIMARY KEY,
    pool TEXT NOT NULL,
    slots INTEGER NOT NULL,
    start_us INTEGER NOT NULL,
    end_us INTEGER NOT NULL,
    task_type TEXT NOT NULL,
    owner_id INTEGER NOT NULL,
    workspace_id INTEGER NOT NULL,     -- 0: none
    experiment_id INTEGER NOT NULL,    -- 0: none
    labels TEXT NOT NULL,              -- JSON list: those that the experiment had when the allocation ended
    failed INTEGER NOT NULL            -- the allocation ended with an error, its own or an agent's
) STRICT;
-- for usage_page
CREATE INDEX usage_by_start ON usage (start_us, allocation_id);
-- for usage_sums
CREATE INDEX usage_by_end ON usage (end_us);

-- On which agents an allocation had its slots.
CREATE TABLE usage_on_agents (
    allocation_id TEXT NOT NULL REFERENCES usage ON DELETE CASCADE,
    agent_id TEXT NOT NULL,
    slots INTEGER NOT NULL,
    PRIMARY KEY (allocation_id, agent_id)
) STRICT;

-- When an agent was there, and with how many slots. While it is there, seen_us goes on (master/presence.c).
CREATE TABLE usage_presence (
    agent_id TEXT NOT NULL,
    start_us INTEGER NOT NULL,
    seen_us INTEGER NOT NULL,
    pool TEXT NOT NULL,
    slots INTEGER NOT NULL,
    PRIMARY KEY (agent_id, start_us)
) STRICT;
-- for usage_capacity
CREATE INDEX usage_presence_by_seen ON usage_presence (seen_us);

-- What has ended before this version, as far as it was not deleted.
INSERT INTO usage (allocation_id, pool, slots, start_us, end_us, task_type, owner_id, workspace_id, experiment_id, labels, failed)
SELECT a.id, a.pool, a.slots, a.start_us, a.end_us, k.type, coalesce(x.user_id, k.owner_id, 0),
    coalesce(p.workspace_id, l.workspace_id, 0), coalesce(x.id, 0), coalesce(x.labels, '[]'),
    CASE WHEN a.exit_kind IN ('NONE', 'OK', 'KILLED', 'ABORTED') THEN 0 ELSE 1 END
FROM allocations a JOIN tasks k ON k.id = a.task_id
LEFT JOIN trials t ON t.id = k.trial_id
LEFT JOIN experiments x ON x.id = coalesce(t.experiment_id, k.experiment_id)
LEFT JOIN projects p ON p.id = x.project_id
LEFT JOIN launched_tasks l ON l.task_id = k.id
WHERE a.end_us IS NOT NULL AND a.start_us IS NOT NULL;
INSERT INTO usage_on_agents (allocation_id, agent_id, slots)
-- sqlite: SELECT c.allocation_id, c.agent_id, SUM(json_array_length(c.device_ids))
-- postgres: SELECT c.allocation_id, c.agent_id, SUM(json_array_length(c.device_ids::json))
FROM containers c JOIN usage u ON u.allocation_id = c.allocation_id GROUP BY c.allocation_id, c.agent_id;
