-- Sessions: who a token stands for. Only the SHA-256 of a token is stored; the master keeps all sessions in memory as well.

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
-- function: store_session_insert returns i64
INSERT INTO {insert store_session} RETURNING id;

-- name: sessions_delete with token_hash: hash
-- function: store_session_delete
DELETE FROM sessions WHERE token_hash = $token_hash;

-- Ends sessions after a change of the password: logins, and those that tasks have in the name of their owner (TASK). The session `but`,
-- which made the change, stays (a hash of no session: none stays). Sessions of allocations stay, so that running trials go on.
-- name: sessions_delete_of_password with user_id: id, but: hash
-- function: store_sessions_end_of_password
-- A changed password: what it had opened ends, but the session that changed it.
DELETE FROM sessions WHERE user_id = $user_id AND kind IN ('LOGIN', 'TASK') AND token_hash <> $but;

-- Ends all sessions of a deactivated account, for good. Access tokens stay listed.
-- name: sessions_delete_of_user with user_id: id
-- function: store_sessions_end_of_user
-- then: sessions_revoke_of_user
DELETE FROM sessions WHERE user_id = $user_id AND kind <> 'ACCESS_TOKEN';

-- name: sessions_revoke_of_user with user_id: id
UPDATE sessions SET revoked = 1 WHERE user_id = $user_id AND kind = 'ACCESS_TOKEN';

-- name: sessions_count_of_token with token_hash: hash
-- function: store_session_lives returns bool
SELECT count(*) FROM sessions WHERE token_hash = $token_hash AND revoked = 0;

-- Deletes both kinds of sessions that the tasks of an allocation have (TASK and ALLOCATION).
-- name: sessions_delete_of_allocation with allocation_id: text
-- function: store_sessions_delete_of_allocation
DELETE FROM sessions WHERE allocation_id = $allocation_id;

-- name: sessions_delete_expired with now_us: i64
-- function: store_sessions_delete_expired returns changes
-- A crash right after the end of an allocation leaves its sessions, which sessions_load does not let in any more.
DELETE FROM sessions WHERE (expiry_us <= $now_us AND kind <> 'ACCESS_TOKEN') OR (allocation_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM allocations a WHERE a.id = sessions.allocation_id AND a.end_us IS NULL));

-- All sessions that are not expired at now_us, which the master holds in memory.
-- name: sessions_load with now_us: i64
-- function: store_sessions_load returns rows
SELECT {store_session} FROM sessions s WHERE s.expiry_us > $now_us AND (s.allocation_id IS NULL
    OR EXISTS (SELECT 1 FROM allocations a WHERE a.id = s.allocation_id AND a.end_us IS NULL)) ORDER BY s.id;
