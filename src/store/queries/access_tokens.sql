-- Access tokens, which users make for programs. They are sessions of the kind ACCESS_TOKEN (sessions.sql).

-- row: store_access_token of sessions s
-- read only
s.id: i64, s.token_hash: bytes[STORE_TOKEN_HASH_SIZE], s.user_id, s.description: text?, s.created_us, s.expiry_us,
s.revoked: bool, s.scope

-- name: access_tokens_by_id with id: i64
-- function: store_access_token_get returns row
-- missing: access token $id
SELECT {store_access_token} FROM sessions s WHERE s.id = $id AND s.kind = 'ACCESS_TOKEN';

-- Counts the tokens of a user that are in force.
-- name: access_tokens_in_force with user_id: id, now_us: i64
-- function: store_access_token_count returns i64
SELECT count(*) FROM sessions WHERE user_id = $user_id AND kind = 'ACCESS_TOKEN' AND revoked = 0 AND expiry_us > $now_us;

-- name: access_tokens_describe with id: i64, description: text
-- function: store_access_token_describe
-- missing: access token $id
UPDATE sessions SET description = $description WHERE id = $id AND kind = 'ACCESS_TOKEN';

-- name: access_tokens_revoke with id: i64
-- function: store_access_token_revoke
-- missing: access token $id
UPDATE sessions SET revoked = 1 WHERE id = $id AND kind = 'ACCESS_TOKEN';

-- fragment: access_tokens_count
SELECT count(*) FROM sessions s WHERE s.kind = 'ACCESS_TOKEN'

-- fragment: access_tokens_rows
SELECT {store_access_token} FROM sessions s WHERE s.kind = 'ACCESS_TOKEN'

-- fragment: access_tokens_filter_user with user_id: id
AND s.user_id = $user_id

-- fragment: access_tokens_filter_ids with ids: ints
-- sqlite: AND s.id IN (SELECT value FROM json_each($ids))
-- postgres: AND s.id IN (SELECT json_array_elements_text($ids::json)::bigint)

-- The tokens that are in force at this time.
-- fragment: access_tokens_filter_in_force with in_force_at: us
AND s.revoked = 0 AND s.expiry_us > $in_force_at

-- Sorted by the numbers of api.v1.GetAccessTokensRequest.SortBy.
-- list: store_access_token_list of access_tokens in memory pages
-- sort: 0, 4 s.id
-- sort: 1 s.user_id, s.id
-- sort: 2 s.expiry_us, s.id
-- sort: 3 s.created_us, s.id
-- sort: 5 s.revoked, s.id
-- sort: 6 s.description NULLS LAST, s.id

-- What the tasks of a job may do that was submitted with an access token without the scope ALL (0039_limited_jobs.sql).
-- name: limited_jobs_put with job_id: text, scope: text
-- function: store_job_limit
INSERT INTO limited_jobs (job_id, scope) VALUES ($job_id, $scope);

-- Returns the scope of what the task does on behalf of its owner.
-- name: limited_jobs_scope with task_id: text
-- function: store_task_scope returns text
SELECT coalesce((SELECT l.scope FROM tasks k JOIN limited_jobs l ON l.job_id = k.job_id WHERE k.id = $task_id), 'ALL');
