-- What its engine calls a container: it is stored, because an agent that was started again cannot tell it.
ALTER TABLE containers ADD COLUMN runtime_id TEXT NOT NULL DEFAULT '';
