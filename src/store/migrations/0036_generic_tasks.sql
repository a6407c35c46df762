-- Generic tasks can be paused, and have parents. Before, the columns were in tasks, of which most are of trials, and nothing
-- ever wrote them.
ALTER TABLE tasks DROP COLUMN state;
ALTER TABLE tasks DROP COLUMN parent_id;
ALTER TABLE tasks DROP COLUMN forked_from;
ALTER TABLE tasks DROP COLUMN no_pause;

-- Only of generic tasks; a task of another kind is ACTIVE from its beginning to its end.
ALTER TABLE launched_tasks ADD COLUMN state TEXT NOT NULL DEFAULT 'ACTIVE';
ALTER TABLE launched_tasks ADD COLUMN no_pause INTEGER NOT NULL DEFAULT 0;
ALTER TABLE launched_tasks ADD COLUMN preemption_timeout_s INTEGER NOT NULL DEFAULT 0;
ALTER TABLE launched_tasks ADD COLUMN parent_id TEXT;
ALTER TABLE launched_tasks ADD COLUMN forked_from TEXT;

-- for launched_tasks_children, launched_tasks_below
CREATE INDEX launched_tasks_by_parent ON launched_tasks (parent_id) WHERE parent_id IS NOT NULL;
