-- Agents that a pool's provider has launched; their rows go when their machines do.
ALTER TABLE agents ADD COLUMN instance INTEGER NOT NULL DEFAULT 0;
