-- Tasks that users launch: commands, notebooks, shells, TensorBoards, generic tasks. Each has a row of tasks, too, which is
-- written right after this one in the same transaction.
CREATE TABLE launched_tasks (
    task_id TEXT PRIMARY KEY REFERENCES tasks ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    workspace_id INTEGER NOT NULL,
    description TEXT NOT NULL,
    pool TEXT NOT NULL,
    slots INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    max_slots INTEGER NOT NULL,
    weight REAL NOT NULL,
    queue_position INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    idle_timeout_us INTEGER,
    config TEXT NOT NULL,
    context_hash TEXT,
    private_key TEXT,
    public_key TEXT,
    service_token TEXT,
    agent_user_group TEXT,
    experiment_ids TEXT,
    trial_ids TEXT
) STRICT;

-- Archives of the files that were sent with tasks, each once, whatever number of tasks has it.
CREATE TABLE contexts (
    hash TEXT PRIMARY KEY,
    tgz BLOB NOT NULL
) STRICT;
DROP TABLE task_contexts;

-- for launched_tasks_rows
CREATE INDEX tasks_ended_of_their_own ON tasks (end_us) WHERE trial_id IS NULL;
