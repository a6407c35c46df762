-- Webhooks, what they are triggered by, and the queue of messages that are still to be sent.

-- row: store_webhook of webhooks h
h.id, h.name, h.url,
h.type, -- DEFAULT, SLACK
h.mode, -- WORKSPACE, SPECIFIC
h.workspace_id, -- 0: the whole cluster
h.user_id, -- who made it
h.created_us

-- name: webhooks_insert from store_webhook
INSERT INTO webhooks (name, url, type, mode, workspace_id, user_id, created_us)
VALUES ($name, $url, $type, $mode, $workspace_id, $user_id, $created_us) RETURNING id;

-- name: webhooks_set_url with id: id, url: text
-- function: store_webhook_set_url
-- missing: webhook '$id'
UPDATE webhooks SET url = $url WHERE id = $id;

-- name: webhooks_delete with id: id
-- function: store_webhook_delete
-- missing: webhook '$id'
DELETE FROM webhooks WHERE id = $id;

-- name: webhooks_by_id with id: id
-- function: store_webhook_get returns row
-- missing: webhook '$id'
SELECT {store_webhook} FROM webhooks h WHERE h.id = $id;

-- The webhooks that a user may see: those of workspaces that the user owns, or all of them if user_id is 0; and only those of the workspaces
-- in `visible`, unless that is empty.
-- name: webhooks_of with user_id: id, visible: ints
-- function: store_webhooks_of returns rows
SELECT {store_webhook} FROM webhooks h LEFT JOIN workspaces w ON w.id = h.workspace_id
WHERE (CAST($user_id AS INTEGER) = 0 OR w.user_id = $user_id)
-- sqlite: AND ($visible = '[]' OR h.workspace_id IN (SELECT value FROM json_each($visible)))
-- postgres: AND (CAST($visible AS TEXT) = '[]' OR h.workspace_id IN (SELECT json_array_elements_text(CAST($visible AS TEXT)::json)::bigint))
ORDER BY h.id;

-- ---- triggers ----

-- row: store_webhook_trigger of webhook_triggers t
t.id, t.webhook_id,
t.type,  -- EXPERIMENT_STATE_CHANGE, CUSTOM, TASK_LOG, MODEL_ALIAS
t.state, -- of EXPERIMENT_STATE_CHANGE: the state that an experiment enters; else ""
t.regex  -- of TASK_LOG: the pattern that is looked for in each line; else ""

-- name: webhook_triggers_insert from store_webhook_trigger
-- function: store_webhook_trigger_insert
INSERT INTO webhook_triggers (webhook_id, type, state, regex) VALUES ($webhook_id, $type, $state, $regex);

-- name: webhook_triggers_of with webhook_id: id
-- function: store_webhook_triggers returns rows
SELECT {store_webhook_trigger} FROM webhook_triggers t WHERE t.webhook_id = $webhook_id ORDER BY t.id;

-- ---- events ----

-- How many triggers wait for events of this kind. It is asked first, since most events concern no webhook.
-- name: webhook_triggers_count with type: text, state: text
-- function: store_webhook_trigger_count returns i64
SELECT count(*) FROM webhook_triggers WHERE type = $type AND state = $state;

-- The webhooks of a workspace and of the whole cluster that are triggered by such an event.
-- name: webhooks_for_event with type: text, state: text, workspace_id: id
-- function: store_webhooks_for_event returns rows
SELECT {store_webhook} FROM webhooks h
WHERE (h.workspace_id IS NULL OR h.workspace_id = $workspace_id)
  AND EXISTS (SELECT 1 FROM webhook_triggers t WHERE t.webhook_id = h.id AND t.type = $type AND t.state = $state)
ORDER BY h.id;

-- What a message says of an experiment. id 0: there is no such experiment.
-- row: store_webhook_subject of experiments x, projects p, workspaces w, experiment_documents d
x.id, x.name, x.state, x.resource_pool, x.start_us, x.end_us,
p.id AS project_id, p.name AS project_name, w.id AS workspace_id, w.name AS workspace_name,
d.config

-- name: webhook_subjects with experiment_id: id
-- function: store_webhook_subject returns row
SELECT {store_webhook_subject} FROM experiments x JOIN projects p ON p.id = x.project_id JOIN workspaces w ON w.id = p.workspace_id
JOIN experiment_documents d ON d.experiment_id = x.id WHERE x.id = $experiment_id;

-- ---- lines of task logs ----

-- row: store_webhook_pattern of webhook_triggers t
t.id, t.webhook_id, t.regex

