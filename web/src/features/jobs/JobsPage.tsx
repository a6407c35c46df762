import { useState } from "preact/hooks";
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Job, LimitedJob, RBACJob } from "@shared/api/routes.gen";
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
  { key: "name", title: "Job", width: "minmax(130px, 2fr)", cell: ({ job }) => <JobName job={job} /> },
  { key: "state", title: "State", width: "112px", cell: ({ job }) => <StateBadge state={job.summary?.state ?? ""} title={job.summary?.reason} /> },
  { key: "slots", title: "Slots", width: "84px", end: true, cell: ({ job }) => <span title={`${job.allocatedSlots} in use of ${job.requestedSlots} asked for`}>{job.allocatedSlots} / {job.requestedSlots}</span> },
  { key: "priority", title: "Priority", width: "78px", end: true, wide: true, cell: ({ job }) => job.priority },
  { key: "user", title: "Owner", width: "minmax(80px, 1fr)", wide: true, cell: ({ job }) => <span class="cut">{plain(job.username ?? "–")}</span> },
  { key: "submitted", title: "Submitted", width: "104px", wide: true, cell: ({ job }) => <Ago time={job.submissionTime} /> },
  { key: "reason", title: "Why it waits", width: "minmax(140px, 3fr)", wide: true, cell: ({ job }) => <span class="cut muted" title={job.summary?.reason}>{plain(job.summary?.reason ?? "")}</span> },
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
  const { data: pools, error: poolsError } = useApi(api.getResourcePools({}), { every: EVERY_MS * 4 });
  const names = (pools?.resourcePools ?? []).map((pool) => pool.name);
  const first = pools?.resourcePools.find((pool) => pool.defaultComputePool)?.name ?? names[0] ?? "";
  const [chosen, setPool] = useParameter("pool");
  const pool = pools?.resourcePools.find((p) => p.name === (chosen || first));
  const { data, error } = useApi(api.getJobsV2({ resourcePool: pool?.name ?? "", limit: 1000 }), { every: EVERY_MS, keep: true, enabled: pool !== undefined });
  const rows = (data?.jobs ?? []).flatMap((row, i): Row[] => { const job = jobOf(row); return job ? [{ job, place: i + 1 }] : []; });
  const [managing, setManaging] = useState<AnyJob | null>(null);
  const fair = pool?.schedulerType === "SCHEDULER_TYPE_FAIR_SHARE";
  const change = useQueueChange();
  const unordered = fair ? "This pool shares its slots by weight: its queue has no order" : undefined;
  const actionsOf = ({ job, place }: Row): Action[] => {
    const first = unordered ?? (place === 1 ? "It is the first already" : undefined);
    return [
      { label: "Manage job", perform: () => setManaging(job) },
      { label: "Move to top", refused: first, perform: () => change.move(job, "before", rows[0]!.job, "The job is the first of its queue now.") },
      { label: "Move up", refused: first, perform: () => change.move(job, "before", rows[place - 2]!.job) },
      { label: "Move down", refused: unordered ?? (place === rows.length ? "It is the last already" : undefined), perform: () => change.move(job, "behind", rows[place]!.job) },
    ];
  };
  const failure = error ?? poolsError;
  return (
    <div class="page fills">
      <header class="page-head">
        <h1>Job queue</h1>
        {names.length > 1 && <SelectField label="Resource pool" quiet value={pool?.name ?? ""} options={names.map((name) => [name, plain(name)] as [string, string])} onChange={setPool} />}
        {pool && <span class="muted number">{count(rows.length, "job")}; {pool.slotsUsed} of {count(pool.slotsAvailable, "slot")} in use</span>}
      </header>
      <section class="panel fills">
        {failure && !data ? <Failure error={failure} /> : (
          <Table label="Jobs" fill columns={fair ? columns.map((c) => (c.key === "priority" ? WEIGHT : c)) : columns} count={rows.length} at={(i) => rows[i]} rowKey={({ job }) => job.jobId}
            onMove={fair ? undefined : ({ row, onto, side }) => change.move(row.job, side, onto.job)}
            menu={(row) => <Menu label={`Actions of job ${plain(row.job.name ?? row.job.jobId)}`} actions={actionsOf(row)} />}
            instead={data ? <Empty title="The queue is empty">Nothing runs or waits in this resource pool.</Empty> : <Waiting lines={6} />} />
        )}
      </section>
      {managing && <ManageJob job={managing} pools={names} fair={fair} onClose={() => setManaging(null)} />}
    </div>
  );
}
