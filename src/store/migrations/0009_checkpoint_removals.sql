-- Experiments whose checkpoints are to be thinned out by their policy: asked for when they end and when the policy
-- changes, in the transaction that says so.
CREATE TABLE checkpoint_collections (
    experiment_id INTEGER PRIMARY KEY REFERENCES experiments ON DELETE CASCADE
) STRICT;

-- Checkpoints whose files are to go: marked here before the first file goes, and unmarked in the transaction that notes
-- what is left of them. So a removal that was cut short is taken up again.
CREATE TABLE checkpoint_removals (
    uuid TEXT NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    globs TEXT NOT NULL,                   -- JSON list of patterns; [] is everything
    next_us INTEGER NOT NULL,              -- when it is tried, or tried again
    tries INTEGER NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT '',       -- why the last try failed
    PRIMARY KEY (uuid, globs)
) STRICT;
-- for removals_due, removals_next
CREATE INDEX checkpoint_removals_by_time ON checkpoint_removals (next_us);
