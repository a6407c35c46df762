-- name: sessions_insert
INSERT INTO sessions (token_hash, user_id, kind, allocation_id, created_us, expiry_us, revoked, description)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
RETURNING id;

-- name: sessions_delete
DELETE FROM sessions WHERE token_hash = $1;

-- name: sessions_delete_of_user
DELETE FROM sessions WHERE user_id = $1 AND kind = $2;

-- name: sessions_delete_of_allocation
DELETE FROM sessions WHERE allocation_id = $1 AND kind = 'ALLOCATION';

-- name: sessions_delete_expired
DELETE FROM sessions WHERE expiry_us <= $1 AND kind <> 'ACCESS_TOKEN';

-- name: sessions_load
SELECT id, token_hash, user_id, kind, allocation_id, created_us, expiry_us, revoked, description
FROM sessions WHERE expiry_us > $1 ORDER BY id;
