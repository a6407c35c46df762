-- How often it was asked for: a choice that was made before the last time is not the one that was asked for.
ALTER TABLE checkpoint_collections ADD COLUMN asked INTEGER NOT NULL DEFAULT 1;
