-- Certificates of agents: until when the last one of an agent is valid (0: it has been given none), and when the certificates of an agent
-- were revoked, all that it had by then.
ALTER TABLE agent_keys ADD COLUMN certificate_us INTEGER NOT NULL DEFAULT 0;

CREATE TABLE agent_revocations (
    agent_id TEXT PRIMARY KEY,
    revoked_us INTEGER NOT NULL
) STRICT;

-- A name that an administrator gives an agent, for people.
ALTER TABLE agents ADD COLUMN label TEXT NOT NULL DEFAULT '';
