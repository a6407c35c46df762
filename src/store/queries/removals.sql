-- Asks for a collection of the experiment's checkpoints. Asking twice has the same effect as asking once, unless a collection has begun in
-- between.
-- name: collections_ask with experiment_id: id
-- function: store_collection_ask
INSERT INTO checkpoint_collections (experiment_id) VALUES ($experiment_id)
ON CONFLICT (experiment_id) DO UPDATE SET asked = checkpoint_collections.asked + 1;

-- row: store_collection of checkpoint_collections c
c.experiment_id, -- 0: no collection is asked for
c.asked: i64     -- how often a collection was asked for since the last one was done

-- name: collections_next
-- function: store_collection_next returns row
SELECT {store_collection} FROM checkpoint_collections c ORDER BY c.experiment_id LIMIT 1;

-- name: collections_done
DELETE FROM checkpoint_collections WHERE experiment_id = $1 AND asked = $2;

-- Marks files of a checkpoint for removal. globs is a JSON list of patterns; "[]" stands for all files. A checkpoint that waits for its
-- next try is marked again. A checkpoint in the model registry is not marked, unless the pattern is "/", which removes nothing.
-- name: removals_add with uuid: text, globs: text, now_us: i64
-- function: store_removal_add
-- conflict: checkpoint '$uuid' not found
INSERT INTO checkpoint_removals (uuid, globs, next_us)
SELECT CAST($uuid AS TEXT), CAST($globs AS TEXT), CAST($now_us AS INTEGER)
WHERE $globs = '["/"]' OR NOT EXISTS (SELECT 1 FROM model_versions v WHERE v.checkpoint_uuid = $uuid)
ON CONFLICT (uuid, globs) DO UPDATE SET next_us = excluded.next_us,
    by_task = CASE WHEN checkpoint_removals.task_id IS NULL THEN 0 ELSE 1 END;

-- Marks all files of every checkpoint of the experiment, or of one trial if trial_id is not 0. Checkpoints in the model registry are not
-- marked; a deletion is refused while there are any (registrations_of_experiment).
-- name: removals_add_of_experiment with experiment_id: id, trial_id: id, now_us: i64
-- function: store_removal_add_all
INSERT INTO checkpoint_removals (uuid, globs, next_us)
SELECT c.uuid, '[]', CAST($now_us AS INTEGER) FROM checkpoints c JOIN trials t ON t.id = c.trial_id
WHERE t.experiment_id = $experiment_id AND (CAST($trial_id AS INTEGER) = 0 OR t.id = $trial_id) AND c.state <> 'DELETED'
  AND NOT EXISTS (SELECT 1 FROM model_versions v WHERE v.checkpoint_uuid = c.uuid)
ON CONFLICT (uuid, globs) DO UPDATE SET next_us = excluded.next_us,
    by_task = CASE WHEN checkpoint_removals.task_id IS NULL THEN 0 ELSE 1 END;

-- The storage of checkpoints that an admin has set for the workspace of an experiment x; NULL: none is set.
-- define: admin_storage
(SELECT w.checkpoint_storage FROM projects p JOIN workspaces w ON w.id = p.workspace_id
 WHERE p.id = x.project_id AND w.storage_by_admin = 1)

-- row: store_removal of checkpoint_removals r
r.uuid, r.globs, r.tries: i32, {store_site} AS site

-- define: removal_joins
JOIN checkpoints c ON c.uuid = r.uuid
LEFT JOIN storage_backends b ON b.id = c.storage_id
LEFT JOIN trials t ON t.id = c.trial_id
LEFT JOIN experiments x ON x.id = t.experiment_id
LEFT JOIN experiment_documents d ON d.experiment_id = t.experiment_id

