-- What log policies have decided about a trial.
ALTER TABLE trials ADD COLUMN retries_canceled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trials ADD COLUMN excluded_agents TEXT; -- ids, one a line
