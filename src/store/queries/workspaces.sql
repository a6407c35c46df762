-- ---- workspaces ----

-- The account that tasks in a workspace run as. It takes precedence over the owner's account. NULL: not set.
-- row: store_workspace_agent of workspaces w
w.agent_uid AS uid: i32?, w.agent_gid AS gid: i32?, w.agent_user AS user, w.agent_group AS group

-- row: store_workspace of workspaces w, users u, workspace_pins n
w.id,
w.name, -- unique
w.user_id, w.archived: bool, w.immutable: bool,
w.state, -- NULL, "DELETING", "DELETE_FAILED"
w.error_message,
{store_workspace_agent} AS agent,
w.checkpoint_storage, -- JSON, or NULL
w.storage_by_admin: bool, -- an admin has set the storage
w.default_compute_pool, w.default_aux_pool, -- NULL: the cluster's default pools
w.created_us, w.modified_us,
-- read only: filled by get and list
u.username,
(SELECT count(*) FROM projects p WHERE p.workspace_id = w.id) AS num_projects: i32,
(SELECT count(*) FROM experiments x JOIN projects p ON p.id = x.project_id WHERE p.workspace_id = w.id) AS num_experiments: i32,
n.pinned_us -- when the user who asks has pinned it; 0: not pinned

-- name: workspaces_insert
-- function: store_workspace_insert
-- conflict: workspace "$name" already exists
INSERT INTO {insert store_workspace};

-- name: workspaces_update from store_workspace
UPDATE workspaces SET name = $name, user_id = $user_id, archived = $archived, state = $state, error_message = $error_message,
    agent_uid = $agent.uid, agent_gid = $agent.gid, agent_user = $agent.user, agent_group = $agent.group,
    checkpoint_storage = $checkpoint_storage, default_compute_pool = $default_compute_pool,
    default_aux_pool = $default_aux_pool, storage_by_admin = $storage_by_admin, modified_us = $modified_us
WHERE id = $id;

-- name: workspaces_immutable
SELECT immutable FROM workspaces WHERE id = $1;

-- name: workspaces_pin
INSERT INTO workspace_pins (workspace_id, user_id, pinned_us) VALUES ($1, $2, $3)
ON CONFLICT (workspace_id, user_id) DO NOTHING;

-- name: workspaces_unpin
DELETE FROM workspace_pins WHERE workspace_id = $1 AND user_id = $2;

-- define: workspace_select
SELECT {store_workspace} FROM workspaces w
LEFT JOIN users u ON u.id = w.user_id
LEFT JOIN workspace_pins n ON n.workspace_id = w.id AND n.user_id = $asking_user_id

-- asking_user_id is the user whose pins are shown; 0: nobody's are.
-- name: workspaces_by_id with id: id, asking_user_id: id
-- function: store_workspace_get returns row
-- missing: workspace '$id'
{workspace_select} WHERE w.id = $id;

-- Returns the account of tasks that is set for the workspace of a project.
-- name: workspaces_agent_of_project with project_id: id
-- function: store_workspace_agent_get returns row
-- missing: project '$project_id'
SELECT {store_workspace_agent} FROM projects p JOIN workspaces w ON w.id = p.workspace_id WHERE p.id = $project_id;

-- name: workspaces_agent with workspace_id: id
-- function: store_workspace_agent_of returns row
-- missing: workspace '$workspace_id'
SELECT {store_workspace_agent} FROM workspaces w WHERE w.id = $workspace_id;

-- name: workspaces_by_name with name: text, asking_user_id: id
-- function: store_workspace_by_name returns row
-- missing: workspace '$name'
{workspace_select} WHERE w.name = $name;

-- fragment: workspaces_count with asking_user_id: id
SELECT count(*)
FROM workspaces w
LEFT JOIN users u ON u.id = w.user_id
LEFT JOIN workspace_pins n ON n.workspace_id = w.id AND n.user_id = $asking_user_id
WHERE 1 = 1

-- asking_user_id is the user whose pins are shown; 0: nobody's are.
-- fragment: workspaces_rows with asking_user_id: id
{workspace_select} WHERE 1 = 1

