// Who has which role where, as rows: the API groups assignments by role, and names users and groups by id.
import type { GetGroupsAndUsersAssignedToWorkspaceResponse, GetRolesAssignedToGroupResponse, Role, RoleWithAssignments } from "@shared/api/routes.gen";

export interface Holder {
  kind: "user" | "group";
  id: number;
  name: string;
}

export interface Assignment {
  holder: Holder;
  role: Pick<Role, "roleId" | "name">;
  /** nothing: the whole cluster */
  workspace: number | null;
}

export const keyOf = ({ holder, role, workspace }: Assignment) => `${holder.kind} ${holder.id} ${role.roleId} ${workspace ?? "cluster"}`;

const byName = (a: Assignment, b: Assignment) => a.holder.name.localeCompare(b.holder.name) || a.role.name.localeCompare(b.role.name);

/** All that a workspace's members have there. */
export function ofWorkspace(reply: GetGroupsAndUsersAssignedToWorkspaceResponse, workspace: number): Assignment[] {
  const users = new Map(reply.usersAssignedDirectly.map((u) => [u.id, u.username]));
  const groups = new Map(reply.groups.map((g) => [g.groupId, g.name]));
  return reply.assignments.flatMap(({ role, userRoleAssignments, groupRoleAssignments }) => (role ? [
    ...userRoleAssignments.map(({ userId: id }): Assignment => ({ holder: { kind: "user", id, name: users.get(id) ?? `user ${id}` }, role, workspace })),
    ...groupRoleAssignments.map(({ groupId: id }): Assignment => ({ holder: { kind: "group", id, name: groups.get(id) ?? `group ${id}` }, role, workspace })),
  ] : [])).sort(byName);
}

type Scoped = { scopeCluster: boolean; scopeWorkspaceId?: number | null } | null;
const scopeOf = (scope: Scoped) => (!scope || scope.scopeCluster ? null : (scope.scopeWorkspaceId ?? null));

/** What a user was given directly. What the groups of a user have is shown with these groups. */
export const ofUser = (roles: RoleWithAssignments[], holder: Holder): Assignment[] =>
  roles.flatMap(({ role, userRoleAssignments }) => (role ? userRoleAssignments.map(({ roleAssignment }): Assignment => ({ holder, role, workspace: scopeOf(roleAssignment) })) : []));

/** What the groups of a user were given, which the user has through them. */
export const throughGroups = (roles: RoleWithAssignments[]): Assignment[] =>
  roles.flatMap(({ role, groupRoleAssignments }) => (role ? groupRoleAssignments.map(({ groupId: id, roleAssignment }): Assignment => ({ holder: { kind: "group", id, name: `group ${id}` }, role, workspace: scopeOf(roleAssignment) })) : []));

export function ofGroup({ roles, assignments }: GetRolesAssignedToGroupResponse, holder: Holder): Assignment[] {
  const named = new Map(roles.map((role) => [role.roleId, role]));
  return assignments.flatMap(({ roleId, scopeCluster, scopeWorkspaceIds }) => {
    const role = named.get(roleId);
    if (!role) return [];
    return [...(scopeCluster ? [null] : []), ...scopeWorkspaceIds].map((workspace): Assignment => ({ holder, role, workspace }));
  });
}

/** The body of a request that gives or takes one assignment. */
export function bodyOf({ holder, role, workspace }: Assignment) {
  const roleAssignment = { role: { roleId: role.roleId }, ...(workspace === null ? { scopeCluster: true } : { scopeWorkspaceId: workspace }) };
  return holder.kind === "user" ? { userRoleAssignments: [{ userId: holder.id, roleAssignment }] } : { groupRoleAssignments: [{ groupId: holder.id, roleAssignment }] };
}
