import { useState } from "preact/hooks";
import { useWorkspaces } from "@shared/api/lists";
import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Workspace } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { go, to, useParameter } from "@shared/lib/address";
import { counted } from "@shared/lib/format";
import { useSettled, useTitle } from "@shared/lib/hooks";
import { Button } from "@shared/ui/Button";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { CheckField, SearchField } from "@shared/ui/Form";
import { Menu } from "@shared/ui/Menu";
import { type Column, Table } from "@shared/ui/Table";
import { NameDialog } from "./NameDialog";
import { useWorkspaceActions } from "./actions";

const EVERY_MS = 15_000;

const COLUMNS: Column<Workspace>[] = [
  { key: "name", title: "Workspace", width: "minmax(140px, 3fr)", cell: (w) => <><a href={to(`workspaces/${w.id}`)} title={plain(w.name)}>{plain(w.name)}</a>{w.pinned && <span class="muted">pinned</span>}{w.archived && <span class="muted">archived</span>}</> },
  { key: "projects", title: "Projects", width: "104px", end: true, cell: (w) => w.numProjects.toLocaleString("en") },
  { key: "experiments", title: "Experiments", width: "116px", end: true, wide: true, cell: (w) => w.numExperiments.toLocaleString("en") },
  { key: "user", title: "Owner", width: "minmax(100px, 1fr)", wide: true, cell: (w) => <span class="cut">{plain(w.username)}</span> },
  { key: "pool", title: "Pool", width: "minmax(100px, 1fr)", wide: true, cell: (w) => <span class="cut muted">{plain(w.defaultComputePool)}</span> },
];

export function WorkspacesPage() {
  useTitle("Workspaces");
  const [text, setText] = useParameter("q");
  const [archived, setArchived] = useParameter("archived");
  const [making, setMaking] = useState(false);
  const name = useSettled(text);
  const { rows, total, error } = useWorkspaces({ name, ...(archived ? {} : { archived: false }), sortBy: "SORT_BY_NAME" }, { every: EVERY_MS, keep: true });
  const create = useChange((wanted: string) => api.postWorkspace({ name: wanted }));
  const actions = useWorkspaceActions();
  const all = [...(rows ?? [])].sort((a, b) => Number(b.pinned) - Number(a.pinned) || a.name.localeCompare(b.name));
  return (
    <div class="page fills">
      <header class="page-head"><h1>Workspaces</h1><span class="muted number">{rows ? counted(all.length, total, "workspace") : ""}</span><span class="grow" /><Button kind="primary" onClick={() => setMaking(true)}>New workspace</Button></header>
      <div class="toolbar unprinted">
        <SearchField label="Search by name" value={text} onInput={(value) => setText(value || null)} />
        <CheckField label="Archived, too" checked={Boolean(archived)} onChange={(on) => setArchived(on ? "1" : null)} />
      </div>
      <section class="panel fills">
        {error && !rows ? <Failure error={error} /> : (
          <Table label="Workspaces" fill columns={COLUMNS} count={all.length} at={(i) => all[i]} rowKey={(w) => w.id} href={(w) => to(`workspaces/${w.id}`)}
            menu={(w) => <Menu label={`Actions of workspace ${plain(w.name)}`} actions={actions.actionsOf(w)} />}
            instead={!rows ? <Waiting lines={6} /> : <Empty title={text ? "No workspace fits" : "No workspaces"}>{text ? `None has “${text}” in its name.` : "A workspace holds projects, and projects hold experiments."}</Empty>} />
        )}
      </section>
      {actions.dialogs}
      {making && <NameDialog title="New workspace" action="Create" onClose={() => setMaking(false)}
        submit={(wanted) => create.mutateAsync(wanted).then(({ workspace }) => { setMaking(false); go(`workspaces/${workspace!.id}`); })} />}
    </div>
  );
}

