-- Which workspaces may use which resource pools. A pool that is bound to none is there for all.
CREATE TABLE pool_bindings (
    pool TEXT NOT NULL,
    workspace_id INTEGER NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    PRIMARY KEY (pool, workspace_id)
) STRICT;
-- for workspace_deletions_finish_workspaces
CREATE INDEX pool_bindings_by_workspace ON pool_bindings (workspace_id);
