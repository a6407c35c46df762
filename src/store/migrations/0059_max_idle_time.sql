-- How long the slots of a task that a user has launched may go unused; 0: for ever.
ALTER TABLE launched_tasks ADD COLUMN max_idle_us INTEGER NOT NULL DEFAULT 0;
-- The limit of its configuration for which an allocation is being stopped.
ALTER TABLE allocations ADD COLUMN over_limit TEXT NOT NULL DEFAULT 'NONE';
