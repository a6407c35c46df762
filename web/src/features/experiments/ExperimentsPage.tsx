import { useMutation, useQueries } from "@tanstack/preact-query";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { send } from "@shared/api/client";
import { queryOf, useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { type Experiment, served } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { count as counted } from "@shared/lib/format";
import { go, to, useParameter } from "@shared/lib/address";
import { useSettled, useTitle } from "@shared/lib/hooks";
import { writeSetting } from "@shared/lib/settings";
import { Button } from "@shared/ui/Button";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { CheckField, Choice, SearchField, SelectField } from "@shared/ui/Form";
import { Icon } from "@shared/ui/icons";
import { Menu } from "@shared/ui/Menu";
import { type Column, type Order, Table } from "@shared/ui/Table";
import { sayError } from "@shared/ui/Toast";
import { shownName, useUser } from "@shared/api/me";
import { useExperimentActions } from "./actions";
import { Asking } from "./Asking";
import { ColumnsDialog } from "./ColumnsDialog";
import { COLUMNS, columnOf, FIRST, type Row } from "./columns";
import { FilterDialog } from "./FilterDialog";
import { nodeOf, readConditions, writeConditions } from "./filters";
import { filterOf, orderOf, sortOf, textOf, type Wanted } from "./lookup";
import { Picked } from "./Picked";
import { Views } from "./Views";
import "./experiments.css";

const PAGE = 100;
const EVERY_MS = 5000;
/** More experiments than this are not chosen at once. */
const PICKED_MAX = 1000;
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
    queries: pages.map((page) => queryOf(api.searchExperiments({ projectId, offset: page * PAGE, limit: PAGE, sort, filter, brief: true }), EVERY_MS)),
  });
  const [total, setTotal] = useState<number | null>(null);
  const answered = results.find((result) => result.data)?.data?.pagination?.total;
  useEffect(() => { if (answered !== undefined) setTotal(answered); }, [answered]);
  useEffect(() => setTotal(null), [projectId]);
  const at = (index: number) => results[pages.indexOf(Math.floor(index / PAGE))]?.data?.experiments[index % PAGE];
  return { total, at, error: results.find((result) => result.error)?.error ?? null, onSight: (a: number, b: number) => setSight([a, b]), isPending: total === null && results.some((r) => r.isPending) };
}

/** Which experiments are chosen; a choice outlives scrolling, sorting and searching. */
function usePicked(at: (index: number) => Row | undefined, total: number) {
  const [chosen, setChosen] = useState<Map<number, Experiment>>(new Map());
  const last = useRef<number | null>(null);
  const put = (rows: Experiment[], on: boolean) => setChosen((now) => {
    const next = new Map(now);
    for (const x of rows) if (on) next.set(x.id, x); else next.delete(x.id);
    return next;
  });
  /** A press with Shift chooses everything from the one that was pressed before. */
  const toggle = (x: Experiment, on: boolean, range: boolean) => {
    const rows = Array.from({ length: total }, (_, i) => at(i)?.experiment);
    const [from, upTo] = [rows.findIndex((row) => row?.id === last.current), rows.findIndex((row) => row?.id === x.id)];
    last.current = x.id;
    put(range && from >= 0 ? rows.slice(Math.min(from, upTo), Math.max(from, upTo) + 1).flatMap((row) => (row ? [row] : [])) : [x], on);
  };
  return { chosen, put, toggle, clear: () => setChosen(new Map()) };
}

/** The list's columns: those of the address, after the one in which experiments are chosen. */
function columnsOf(keys: string[], { chosen, put, toggle, clear }: ReturnType<typeof usePicked>, sight: Experiment[]): Column<Row>[] {
  const all = sight.length > 0 && sight.every((x) => chosen.has(x.id));
  return [
    { key: "pick", title: "Select", width: "34px", head: <Pick label="Select the rows that are shown" checked={all} onChange={(on) => (on ? put(sight, true) : clear())} />,
      cell: ({ experiment: x }) => <Pick label={`Select experiment ${x!.id}`} checked={chosen.has(x!.id)} onChange={(on, shift) => toggle(x!, on, shift)} /> },
    ...keys.map(columnOf),
  ];
}

const Pick = ({ label, checked, onChange }: { label: string; checked: boolean; onChange: (on: boolean, shift: boolean) => void }) => (
  <label class="pick"><input type="checkbox" aria-label={label} checked={checked} onClick={(event) => onChange(event.currentTarget.checked, event.shiftKey)} /></label>
);

