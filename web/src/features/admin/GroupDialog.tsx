import { useState } from "preact/hooks";
import { useUsers } from "@shared/api/lists";
import { useApi, useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { GroupDetails, User } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { count } from "@shared/lib/format";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { Failure, Waiting } from "@shared/ui/Empty";
import { CheckField, SearchField, TextField } from "@shared/ui/Form";
import { say } from "@shared/ui/Toast";
import { difference } from "./members";
import "./admin.css";

interface Props {
  /** nothing: a new group */
  id: number | null;
  refused: string | undefined;
  onClose: () => void;
}

/** More boxes than this are not drawn at a time. */
const SHOWN_MAX = 200;

export function GroupDialog({ id, refused, onClose }: Props) {
  const { data, error } = useApi(api.getGroup({ groupId: id ?? 0 }), { enabled: id !== null });
  const { rows: users, error: lost } = useUsers();
  const group = data?.group ?? null;
  const failed = error ?? lost;
  return (
    <Dialog title={group ? `Group ${plain(group.name)}` : id === null ? "New group" : "Group"} onClose={onClose}>
      {failed ? <Failure error={failed} /> : !users || (id !== null && !group) ? <Waiting lines={4} /> : <Form group={group} users={users} refused={refused} onClose={onClose} />}
    </Dialog>
  );
}

function Form({ group, users, refused, onClose }: { group: GroupDetails | null; users: User[]; refused: string | undefined; onClose: () => void }) {
  // The members when the dialog was opened: the group may be read again meanwhile, with what others have changed.
  const [before] = useState(() => (group?.users ?? []).map((u) => u.id));
  const [name, setName] = useState(group?.name ?? "");
  const [chosen, choose] = useState<ReadonlySet<number>>(new Set(before));
  const [text, setText] = useState("");
  const { addUsers, removeUsers } = difference(before, chosen);
  const change = useChange(() => (group ? api.updateGroup({ groupId: group.groupId, name: name.trim(), addUsers, removeUsers }) : api.createGroup({ name: name.trim(), addUsers })));
  const toggle = (id: number, on: boolean) => { const next = new Set(chosen); if (on) next.add(id); else next.delete(id); choose(next); };
  const shown = users.filter((u) => (u.active || chosen.has(u.id)) && (!text || `${u.username} ${u.displayName}`.toLowerCase().includes(text.toLowerCase())))
    .sort((a, b) => Number(before.includes(b.id)) - Number(before.includes(a.id)) || a.username.localeCompare(b.username));
  const submit = (event: Event) => { event.preventDefault(); change.mutate(undefined, { onSuccess: () => { say(group ? "The group is changed." : "The group is created."); onClose(); }, onError: () => {} }); };
  return (
    <form class="form" onSubmit={submit}>
      <TextField label="Name" value={name} onInput={setName} required disabled={Boolean(refused)} autocomplete="off" />
      <fieldset class="group stack close" disabled={Boolean(refused)}><legend>Members <span class="muted number">{count(chosen.size, "user")}</span></legend>
        <SearchField label="Find a user" value={text} onInput={setText} />
        <div class="members">{shown.slice(0, SHOWN_MAX).map((u) => <CheckField key={u.id} label={u.displayName ? `${plain(u.username)} (${plain(u.displayName)})` : plain(u.username)} checked={chosen.has(u.id)} onChange={(on) => toggle(u.id, on)} />)}
          {shown.length === 0 && <p class="muted">Nobody has this name.</p>}{shown.length > SHOWN_MAX && <p class="muted number">and {count(shown.length - SHOWN_MAX, "more user")}; type a part of a name to find them.</p>}</div>
      </fieldset>
      {change.error && <p class="mistake" role="alert">{change.error.message}</p>}
      <div class="ends"><Button onClick={onClose}>{refused ? "Close" : "Cancel"}</Button>{!refused && <Button type="submit" kind="primary" busy={change.isPending} disabled={!name.trim()}>{group ? "Save" : "Create"}</Button>}</div>
    </form>
  );
}
