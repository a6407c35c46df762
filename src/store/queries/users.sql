-- Users, the account on the agents that their tasks run as, and the settings of their web pages.

-- The account on the agents that the tasks of a user run as.
-- row: store_agent_user_group of users u
u.agent_uid AS uid: i32?set, u.agent_gid AS gid: i32 if set, u.agent_user AS user: text if set,
u.agent_group AS group: text if set

-- row: store_user of users u
u.id,
u.username,      -- unique without regard to case
u.display_name,  -- NULL: there is none
u.password_hash, -- the text of argon2id; NULL: the user cannot log in with a password
u.admin: bool, u.active: bool, u.remote: bool,
{store_agent_user_group} AS agent,
u.modified_us, u.last_auth_us

-- ERR_CONFLICT if the user name is taken.
-- name: users_insert
-- function: store_user_insert
-- conflict: user "$username" already exists
INSERT INTO {insert store_user};

-- The columns that a change of an account sets. All other columns keep the value that they have in the store at that moment.
-- row: store_user_patch of users u
-- write only
u.username: text?, u.display_name, u.password_hash, -- NULL: not changed
u.admin: bool?, u.active: bool?, u.remote: bool?,
{store_agent_user_group} AS agent -- if it is not set: not changed

-- name: users_patch from store_user_patch with id: id, now_us: i64
-- function: store_user_patch
-- missing: user $id
-- conflict: user "$username" already exists
UPDATE users SET username = coalesce($username, username), display_name = coalesce($display_name, display_name),
    password_hash = coalesce($password_hash, password_hash), admin = coalesce($admin, admin),
    active = coalesce($active, active), remote = coalesce($remote, remote), agent_uid = coalesce($agent.uid, agent_uid),
    agent_gid = coalesce($agent.gid, agent_gid), agent_user = coalesce($agent.user, agent_user),
    agent_group = coalesce($agent.group, agent_group), modified_us = $now_us
WHERE id = $id;

-- Counts the users other than `but` who have this user name or display name, without regard to case.
-- name: users_count_shown_as with name: text, but: i32
-- function: store_user_count_shown_as returns i64
SELECT count(*) FROM users u
WHERE u.id <> $but AND (lower(u.username) = lower($name) OR lower(u.display_name) = lower($name));

-- Counts the admins other than `but` who can log in with a password.
-- name: users_count_other_admins with but: i32
-- function: store_user_count_other_admins returns i64
SELECT count(*) FROM users WHERE id <> $but AND admin = 1 AND active = 1 AND remote = 0 AND password_hash <> '';

-- name: users_touch_auth with id: id, now_us: i64
-- function: store_user_touch_auth
-- missing: user $id
UPDATE users SET last_auth_us = $now_us WHERE id = $id;

-- name: users_by_id with id: id
-- function: store_user_get returns row
-- missing: user '$id'
SELECT {store_user} FROM users u WHERE u.id = $id;

-- name: users_by_name with username: text
-- function: store_user_by_name returns row
-- missing: user '$username'
SELECT {store_user} FROM users u WHERE lower(u.username) = lower($username);

-- fragment: users_count
SELECT count(*) FROM users u WHERE 1 = 1

-- fragment: users_rows
SELECT {store_user} FROM users u WHERE 1 = 1

-- The user name or the display name contains the text, without regard to case.
-- fragment: users_filter_name with name: text
-- sqlite: AND (instr(lower(u.username), lower($name)) > 0 OR instr(lower(u.display_name), lower($name)) > 0)
-- postgres: AND (strpos(lower(u.username), lower($name)) > 0 OR strpos(lower(u.display_name), lower($name)) > 0)

-- fragment: users_filter_active with active: bool
AND u.active = $active

-- fragment: users_filter_admin with admin: bool
AND u.admin = $admin

-- Sorted by the numbers of api.v1.GetUsersRequest.SortBy. 6 stands for the name that is shown for a user.
-- list: store_user_list of users in memory pages
-- sort: 0 u.id
-- sort: 1 u.display_name NULLS LAST, u.id
-- sort: 2 lower(u.username)
-- sort: 3 u.admin, u.id
-- sort: 4 u.active, u.id
-- sort: 5 u.modified_us, u.id
-- sort: 6 coalesce(u.display_name, u.username), u.id
-- sort: 7 u.last_auth_us NULLS LAST, u.id
-- sort: 8 u.remote, u.id

-- fragment: limit_offset
LIMIT $1 OFFSET $2

-- A setting of the web pages.
-- row: store_user_setting of user_settings s
s.key, s.storage_path, s.value

-- name: user_settings_set from store_user_setting with user_id: id
-- function: store_user_setting_set
INSERT INTO user_settings (user_id, storage_path, key, value) VALUES ($user_id, $storage_path, $key, $value)
ON CONFLICT (user_id, storage_path, key) DO UPDATE SET value = excluded.value;

-- name: user_settings_all with user_id: id
-- function: store_user_settings returns rows
SELECT {store_user_setting} FROM user_settings s WHERE s.user_id = $user_id ORDER BY storage_path, key;

-- name: user_settings_count with user_id: id
-- function: store_user_settings_count returns i64
SELECT count(*) FROM user_settings WHERE user_id = $user_id;

-- name: user_settings_reset with user_id: id
-- function: store_user_settings_reset
DELETE FROM user_settings WHERE user_id = $user_id;
