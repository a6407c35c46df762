-- row: store_session of sessions s
s.token_hash: bytes[STORE_TOKEN_HASH_SIZE],
s.user_id,
s.kind,          -- "LOGIN", "TASK" (DET_USER_TOKEN of one), "ALLOCATION" (DET_SESSION_TOKEN), "ACCESS_TOKEN"
s.allocation_id, -- TASK and ALLOCATION: whose; else NULL
s.created_us, s.expiry_us,
s.revoked: bool, -- access tokens stay listed when they are revoked
s.description,   -- of access tokens
-- read only: given by store_session_insert
s.id: i64

-- name: sessions_insert
INSERT INTO {insert store_session} RETURNING id;

-- name: sessions_delete
DELETE FROM sessions WHERE token_hash = $1;

-- A changed password: what it had opened ends, but the session that changed it.
-- name: sessions_delete_of_password
DELETE FROM sessions WHERE user_id = $1 AND kind IN ('LOGIN', 'TASK') AND token_hash <> $2;

-- A deactivated account: everything ends. Access tokens stay listed.
-- name: sessions_delete_of_user
DELETE FROM sessions WHERE user_id = $1 AND kind <> 'ACCESS_TOKEN';

-- name: sessions_revoke_of_user
UPDATE sessions SET revoked = 1 WHERE user_id = $1 AND kind = 'ACCESS_TOKEN';

-- name: sessions_count_of_token
SELECT count(*) FROM sessions WHERE token_hash = $1 AND revoked = 0;

-- name: sessions_delete_of_allocation
DELETE FROM sessions WHERE allocation_id = $1;

-- name: sessions_delete_expired
-- A crash right after the end of an allocation leaves its sessions, which sessions_load does not let in any more.
DELETE FROM sessions WHERE (expiry_us <= $1 AND kind <> 'ACCESS_TOKEN') OR (allocation_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM allocations a WHERE a.id = sessions.allocation_id AND a.end_us IS NULL));

-- name: sessions_load
SELECT {store_session} FROM sessions s WHERE s.expiry_us > $1 AND (s.allocation_id IS NULL
    OR EXISTS (SELECT 1 FROM allocations a WHERE a.id = s.allocation_id AND a.end_us IS NULL)) ORDER BY s.id;
