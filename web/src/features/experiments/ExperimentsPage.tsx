import { useQueries } from "@tanstack/preact-query";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useApi, queryOf } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { SearchExperimentExperiment } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { count as counted, metric } from "@shared/lib/format";
import { go, to, useParameter } from "@shared/lib/address";
import { useSettled, useTitle } from "@shared/lib/hooks";
import { writeSetting } from "@shared/lib/settings";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { CheckField, Choice, SearchField, SelectField } from "@shared/ui/Form";
import { Menu } from "@shared/ui/Menu";
import { Progress } from "@shared/ui/Progress";
import { StateBadge, toneOf } from "@shared/ui/StateBadge";
import { type Column, type Order, Table } from "@shared/ui/Table";
import { Ago, Took } from "@shared/ui/Time";
import { shownName, useUser } from "@shared/api/me";
import { useExperimentActions } from "./actions";
import { Asking } from "./Asking";
import { filterOf, orderOf, sortOf, textOf, type Wanted } from "./lookup";

const PAGE = 100;
const EVERY_MS = 5000;
type Row = SearchExperimentExperiment;

const COLUMNS: Column<Row>[] = [
  { key: "id", title: "ID", width: "66px", sort: "down", wide: true, cell: ({ experiment: x }) => <span class="muted number">{x!.id}</span> },
  { key: "name", title: "Name", width: "minmax(120px, 3fr)", sort: "up", cell: ({ experiment: x }) => (
    <>
      <a href={to(`experiments/${x!.id}`)} title={plain(x!.name)}>{plain(x!.name)}</a>
      {x!.archived && <span class="muted">archived</span>}
    </>
  ) },
  { key: "state", title: "State", width: "140px", sort: "up", cell: ({ experiment: x }) => <StateBadge state={x!.state} title={x!.failure} /> },
  { key: "progress", title: "Progress", width: "minmax(96px, 120px)", sort: "down", wide: true, cell: ({ experiment: x }) =>
    x!.progress === null ? <span class="muted">–</span> : <Progress value={Number(x!.progress)} label="Progress" tone={barTone(x!.state)} /> },
  { key: "searcherMetricsVal", title: "Best metric", width: "112px", sort: "up", end: true, wide: true, cell: ({ experiment: x }) =>
    x!.bestTrialSearcherMetric === undefined ? <span class="muted">–</span> : <span class="cut" title={plain(x!.searcherMetric)}>{metric(x!.bestTrialSearcherMetric)}</span> },
  { key: "numTrials", title: "Trials", width: "82px", sort: "down", end: true, wide: true, cell: ({ experiment: x }) => x!.numTrials.toLocaleString("en") },
  { key: "user", title: "Owner", width: "112px", sort: "up", wide: true, cell: ({ experiment: x }) => <span class="cut">{plain(shownName(x!))}</span> },
  { key: "startTime", title: "Started", width: "100px", sort: "down", wide: true, cell: ({ experiment: x }) => <Ago time={x!.startTime} /> },
  { key: "duration", title: "Took", width: "110px", sort: "down", wide: true, cell: ({ experiment: x }) => <Took start={x!.startTime} end={x!.endTime} /> },
];

function barTone(state: string) {
  const tone = toneOf(state);
  return tone === "wait" ? "idle" : tone;
}

/** Those pages of the list that are in sight, read as they come into sight. */
function useRows(projectId: number, wanted: Wanted, order: Order) {
  const [[first, last], setSight] = useState<[number, number]>([0, 0]);
  const filter = filterOf(wanted);
  const sort = sortOf(order);
  const pages = useMemo(() => {
    const found = [];
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page++) found.push(page);
    return found;
  }, [first, last]);
  const results = useQueries({
    queries: pages.map((page) => queryOf(api.searchExperiments({ projectId, offset: page * PAGE, limit: PAGE, sort, filter }), EVERY_MS)),
  });
  const [total, setTotal] = useState<number | null>(null);
  const answered = results.find((result) => result.data)?.data?.pagination?.total;
  useEffect(() => { if (answered !== undefined) setTotal(answered); }, [answered]);
  useEffect(() => setTotal(null), [projectId]);
  const at = (index: number) => results[pages.indexOf(Math.floor(index / PAGE))]?.data?.experiments[index % PAGE];
  return { total, at, error: results.find((result) => result.error)?.error ?? null, onSight: (a: number, b: number) => setSight([a, b]), isPending: total === null && results.some((r) => r.isPending) };
}

