-- Agents: what an administrator has decided about them (enabled, draining, slots switched off) is kept when their connection ends.

-- row: agent_row in core/records/rows.h of agents g
g.id: chars, g.pool: chars, g.enabled: bool, g.draining: bool, g.disabled_slots: by disabled_slots, g.instance: bool, g.listed: bool, g.lost_us,
g.disabled_reason: chars, g.slot_troubles: by slot_troubles, g.trouble_us,
g.host_faults: by host_faults, g.label: chars

-- Inserts the agent, or replaces the agent's row.
-- name: agents_put
-- function: store_agent_put sends
INSERT INTO {insert agent_row}
ON CONFLICT (id) DO UPDATE SET {replace agent_row};

-- name: agents_delete with id: text
-- function: store_agent_delete
DELETE FROM agents WHERE id = $id;

-- name: agents_all
-- function: store_agents_all returns rows
SELECT {agent_row} FROM agents g ORDER BY g.id;

-- The key that an agent shows after it has joined, as its SHA-256.
-- row: store_agent_key of agent_keys k
k.agent_id: chars[CORE_AGENT_ID_MAX], k.key_hash AS hash: bytes[STORE_AGENT_KEY_BYTES],
k.pool: chars[CORE_POOL_MAX], -- the only pool that the key is good for; "": any
k.certificate_us -- until when the agent's last certificate is valid; 0: it has been given none

-- name: agent_keys_put from store_agent_key with now_us: i64
-- function: store_agent_key_put
INSERT INTO agent_keys (agent_id, key_hash, made_us, pool, certificate_us) VALUES ($agent_id, $hash, $now_us, $pool, 0)
ON CONFLICT (agent_id) DO UPDATE SET key_hash = excluded.key_hash, made_us = excluded.made_us, pool = excluded.pool, certificate_us = 0;

-- An agent has been given a certificate that is valid until then.
-- name: agent_keys_certify with agent_id: text, until_us: i64
-- function: store_agent_key_certify
-- missing: key of agent '$agent_id'
UPDATE agent_keys SET certificate_us = $until_us WHERE agent_id = $agent_id;

-- name: agent_keys_delete with agent_id: text
-- function: store_agent_key_delete
-- missing: key of agent '$agent_id'
DELETE FROM agent_keys WHERE agent_id = $agent_id;

-- name: agent_keys_all
-- function: store_agent_keys_all returns rows
SELECT {store_agent_key} FROM agent_keys k ORDER BY k.agent_id;

-- ---- certificates that were revoked ----

-- row: store_agent_revocation of agent_revocations v
v.agent_id: chars[CORE_AGENT_ID_MAX],
v.revoked_us -- certificates of this agent that are valid from then or earlier are revoked

-- After a revocation a certificate may begin up to a second later than the clock says (master/agents/agent_certificates.c), and the next
-- revocation concerns it, too.
-- name: agent_revocations_put from store_agent_revocation
-- function: store_agent_revocation_put
INSERT INTO agent_revocations (agent_id, revoked_us) VALUES ($agent_id, $revoked_us)
ON CONFLICT (agent_id) DO UPDATE SET revoked_us = CASE WHEN excluded.revoked_us > agent_revocations.revoked_us + 1000000
    THEN excluded.revoked_us ELSE agent_revocations.revoked_us + 1000000 END;

-- Deletes the revocations of certificates that have ended anyway.
-- name: agent_revocations_forget with before_us: i64
-- function: store_agent_revocations_forget
DELETE FROM agent_revocations WHERE revoked_us < $before_us;

-- name: agent_revocations_all
-- function: store_agent_revocations_all returns rows
SELECT {store_agent_revocation} FROM agent_revocations v ORDER BY v.agent_id;

-- ---- tokens with which agents join ----

-- row: store_join_token of join_tokens t
t.id, t.token_hash AS hash: bytes[STORE_AGENT_KEY_BYTES], t.description,
t.pool: chars[CORE_POOL_MAX], -- "": any pool
t.uses_max: i32, -- agents that may join with it; 0: any number
t.uses: i32, -- agents that have joined with it
t.user_id, -- who made it
t.created_us, t.expiry_us

-- name: join_tokens_insert from store_join_token
-- function: store_join_token_insert returns i64
INSERT INTO join_tokens (token_hash, description, pool, uses_max, uses, user_id, created_us, expiry_us)
VALUES ($hash, $description, $pool, $uses_max, 0, $user_id, $created_us, $expiry_us) RETURNING id;

-- name: join_tokens_delete with id: id
-- function: store_join_token_delete
-- missing: join token '$id'
DELETE FROM join_tokens WHERE id = $id;

-- Counts one agent that has joined. A token that was revoked in the meantime has no row.
-- name: join_tokens_use with id: id
-- function: store_join_token_use
UPDATE join_tokens SET uses = uses + 1 WHERE id = $id;

-- Deletes the tokens that ended before this time.
-- name: join_tokens_forget with before_us: i64
-- function: store_join_tokens_forget
DELETE FROM join_tokens WHERE expiry_us < $before_us;

-- name: join_tokens_all
-- function: store_join_tokens_all returns rows
SELECT {store_join_token} FROM join_tokens t ORDER BY t.id;