export function ExperimentsPage({ project: projectId }: { project: number }) {
  const [text, setText] = useParameter("q");
  const [state, setState] = useParameter("state", "all");
  const [mine, setMine] = useParameter("mine");
  const [archived, setArchived] = useParameter("archived");
  const [sort, setSort] = useParameter("sort", "-id");
  const [filter, setFilter] = useParameter("filter");
  const [any, setAny] = useParameter("any");
  const [keys, setKeys] = useParameter("columns", FIRST.join(","));
  const [dialog, setDialog] = useState<"filter" | "columns" | null>(null);
  const user = useUser();
  const settled = useSettled(text);
  const conditions = readConditions(filter);
  // Columns are asked for when they are needed: their types decide how a condition is sent.
  const { data: known } = useApi(api.getProjectColumns({ id: projectId, tableType: "TABLE_TYPE_EXPERIMENT" }), { enabled: conditions.length > 0 || dialog !== null });
  const columns = known?.columns ?? [];
  const wanted: Wanted = { text: settled, state: state as Wanted["state"], owner: mine && user ? shownName(user) : null, archived: Boolean(archived),
    conditions: { any: Boolean(any), nodes: known ? conditions.map((one) => nodeOf(one, columns)) : [] } };
  const order = orderOf(sort);
  const { total, at, error, onSight, isPending } = useRows(projectId, wanted, order);
  const actions = useExperimentActions();
  const picked = usePicked(at, total ?? 0);
  const everything = useMutation<Experiment[], Error>({ mutationFn: () => send(api.searchExperiments({ projectId, limit: PICKED_MAX, sort: sortOf(order), filter: filterOf(wanted), brief: true })).then((all) => all.experiments.flatMap((row) => (row.experiment ? [row.experiment] : []))) });
  const isFiltered = Boolean(settled || state !== "all" || mine || conditions.length);
  const { data: found } = useApi(api.getProject({ id: projectId }));
  useTitle(found?.project ? plain(found.project.name) : "Experiments");
  useEffect(() => writeSetting("project", String(projectId)), [projectId]);
  const sight = Array.from({ length: Math.min(total ?? 0, PAGE) }, (_, i) => at(i)?.experiment).filter((x) => x !== undefined && x !== null);
  // What is shown of a chosen experiment may have changed since.
  const fresh = new Map(sight.map((x) => [x.id, x]));
  const chosen = [...picked.chosen.values()].map((x) => fresh.get(x.id) ?? x);

  return (
    <div class="page fills">
      <header class="page-head">
        <h1>Experiments</h1>
        <ProjectPicker id={projectId} name={found?.project ? `${plain(found.project.workspaceName)} / ${plain(found.project.name)}` : "…"} />
        <span class="muted number" aria-live="polite">{total === null ? "" : counted(total, "experiment")}</span>
        <span class="grow" />
        {served.has("createExperiment") && <a class="button primary unprinted" href={to(`create?project=${projectId}`)}>New experiment</a>}
      </header>
      {chosen.length > 0 ? (
        <Picked projectId={projectId} chosen={chosen} total={Math.min(total ?? 0, PICKED_MAX)} onNone={picked.clear}
          onAll={total !== null && chosen.length < Math.min(total, PICKED_MAX) ? () => everything.mutate(undefined, { onSuccess: (all) => picked.put(all, true), onError: sayError }) : undefined} />
      ) : (
        <div class="toolbar unprinted">
          <SearchField label="Search by name or ID" value={text} onInput={(value) => setText(value || null)} />
          <Choice label="State" quiet value={state as Wanted["state"]} onChange={setState} options={[["all", "All"], ["active", "Active"], ["completed", "Completed"], ["failed", "Failed"]]} />
          <CheckField label="Only mine" checked={Boolean(mine)} onChange={(on) => setMine(on ? "1" : null)} />
          <CheckField label="Archived, too" checked={Boolean(archived)} onChange={(on) => setArchived(on ? "1" : null)} />
          <OrderPicker order={order} onOrder={(next) => setSort(textOf(next))} />
          <span class="grow" />
          <Button onClick={() => setDialog("filter")}><Icon name="filter" size={14} /> Filter{conditions.length ? <span class="muted number">{conditions.length}</span> : null}</Button>
          <Button class="not-narrow" onClick={() => setDialog("columns")}><Icon name="columns" size={14} /> Columns</Button>
          <Views />
        </div>
      )}
      <section class="panel fills">
        {error && total === null ? <Failure error={error} /> : (
          <Table label="Experiments" fill columns={columnsOf(keys.split(",").filter(Boolean), picked, sight)} count={total ?? 0} at={at} rowKey={(row) => row.experiment!.id} href={(row) => to(`experiments/${row.experiment!.id}`)}
            order={order} onOrder={(next) => setSort(textOf(next))} onSight={onSight}
            menu={(row) => <Menu label={`Actions of experiment ${row.experiment!.id}`} actions={actions.actionsOf(row.experiment!)} />}
            instead={isPending ? <Waiting lines={8} /> : isFiltered
              ? <Empty title="No experiment fits">Nothing in this project fits the search and the filters above.</Empty>
              : <Empty title="No experiments yet">Create the first one with <code>det experiment create CONFIG.yaml DIRECTORY</code>.</Empty>} />
        )}
      </section>
      <Asking actions={actions} />
      {dialog === "filter" && known && <FilterDialog conditions={conditions} any={Boolean(any)} columns={columns} onClose={() => setDialog(null)}
        onApply={(next, either) => { setFilter(writeConditions(next)); setAny(either ? "1" : null); }} />}
      {dialog === "columns" && known && <ColumnsDialog chosen={keys.split(",").filter(Boolean)} columns={columns} onClose={() => setDialog(null)} onApply={(next) => setKeys(next.join(","))} />}
    </div>
  );
}

/** On a phone most columns are left out, and with them their heads: the order is chosen here. */
function OrderPicker({ order, onOrder }: { order: Order; onOrder: (order: Order) => void }) {
  const options = COLUMNS.flatMap((c) => [[textOf({ key: c.key, down: c.sort === "down" }), `By ${c.key === "id" ? "ID" : c.title.toLowerCase()}`]] as [string, string][]);
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
