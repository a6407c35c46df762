-- How long what ran in a pool took, lately: only of what came to its own end.
-- for allocations_run_times
CREATE INDEX allocations_by_end ON allocations (pool, end_us) WHERE exit_kind = 'OK' AND preempt_acked = 0 AND slots > 0;