-- The patterns that are looked for in logs of tasks of a workspace: those of its webhooks, and of webhooks of the whole cluster. The
-- workspace 0 is that of tasks that belong to none.
-- name: webhook_patterns_of with workspace_id: id
-- function: store_webhook_patterns returns rows
SELECT {store_webhook_pattern} FROM webhook_triggers t JOIN webhooks h ON h.id = t.webhook_id
WHERE t.type = 'TASK_LOG' AND (h.workspace_id IS NULL OR h.workspace_id = $workspace_id) ORDER BY t.id;

-- How many patterns the webhooks of exactly this workspace have; 0: those of the whole cluster.
-- name: webhook_patterns_count with workspace_id: id
-- function: store_webhook_pattern_count returns i64
SELECT count(*) FROM webhook_triggers t JOIN webhooks h ON h.id = t.webhook_id
WHERE t.type = 'TASK_LOG' AND coalesce(h.workspace_id, 0) = $workspace_id;

-- A task as messages about its log name it. type NULL: there is no such task.
-- row: store_webhook_task of tasks k, trials t, experiments x, projects p, launched_tasks l, experiment_documents d
k.id, k.type, k.trial_id,
t.experiment_id,                                              -- 0: the task belongs to no trial
coalesce(p.workspace_id, l.workspace_id, 0) AS workspace_id: id, -- 0: the task belongs to no workspace
d.config: text?                                                -- the experiment's configuration, or NULL

-- name: webhook_tasks with task_id: text
-- function: store_webhook_task returns row
SELECT {store_webhook_task} FROM tasks k LEFT JOIN trials t ON t.id = k.trial_id LEFT JOIN experiments x ON x.id = t.experiment_id
LEFT JOIN projects p ON p.id = x.project_id LEFT JOIN launched_tasks l ON l.task_id = k.id
LEFT JOIN experiment_documents d ON d.experiment_id = x.id WHERE k.id = $task_id;

-- Notes that a trigger has matched in the log of a task. Nothing is written if it had matched before, or if it is gone by now.
-- name: webhook_log_matches_add with task_id: text, trigger_id: id, now_us: i64
-- function: store_webhook_log_match_add returns changes
-- unknown: task $task_id does not exist
INSERT INTO webhook_log_matches (task_id, trigger_id, matched_us)
SELECT CAST($task_id AS TEXT), t.id, CAST($now_us AS INTEGER) FROM webhook_triggers t WHERE t.id = $trigger_id
ON CONFLICT (task_id, trigger_id) DO NOTHING;

-- ---- the queue ----

-- name: webhook_deliveries_add with webhook_id: id, body: text, now_us: i64
-- function: store_webhook_delivery_add
INSERT INTO webhook_deliveries (webhook_id, body, tries, next_us, created_us) VALUES ($webhook_id, $body, 0, $now_us, $now_us);

-- row: store_webhook_delivery of webhook_deliveries q, webhooks h
q.id AS id: i64, q.webhook_id, q.body, q.tries: i32, h.url

-- The oldest message of each webhook, if it is due. So messages of one webhook keep their order, and one that does not answer keeps
-- no other waiting.
-- name: webhook_deliveries_due with now_us: i64, limit: i64
-- function: store_webhook_deliveries_due returns rows
SELECT {store_webhook_delivery} FROM webhook_deliveries q JOIN webhooks h ON h.id = q.webhook_id
WHERE q.id IN (SELECT min(f.id) FROM webhook_deliveries f GROUP BY f.webhook_id) AND q.next_us <= $now_us
ORDER BY q.next_us, q.id LIMIT $limit;

-- Returns when the next message is due that is not due yet; 0: there is none.
-- name: webhook_deliveries_next with now_us: i64
-- function: store_webhook_deliveries_next returns i64
SELECT min(q.next_us) FROM webhook_deliveries q
WHERE q.id IN (SELECT min(f.id) FROM webhook_deliveries f GROUP BY f.webhook_id) AND q.next_us > $now_us;

-- name: webhook_deliveries_done with id: i64
-- function: store_webhook_delivery_done
DELETE FROM webhook_deliveries WHERE id = $id;

-- name: webhook_deliveries_later with id: i64, next_us: i64
-- function: store_webhook_delivery_later
UPDATE webhook_deliveries SET tries = tries + 1, next_us = $next_us WHERE id = $id;

-- name: webhook_deliveries_waiting with webhook_id: id
-- function: store_webhook_deliveries_waiting returns i64
SELECT count(*) FROM webhook_deliveries WHERE webhook_id = $webhook_id;
