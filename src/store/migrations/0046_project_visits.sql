-- When users last looked at projects, for the list of a user's recent projects.
CREATE TABLE project_visits (
    user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE,
    visited_us INTEGER NOT NULL,
    PRIMARY KEY (user_id, project_id)
) STRICT;
-- for workspace_deletions_finish_projects
CREATE INDEX project_visits_by_project ON project_visits (project_id);
