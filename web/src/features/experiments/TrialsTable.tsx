import { useMemo } from "preact/hooks";
import { PAGE, rowsForFile, useRows } from "@shared/api/rows";
import * as api from "@shared/api/routes.gen";
import type { Trial, V1GetExperimentTrialsRequestSortBy } from "@shared/api/routes.gen";
import { metric } from "@shared/lib/format";
import { plain } from "@shared/lib/ansi";
import { to, useParameter } from "@shared/lib/address";
import { pace } from "@shared/lib/states";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { StateBadge } from "@shared/ui/StateBadge";
import { type Column, Table } from "@shared/ui/Table";
import { Ago, Took } from "@shared/ui/Time";
import { orderOf, textOf } from "./lookup";

const SORTS: Record<string, V1GetExperimentTrialsRequestSortBy> = {
  id: "SORT_BY_ID", state: "SORT_BY_STATE", batches: "SORT_BY_BATCHES_PROCESSED", best: "SORT_BY_BEST_VALIDATION_METRIC", start: "SORT_BY_START_TIME", took: "SORT_BY_DURATION", restarts: "SORT_BY_RESTARTS",
};

const valueOf = (workload: Trial["bestValidation"], name: string) => workload?.metrics?.avgMetrics?.[name];

/** Values of one trial that its neighbours may not have, as "lr 0.1, width 8". */
export const hparamsOf = (hparams: Record<string, unknown> | null) => Object.entries(hparams ?? {}).map(([name, value]) => `${plain(name)} ${plain(metric(value))}`).join(", ");

const columnsOf = (experiment: number, name: string): Column<Trial>[] => [
  { key: "id", title: "Trial", width: "84px", sort: "up", cell: (t) => <a class="number" href={to(`experiments/${experiment}/trials/${t.id}`)}>{t.id}</a> },
  { key: "state", title: "State", width: "150px", sort: "up", cell: (t) => <StateBadge state={t.state} /> },
  { key: "best", title: `Best ${plain(name)}`, width: "minmax(96px, 1fr)", sort: "up", end: true, cell: (t) => <span class="cut">{metric(valueOf(t.bestValidation, name))}</span> },
  { key: "latest", title: "Latest", width: "100px", end: true, wide: true, cell: (t) => <span class="cut">{metric(valueOf(t.latestValidation, name))}</span> },
  { key: "batches", title: "Batches", width: "90px", sort: "down", end: true, wide: true, cell: (t) => t.totalBatchesProcessed.toLocaleString("en") },
  { key: "hparams", title: "Hyperparameters", width: "minmax(160px, 3fr)", wide: true, cell: (t) => <span class="cut muted" title={hparamsOf(t.hparams)}>{hparamsOf(t.hparams) || "–"}</span> },
  { key: "restarts", title: "Restarts", width: "84px", sort: "down", end: true, wide: true, cell: (t) => t.restarts },
  { key: "start", title: "Started", width: "100px", sort: "down", wide: true, cell: (t) => <Ago time={t.startTime} /> },
  { key: "took", title: "Took", width: "110px", sort: "down", wide: true, cell: (t) => <Took start={t.startTime} end={t.endTime} /> },
];

export function TrialsTable({ id, state, metricName }: { id: number; state: string; metricName: string }) {
  const [sort, setSort] = useParameter("sort", "id");
  const order = orderOf(sort);
  const call = (offset: number, limit = PAGE) => api.getExperimentTrials({ experimentId: id, limit, offset, sortBy: SORTS[order.key] ?? "SORT_BY_ID", orderBy: order.down ? "ORDER_BY_DESC" : "ORDER_BY_ASC" });
  const { total, at, error, onSight, isPending } = useRows(id, call, (reply) => reply.trials, pace(state));
  const columns = useMemo(() => columnsOf(id, metricName), [id, metricName]);
  if (error && total === null) return <Failure error={error} />;
  return (
    <section class="panel fills">
      <Table label="Trials" fill columns={columns} count={total ?? 0} at={at} rowKey={(t) => t.id}
        href={(t) => to(`experiments/${id}/trials/${t.id}`)} order={order} onOrder={(next) => setSort(textOf(next))} onSight={onSight} all={() => rowsForFile(call, (reply) => reply.trials)}
        instead={isPending ? <Waiting lines={4} /> : <Empty title="No trials yet">The searcher has not asked for a trial.</Empty>} />
    </section>
  );
}
