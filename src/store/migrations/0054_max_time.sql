-- How long a task that a user has launched may run at a time; 0: for ever.
ALTER TABLE launched_tasks ADD COLUMN max_time_us INTEGER NOT NULL DEFAULT 0;
