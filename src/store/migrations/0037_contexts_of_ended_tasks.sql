-- for contexts_delete_unused
CREATE INDEX launched_tasks_context ON launched_tasks (context_hash) WHERE context_hash IS NOT NULL;
