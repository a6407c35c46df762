import { useState } from "preact/hooks";
import { useAll } from "@shared/api/lists";
import { useApi, useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Project } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { go, to, useParameter } from "@shared/lib/address";
import { useSettled, useTitle } from "@shared/lib/hooks";
import { Button } from "@shared/ui/Button";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { CheckField, SearchField } from "@shared/ui/Form";
import { Menu } from "@shared/ui/Menu";
import { type Column, Table } from "@shared/ui/Table";
import { Ago } from "@shared/ui/Time";
import { useProjectActions, useWorkspaceActions } from "./actions";
import { NameDialog } from "./NameDialog";

const EVERY_MS = 10_000;

const COLUMNS: Column<Project>[] = [
  { key: "name", title: "Project", width: "minmax(140px, 2fr)", cell: (p) => <><a href={to(`projects/${p.id}`)} title={plain(p.name)}>{plain(p.name)}</a>{p.archived && <span class="muted">archived</span>}</> },
  { key: "experiments", title: "Experiments", width: "116px", end: true, cell: (p) => p.numExperiments.toLocaleString("en") },
  { key: "active", title: "Active", width: "80px", end: true, wide: true, cell: (p) => p.numActiveExperiments.toLocaleString("en") },
  { key: "last", title: "Last start", width: "110px", wide: true, cell: (p) => <Ago time={p.lastExperimentStartedAt} /> },
  { key: "user", title: "Owner", width: "minmax(100px, 1fr)", wide: true, cell: (p) => <span class="cut">{plain(p.username)}</span> },
  { key: "description", title: "Description", width: "minmax(120px, 3fr)", wide: true, cell: (p) => <span class="cut muted" title={plain(p.description)}>{plain(p.description)}</span> },
];

export function WorkspacePage({ id }: { id: number }) {
  const [text, setText] = useParameter("q");
  const [archived, setArchived] = useParameter("archived");
  const [making, setMaking] = useState(false);
  const { data: found, error: lost } = useApi(api.getWorkspace({ id }), { every: EVERY_MS });
  const name = useSettled(text);
  const { rows, error } = useAll((offset, limit) => api.getWorkspaceProjects({ id, name, offset, limit, ...(archived ? {} : { archived: false }) }), (reply) => reply.projects, { every: EVERY_MS, keep: true });
  const create = useChange(({ name, description }: { name: string; description: string }) => api.postProject({ workspaceId: id, name, description }));
  const workspace = found?.workspace;
  const of = useWorkspaceActions();
  const actions = useProjectActions();
  useTitle(plain(workspace?.name ?? "Workspace"));
  if (lost && !workspace) return <Failure error={lost} />;
  const all = [...(rows ?? [])].sort((a, b) => a.name.localeCompare(b.name));
  return (
    <div class="page fills">
      <header class="page-head">
        <div class="grow">
          <nav class="crumbs" aria-label="Where this is"><a href={to("workspaces")}>Workspaces</a></nav>
          <div class="row wraps"><h1 class="cut">{plain(workspace?.name ?? "…")}</h1>{workspace && <span class="muted">of {plain(workspace.username)}{workspace.archived ? ", archived" : ""}</span>}</div>
        </div>
        <div class="row unprinted">
          <Button kind="primary" disabled={!workspace || workspace.archived} onClick={() => setMaking(true)}>New project</Button>
          {workspace && <Menu label={`Actions of workspace ${plain(workspace.name)}`} actions={of.actionsOf(workspace)} />}
        </div>
      </header>
      <div class="toolbar unprinted">
        <SearchField label="Search by name" value={text} onInput={(value) => setText(value || null)} />
        <CheckField label="Archived, too" checked={Boolean(archived)} onChange={(on) => setArchived(on ? "1" : null)} />
      </div>
      <section class="panel fills">
        {error && !rows ? <Failure error={error} /> : (
          <Table label="Projects" fill columns={COLUMNS} count={all.length} at={(i) => all[i]} rowKey={(p) => p.id} href={(p) => to(`projects/${p.id}`)}
            menu={(p) => <Menu label={`Actions of project ${plain(p.name)}`} actions={[{ label: "Notes", perform: () => go(`projects/${p.id}/notes`) }, ...actions.actionsOf(p)]} />}
            instead={!rows ? <Waiting lines={6} /> : <Empty title={text ? "No project fits" : "No projects yet"}>{text ? `None has “${text}” in its name.` : "Experiments lie in projects. Create one to keep those of a subject together."}</Empty>} />
        )}
      </section>
      {of.dialogs}
      {actions.dialogs}
      {making && <NameDialog title="New project" action="Create" description="" onClose={() => setMaking(false)}
        submit={(name, description) => create.mutateAsync({ name, description }).then(({ project }) => { setMaking(false); go(`projects/${project!.id}`); })} />}
    </div>
  );
}
