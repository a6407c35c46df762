import { useState } from "preact/hooks";
import { useGroups, useUsers, useWorkspaces } from "@shared/api/lists";
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Role, User } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { useParameter } from "@shared/lib/address";
import { count } from "@shared/lib/format";
import { useTitle } from "@shared/lib/hooks";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { SelectField } from "@shared/ui/Form";
import { Menu } from "@shared/ui/Menu";
import { type Column, Table } from "@shared/ui/Table";
import { type Assignment, type Holder, keyOf, ofWorkspace } from "./assignments";
import { useAssigning, useRoles } from "./assigning";
import { AccessTabs } from "./GroupsPage";
import { useRefused } from "./permissions";
import "./admin.css";

const COLUMNS: Column<Assignment>[] = [
  { key: "who", title: "Who", width: "minmax(140px, 2fr)", cell: ({ holder }) => <><b class="cut">{plain(holder.name)}</b>{holder.kind === "group" && <span class="muted">group</span>}</> },
  { key: "role", title: "Role", width: "minmax(130px, 1fr)", cell: ({ role }) => <span class="cut">{role.name}</span> },
];

/** Who has which role in a workspace, and what each role allows. */
export function RolesPage({ user: me }: { user: User }) {
  useTitle("Roles");
  const { rows: spaces, error: lost } = useWorkspaces();
  const [chosen, choose] = useParameter("workspace");
  const workspace = Number(chosen) || spaces?.[0]?.id || 0;
  const { data, error } = useApi(api.getGroupsAndUsersAssignedToWorkspace({ workspaceId: workspace }), { enabled: workspace > 0, every: 15_000 });
  const [giving, setGiving] = useState(false);
  const [shown, show] = useState<Role | null>(null);
  const { roles, error: noRoles } = useRoles();
  const { take } = useAssigning();
  const rows = data ? ofWorkspace(data, workspace) : [];
  const refused = useRefused(me)("PERMISSION_TYPE_ASSIGN_ROLES", "Your roles do not let you give roles here", workspace);
  const failed = error ?? lost;
  return (
    <div class="page">
      <header class="page-head"><h1>Groups and roles</h1><span class="grow" /><Button kind="primary" disabled={!workspace || Boolean(refused)} title={refused} onClick={() => setGiving(true)}>Give a role</Button></header>
      <AccessTabs now="roles" />
      <div class="toolbar"><SelectField label="Workspace" quiet value={String(workspace)} options={(spaces ?? []).map((w) => [String(w.id), plain(w.name)] as [string, string])} onChange={choose} />
        <span class="muted number">{data ? count(rows.length, "assignment") : ""}</span><span class="muted">Roles in the whole cluster are given in the menus of users and groups.</span></div>
      <section class="panel">
        {failed && !data ? <Failure error={failed} /> : (
          <Table label="Roles in this workspace" columns={COLUMNS} count={rows.length} at={(i) => rows[i]} rowKey={keyOf}
            menu={(a) => <Menu label={`Actions of ${plain(a.holder.name)} as ${a.role.name}`} actions={[{ label: "Take away", danger: true, refused, perform: () => take(a) }]} />}
            instead={data ? <Empty title="Nobody has a role here">Owners and admins may do everything here; others need a role.</Empty> : <Waiting lines={4} />} />
        )}
      </section>
      <section class="panel">
        <header><h2>What each role allows</h2></header>
        <Table label="Roles" columns={roleColumns(show)} count={roles.length} at={(i) => roles[i]} rowKey={(r) => r.roleId} instead={noRoles ? <Failure error={noRoles} /> : <Waiting lines={4} />} />
      </section>
      {giving && <GiveDialog workspace={workspace} name={plain(spaces?.find((w) => w.id === workspace)?.name ?? "")} onClose={() => setGiving(false)} />}
      {shown && <Dialog title={shown.name} onClose={() => show(null)}><ul class="members">{shown.permissions.map((p) => <li key={p.id}>{p.name || nameOf(p.id)}</li>)}</ul></Dialog>}
    </div>
  );
}

const nameOf = (id: string) => id.replace("PERMISSION_TYPE_", "").replaceAll("_", " ").toLowerCase();

const roleColumns = (show: (role: Role) => void): Column<Role>[] => [
  { key: "name", title: "Role", width: "minmax(140px, 1fr)", cell: (r) => <button type="button" class="link cut" onClick={() => show(r)}>{r.name}</button> },
  { key: "n", title: "Permissions", width: "110px", end: true, cell: (r) => r.permissions.length },
  { key: "what", title: "For example", width: "minmax(160px, 4fr)", wide: true, cell: (r) => <span class="cut muted">{r.permissions.slice(0, 8).map((p) => p.name || nameOf(p.id)).join(", ")}</span> },
];

function GiveDialog({ workspace, name, onClose }: { workspace: number; name: string; onClose: () => void }) {
  const users = useUsers({ active: true });
  const groups = useGroups();
  const { data: assignable, error: noRoles } = useApi(api.searchRolesAssignableToScope({ limit: 100, workspaceId: workspace }));
  const roles = assignable?.roles ?? [];
  const [who, setWho] = useState("");
  const [role, setRole] = useState("");
  const { give, busy, error: refused } = useAssigning();
  const holders: Holder[] = [
    ...(groups.rows ?? []).flatMap(({ group }): Holder[] => (group ? [{ kind: "group", id: group.groupId, name: group.name }] : [])),
    ...(users.rows ?? []).map((u): Holder => ({ kind: "user", id: u.id, name: u.username })),
  ];
  const of = (h: Holder) => `${h.kind} ${h.id}`;
  const holder = holders.find((h) => of(h) === who);
  const chosen = roles.find((r) => String(r.roleId) === role);
  const submit = (event: Event) => { event.preventDefault(); if (holder && chosen) give({ holder, role: chosen, workspace }, onClose); };
  return (
    <Dialog title={`Give a role in ${name}`} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <SelectField label="Who" value={who} lost={users.error ?? groups.error} options={[["", "Choose a user or a group"], ...holders.map((h) => [of(h), h.kind === "group" ? `${plain(h.name)} (group)` : plain(h.name)] as [string, string])]} onChange={setWho} />
        <SelectField label="Role" value={role} lost={noRoles} options={[["", "Choose a role"], ...roles.map((r) => [String(r.roleId), r.name] as [string, string])]} onChange={setRole} />
        {refused && <p class="mistake" role="alert">{refused.message}</p>}
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" busy={busy} disabled={!holder || !chosen}>Give</Button></div>
      </form>
    </Dialog>
  );
}
