-- Whether the log of an allocation has said that its slots are not used, so that a master that starts again does not say it once more.
ALTER TABLE allocations ADD COLUMN warned_of_idleness INTEGER NOT NULL DEFAULT 0;