-- The name contains the text, without regard to case.
-- fragment: workspaces_filter_name with name: text
-- sqlite: AND instr(lower(w.name), lower($name)) > 0
-- postgres: AND strpos(lower(w.name), lower($name)) > 0

-- The name is exactly the text, with regard to case.
-- fragment: workspaces_filter_name_exact with name_exact: text
AND w.name = $name_exact

-- fragment: workspaces_filter_archived with archived: bool
AND w.archived = $archived

-- fragment: workspaces_filter_pinned with pinned: bool
AND (n.pinned_us IS NOT NULL) = ($pinned <> 0)

-- The owner is one of usernames or of user_ids.
-- fragment: workspaces_filter_owner with usernames: texts, user_ids: ints
-- sqlite: AND (u.username IN (SELECT value FROM json_each($usernames)) OR w.user_id IN (SELECT value FROM json_each($user_ids)))
-- postgres: AND (u.username IN (SELECT json_array_elements_text($usernames::json)) OR w.user_id IN (SELECT
-- postgres: json_array_elements_text($user_ids::json)::bigint))

-- The workspaces that the one who asks may see; none: all of them.
-- fragment: workspaces_filter_visible with visible: ints
-- sqlite: AND w.id IN (SELECT value FROM json_each($visible))
-- postgres: AND w.id IN (SELECT json_array_elements_text($visible::json)::bigint)

-- Sorted by the numbers of api.v1.GetWorkspacesRequest.SortBy.
-- list: store_workspace_list of workspaces in memory pages
-- sort: 0, 1 w.id
-- sort: 2 w.name

-- ---- projects ----

-- row: store_project of projects p, workspaces w, users u
p.id, p.workspace_id, p.user_id,
p.name, -- unique within its workspace
p.key,  -- unique, upper case, at most 5 characters
p.description,
p.notes: text or "[]", -- JSON list of {name, contents}
p.archived: bool, p.immutable: bool,
p.state, p.error_message, -- NULL, "DELETING" or "DELETE_FAILED", and why the deletion failed
p.created_us, p.modified_us,
-- read only
w.name AS workspace_name, u.username, w.archived AS workspace_archived: bool,
(SELECT count(*) FROM experiments x WHERE x.project_id = p.id) AS num_experiments: i32,
(SELECT count(*) FROM experiments x WHERE x.project_id = p.id AND x.state = 'ACTIVE') AS num_active_experiments: i32,
(SELECT CAST(coalesce(sum(x.num_trials), 0) AS INTEGER) FROM experiments x WHERE x.project_id = p.id) AS num_runs: i32,
(SELECT max(x.start_us) FROM experiments x WHERE x.project_id = p.id) AS last_experiment_started_us: us

-- name: projects_insert
INSERT INTO {insert store_project};

-- name: projects_update from store_project
UPDATE projects SET workspace_id = $workspace_id, user_id = $user_id, name = $name, key = $key, description = $description,
    notes = $notes, archived = $archived, state = $state, error_message = $error_message, modified_us = $modified_us
WHERE id = $id;

-- name: projects_immutable
SELECT immutable FROM projects WHERE id = $1;

-- define: project_select
SELECT {store_project} FROM projects p
JOIN workspaces w ON w.id = p.workspace_id
LEFT JOIN users u ON u.id = p.user_id

-- name: projects_by_id with id: id
-- function: store_project_get returns row
-- missing: project '$id'
{project_select} WHERE p.id = $id;

-- name: projects_by_key with key: text
-- function: store_project_by_key returns row
-- missing: project '$key'
{project_select} WHERE p.key = $key;

-- What creating an experiment needs to know of the project that it goes to. Reading a store_project would take longer, since its counts
-- read every experiment in the project.
-- row: store_project_place of projects p, workspaces w
p.id, p.workspace_id, p.name,
p.archived <> 0 OR w.archived <> 0 AS archived: bool,             -- the project or its workspace is archived
p.state IS NOT NULL OR w.state IS NOT NULL AS deleting: bool,     -- one of the two is being deleted, or its deletion has failed
w.checkpoint_storage,                       -- the workspace's; JSON, or NULL
w.default_compute_pool, w.default_aux_pool  -- the workspace's; NULL: the cluster's default pools