-- A checkpoint from which a trial starts or goes on waits until that trial is over. A checkpoint in the model registry is never marked
-- (removals_add), and a marked one is never registered (checkpoints_registrable).
-- define: removal_unused
NOT (r.uuid = coalesce(t.latest_checkpoint, '') AND t.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR'))
  AND r.uuid NOT IN (SELECT w.warm_start_checkpoint FROM trials w WHERE w.warm_start_checkpoint IS NOT NULL
                     AND w.state NOT IN ('CANCELED', 'COMPLETED', 'ERROR'))

-- Removals that are due. A checkpoint from which a trial starts or goes on is left out as long as that trial is not over.
-- name: removals_due with now_us: i64, limit: i64
-- function: store_removals_due returns rows
SELECT {store_removal} FROM checkpoint_removals r {removal_joins}
WHERE r.next_us <= $now_us AND r.by_task = 0 AND {removal_unused}
ORDER BY r.next_us, r.uuid, r.globs LIMIT $limit;

-- Returns when the next removal after now_us is due; 0: there is none.
-- name: removals_next with now_us: i64
-- function: store_removals_next returns i64
SELECT min(next_us) FROM (
    SELECT r.next_us FROM checkpoint_removals r WHERE r.next_us > $now_us AND r.task_id IS NULL
    UNION ALL
    SELECT b.next_us FROM tensorboard_removals b WHERE b.next_us > $now_us AND b.task_id IS NULL) due;

-- ---- removals by tasks ----

-- name: removals_hand_over with uuid: text, globs: text
-- function: store_removal_hand_over
UPDATE checkpoint_removals SET by_task = 1 WHERE uuid = $uuid AND globs = $globs;

-- What one task can remove at once: files of one experiment and one storage, with one list of patterns.
-- row: store_removal_group of checkpoint_removals r, experiments x
x.id AS experiment_id, x.user_id AS owner_id,
coalesce(c.storage_id, 0) AS storage_id: i64, -- 0: the storage of the experiment's configuration
r.globs -- NULL: the experiment's TensorBoard files

-- name: removals_for_task
SELECT {store_removal_group} FROM checkpoint_removals r
JOIN checkpoints c ON c.uuid = r.uuid
JOIN trials t ON t.id = c.trial_id
JOIN experiments x ON x.id = t.experiment_id
WHERE r.next_us <= $1 AND r.by_task = 1 AND r.task_id IS NULL AND {removal_unused}
ORDER BY r.next_us, r.uuid, r.globs LIMIT 1;

-- name: removals_claim from store_removal_group with task_id: text, now_us: i64, most: i64
UPDATE checkpoint_removals SET task_id = $task_id
WHERE globs = $globs AND task_id IS NULL AND by_task = 1 AND next_us <= $now_us AND uuid IN (
    SELECT r.uuid FROM checkpoint_removals r
    JOIN checkpoints c ON c.uuid = r.uuid
    JOIN trials t ON t.id = c.trial_id
    WHERE t.experiment_id = $experiment_id AND coalesce(c.storage_id, 0) = $storage_id AND r.globs = $globs AND r.by_task = 1
      AND r.task_id IS NULL AND r.next_us <= $now_us AND {removal_unused}
    ORDER BY r.uuid LIMIT $most);

-- name: removals_of_task with task_id: text
-- function: store_removals_of_task returns rows
SELECT {store_removal} FROM checkpoint_removals r {removal_joins} WHERE r.task_id = $task_id ORDER BY r.uuid;

-- A task reports what is left after its removal. If nothing is left, there is nothing more to remove, whatever the task was asked for.
-- name: removals_reported
DELETE FROM checkpoint_removals WHERE uuid = $1 AND (task_id = $2 OR CAST($3 AS INTEGER) = 1);

-- name: collecting_tasks
-- function: store_collecting_tasks returns i64
SELECT count(*) FROM tasks WHERE end_us IS NULL AND trial_id IS NULL AND type = 'CHECKPOINT_GC';

-- Counts the removals of files of an experiment that have not been tried yet or are being tried. trial_id: only of that trial; 0: of all.
-- name: removals_pending with experiment_id: id, trial_id: id, now_us: i64
-- function: store_removals_pending returns i64
-- Whether a removal for the experiment, or for its trial $3, has not been tried yet or is being tried.
SELECT (SELECT count(*) FROM checkpoint_removals r
        JOIN checkpoints c ON c.uuid = r.uuid
        JOIN trials t ON t.id = c.trial_id
        WHERE t.experiment_id = $experiment_id AND (CAST($trial_id AS INTEGER) = 0 OR t.id = $trial_id)
          AND (r.task_id IS NOT NULL OR (r.next_us <= $now_us AND {removal_unused})))
     + (SELECT count(*) FROM tensorboard_removals b
        WHERE b.experiment_id = $experiment_id AND CAST($trial_id AS INTEGER) = 0 AND (b.task_id IS NOT NULL OR b.next_us <= $now_us));

-- ---- TensorBoard's files ----

-- name: tensorboards_add with experiment_id: id, now_us: i64
-- function: store_tensorboard_removal_add
INSERT INTO tensorboard_removals (experiment_id, next_us) VALUES ($experiment_id, $now_us)
ON CONFLICT (experiment_id) DO UPDATE SET next_us = excluded.next_us,
    by_task = CASE WHEN tensorboard_removals.task_id IS NULL THEN 0 ELSE 1 END;

-- row: store_tensorboard_removal of tensorboard_removals b, experiments x, experiment_documents d
b.experiment_id, x.user_id AS owner_id, b.tries: i32,
-- also: struct store_site site;
d.config AS site.experiment_config, {admin_storage} AS site.admin_storage: text?, x.user_id AS site.owner_id

-- name: tensorboards_due
SELECT {store_tensorboard_removal} FROM tensorboard_removals b
JOIN experiments x ON x.id = b.experiment_id
JOIN experiment_documents d ON d.experiment_id = b.experiment_id
WHERE b.next_us <= $1 AND b.by_task = $2 AND b.task_id IS NULL
ORDER BY b.next_us, b.experiment_id LIMIT 1;

-- name: tensorboards_of_task with task_id: text
-- function: store_tensorboard_removal_of_task returns row
SELECT {store_tensorboard_removal} FROM tensorboard_removals b
JOIN experiments x ON x.id = b.experiment_id
JOIN experiment_documents d ON d.experiment_id = b.experiment_id
WHERE b.task_id = $task_id;

-- name: tensorboards_hand_over with experiment_id: id
-- function: store_tensorboard_removal_hand_over
UPDATE tensorboard_removals SET by_task = 1 WHERE experiment_id = $experiment_id;

-- name: tensorboards_claim
UPDATE tensorboard_removals SET task_id = $1 WHERE experiment_id = $2 AND task_id IS NULL;

-- name: tensorboards_done with experiment_id: id
-- function: store_tensorboard_removal_done
DELETE FROM tensorboard_removals WHERE experiment_id = $experiment_id;

-- name: tensorboards_failed with experiment_id: id, next_us: i64, reason: text
-- function: store_tensorboard_removal_failed
UPDATE tensorboard_removals SET task_id = NULL, tries = tries + 1, next_us = $next_us, reason = $reason WHERE experiment_id = $experiment_id;

-- name: removals_done
DELETE FROM checkpoint_removals WHERE uuid = $1 AND (globs = $2 OR $2 = '[]');

-- name: removals_failed with uuid: text, globs: text, next_us: i64, reason: text
-- function: store_removal_failed
UPDATE checkpoint_removals SET task_id = NULL, tries = tries + 1, next_us = $next_us, reason = $reason
WHERE uuid = $uuid AND globs = $globs;

-- Returns why files of the experiment could not be removed; NULL: no removal failed.
-- name: removals_reason with experiment_id: id, trial_id: id
-- function: store_removal_reason returns text
SELECT reason FROM (
    SELECT r.reason, r.uuid FROM checkpoint_removals r
    JOIN checkpoints c ON c.uuid = r.uuid JOIN trials t ON t.id = c.trial_id
    WHERE t.experiment_id = $experiment_id AND (CAST($trial_id AS INTEGER) = 0 OR t.id = $trial_id) AND r.reason <> ''
    UNION ALL
    SELECT b.reason, '' FROM tensorboard_removals b WHERE b.experiment_id = $experiment_id AND CAST($trial_id AS INTEGER) = 0 AND b.reason <> '') why
ORDER BY uuid DESC LIMIT 1;
