-- Runs that are being deleted, and those that were: their experiment can't be continued.
CREATE TABLE run_deletions (
    trial_id INTEGER PRIMARY KEY,
    experiment_id INTEGER NOT NULL REFERENCES experiments ON DELETE CASCADE,
    done INTEGER NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT '' -- why it failed; it may be asked for again
) STRICT;
-- for run_deletions_count
CREATE INDEX run_deletions_by_experiment ON run_deletions (experiment_id);
