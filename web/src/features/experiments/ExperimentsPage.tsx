import { useMutation } from "@tanstack/preact-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { send } from "@shared/api/client";
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { type Experiment, served } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { count } from "@shared/lib/format";
import { to, useParameter } from "@shared/lib/address";
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
import { ProjectPicker } from "./ProjectPicker";
import { Pick, usePicked } from "./picking";
import { ListTabs } from "./ListTabs";
import { PAGE, rowsForFile, useRows } from "@shared/api/rows";
import { Views } from "./Views";
import "./experiments.css";

/** More experiments than this are not chosen at once. */
const PICKED_MAX = 1000;
/** The list's columns: those of the address, after the one in which experiments are chosen. They stay the same while somebody scrolls. */
function useColumns(keys: string, { chosen, put, toggle, clear }: ReturnType<typeof usePicked<Experiment>>, inSight: Experiment[]): Column<Row>[] {
  const sight = useRef(inSight);
  sight.current = inSight;
  const all = inSight.length > 0 && inSight.every((x) => chosen.has(x.id));
  return useMemo(() => [
    { key: "pick", title: "Select", width: "34px", head: <Pick label="Select the rows that are shown" checked={all} onChange={(on) => (on ? put(sight.current, true) : clear())} />,
      cell: ({ experiment: x }) => <Pick label={`Select experiment ${x!.id}`} checked={chosen.has(x!.id)} onChange={(on, shift) => toggle(x!, on, shift)} /> },
    ...keys.split(",").filter(Boolean).map(columnOf),
  ], [keys, chosen, all]);
}

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
  const [filtered, sorted] = [filterOf(wanted), sortOf(order)];
  const call = (offset: number, limit = PAGE) => api.searchExperiments({ projectId, offset, limit, sort: sorted, filter: filtered, brief: true });
  const { total, at, inSight, error, onSight, isPending } = useRows(projectId, call, (reply) => reply.experiments);
  const actions = useExperimentActions();
  const picked = usePicked((i) => at(i)?.experiment ?? undefined, total ?? 0);
  const everything = useMutation<Experiment[], Error>({ mutationFn: () => send(call(0, PICKED_MAX)).then((all) => all.experiments.flatMap((row) => (row.experiment ? [row.experiment] : []))) });
  const isFiltered = Boolean(settled || state !== "all" || mine || conditions.length);
  const { data: found } = useApi(api.getProject({ id: projectId }));
  useTitle(found?.project ? plain(found.project.name) : "Experiments");
  useEffect(() => writeSetting("project", String(projectId)), [projectId]);
  const sight = inSight.flatMap((row) => (row.experiment ? [row.experiment] : []));
  const shown = useColumns(keys, picked, sight);
  const acting = useRef(actions);
  acting.current = actions;
  const menu = useCallback((row: Row) => <Menu label={`Actions of experiment ${row.experiment!.id}`} actions={acting.current.actionsOf(row.experiment!)} />, []);
  // What is shown of a chosen experiment may have changed since.
  const fresh = new Map(sight.map((x) => [x.id, x]));
  const chosen = [...picked.chosen.values()].map((x) => fresh.get(x.id) ?? x);

  return (
    <div class="page fills">
      <header class="page-head">
        <h1>Experiments</h1>
        <ProjectPicker id={projectId} name={found?.project ? `${plain(found.project.workspaceName)} / ${plain(found.project.name)}` : "…"} />
        <span class="muted number" aria-live="polite">{total === null ? "" : count(total, "experiment")}</span>
        <span class="grow" />
        {served.has("createExperiment") && <a class="button primary unprinted" href={to(`create?project=${projectId}`)} aria-label="New experiment">New<span class="not-narrow"> experiment</span></a>}
      </header>
      <ListTabs project={projectId} now="experiments" />
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
          <Table label="Experiments" fill columns={shown} count={total ?? 0} at={at} rowKey={(row) => row.experiment!.id} href={(row) => to(`experiments/${row.experiment!.id}`)}
            order={order} onOrder={(next) => setSort(textOf(next))} onSight={onSight} all={() => rowsForFile(call, (reply) => reply.experiments)}
            menu={menu}
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
