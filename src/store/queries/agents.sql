-- name: agents_put
INSERT INTO agents (id, pool, enabled, draining, disabled_slots, instance) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (id) DO UPDATE SET pool = excluded.pool, enabled = excluded.enabled, draining = excluded.draining,
    disabled_slots = excluded.disabled_slots, instance = excluded.instance;

-- name: agents_delete
DELETE FROM agents WHERE id = $1;

-- name: agents_all
SELECT id, pool, enabled, draining, disabled_slots, instance FROM agents ORDER BY id;