-- name: project_places_by_id with id: id
-- function: store_project_place_get returns row
-- missing: project '$id'
SELECT {store_project_place} FROM projects p JOIN workspaces w ON w.id = p.workspace_id
WHERE p.id = $id;

-- If the workspace has no such project, the result is a row without a project.
-- name: project_places_by_names to store_project_place
SELECT coalesce(p.id, 0) AS id, w.id AS workspace_id, coalesce(p.name, '') AS name,
    coalesce(p.archived, 0) <> 0 OR w.archived <> 0 AS archived,
    p.state IS NOT NULL OR w.state IS NOT NULL AS deleting, w.checkpoint_storage, w.default_compute_pool, w.default_aux_pool
FROM workspaces w LEFT JOIN projects p ON p.workspace_id = w.id AND p.name = $2
WHERE w.name = $1;

-- name: project_visits_note with user_id: id, project_id: id, now_us: us
-- function: store_project_visit_note
-- unknown: project $project_id does not exist
INSERT INTO project_visits (user_id, project_id, visited_us) VALUES ($user_id, $project_id, $now_us)
ON CONFLICT (user_id, project_id) DO UPDATE SET visited_us = excluded.visited_us;

-- Returns the projects that the user has looked at, the latest first. `visible` are the workspaces that the user may see; none: all of them.
-- name: project_visits_of with user_id: id, limit: i32, visible: ints
-- function: store_projects_visited returns rows
SELECT {store_project} FROM project_visits v
JOIN projects p ON p.id = v.project_id
JOIN workspaces w ON w.id = p.workspace_id
LEFT JOIN users u ON u.id = p.user_id
WHERE v.user_id = $user_id
-- sqlite: AND ($visible = '[]' OR p.workspace_id IN (SELECT value FROM json_each($visible)))
-- postgres: AND (CAST($visible AS TEXT) = '[]' OR p.workspace_id IN (SELECT json_array_elements_text(CAST($visible AS TEXT)::json)::bigint))
ORDER BY v.visited_us DESC, p.id DESC LIMIT $limit;

-- fragment: projects_count
SELECT count(*) FROM projects p LEFT JOIN users u ON u.id = p.user_id WHERE 1 = 1

-- fragment: projects_rows
{project_select} WHERE 1 = 1

-- fragment: projects_filter_workspace with workspace_id: id
AND p.workspace_id = $workspace_id

-- The name contains the text, without regard to case.
-- fragment: projects_filter_name with name: text
-- sqlite: AND instr(lower(p.name), lower($name)) > 0
-- postgres: AND strpos(lower(p.name), lower($name)) > 0

-- fragment: projects_filter_archived with archived: bool
AND (p.archived <> 0 OR p.workspace_id IN (SELECT a.id FROM workspaces a WHERE a.archived <> 0)) = ($archived <> 0)

-- The owner is one of usernames or of user_ids.
-- fragment: projects_filter_owner with usernames: texts, user_ids: ints
-- sqlite: AND (u.username IN (SELECT value FROM json_each($usernames)) OR p.user_id IN (SELECT value FROM json_each($user_ids)))
-- postgres: AND (u.username IN (SELECT json_array_elements_text($usernames::json)) OR p.user_id IN (SELECT
-- postgres: json_array_elements_text($user_ids::json)::bigint))

-- The workspaces that the one who asks may see; none: all of them.
-- fragment: projects_filter_visible with visible: ints
-- sqlite: AND p.workspace_id IN (SELECT value FROM json_each($visible))
-- postgres: AND p.workspace_id IN (SELECT json_array_elements_text($visible::json)::bigint)

-- Sorted by the numbers of api.v1.GetWorkspaceProjectsRequest.SortBy.
-- list: store_project_list of projects in memory pages
-- sort: 0, 5 p.id
-- sort: 1 p.created_us, p.id
-- sort: 2 last_experiment_started_us NULLS LAST, p.id
-- sort: 3 p.name, p.id
-- sort: 4 p.description, p.id

