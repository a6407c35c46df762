-- Groups of users, and the roles that users and groups have.

-- row: store_group of user_groups g
g.id, g.name,
-- read only
(SELECT count(*) FROM group_members m WHERE m.group_id = g.id) AS members: i32

-- name: groups_insert with name: text
-- function: store_group_insert returns i32
-- conflict: group "$name" already exists
INSERT INTO user_groups (name) VALUES ($name) RETURNING id;

-- name: groups_rename with id: id, name: text
-- function: store_group_rename
-- missing: group '$id'
-- conflict: group "$name" already exists
UPDATE user_groups SET name = $name WHERE id = $id;

-- name: groups_delete with id: id
-- function: store_group_delete
-- missing: group '$id'
DELETE FROM user_groups WHERE id = $id;

-- name: groups_by_id with id: id
-- function: store_group_get returns row
-- missing: group '$id'
SELECT {store_group} FROM user_groups g WHERE g.id = $id;

-- name: groups_by_name with name: text
-- function: store_group_by_name returns row
-- missing: group '$name'
SELECT {store_group} FROM user_groups g WHERE g.name = $name;

-- name: groups_of_user with user_id: id
-- function: store_groups_of_user returns rows
SELECT {store_group} FROM user_groups g
WHERE g.id IN (SELECT m.group_id FROM group_members m WHERE m.user_id = $user_id) ORDER BY g.id;

-- fragment: groups_count
SELECT count(*) FROM user_groups g WHERE 1 = 1

-- fragment: groups_rows
SELECT {store_group} FROM user_groups g WHERE 1 = 1

-- The name is exactly the text, without regard to case.
-- fragment: groups_filter_name with name: text
AND lower(g.name) = lower($name)

-- Groups that the user is in.
-- fragment: groups_filter_user with user_id: id
AND g.id IN (SELECT m.group_id FROM group_members m WHERE m.user_id = $user_id)

-- list: store_group_list of groups in query pages
-- sort: 0 g.name, g.id

-- ---- members ----

-- A user who is in the group already stays in it.
-- name: group_members_add with group_id: id, user_id: id
-- function: store_group_member_add
-- unknown: user '$user_id'
INSERT INTO group_members (group_id, user_id) VALUES ($group_id, $user_id) ON CONFLICT DO NOTHING;

-- name: group_members_remove with group_id: id, user_id: id
-- function: store_group_member_remove returns changes
DELETE FROM group_members WHERE group_id = $group_id AND user_id = $user_id;

-- name: group_members_of with group_id: id
-- function: store_group_members returns rows
SELECT {store_user} FROM group_members m JOIN users u ON u.id = m.user_id WHERE m.group_id = $group_id ORDER BY u.id;

-- row: store_group_member of group_members m
m.group_id, m.user_id

-- All members of all groups.
-- name: group_members_all
-- function: store_group_members_all returns rows
SELECT {store_group_member} FROM group_members m ORDER BY m.user_id, m.group_id;

-- Returns whether the user is in the group.
-- name: group_members_has with group_id: id, user_id: id
-- function: store_group_has_member returns bool
SELECT EXISTS (SELECT 1 FROM group_members WHERE group_id = $group_id AND user_id = $user_id);

-- name: group_members_ids with group_id: id
-- function: store_group_member_ids returns ids
SELECT user_id FROM group_members WHERE group_id = $group_id ORDER BY user_id;

-- ---- roles ----

-- row: store_role_assignment of role_assignments a
a.user_id,      -- 0: a group has the role
a.group_id,     -- 0: a user has the role
a.role_id,      -- contract/roles.json
a.workspace_id  -- 0: the whole cluster

-- ERR_CONFLICT if the holder has the role there already.
-- name: role_assignments_add from store_role_assignment
-- function: store_role_assignment_add
-- conflict: the role is assigned already
-- unknown: the user, the group or the workspace
INSERT INTO {insert store_role_assignment};

-- name: role_assignments_remove from store_role_assignment
-- function: store_role_assignment_remove returns changes
DELETE FROM role_assignments WHERE coalesce(user_id, 0) = coalesce($user_id, 0) AND coalesce(group_id, 0) = coalesce($group_id, 0)
    AND role_id = $role_id AND coalesce(workspace_id, 0) = coalesce($workspace_id, 0);

-- In the order in which api/rights/permissions.c keeps them.
-- name: role_assignments_all
-- function: store_role_assignments returns rows
SELECT {store_role_assignment} FROM role_assignments a
ORDER BY coalesce(a.user_id, -a.group_id), a.role_id, coalesce(a.workspace_id, 0);

-- name: role_assignments_of_role with role_id: id
-- function: store_role_assignments_of_role returns rows
SELECT {store_role_assignment} FROM role_assignments a WHERE a.role_id = $role_id ORDER BY a.workspace_id, a.group_id, a.user_id;

-- name: role_assignments_of_group with group_id: id
-- function: store_role_assignments_of_group returns rows
SELECT {store_role_assignment} FROM role_assignments a WHERE a.group_id = $group_id ORDER BY a.role_id, a.workspace_id;

-- The user's own roles, and those of the groups that the user is in.
-- name: role_assignments_of_user with user_id: id
-- function: store_role_assignments_of_user returns rows
SELECT {store_role_assignment} FROM role_assignments a
WHERE a.user_id = $user_id OR a.group_id IN (SELECT m.group_id FROM group_members m WHERE m.user_id = $user_id)
ORDER BY a.role_id, a.workspace_id, a.group_id;

-- The assignments in one workspace; not those of the whole cluster.
-- name: role_assignments_in with workspace_id: id
-- function: store_role_assignments_in returns rows
SELECT {store_role_assignment} FROM role_assignments a WHERE a.workspace_id = $workspace_id ORDER BY a.role_id, a.group_id, a.user_id;
