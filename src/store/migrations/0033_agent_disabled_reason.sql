-- Why an agent was disabled, in the words of whoever did it; empty while it is enabled, or if nothing was said.
ALTER TABLE agents ADD COLUMN disabled_reason TEXT NOT NULL DEFAULT '';
