-- Slots that an agent's health checks have disabled, with the reason of each; and when the newest of these checks failed, by
-- the agent's clock, so that a failure that the agent tells again disables nothing that an administrator has enabled since.
ALTER TABLE agents ADD COLUMN slot_troubles TEXT NOT NULL DEFAULT '[]';
ALTER TABLE agents ADD COLUMN trouble_us INTEGER NOT NULL DEFAULT 0;
