// Gives roles and takes them, each with a way back.
import { useApi, useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { say, sayError } from "@shared/ui/Toast";
import { type Assignment, bodyOf } from "./assignments";

export function useRoles() {
  const { data, error } = useApi(api.listRoles({ limit: 100 }));
  return { roles: data?.roles ?? [], error };
}

export function useAssigning() {
  const give = useChange((a: Assignment) => api.assignRoles(bodyOf(a) as never));
  const take = useChange((a: Assignment) => api.removeAssignments(bodyOf(a) as never));
  const taken = (a: Assignment) => take.mutate(a, { onSuccess: () => say(`${plain(a.holder.name)} is no longer ${a.role.name}.`, { undo: () => given(a) }), onError: sayError });
  const given = (a: Assignment, then?: () => void) => give.mutate(a, { onSuccess: () => { say(`${plain(a.holder.name)} is ${a.role.name} now.`); then?.(); }, onError: then ? () => {} : sayError });
  return { give: given, take: taken, busy: give.isPending || take.isPending, error: give.error };
}