export function ExperimentsPage({ project: projectId }: { project: number }) {
  const [text, setText] = useParameter("q");
  const [state, setState] = useParameter("state", "all");
  const [mine, setMine] = useParameter("mine");
  const [archived, setArchived] = useParameter("archived");
  const [sort, setSort] = useParameter("sort", "-id");
  const user = useUser();
  const settled = useSettled(text);
  const wanted: Wanted = { text: settled, state: state as Wanted["state"], owner: mine && user ? shownName(user) : null, archived: Boolean(archived) };
  const order = orderOf(sort);
  const { total, at, error, onSight, isPending } = useRows(projectId, wanted, order);
  const actions = useExperimentActions();
  const isFiltered = Boolean(settled || state !== "all" || mine);
  const { data: found } = useApi(api.getProject({ id: projectId }));
  useTitle(found?.project ? plain(found.project.name) : "Experiments");
  useEffect(() => writeSetting("project", String(projectId)), [projectId]);

  return (
    <div class="page fills">
      <header class="page-head">
        <h1>Experiments</h1>
        <ProjectPicker id={projectId} name={found?.project ? `${plain(found.project.workspaceName)} / ${plain(found.project.name)}` : "…"} />
        <span class="muted number" aria-live="polite">{total === null ? "" : counted(total, "experiment")}</span>
      </header>
      <div class="toolbar unprinted">
        <SearchField label="Search by name or ID" value={text} onInput={(value) => setText(value || null)} />
        <Choice label="State" quiet value={state as Wanted["state"]} onChange={setState} options={[["all", "All"], ["active", "Active"], ["completed", "Completed"], ["failed", "Failed"]]} />
        <CheckField label="Only mine" checked={Boolean(mine)} onChange={(on) => setMine(on ? "1" : null)} />
        <CheckField label="Archived, too" checked={Boolean(archived)} onChange={(on) => setArchived(on ? "1" : null)} />
        <OrderPicker order={order} onOrder={(next) => setSort(textOf(next))} />
      </div>
      <section class="panel fills">
        {error && total === null ? <Failure error={error} /> : (
          <Table label="Experiments" fill columns={COLUMNS} count={total ?? 0} at={at} rowKey={(row) => row.experiment!.id} href={(row) => to(`experiments/${row.experiment!.id}`)}
            order={order} onOrder={(next) => setSort(textOf(next))} onSight={onSight}
            menu={(row) => <Menu label={`Actions of experiment ${row.experiment!.id}`} actions={actions.actionsOf(row.experiment!)} />}
            instead={isPending ? <Waiting lines={8} /> : isFiltered
              ? <Empty title="No experiment fits">Nothing in this project fits the search and the filters above.</Empty>
              : <Empty title="No experiments yet">Create the first one with <code>det experiment create CONFIG.yaml DIRECTORY</code>.</Empty>} />
        )}
      </section>
      <Asking actions={actions} />
    </div>
  );
}

/** On a phone most columns are left out, and with them their heads: the order is chosen here. */
function OrderPicker({ order, onOrder }: { order: Order; onOrder: (order: Order) => void }) {
  const options = COLUMNS.flatMap((c) => [[textOf({ key: c.key, down: c.sort === "down" }), `By ${c.title.toLowerCase()}`]] as [string, string][]);
  const value = options.find(([key]) => orderOf(key).key === order.key)?.[0] ?? options[0]![0];
  return <span class="only-narrow"><SelectField label="Order" quiet value={value} options={options} onChange={(key) => onOrder(orderOf(key))} /></span>;
}

function ProjectPicker({ id, name }: { id: number; name: string }) {
  const { data } = useApi(api.getWorkspaceProjects({ id: 0, limit: 200, archived: false }));
  const projects = [...(data?.projects ?? [])].sort((a, b) => a.workspaceName.localeCompare(b.workspaceName) || a.name.localeCompare(b.name));
  return (
    <Menu label={`Project ${name}`} actions={projects.map((p) => ({ label: `${plain(p.workspaceName)} / ${plain(p.name)}`, chosen: p.id === id, perform: () => go(`projects/${p.id}`) }))}>
      <span class="cut picked">{name}</span>
    </Menu>
  );
}
