-- Configuration templates: partial configurations that experiments and tasks may be created upon.
CREATE TABLE templates (
    name TEXT PRIMARY KEY,
    config TEXT NOT NULL,             -- JSON object
    workspace_id INTEGER NOT NULL REFERENCES workspaces ON DELETE CASCADE
) STRICT;
-- for workspace_deletions_finish_workspaces: a workspace takes its templates with it
CREATE INDEX templates_by_workspace ON templates (workspace_id);