-- ---- the deletion of a workspace or of a project, with everything in it ----
-- $1 is a project (or 0), $2 a workspace (or 0).

-- define: experiments_in_deletion
FROM experiments x JOIN projects p ON p.id = x.project_id WHERE (p.id = $1 OR p.workspace_id = $2)

-- name: workspace_deletions_count_live
SELECT count(*) {experiments_in_deletion}
AND x.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR', 'DELETING', 'DELETED', 'DELETE_FAILED');

-- Commands, notebooks, shells, TensorBoards and generic tasks; they are in a workspace, and in no project.
-- name: workspace_deletions_count_tasks
SELECT count(*) FROM launched_tasks l JOIN tasks k ON k.id = l.task_id WHERE k.end_us IS NULL AND l.workspace_id = $1;

-- name: workspace_deletions_count_of_others
SELECT count(*) {experiments_in_deletion} AND x.user_id <> $3;

-- A workspace is deleted together with its templates, so templates of other users count, too.
-- name: workspace_deletions_count_projects_of_others
SELECT (SELECT count(*) FROM projects WHERE workspace_id = $1 AND user_id <> $2)
    + (SELECT count(*) FROM templates WHERE workspace_id = $1 AND (user_id IS NULL OR user_id <> $2));

-- name: workspace_deletions_count_models
SELECT count(*) FROM models WHERE workspace_id = $1;

-- name: workspace_deletions_experiments
SELECT x.id {experiments_in_deletion} AND x.state <> 'DELETING' ORDER BY x.id;

-- name: workspace_deletions_experiments_delete
UPDATE experiments SET state = 'DELETING'
WHERE project_id IN (SELECT id FROM projects WHERE id = $1 OR workspace_id = $2);

-- name: workspace_deletions_projects_set_state
UPDATE projects SET state = $3, error_message = $4 WHERE id = $1 OR workspace_id = $2;

-- name: workspace_deletions_workspace_set_state
UPDATE workspaces SET state = $2, error_message = $3 WHERE id = $1;

-- name: workspace_deletions_deleting
SELECT (SELECT count(*) FROM projects WHERE state = 'DELETING')
    + (SELECT count(*) FROM workspaces WHERE state = 'DELETING');

-- name: workspace_deletions_finish_projects
DELETE FROM projects WHERE state = 'DELETING' AND NOT EXISTS (SELECT 1 FROM experiments x WHERE x.project_id = projects.id);

-- name: workspace_deletions_finish_workspaces
DELETE FROM workspaces
WHERE state = 'DELETING' AND NOT EXISTS (SELECT 1 FROM projects p WHERE p.workspace_id = workspaces.id);

-- Marks a project and its workspace as DELETE_FAILED, because an experiment in them could not be deleted.
-- name: workspace_deletions_fail_workspace_of with experiment_id: id, reason: text
-- function: store_workspace_deletions_fail
-- then: workspace_deletions_fail_project_of
UPDATE workspaces SET state = 'DELETE_FAILED', error_message = $reason
WHERE state = 'DELETING' AND id = (
    SELECT p.workspace_id FROM projects p JOIN experiments x ON x.project_id = p.id WHERE x.id = $experiment_id);

-- name: workspace_deletions_fail_project_of with experiment_id: id, reason: text
UPDATE projects SET state = 'DELETE_FAILED', error_message = $reason
WHERE state = 'DELETING' AND id = (SELECT project_id FROM experiments WHERE id = $experiment_id);

-- Marks as DELETE_FAILED what the last master was deleting when it ended. A starting master calls this.
-- name: workspace_deletions_fail_workspaces
-- function: store_workspace_deletions_fail_all
-- then: workspace_deletions_fail_projects
UPDATE workspaces SET state = 'DELETE_FAILED',
    error_message = 'the master was stopped before everything in it was deleted: ask again' WHERE state = 'DELETING';

-- name: workspace_deletions_fail_projects
UPDATE projects SET state = 'DELETE_FAILED',
    error_message = 'the master was stopped before everything in it was deleted: ask again' WHERE state = 'DELETING';
