// What the signed-in user's roles allow, as the master sums it up.
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { GetPermissionsSummaryResponse, PermissionType, User } from "@shared/api/routes.gen";

/** Whether a role that holds in the workspace (or in the whole cluster) has the permission. */
export const may = ({ roles, assignments }: GetPermissionsSummaryResponse, permission: PermissionType, workspace: number) =>
  assignments.some(({ roleId, scopeCluster, scopeWorkspaceIds }) =>
    (scopeCluster || scopeWorkspaceIds.includes(workspace)) && roles.some((role) => role.roleId === roleId && role.permissions.some(({ id }) => id === permission)));

/** Why the reader may not do something; nothing if they may: an admin may everything, others what their roles allow. */
export function useRefused(me: User) {
  const { data: summary } = useApi(api.getPermissionsSummary(), { enabled: !me.admin });
  return (permission: PermissionType, why: string, workspace = 0) => (me.admin || (summary && may(summary, permission, workspace)) ? undefined : why);
}
