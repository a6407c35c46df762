-- Whose an object is: user_id, username, experiment_id, trial_id; NULL where there is none. api/access.c asks.

-- name: owners_of_experiment
SELECT x.user_id, u.username, x.id, NULL
FROM experiments x LEFT JOIN users u ON u.id = x.user_id WHERE x.id = $1;

-- name: owners_of_trial
SELECT x.user_id, u.username, x.id, t.id
FROM trials t JOIN experiments x ON x.id = t.experiment_id LEFT JOIN users u ON u.id = x.user_id WHERE t.id = $1;

-- name: owners_of_task
SELECT u.id, u.username, COALESCE(x.id, k.experiment_id), t.id
FROM tasks k LEFT JOIN trials t ON t.id = k.trial_id LEFT JOIN experiments x ON x.id = t.experiment_id
LEFT JOIN users u ON u.id = COALESCE(x.user_id, k.owner_id) WHERE k.id = $1;

-- name: owners_of_allocation
SELECT u.id, u.username, COALESCE(x.id, k.experiment_id), t.id
FROM allocations a JOIN tasks k ON k.id = a.task_id LEFT JOIN trials t ON t.id = k.trial_id
LEFT JOIN experiments x ON x.id = t.experiment_id
LEFT JOIN users u ON u.id = COALESCE(x.user_id, k.owner_id) WHERE a.id = $1;

-- name: owners_of_checkpoint
SELECT u.id, u.username, x.id, t.id
FROM checkpoints c LEFT JOIN tasks k ON k.id = c.task_id LEFT JOIN trials t ON t.id = c.trial_id
LEFT JOIN experiments x ON x.id = t.experiment_id
LEFT JOIN users u ON u.id = COALESCE(x.user_id, k.owner_id) WHERE c.uuid = $1;

-- name: owners_of_workspace
SELECT w.user_id, u.username, NULL, NULL FROM workspaces w LEFT JOIN users u ON u.id = w.user_id WHERE w.id = $1;

-- name: owners_of_project
SELECT p.user_id, u.username, NULL, NULL FROM projects p LEFT JOIN users u ON u.id = p.user_id WHERE p.id = $1;

-- name: owners_of_template
SELECT t.user_id, u.username, NULL, NULL FROM templates t LEFT JOIN users u ON u.id = t.user_id WHERE t.name = $1;
