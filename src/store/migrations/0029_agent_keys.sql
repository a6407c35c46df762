-- Each agent shows a key of its own once it has joined, so that the token with which agents join need not stay on its machine,
-- and one agent's key is nobody else's. Only the key's SHA-256 is kept.
CREATE TABLE agent_keys (
    agent_id TEXT PRIMARY KEY,
    key_hash BLOB NOT NULL,
    made_us INTEGER NOT NULL
);
