-- Tasks that are no trials': whose they are, and on behalf of which experiment.
ALTER TABLE tasks ADD COLUMN owner_id INTEGER;
ALTER TABLE tasks ADD COLUMN experiment_id INTEGER;

-- Files in a storage that the master's machine can't open are removed by a task on an agent.
ALTER TABLE checkpoint_removals ADD COLUMN by_task INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoint_removals ADD COLUMN task_id TEXT; -- the one that is at it
-- for removals_of_task
CREATE INDEX checkpoint_removals_by_task ON checkpoint_removals (task_id) WHERE task_id IS NOT NULL;

-- Experiments whose TensorBoard files are to go, because they are being deleted themselves.
CREATE TABLE tensorboard_removals (
    experiment_id INTEGER PRIMARY KEY REFERENCES experiments ON DELETE CASCADE,
    next_us INTEGER NOT NULL,              -- when it is tried, or tried again
    tries INTEGER NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT '',       -- why the last try failed
    by_task INTEGER NOT NULL DEFAULT 0,
    task_id TEXT
) STRICT;
