-- The owner of an object. api/pipeline/access.c reads it.
-- row: store_owner of experiments x, users u, trials t, projects p
x.user_id,             -- 0: nobody owns the object
u.username: text?,     -- NULL: nobody owns the object
x.id AS experiment_id, -- the experiment that the object is or belongs to; 0: none
t.id AS trial_id,      -- the trial that the object is or belongs to; 0: none
p.workspace_id         -- the workspace that the object is in; 0: none

-- name: owners_of_experiment to store_owner
SELECT x.user_id, u.username, x.id AS experiment_id, NULL AS trial_id, p.workspace_id
FROM experiments x LEFT JOIN users u ON u.id = x.user_id LEFT JOIN projects p ON p.id = x.project_id WHERE x.id = $1;

-- name: owners_of_trial
SELECT {store_owner} FROM trials t JOIN experiments x ON x.id = t.experiment_id LEFT JOIN users u ON u.id = x.user_id
LEFT JOIN projects p ON p.id = x.project_id WHERE t.id = $1;

-- The experiment of a task is that of its trial, or the one whose checkpoints it collects. A task that a user has launched has none, and is
-- in a workspace itself.
-- define: owners_of_tasks
SELECT u.id AS user_id, u.username, COALESCE(x.id, k.experiment_id) AS experiment_id, t.id AS trial_id,
    COALESCE(p.workspace_id, l.workspace_id) AS workspace_id
FROM tasks k LEFT JOIN trials t ON t.id = k.trial_id LEFT JOIN experiments x ON x.id = t.experiment_id
LEFT JOIN users u ON u.id = COALESCE(x.user_id, k.owner_id)
LEFT JOIN projects p ON p.id = COALESCE(x.project_id, (SELECT y.project_id FROM experiments y WHERE y.id = k.experiment_id))
LEFT JOIN launched_tasks l ON l.task_id = k.id

-- name: owners_of_task to store_owner
{owners_of_tasks} WHERE k.id = $1;

-- name: owners_of_allocation to store_owner
{owners_of_tasks} WHERE k.id = (SELECT a.task_id FROM allocations a WHERE a.id = $1);

-- name: owners_of_checkpoint to store_owner
SELECT u.id AS user_id, u.username, x.id AS experiment_id, t.id AS trial_id, COALESCE(p.workspace_id, l.workspace_id) AS workspace_id
FROM checkpoints c LEFT JOIN tasks k ON k.id = c.task_id LEFT JOIN trials t ON t.id = c.trial_id
LEFT JOIN experiments x ON x.id = t.experiment_id LEFT JOIN projects p ON p.id = x.project_id
LEFT JOIN launched_tasks l ON l.task_id = k.id
LEFT JOIN users u ON u.id = COALESCE(x.user_id, k.owner_id) WHERE c.uuid = $1;

-- name: owners_of_workspace to store_owner
SELECT w.user_id, u.username, NULL AS experiment_id, NULL AS trial_id, w.id AS workspace_id
FROM workspaces w LEFT JOIN users u ON u.id = w.user_id WHERE w.id = $1;

-- name: owners_of_project to store_owner
SELECT p.user_id, u.username, NULL AS experiment_id, NULL AS trial_id, p.workspace_id
FROM projects p LEFT JOIN users u ON u.id = p.user_id WHERE p.id = $1;

-- name: owners_of_template to store_owner
SELECT t.user_id, u.username, NULL AS experiment_id, NULL AS trial_id, t.workspace_id
FROM templates t LEFT JOIN users u ON u.id = t.user_id WHERE t.name = $1;

-- A model is named by its name or, in digits, by its id.
-- name: owners_of_model to store_owner
SELECT m.user_id, u.username, NULL AS experiment_id, NULL AS trial_id, m.workspace_id
FROM models m LEFT JOIN users u ON u.id = m.user_id
-- sqlite: WHERE m.id = CAST(CASE WHEN $1 <> '' AND $1 NOT GLOB '*[^0-9]*' THEN $1 END AS INTEGER)
-- postgres: WHERE m.id = CAST(CASE WHEN $1 ~ '^[0-9]{1,9}$' THEN $1 END AS BIGINT)
    OR lower(m.name) = lower($1);

-- A webhook belongs to the owner of its workspace; one of the whole cluster belongs to nobody, so that only admins change it.
-- name: owners_of_webhook to store_owner
SELECT w.user_id, u.username, NULL AS experiment_id, NULL AS trial_id, h.workspace_id
FROM webhooks h LEFT JOIN workspaces w ON w.id = h.workspace_id LEFT JOIN users u ON u.id = w.user_id WHERE h.id = $1;

-- row: store_live_place of experiments x, projects p
x.id, p.workspace_id

-- The workspaces of the experiments that are not over.
-- name: owners_live_places
-- function: store_live_places returns rows
SELECT {store_live_place} FROM experiments x JOIN projects p ON p.id = x.project_id
WHERE x.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR', 'DELETED') ORDER BY x.id;
