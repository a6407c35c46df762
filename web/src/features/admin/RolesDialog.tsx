import { useState } from "preact/hooks";
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { Failure, Waiting } from "@shared/ui/Empty";
import { SelectField } from "@shared/ui/Form";
import { type Assignment, type Holder, keyOf, ofGroup, ofUser, throughGroups } from "./assignments";
import { useAssigning, useRoles } from "./assigning";

function useAssignments(holder: Holder) {
  const user = useApi(api.getRolesAssignedToUser({ userId: holder.id }), { enabled: holder.kind === "user" });
  const group = useApi(api.getRolesAssignedToGroup({ groupId: holder.id }), { enabled: holder.kind === "group" });
  const direct = user.data ? ofUser(user.data.roles, holder) : group.data ? ofGroup(group.data, holder) : null;
  return { direct, inherited: user.data ? throughGroups(user.data.roles) : [], error: user.error ?? group.error };
}

/** The roles of one user or one group, in the cluster and in workspaces. */
export function RolesDialog({ holder, refused, onClose }: { holder: Holder; refused: string | undefined; onClose: () => void }) {
  const { direct, inherited, error } = useAssignments(holder);
  const { data: spaces } = useApi(api.getWorkspaces({ limit: 1000 }));
  const { data: groups } = useApi(api.getGroups({ limit: 500 }), { enabled: inherited.length > 0 });
  const groupName = (id: number, otherwise: string) => plain(groups?.groups.find(({ group }) => group?.groupId === id)?.group?.name ?? otherwise);
  const roles = useRoles();
  const [role, setRole] = useState("");
  const [where, setWhere] = useState("");
  const { give, take, busy, error: failed } = useAssigning();
  const place = (workspace: number | null) => (workspace === null ? "the whole cluster" : `workspace ${plain(spaces?.workspaces.find((w) => w.id === workspace)?.name ?? String(workspace))}`);
  const chosen = roles.find((r) => String(r.roleId) === role) ?? roles[0];
  const mayWorkspace = chosen?.scopeTypeMask?.workspace ?? true;
  const row = (a: Assignment, through?: string) => (
    <li key={keyOf(a)} class="row spread"><span class="cut"><b>{a.role.name}</b> <span class="muted">in {place(a.workspace)}{through ? `, through ${through}` : ""}</span></span>
      {!through && <Button kind="bare" disabled={busy || Boolean(refused)} title={refused} aria-label={`Take ${a.role.name} in ${place(a.workspace)}`} onClick={() => take(a)}>Take away</Button>}</li>
  );
  const submit = (event: Event) => {
    event.preventDefault();
    if (chosen) give({ holder, role: chosen, workspace: mayWorkspace && where ? Number(where) : null }, () => {});
  };
  return (
    <Dialog title={`Roles of ${plain(holder.name)}`} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        {error ? <Failure error={error} /> : !direct ? <Waiting /> : direct.length + inherited.length === 0 ? <p class="muted">No roles: only what every user may do is allowed.</p>
          : <ul class="stack close">{direct.map((a) => row(a))}{inherited.map((a) => row(a, groupName(a.holder.id, a.holder.name)))}</ul>}
        <fieldset class="group stack close" disabled={Boolean(refused)}><legend>Give another</legend>
          <SelectField label="Role" value={String(chosen?.roleId ?? "")} options={roles.map((r) => [String(r.roleId), r.name] as [string, string])} onChange={setRole} />
          <SelectField label="Where" value={mayWorkspace ? where : ""} disabled={!mayWorkspace} onChange={setWhere} options={[["", "The whole cluster"], ...(spaces?.workspaces ?? []).map((w) => [String(w.id), `Workspace ${plain(w.name)}`] as [string, string])]} />
        </fieldset>
        {failed && <p class="mistake" role="alert">{failed.message}</p>}
        <div class="ends"><Button onClick={onClose}>Close</Button><Button type="submit" kind="primary" busy={busy} disabled={!chosen || Boolean(refused)} title={refused}>Give</Button></div>
      </form>
    </Dialog>
  );
}
