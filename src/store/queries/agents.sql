-- name: agents_put
INSERT INTO agents (id, pool, enabled, draining, disabled_slots, instance, listed, lost_us, disabled_reason)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (id) DO UPDATE SET pool = excluded.pool, enabled = excluded.enabled, draining = excluded.draining,
    disabled_slots = excluded.disabled_slots, instance = excluded.instance,
    listed = excluded.listed, lost_us = excluded.lost_us, disabled_reason = excluded.disabled_reason;

-- name: agents_delete
DELETE FROM agents WHERE id = $1;

-- name: agents_all
SELECT id, pool, enabled, draining, disabled_slots, instance, listed, lost_us, disabled_reason FROM agents ORDER BY id;

-- name: agent_keys_put
INSERT INTO agent_keys (agent_id, key_hash, made_us) VALUES ($1, $2, $3)
ON CONFLICT (agent_id) DO UPDATE SET key_hash = excluded.key_hash, made_us = excluded.made_us;

-- name: agent_keys_delete
DELETE FROM agent_keys WHERE agent_id = $1;

-- name: agent_keys_all
SELECT agent_id, key_hash FROM agent_keys ORDER BY agent_id;
