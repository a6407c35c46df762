// Configuration policies, of the cluster or of a workspace, for experiments or for other tasks.
import type { Call } from "@shared/api/call";
import * as api from "@shared/api/routes.gen";

export type Workload = "EXPERIMENT" | "NTSC";

export interface Scope {
  /** 0: the whole cluster */
  workspace: number;
  workload: Workload;
}

type Reply = { configPolicies: Record<string, unknown> | null };

export const read = ({ workspace: workspaceId, workload: workloadType }: Scope): Call<Reply> =>
  workspaceId ? api.getWorkspaceConfigPolicies({ workspaceId, workloadType }) : api.getGlobalConfigPolicies({ workloadType });

export const put = ({ workspace: workspaceId, workload: workloadType }: Scope, configPolicies: string): Call<Reply> =>
  workspaceId ? api.putWorkspaceConfigPolicies({ workspaceId, workloadType, configPolicies }) : api.putGlobalConfigPolicies({ workloadType, configPolicies });

export const drop = ({ workspace: workspaceId, workload: workloadType }: Scope): Call<object> =>
  workspaceId ? api.deleteWorkspaceConfigPolicies({ workspaceId, workloadType }) : api.deleteGlobalConfigPolicies({ workloadType });

export const EXAMPLE = `# What no configuration may exceed:
constraints:
  resources:
    max_slots: 8
  priority_limit: 10
# What every new configuration has, whatever its author wrote:
invariant_config:
  resources:
    shm_size: 4294967296
`;
