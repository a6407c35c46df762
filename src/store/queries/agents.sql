-- Agents: what an administrator has decided about them (enabled, draining, slots switched off) is kept when their connection ends.

-- row: agent_row in core/records/rows.h of agents g
g.id: chars, g.pool: chars, g.enabled: bool, g.draining: bool, g.disabled_slots: by disabled_slots, g.instance: bool, g.listed: bool, g.lost_us,
g.disabled_reason: chars, g.slot_troubles: by slot_troubles, g.trouble_us

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
k.agent_id: chars[CORE_AGENT_ID_MAX], k.key_hash AS hash: bytes[STORE_AGENT_KEY_BYTES]

-- name: agent_keys_put from store_agent_key with now_us: i64
-- function: store_agent_key_put
INSERT INTO agent_keys (agent_id, key_hash, made_us) VALUES ($agent_id, $hash, $now_us)
ON CONFLICT (agent_id) DO UPDATE SET key_hash = excluded.key_hash, made_us = excluded.made_us;

-- name: agent_keys_delete with agent_id: text
-- function: store_agent_key_delete
-- missing: key of agent '$agent_id'
DELETE FROM agent_keys WHERE agent_id = $agent_id;

-- name: agent_keys_all
-- function: store_agent_keys_all returns rows
SELECT {store_agent_key} FROM agent_keys k ORDER BY k.agent_id;
