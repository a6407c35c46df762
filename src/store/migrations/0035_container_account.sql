-- The login name that a container's task runs as, which the agent chooses: one logs in to a shell by this name. Empty: unknown.
ALTER TABLE containers ADD COLUMN account TEXT NOT NULL DEFAULT '';
