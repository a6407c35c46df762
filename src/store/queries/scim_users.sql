-- Accounts as a directory service sees them (SCIM): those that are remote.

-- row: store_scim_user of users u
u.id, u.username, u.display_name, u.admin: bool, u.active: bool, u.modified_us,
-- read only
(SELECT s.attributes FROM scim_users s WHERE s.user_id = u.id) AS attributes: text if set

-- An empty text lets every account through.
-- define: scim_found
u.remote = 1 AND (CAST($username AS TEXT) = '' OR lower(u.username) = lower($username))
  AND (CAST($external_id AS TEXT) = ''
       OR EXISTS (SELECT 1 FROM scim_users e WHERE e.user_id = u.id AND e.external_id = $external_id))

-- name: scim_users_find with username: text, external_id: text, limit: i64, skip: i64
-- function: store_scim_users returns rows
SELECT {store_scim_user} FROM users u WHERE {scim_found} ORDER BY u.id LIMIT $limit OFFSET $skip;

-- name: scim_users_count with username: text, external_id: text
-- function: store_scim_users_count returns i64
SELECT count(*) FROM users u WHERE {scim_found};

-- name: scim_users_by_id with id: id
-- function: store_scim_user_get returns row
-- missing: user '$id'
SELECT {store_scim_user} FROM users u WHERE u.id = $id AND u.remote = 1;

-- name: scim_users_set with user_id: id, external_id: text, attributes: text
-- function: store_scim_user_set
INSERT INTO scim_users (user_id, external_id, attributes) VALUES ($user_id, $external_id, $attributes)
ON CONFLICT (user_id) DO UPDATE SET external_id = excluded.external_id, attributes = excluded.attributes;
