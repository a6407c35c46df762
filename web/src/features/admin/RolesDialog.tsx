import { useState } from "preact/hooks";
import { useGroups, useWorkspaces } from "@shared/api/lists";
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { Failure, Waiting } from "@shared/ui/Empty";
import { SelectField } from "@shared/ui/Form";
import { type Assignment, type Holder, keyOf, ofGroup, ofUser, throughGroups } from "./assignments";
import { useAssigning, useRoles } from "./assigning";

const CLUSTER = "cluster";

function useAssignments(holder: Holder) {
  const user = useApi(api.getRolesAssignedToUser({ userId: holder.id }), { enabled: holder.kind === "user" });
  const group = useApi(api.getRolesAssignedToGroup({ groupId: holder.id }), { enabled: holder.kind === "group" });
  const direct = user.data ? ofUser(user.data.roles, holder) : group.data ? ofGroup(group.data, holder) : null;
  return { direct, inherited: user.data ? throughGroups(user.data.roles) : [], error: user.error ?? group.error };
}

/** The roles of one user or one group, in the cluster and in workspaces. */
export function RolesDialog({ holder, refused, onClose }: { holder: Holder; refused: string | undefined; onClose: () => void }) {
  const { direct, inherited, error } = useAssignments(holder);
  const spaces = useWorkspaces();
  const groups = useGroups({ enabled: inherited.length > 0 });
  const groupName = (id: number, otherwise: string) => plain(groups.rows?.find(({ group }) => group?.groupId === id)?.group?.name ?? otherwise);
  const { roles, error: noRoles } = useRoles();
  const [role, setRole] = useState("");
  const [where, setWhere] = useState("");
  const { give, take, busy, error: failed } = useAssigning();
  const place = (workspace: number | null) => (workspace === null ? "the whole cluster" : `workspace ${plain(spaces.rows?.find((w) => w.id === workspace)?.name ?? String(workspace))}`);
  // Nothing is chosen at first: a press too many must not give the widest role everywhere.
  const chosen = roles.find((r) => String(r.roleId) === role);
  const mayWorkspace = chosen?.scopeTypeMask?.workspace ?? true;
  const scope = mayWorkspace ? where : CLUSTER;
  const row = (a: Assignment, through?: string) => (
    <li key={keyOf(a)} class="row spread"><span class="cut"><b>{a.role.name}</b> <span class="muted">in {place(a.workspace)}{through ? `, through ${through}` : ""}</span></span>
      {!through && <Button kind="bare" disabled={busy || Boolean(refused)} title={refused} aria-label={`Take ${a.role.name} in ${place(a.workspace)}`} onClick={() => take(a)}>Take away</Button>}</li>
  );
  const submit = (event: Event) => {
    event.preventDefault();
    if (chosen && scope) give({ holder, role: chosen, workspace: scope === CLUSTER ? null : Number(scope) }, () => { setRole(""); setWhere(""); });
  };
  return (
    <Dialog title={`Roles of ${plain(holder.name)}`} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        {error ? <Failure error={error} /> : !direct ? <Waiting /> : direct.length + inherited.length === 0 ? <p class="muted">No roles: only what every user may do is allowed.</p>
          : <ul class="stack close">{direct.map((a) => row(a))}{inherited.map((a) => row(a, groupName(a.holder.id, a.holder.name)))}</ul>}
        <fieldset class="group stack close" disabled={Boolean(refused)}><legend>Give another</legend>
          <SelectField label="Role" value={role} lost={noRoles} options={[["", "Choose a role"], ...roles.map((r) => [String(r.roleId), r.name] as [string, string])]} onChange={setRole} />
          <SelectField label="Where" value={scope} disabled={!mayWorkspace} onChange={setWhere} lost={spaces.error} hint={mayWorkspace ? undefined : "This role holds in the whole cluster only."}
            options={[["", "Choose where"], ...(spaces.rows ?? []).map((w) => [String(w.id), `Workspace ${plain(w.name)}`] as [string, string]), [CLUSTER, "The whole cluster"]]} />
        </fieldset>
        {failed && <p class="mistake" role="alert">{failed.message}</p>}
        <div class="ends"><Button onClick={onClose}>Close</Button><Button type="submit" kind="primary" busy={busy} disabled={!chosen || !scope || Boolean(refused)} title={refused}>Give</Button></div>
      </form>
    </Dialog>
  );
}
