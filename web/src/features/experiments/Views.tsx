// Saved views: a name for what the address of a list says: search, filters, order and columns.
import { useState } from "preact/hooks";
import { useUserSetting } from "@shared/api/settings";
import { go, here } from "@shared/lib/address";
import { plain } from "@shared/lib/ansi";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { TextField } from "@shared/ui/Form";
import { Icon } from "@shared/ui/icons";
import { type Action, Menu } from "@shared/ui/Menu";
import { say, sayError } from "@shared/ui/Toast";

interface View {
  name: string;
  query: string;
}

export function Views() {
  const { value: views, isRead, save: setViews } = useUserSetting<View[]>("views", []);
  const [naming, setNaming] = useState(false);
  const [dropping, setDropping] = useState(false);
  const { path, query } = here();
  const now = query.toString();
  const open = (view: View) => go(view.query ? `${path}?${view.query}` : path);
  const save = (name: string) => setViews([...views.filter((view) => view.name !== name), { name, query: now }].sort((a, b) => a.name.localeCompare(b.name)));
  const drop = (view: View) => {
    setDropping(false);
    setViews(views.filter((other) => other !== view)).then(() => say(`The view “${plain(view.name)}” is removed.`, { undo: () => void setViews(views).catch(sayError) }), sayError);
  };
  const actions: (Action | null)[] = [
    ...views.map((view): Action => ({ label: plain(view.name), chosen: view.query === now, perform: () => open(view) })),
    ...(views.length ? [null] : []),
    { label: "Save this view", refused: !isRead ? "The views have not been read yet" : now ? undefined : "Search, filter, order or choose columns first", perform: () => setNaming(true) },
    ...(views.length ? [{ label: "Remove a view", perform: () => setDropping(true) }] : []),
  ];
  return (
    <>
      <Menu label="Views" actions={actions}><Icon name="star" size={14} /> {plain(views.find((view) => view.query === now)?.name ?? "Views")}</Menu>
      {naming && <NameDialog onClose={() => setNaming(false)} onSave={save} />}
      {dropping && (
        <Dialog title="Remove a view" onClose={() => setDropping(false)}>
          <div class="form">{views.map((view) => <div key={view.name} class="row spread"><span class="cut">{plain(view.name)}</span><Button onClick={() => drop(view)} aria-label={`Remove the view ${plain(view.name)}`}>Remove</Button></div>)}</div>
        </Dialog>
      )}
    </>
  );
}

function NameDialog({ onClose, onSave }: { onClose: () => void; onSave: (name: string) => Promise<unknown> }) {
  const [name, setName] = useState("");
  const [mistake, setMistake] = useState<string>();
  const submit = (event: Event) => {
    event.preventDefault();
    if (!name.trim()) return;
    onSave(name.trim()).then(() => { say(`The view “${plain(name.trim())}” is saved.`); onClose(); }, (error: Error) => setMistake(error.message));
  };
  return (
    <Dialog title="Save this view" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <TextField label="Name" value={name} onInput={setName} maxLength={80} required autofocus mistake={mistake} hint="Search, filters, order and columns are kept under this name, for you, in every browser." />
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" disabled={!name.trim()}>Save</Button></div>
      </form>
    </Dialog>
  );
}
