-- Rows of agents were kept for ever before there was a way to take an agent off the list. Only those that connect from now on, and
-- those that were given up already, are on the list; the others have been gone since before this version, or come back.
ALTER TABLE agents ADD COLUMN listed INTEGER NOT NULL DEFAULT 0;
UPDATE agents SET listed = 1 WHERE lost_us IS NOT NULL;
