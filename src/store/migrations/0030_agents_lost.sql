-- Since when an agent that does not come back is given up: it stays on the list, restarts of the master or not, until somebody
-- takes it off or it connects again.
ALTER TABLE agents ADD COLUMN lost_us INTEGER;
