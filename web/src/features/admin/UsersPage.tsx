import { useMemo, useState } from "preact/hooks";
import { useUsers } from "@shared/api/lists";
import { useApi, useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { User } from "@shared/api/routes.gen";
import { shownName } from "@shared/api/me";
import { plain } from "@shared/lib/ansi";
import { useParameter } from "@shared/lib/address";
import { counted } from "@shared/lib/format";
import { useSettled, useTitle } from "@shared/lib/hooks";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { CheckField, SearchField, TextField } from "@shared/ui/Form";
import { Menu } from "@shared/ui/Menu";
import { type Column, Table } from "@shared/ui/Table";
import { Ago } from "@shared/ui/Time";
import { say, sayError } from "@shared/ui/Toast";
import { useRefused } from "./permissions";
import { RolesDialog } from "./RolesDialog";
import "@shared/ui/state.css";

const COLUMNS: Column<User>[] = [
  { key: "name", title: "User", width: "minmax(140px, 2fr)", cell: (u) => <><b class="cut">{plain(u.username)}</b>{u.displayName && <span class="muted cut">{plain(u.displayName)}</span>}</> },
  { key: "admin", title: "Role", width: "90px", wide: true, cell: (u) => (u.admin ? "Admin" : "User") },
  { key: "active", title: "State", width: "110px", cell: (u) => <span class={`state ${u.active ? "good" : "idle"}`}>{u.active ? "active" : "deactivated"}</span> },
  { key: "remote", title: "Signs in", width: "140px", wide: true, cell: (u) => (u.remote ? "at a provider" : "by password") },
  { key: "last", title: "Last sign-in", width: "120px", wide: true, cell: (u) => <Ago time={u.lastAuthAt} /> },
  { key: "changed", title: "Changed", width: "120px", wide: true, cell: (u) => <Ago time={u.modifiedAt} /> },
];

export function UsersPage({ user: me }: { user: User }) {
  useTitle("Users");
  const [text, setText] = useParameter("q");
  const [all, setAll] = useParameter("all");
  const [editing, edit] = useState<User | "new" | null>(null);
  const [roles, setRoles] = useState<User | null>(null);
  const name = useSettled(text);
  const { rows, total, error } = useUsers({ ...(name ? { name } : {}), ...(all ? {} : { active: true }) }, { every: 15_000, keep: true });
  const change = useChange(({ user, active }: { user: User; active: boolean }) => api.patchUser({ userId: user.id, user: { active } }));
  const setActive = (user: User, active: boolean) => change.mutate({ user, active }, { onSuccess: () => say(`${plain(user.username)} is ${active ? "active" : "deactivated"}.`, { undo: () => setActive(user, !active) }), onError: sayError });
  const users = useMemo(() => [...(rows ?? [])].sort((a, b) => a.username.localeCompare(b.username)), [rows]);
  const refusedTo = useRefused(me);
  const refused = me.admin ? undefined : "Only an admin may change other users";
  return (
    <div class="page fills">
      <header class="page-head"><h1>Users</h1><span class="muted number">{rows ? counted(users.length, total, "user") : ""}</span><span class="grow" /><Button kind="primary" disabled={!me.admin} title={refused} onClick={() => edit("new")}>New user</Button></header>
      <div class="toolbar unprinted"><SearchField label="Search by name" value={text} onInput={(value) => setText(value || null)} /><CheckField label="Deactivated, too" checked={Boolean(all)} onChange={(on) => setAll(on ? "1" : null)} /></div>
      <section class="panel fills">
        {error && !rows ? <Failure error={error} /> : (
          <Table label="Users" fill columns={COLUMNS} count={users.length} at={(i) => users[i]} rowKey={(u) => u.id}
            menu={(u) => <Menu label={`Actions of user ${plain(u.username)}`} actions={[
              { label: "Roles", perform: () => setRoles(u) },
              { label: "Edit", refused: me.admin || u.id === me.id ? undefined : refused, perform: () => edit(u) },
              u.active ? { label: "Deactivate", danger: true, refused: u.id === me.id ? "This is you" : refused, perform: () => setActive(u, false) } : { label: "Activate", refused, perform: () => setActive(u, true) },
            ]} />}
            instead={rows ? <Empty title="No user fits" /> : <Waiting lines={6} />} />
        )}
      </section>
      {roles && <RolesDialog holder={{ kind: "user", id: roles.id, name: roles.username }} refused={refusedTo("PERMISSION_TYPE_ASSIGN_ROLES", "Only an admin may give roles here")} onClose={() => setRoles(null)} />}
      {editing && <UserDialog user={editing === "new" ? null : editing} me={me} onClose={() => edit(null)} />}
    </div>
  );
}

function UserDialog({ user, me, onClose }: { user: User | null; me: User; onClose: () => void }) {
  const { data: master } = useApi(api.getMaster());
  const [username, setUsername] = useState(user?.username ?? "");
  const [displayName, setDisplayName] = useState(user?.displayName ?? "");
  const [password, setPassword] = useState("");
  const [admin, setAdmin] = useState(user?.admin ?? false);
  const least = master?.passwordMinLength ?? 8;
  const make = useChange(() => api.postUser({ user: { username: username.trim(), displayName, admin, active: true }, password, isHashed: false }));
  const patch = useChange(() => api.patchUser({ userId: user?.id ?? 0, user: { displayName, ...(me.admin ? { username: username.trim(), admin } : {}), ...(password ? { password, isHashed: false } : {}), ...(user?.modifiedAt ? { ifModifiedAt: user.modifiedAt } : {}) } }));
  const error = make.error ?? patch.error;
  const submit = (event: Event) => {
    event.preventDefault();
    const done = { onSuccess: () => { say(user ? `${plain(shownName({ username, displayName }))} is changed.` : `${plain(username)} can sign in now.`); onClose(); }, onError: () => {} };
    if (user) patch.mutate(undefined, done);
    else make.mutate(undefined, done);
  };
  return (
    <Dialog title={user ? `Edit ${plain(user.username)}` : "New user"} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <TextField label="User name" value={username} onInput={setUsername} required disabled={!me.admin} autocomplete="off" autocapitalize="none" spellcheck={false} />
        <TextField label="Name that is shown" value={displayName} onInput={setDisplayName} autocomplete="off" />
        {!user?.remote && <TextField label={user ? "New password" : "Password"} type="password" value={password} onInput={setPassword} required={!user} minLength={password ? least : undefined} autocomplete="new-password" hint={`${user ? "Empty: it stays. " : ""}At least ${least} characters.`} />}
        {me.admin && <CheckField label="Admin: may change everything" checked={admin} onChange={setAdmin} />}
        {error && <p class="mistake" role="alert">{error.message}</p>}
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" busy={make.isPending || patch.isPending} disabled={!username.trim()}>{user ? "Save" : "Create"}</Button></div>
      </form>
    </Dialog>
  );
}
