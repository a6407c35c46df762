-- How many runs a trial had before its current task: allocations of a task are numbered from 1. Trials that were continued
-- before this keep counting where they were.
ALTER TABLE trials ADD COLUMN runs_before_task INTEGER NOT NULL DEFAULT 0;
