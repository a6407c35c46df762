-- Configuration policies: what every configuration of an experiment or of a task has, and what none may exceed.
CREATE TABLE config_policies (
    workspace_id INTEGER REFERENCES workspaces ON DELETE CASCADE, -- NULL: the whole cluster
    workload TEXT NOT NULL CHECK (workload IN ('EXPERIMENT', 'NTSC')),
    policy TEXT NOT NULL,                                         -- JSON object, as it was written
    user_id INTEGER NOT NULL REFERENCES users,                    -- who has set it
    changed_us INTEGER NOT NULL
) STRICT;
-- for config_policies_set
CREATE UNIQUE INDEX config_policies_by_scope ON config_policies (coalesce(workspace_id, 0), workload);
-- for workspace_deletions_finish_workspaces
CREATE INDEX config_policies_by_workspace ON config_policies (workspace_id);
