-- What log policies have found, once for each task, node and pattern: written with the lines, so that a master that starts
-- can do what the one before it had not done yet.
CREATE TABLE log_matches (
    task_id TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE,
    agent_id TEXT NOT NULL,
    pattern TEXT NOT NULL,
    policy TEXT,                       -- its name, if it has one
    action TEXT NOT NULL CHECK (action IN ('', 'cancel_retries', 'exclude_node')),
    trial_id INTEGER NOT NULL,
    matched_us INTEGER NOT NULL,
    PRIMARY KEY (task_id, agent_id, pattern)
) STRICT;
-- for log_matches_open
CREATE INDEX log_matches_by_trial ON log_matches (trial_id);
