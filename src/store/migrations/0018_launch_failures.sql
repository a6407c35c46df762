-- How many times in a row no agent could start a trial: one that fails too often is given up, restarts of the master or not.
ALTER TABLE trials ADD COLUMN launch_failures INTEGER NOT NULL DEFAULT 0;
