-- Sessions: the user whom a token stands for. Only the SHA-256 of a token is stored. The master also holds all sessions in memory.

-- row: store_session of sessions s
s.token_hash: bytes[STORE_TOKEN_HASH_SIZE],
s.user_id,
s.kind,          -- "LOGIN", "TASK" (the DET_USER_TOKEN of a task), "ALLOCATION" (its DET_SESSION_TOKEN), "ACCESS_TOKEN"
s.allocation_id, -- for TASK and ALLOCATION: whose session it is; else NULL
s.created_us, s.expiry_us,
s.revoked: bool, -- revoked access tokens are still listed
s.description,   -- for access tokens
s.scope,         -- what it may be used for (api/rights/scope.h): "READ", "SUBMIT", "ALL"
-- read only: given by store_session_insert
s.id: i64

-- name: sessions_insert
-- function: store_session_insert returns i64
INSERT INTO {insert store_session} RETURNING id;

-- name: sessions_delete with token_hash: hash
-- function: store_session_delete
DELETE FROM sessions WHERE token_hash = $token_hash;

-- Ends sessions after a change of the password: logins, and the sessions that tasks have in the name of their owner (TASK). The session
-- `but`, which made the change, stays; with the hash of no session none stays. Sessions of allocations stay, so that running trials go on.
-- name: sessions_delete_of_password with user_id: id, but: hash
-- function: store_sessions_end_of_password
DELETE FROM sessions WHERE user_id = $user_id AND kind IN ('LOGIN', 'TASK') AND token_hash <> $but;

-- Ends all logins of a user. Access tokens and the sessions of tasks stay.
-- name: sessions_delete_logins with user_id: id
-- function: store_sessions_end_logins
DELETE FROM sessions WHERE user_id = $user_id AND kind = 'LOGIN';

-- Ends all sessions of a deactivated account for good. Access tokens are still listed.
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

-- An access token is still listed for a year after its end (31,536,000 s).
-- name: sessions_delete_expired with now_us: i64
-- function: store_sessions_delete_expired returns changes
-- If the master crashes right after the end of an allocation, the allocation's sessions are left. They are deleted here; sessions_load does
-- not return them.
DELETE FROM sessions WHERE (expiry_us <= $now_us AND kind <> 'ACCESS_TOKEN')
    OR (expiry_us <= $now_us - 31536000000000 AND kind = 'ACCESS_TOKEN') OR (allocation_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM allocations a WHERE a.id = sessions.allocation_id AND a.end_us IS NULL));

-- Returns all sessions that have not expired at now_us. The master holds them in memory.
-- name: sessions_load with now_us: i64
-- function: store_sessions_load returns rows
SELECT {store_session} FROM sessions s WHERE s.expiry_us > $now_us AND (s.allocation_id IS NULL
    OR EXISTS (SELECT 1 FROM allocations a WHERE a.id = s.allocation_id AND a.end_us IS NULL)) ORDER BY s.id;
