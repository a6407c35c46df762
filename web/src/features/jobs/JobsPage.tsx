import { useState } from "preact/hooks";
import { send } from "@shared/api/client";
import { useApi } from "@shared/api/query";
import { PAGE, rowsForFile, useRows } from "@shared/api/rows";
import * as api from "@shared/api/routes.gen";
import type { Job, LimitedJob, RBACJob, ResourcePool } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { count, words } from "@shared/lib/format";
import { to, useParameter } from "@shared/lib/address";
import { useTitle } from "@shared/lib/hooks";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { SelectField } from "@shared/ui/Form";
import { type Action, Menu } from "@shared/ui/Menu";
import { StateBadge } from "@shared/ui/StateBadge";
import { type Column, Table } from "@shared/ui/Table";
import { Ago } from "@shared/ui/Time";
import { sayError } from "@shared/ui/Toast";
import { ManageJob } from "./ManageJob";
import { useQueueChange } from "./queue";

const EVERY_MS = 3000;

/** A job of somebody whose work the reader may not see has no name and no owner. */
export type AnyJob = LimitedJob & Partial<Job>;
const jobOf = (row: RBACJob): AnyJob | null => row.full ?? row.limited ?? null;

interface Row {
  job: AnyJob;
  place: number;
}

const columns: Column<Row>[] = [
  { key: "place", title: "#", width: "52px", end: true, wide: true, cell: ({ place }) => <span class="muted number">{place}</span> },
  { key: "name", title: "Job", width: "minmax(104px, 1.8fr)", cell: ({ job }) => <JobName job={job} /> },
  { key: "state", title: "State", width: "112px", cell: ({ job }) => <StateBadge state={job.summary?.state ?? ""} title={job.summary?.reason} /> },
  { key: "slots", title: "Slots", width: "72px", end: true, cell: ({ job }) => <span title={`${job.allocatedSlots} in use of ${job.requestedSlots} asked for`}>{job.allocatedSlots} / {job.requestedSlots}</span> },
  { key: "priority", title: "Priority", width: "78px", end: true, wide: true, cell: ({ job }) => job.priority },
  { key: "user", title: "Owner", width: "minmax(100px, 0.6fr)", wide: true, cell: ({ job }) => <span class="cut">{plain(job.username ?? "–")}</span> },
  { key: "submitted", title: "Submitted", width: "104px", wide: true, cell: ({ job }) => <Ago time={job.submissionTime} /> },
  { key: "reason", title: "Why it waits", width: "minmax(140px, 4fr)", wide: true, cell: ({ job }) => <span class="cut muted" title={job.summary?.reason}>{plain(job.summary?.reason ?? "")}</span> },
];

const WEIGHT: Column<Row> = { key: "weight", title: "Weight", width: "78px", end: true, wide: true, cell: ({ job }) => job.weight };

function JobName({ job }: { job: AnyJob }) {
  const title = plain(job.name ?? job.jobId);
  return (
    <>
      {job.type === "TYPE_EXPERIMENT" && job.entityId ? <a href={to(`experiments/${job.entityId}`)} title={title}>{title}</a> : <span class="cut" title={title}>{title}</span>}
      <span class="muted">{job.type === "TYPE_EXPERIMENT" ? "" : words(job.type)}</span>
    </>
  );
}

export function JobsPage() {
  useTitle("Job queue");
  const { data: pools, error } = useApi(api.getResourcePools({}), { every: EVERY_MS * 4 });
  const names = (pools?.resourcePools ?? []).map((pool) => pool.name);
  const first = pools?.resourcePools.find((pool) => pool.defaultComputePool)?.name ?? names[0] ?? "";
  const [chosen, setPool] = useParameter("pool");
  const pool = pools?.resourcePools.find((p) => p.name === (chosen || first));
  return (
    <div class="page fills">
      {pool ? <Queue key={pool.name} pool={pool} names={names} setPool={setPool} /> : (
        <>
          <header class="page-head"><h1>Job queue</h1></header>
          <section class="panel">{error ? <Failure error={error} /> : pools ? <Empty title="There is no such pool">The cluster has no resource pool named {plain(chosen)}.</Empty> : <Waiting lines={6} />}</section>
        </>
      )}
    </div>
  );
}

/** The queue of one pool, read in pages as they come into sight. */
function Queue({ pool, names, setPool }: { pool: ResourcePool; names: string[]; setPool: (name: string) => void }) {
  const call = (offset: number, limit = PAGE) => api.getJobsV2({ resourcePool: pool.name, offset, limit });
  const { total, at: rowAt, error, onSight, isPending } = useRows(pool.name, call, (reply) => reply.jobs, EVERY_MS);
  const n = total ?? 0;
  const at = (i: number): Row | undefined => { const row = rowAt(i); const job = row && jobOf(row); return job ? { job, place: i + 1 } : undefined; };
  const [managing, setManaging] = useState<AnyJob | null>(null);
  const fair = pool.schedulerType === "SCHEDULER_TYPE_FAIR_SHARE";
  const change = useQueueChange();
  const unordered = fair ? "This pool shares its slots by weight: its queue has no order" : undefined;
  const actionsOf = ({ job, place }: Row): Action[] => {
    const first = unordered ?? (place === 1 ? "It is the first already" : undefined);
    return [
      { label: "Manage job", perform: () => setManaging(job) },
      { label: "Move to top", refused: first, perform: () => void send(call(0, 1)).then(({ jobs: [row] }) => { const top = row && jobOf(row); if (top) change.move(job, "before", top, "The job is the first of its queue now."); }, sayError) },
      { label: "Move up", refused: first, perform: () => { const before = at(place - 2); if (before) change.move(job, "before", before.job); } },
      { label: "Move down", refused: unordered ?? (place === n ? "It is the last already" : undefined), perform: () => { const after = at(place); if (after) change.move(job, "behind", after.job); } },
    ];
  };
  return (
    <>
      <header class="page-head">
        <h1>Job queue</h1>
        {names.length > 1 && <SelectField label="Resource pool" quiet value={pool.name} options={names.map((name) => [name, plain(name)] as [string, string])} onChange={setPool} />}
        <span class="muted number">{total === null ? "" : `${count(n, "job")}; `}{pool.slotsUsed} of {count(pool.slotsAvailable, "slot")} in use</span>
      </header>
      <section class="panel fills">
        {error && total === null ? <Failure error={error} /> : (
          <Table label="Jobs" fill columns={fair ? columns.map((c) => (c.key === "priority" ? WEIGHT : c)) : columns} count={n} at={at} rowKey={({ job }) => job.jobId} onSight={onSight} all={() => rowsForFile(call, (reply) => reply.jobs.flatMap((row, i): Row[] => { const job = jobOf(row); return job ? [{ job, place: i + 1 }] : []; }))}
            onMove={fair ? undefined : ({ row, onto, side }) => change.move(row.job, side, onto.job)}
            menu={(row) => <Menu label={`Actions of job ${plain(row.job.name ?? row.job.jobId)}`} actions={actionsOf(row)} />}
            instead={isPending ? <Waiting lines={6} /> : <Empty title="The queue is empty">Nothing runs or waits in this resource pool.</Empty>} />
        )}
      </section>
      {managing && <ManageJob job={managing} pools={names} fair={fair} onClose={() => setManaging(null)} />}
    </>
  );
}
