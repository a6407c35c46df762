-- The master reads and removes files of checkpoints only below directories that an admin has named. A workspace's storage is
-- such a directory if an admin has set it. Nobody knows who set those that are there, so that none counts until it is set again.
ALTER TABLE workspaces ADD COLUMN storage_by_admin INTEGER NOT NULL DEFAULT 0;

-- The storages that a trial has registered: a checkpoint may name one of its own trial's only, since a storage holds credentials.
CREATE TABLE trial_storages (
    trial_id INTEGER NOT NULL REFERENCES trials ON DELETE CASCADE,
    storage_id INTEGER NOT NULL REFERENCES storage_backends,
    PRIMARY KEY (trial_id, storage_id)
) STRICT;
INSERT INTO trial_storages (trial_id, storage_id)
SELECT DISTINCT trial_id, storage_id FROM checkpoints WHERE trial_id IS NOT NULL AND storage_id IS NOT NULL;
