// What the signed-in user's roles allow, as the master sums it up.
import type { GetPermissionsSummaryResponse, PermissionType } from "@shared/api/routes.gen";

/** Whether a role that holds in the workspace (or in the whole cluster) has the permission. */
export const may = ({ roles, assignments }: GetPermissionsSummaryResponse, permission: PermissionType, workspace: number) =>
  assignments.some(({ roleId, scopeCluster, scopeWorkspaceIds }) =>
    (scopeCluster || scopeWorkspaceIds.includes(workspace)) && roles.some((role) => role.roleId === roleId && role.permissions.some(({ id }) => id === permission)));

export const mayAssign = (summary: GetPermissionsSummaryResponse, workspace: number) => may(summary, "PERMISSION_TYPE_ASSIGN_ROLES", workspace);
