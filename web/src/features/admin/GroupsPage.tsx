import { useState } from "preact/hooks";
import { useGroups } from "@shared/api/lists";
import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { GroupSearchResult, User } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { to, useParameter } from "@shared/lib/address";
import { count, counted } from "@shared/lib/format";
import { useTitle } from "@shared/lib/hooks";
import { Button } from "@shared/ui/Button";
import { Confirm } from "@shared/ui/Dialog";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { SearchField } from "@shared/ui/Form";
import { Menu } from "@shared/ui/Menu";
import { type Column, Table } from "@shared/ui/Table";
import { Tabs } from "@shared/ui/Tabs";
import { say, sayError } from "@shared/ui/Toast";
import { GroupDialog } from "./GroupDialog";
import { useRefused } from "./permissions";
import { RolesDialog } from "./RolesDialog";

/** The two halves of who may do what: groups of users, and roles in workspaces. */
export const AccessTabs = ({ now }: { now: "groups" | "roles" }) => (
  <Tabs label="Groups and roles" now={now} tabs={[{ key: "groups", title: "Groups", href: to("groups") }, { key: "roles", title: "Roles", href: to("groups/roles") }]} />
);

export function GroupsPage({ user: me }: { user: User }) {
  useTitle("Groups");
  const [text, setText] = useParameter("q");
  // The API finds a group by its whole name only.
  const name = text.trim().toLowerCase();
  const { rows, total, error } = useGroups({ every: 15_000 });
  const [editing, edit] = useState<number | "new" | null>(null);
  const [roles, setRoles] = useState<GroupSearchResult | null>(null);
  const [deleting, remove] = useState<GroupSearchResult | null>(null);
  const drop = useChange((groupId: number) => api.deleteGroup({ groupId }));
  const groups = (rows ?? []).filter(({ group }) => group!.name.toLowerCase().includes(name));
  const refusedTo = useRefused(me);
  const refused = refusedTo("PERMISSION_TYPE_UPDATE_GROUP", "Only an admin may change groups");
  const mayGive = refusedTo("PERMISSION_TYPE_ASSIGN_ROLES", "Only an admin may give roles here");
  const columns: Column<GroupSearchResult>[] = [
    { key: "name", title: "Group", width: "minmax(140px, 3fr)", cell: ({ group }) => <button type="button" class="link cut" onClick={() => edit(group!.groupId)}>{plain(group!.name)}</button> },
    { key: "members", title: "Members", width: "100px", end: true, cell: ({ numMembers }) => numMembers.toLocaleString("en") },
  ];
  return (
    <div class="page fills">
      <header class="page-head"><h1>Groups and roles</h1><span class="muted number">{rows ? counted(groups.length, name ? groups.length : total, "group") : ""}</span><span class="grow" />
        <Button kind="primary" disabled={Boolean(refused)} title={refused} onClick={() => edit("new")}>New group</Button></header>
      <AccessTabs now="groups" />
      <div class="toolbar unprinted"><SearchField label="Search by name" value={text} onInput={(value) => setText(value || null)} /></div>
      <section class="panel fills">
        {error && !rows ? <Failure error={error} /> : (
          <Table label="Groups" fill columns={columns} count={groups.length} at={(i) => groups[i]} rowKey={({ group }) => group!.groupId}
            menu={(row) => <Menu label={`Actions of group ${plain(row.group!.name)}`} actions={[
              { label: "Name and members", perform: () => edit(row.group!.groupId) },
              { label: "Roles", perform: () => setRoles(row) },
              { label: "Delete", danger: true, refused, perform: () => remove(row) },
            ]} />}
            instead={!rows ? <Waiting lines={4} /> : <Empty title={name ? "No group fits" : "No groups yet"}>{name ? `None has “${text}” in its name.` : "A group gets roles once, for all of its members."}</Empty>} />
        )}
      </section>
      {editing && <GroupDialog id={editing === "new" ? null : editing} refused={refused} onClose={() => edit(null)} />}
      {roles && <RolesDialog holder={{ kind: "group", id: roles.group!.groupId, name: roles.group!.name }} refused={mayGive} onClose={() => setRoles(null)} />}
      {deleting && <Confirm title={`Delete the group “${plain(deleting.group!.name)}”?`} action="Delete" danger busy={drop.isPending} onClose={() => remove(null)}
        onConfirm={() => drop.mutate(deleting.group!.groupId, { onSuccess: () => { remove(null); say("The group is deleted."); }, onError: (failure) => { remove(null); sayError(failure); } })}>
        {count(deleting.numMembers, "member")} {deleting.numMembers === 1 ? "loses" : "lose"} the roles that the group has. The users themselves stay.
      </Confirm>}
    </div>
  );
}
