// All runs (trials) of a project in one flat list, whichever experiments they belong to.
import { useMemo, useRef, useState } from "preact/hooks";
import { outcomeOf } from "@shared/api/bulk";
import { useApi, useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { FlatRun } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { to, useParameter } from "@shared/lib/address";
import { flatten } from "@shared/lib/flatten";
import { bytes, count, metric } from "@shared/lib/format";
import { useSettled, useTitle } from "@shared/lib/hooks";
import { Button } from "@shared/ui/Button";
import { Confirm } from "@shared/ui/Dialog";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { CheckField, Choice, SearchField } from "@shared/ui/Form";
import { StateBadge } from "@shared/ui/StateBadge";
import { type Column, Table } from "@shared/ui/Table";
import { Ago, Took } from "@shared/ui/Time";
import { say, sayError } from "@shared/ui/Toast";
import { differing } from "./differing";
import { ListTabs } from "./ListTabs";
import { orderOf, sortOf, textOf } from "./lookup";
import { Pick, usePicked } from "./picking";
import { ProjectPicker } from "./ProjectPicker";
import { PAGE, rowsForFile, useRows } from "@shared/api/rows";
import { RUN_BULK, type RunBulk, runBulkOf, runFilter } from "./runs";
import "./experiments.css";

/** At most this many of the hyperparameters that differ between the runs in sight have columns. */
const HPARAMS_MAX = 4;

const link = (r: FlatRun) => to(`experiments/${r.experiment?.id}/trials/${r.id}`);

const COLUMNS: Column<FlatRun>[] = [
  { key: "id", title: "Run", width: "66px", sort: "down", cell: (r) => <a class="number" href={link(r)}>{r.id}</a> },
  { key: "experimentName", title: "Experiment", width: "minmax(112px, 3fr)", sort: "up", cell: (r) => <><span class="cut" title={plain(r.experiment?.name ?? "")}>{plain(r.experiment?.name ?? "")}</span>{r.archived && <span class="muted">archived</span>}</> },
  { key: "state", title: "State", width: "126px", sort: "up", cell: (r) => <StateBadge state={r.state} /> },
  { key: "searcherMetricsVal", title: "Best metric", width: "112px", sort: "up", end: true, wide: true, cell: (r) => <span class="cut" title={plain(r.experiment?.searcherMetric ?? "")}>{r.searcherMetricValue === undefined ? "–" : metric(r.searcherMetricValue)}</span> },
];
const LAST: Column<FlatRun>[] = [
  { key: "startTime", title: "Started", width: "100px", sort: "down", wide: true, cell: (r) => <Ago time={r.startTime} /> },
  { key: "duration", title: "Took", width: "104px", sort: "down", wide: true, cell: (r) => <Took start={r.startTime} end={r.endTime} /> },
  { key: "checkpointSize", title: "Checkpoints", width: "110px", sort: "down", end: true, wide: true, cell: (r) => (r.checkpointCount ? bytes(r.checkpointSize) : "–") },
];

const hparam = (name: string): Column<FlatRun> => ({ key: `hp.${name}`, title: plain(name), width: "minmax(84px, 1fr)", sort: "up", end: true, wide: true,
  cell: (r) => { const value = flatten(r.hyperparameters ?? {})[name]; return value === undefined ? "–" : <span class="cut">{plain(metric(value))}</span>; } });

export function RunsPage({ project }: { project: number }) {
  const [text, setText] = useParameter("q");
  const [state, setState] = useParameter("state", "all");
  const [archived, setArchived] = useParameter("archived");
  const [sort, setSort] = useParameter("sort", "-id");
  const order = orderOf(sort);
  const filter = runFilter(useSettled(text), state, Boolean(archived));
  const call = (offset: number, limit = PAGE) => api.searchRuns({ projectId: project, offset, limit, sort: sortOf(order), filter });
  const { total, at, inSight, error, onSight, isPending } = useRows(project, call, (reply) => reply.runs);
  const picked = usePicked(at, total ?? 0);
  const { data: found } = useApi(api.getProject({ id: project }));
  useTitle(found?.project ? `Runs of ${plain(found.project.name)}` : "Runs");
  // Which hyperparameters have columns is decided by the first rows: columns must not come and go while somebody scrolls.
  const first = Array.from({ length: Math.min(total ?? 0, PAGE) }, (_, i) => at(i)).filter((r) => r !== undefined);
  const names = useRef<string[]>([]);
  if (first.length > 0) names.current = differing(first).slice(0, HPARAMS_MAX);
  const sight = useRef(inSight);
  sight.current = inSight;
  const fresh = new Map(inSight.map((r) => [r.id, r]));
  const chosen = [...picked.chosen.values()].map((r) => fresh.get(r.id) ?? r);
  const whole = inSight.length > 0 && inSight.every((r) => picked.chosen.has(r.id));
  const columns = useMemo((): Column<FlatRun>[] => [
    { key: "pick", title: "Select", width: "34px", head: <Pick label="Select the rows that are shown" checked={whole} onChange={(on) => (on ? picked.put(sight.current, true) : picked.clear())} />,
      cell: (r) => <Pick label={`Select run ${r.id}`} checked={picked.chosen.has(r.id)} onChange={(on, shift) => picked.toggle(r, on, shift)} /> },
    ...COLUMNS, ...names.current.map(hparam), ...LAST,
  ], [picked.chosen, whole, names.current.join("\n")]);
  return (
    <div class="page fills">
      <header class="page-head">
        <h1>Runs</h1>
        <ProjectPicker id={project} part="/runs" name={found?.project ? `${plain(found.project.workspaceName)} / ${plain(found.project.name)}` : "…"} />
        <span class="muted number" aria-live="polite">{total === null ? "" : count(total, "run")}</span>
      </header>
      <ListTabs project={project} now="runs" />
      {chosen.length > 0 ? <PickedRuns project={project} chosen={chosen} onNone={picked.clear} /> : (
        <div class="toolbar unprinted">
          <SearchField label="Search by experiment or run ID" value={text} onInput={(value) => setText(value || null)} />
          <Choice label="State" quiet value={state} onChange={setState} options={[["all", "All"], ["active", "Active"], ["completed", "Completed"], ["failed", "Failed"]]} />
          <CheckField label="Archived, too" checked={Boolean(archived)} onChange={(on) => setArchived(on ? "1" : null)} />
        </div>
      )}
      <section class="panel fills">
        {error && total === null ? <Failure error={error} /> : (
          <Table label="Runs" fill columns={columns} count={total ?? 0} at={at} rowKey={(r) => r.id} href={link} order={order} onOrder={(next) => setSort(textOf(next))} onSight={onSight}
            all={() => rowsForFile(call, (reply) => reply.runs)}
            instead={isPending ? <Waiting lines={8} /> : <Empty title={text || state !== "all" ? "No run fits" : "No runs yet"}>{text || state !== "all" ? "Nothing in this project fits the search and the filters above." : "Each experiment has one run or more."}</Empty>} />
        )}
      </section>
    </div>
  );
}

/** What can be done with the chosen runs: one request for all of them, and a message with counts. */
function PickedRuns({ project, chosen, onNone }: { project: number; chosen: FlatRun[]; onNone: () => void }) {
  const [asking, ask] = useState<RunBulk | null>(null);
  const change = useChange(({ bulk, ids }: { bulk: RunBulk; ids: number[] }) => bulk.send(project, ids));
  const perform = (bulk: RunBulk, ids: number[]) => change.mutate({ bulk, ids }, {
    onSuccess: ({ results }) => {
      ask(null);
      const { done, refused } = outcomeOf(results);
      const { undo } = bulk;
      if (done.length) say(`${count(done.length, "run")} ${done.length === 1 ? "is" : "are"} ${bulk.done}.`, { undo: undo ? () => perform(runBulkOf(undo), done) : undefined });
      if (refused.length) say(`${count(refused.length, "run")} refused: ${refused[0]!.error}`, { bad: true });
    },
    onError: (error) => { ask(null); sayError(error); },
  });
  const fitting = (bulk: RunBulk) => chosen.filter(bulk.applies).map((r) => r.id);
  return (
    <div class="toolbar picked-bar unprinted" role="toolbar" aria-label="Selected runs">
      <b class="number" aria-live="polite">{chosen.length.toLocaleString("en")} selected</b>
      {RUN_BULK.map((bulk) => {
        const ids = fitting(bulk);
        return ids.length > 0 && <Button key={bulk.verb} busy={change.isPending} onClick={() => (bulk.undo ? perform(bulk, ids) : ask(bulk))}>{bulk.label} <span class="muted number">{ids.length}</span></Button>;
      })}
      <span class="grow" />
      <Button kind="bare" onClick={onNone}>Clear</Button>
      {asking && <Confirm title={`${asking.label} ${count(fitting(asking).length, "run")}?`} action={`${asking.label} ${fitting(asking).length}`} danger busy={change.isPending} onClose={() => ask(null)} onConfirm={() => perform(asking, fitting(asking))}>
        {asking.warning} {fitting(asking).length < chosen.length && `The other ${chosen.length - fitting(asking).length} of the ${chosen.length} selected stay as they are: this does not apply to their states.`}
      </Confirm>}
    </div>
  );
}
