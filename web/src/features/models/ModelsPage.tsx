import { useState } from "preact/hooks";
import { useAll } from "@shared/api/lists";
import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Model } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { go, to, useParameter } from "@shared/lib/address";
import { counted } from "@shared/lib/format";
import { useSettled, useTitle } from "@shared/lib/hooks";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { CheckField, SearchField, TextField } from "@shared/ui/Form";
import { Menu } from "@shared/ui/Menu";
import { type Column, Table } from "@shared/ui/Table";
import { Ago } from "@shared/ui/Time";
import { useModelActions } from "./actions";

const EVERY_MS = 10_000;

const COLUMNS: Column<Model>[] = [
  { key: "name", title: "Model", width: "minmax(140px, 2fr)", cell: (m) => <><a href={to(`models/${m.id}`)} title={plain(m.name)}>{plain(m.name)}</a>{m.archived && <span class="muted">archived</span>}</> },
  { key: "versions", title: "Versions", width: "92px", end: true, cell: (m) => m.numVersions.toLocaleString("en") },
  { key: "labels", title: "Labels", width: "minmax(90px, 1fr)", wide: true, cell: (m) => <span class="cut muted">{m.labels.map(plain).join(", ")}</span> },
  { key: "user", title: "Owner", width: "minmax(90px, 1fr)", wide: true, cell: (m) => <span class="cut">{plain(m.username)}</span> },
  { key: "updated", title: "Changed", width: "110px", wide: true, cell: (m) => <Ago time={m.lastUpdatedTime} /> },
  { key: "description", title: "Description", width: "minmax(120px, 3fr)", wide: true, cell: (m) => <span class="cut muted" title={plain(m.description)}>{plain(m.description)}</span> },
];

export function ModelsPage() {
  useTitle("Models");
  const [text, setText] = useParameter("q");
  const [archived, setArchived] = useParameter("archived");
  const [making, setMaking] = useState(false);
  const name = useSettled(text);
  const { rows, total, error } = useAll((offset, limit) => api.getModels({ name, offset, limit, ...(archived ? {} : { archived: false }), sortBy: "SORT_BY_LAST_UPDATED_TIME", orderBy: "ORDER_BY_DESC" }), (reply) => reply.models, { every: EVERY_MS, keep: true });
  const actions = useModelActions();
  const all = rows ?? [];
  return (
    <div class="page fills">
      <header class="page-head"><h1>Models</h1><span class="muted number">{rows ? counted(all.length, total, "model") : ""}</span><span class="grow" /><Button kind="primary" onClick={() => setMaking(true)}>New model</Button></header>
      <div class="toolbar unprinted">
        <SearchField label="Search by name" value={text} onInput={(value) => setText(value || null)} />
        <CheckField label="Archived, too" checked={Boolean(archived)} onChange={(on) => setArchived(on ? "1" : null)} />
      </div>
      <section class="panel fills">
        {error && !rows ? <Failure error={error} /> : (
          <Table label="Models" fill columns={COLUMNS} count={all.length} at={(i) => all[i]} rowKey={(m) => m.id} href={(m) => to(`models/${m.id}`)} menu={(m) => <Menu label={`Actions of model ${plain(m.name)}`} actions={actions.actionsOf(m)} />}
            instead={!rows ? <Waiting lines={6} /> : <Empty title={text ? "No model fits" : "No models yet"}>{text ? `None has “${text}” in its name.` : "A model keeps checkpoints as versions. Register one from a trial's checkpoints."}</Empty>} />
        )}
      </section>
      {actions.dialogs}
      {making && <NewModel onClose={() => setMaking(false)} />}
    </div>
  );
}

function NewModel({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const create = useChange(() => api.postModel({ name: name.trim(), description }));
  const submit = (event: Event) => {
    event.preventDefault();
    create.mutate(undefined, { onSuccess: ({ model }) => go(`models/${model!.id}`), onError: () => {} });
  };
  return (
    <Dialog title="New model" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <TextField label="Name" value={name} onInput={setName} required autofocus mistake={create.error?.message} />
        <TextField label="Description" value={description} onInput={setDescription} />
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" busy={create.isPending} disabled={!name.trim()}>Create</Button></div>
      </form>
    </Dialog>
  );
}
