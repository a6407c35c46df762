import { useEffect, useState } from "preact/hooks";
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Experiment, ExperimentV1State, ResourcePool, User } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { count, metric } from "@shared/lib/format";
import { to } from "@shared/lib/address";
import { useTitle } from "@shared/lib/hooks";
import { readSetting, writeSetting } from "@shared/lib/settings";
import { Button } from "@shared/ui/Button";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { Load, Progress } from "@shared/ui/Progress";
import { StateBadge } from "@shared/ui/StateBadge";
import { type Column, Table } from "@shared/ui/Table";
import { Ago, Took } from "@shared/ui/Time";

const EVERY_MS = 4000;
const SHOWN_MAX = 50;
const LIVE: ExperimentV1State[] = ["STATE_ACTIVE", "STATE_PAUSED", "STATE_STOPPING_COMPLETED", "STATE_STOPPING_CANCELED", "STATE_STOPPING_ERROR", "STATE_STOPPING_KILLED"];
const ENDED: ExperimentV1State[] = ["STATE_COMPLETED", "STATE_CANCELED", "STATE_ERROR"];

const NAME: Column<Experiment> = { key: "name", title: "Experiment", width: "minmax(120px, 2fr)", cell: (x) => (
  <><a href={to(`experiments/${x.id}`)} title={plain(x.name)}>{plain(x.name)}</a><span class="muted number">{x.id}</span></>
) };
const STATE: Column<Experiment> = { key: "state", title: "State", width: "150px", cell: (x) => <StateBadge state={x.state} title={x.failure} /> };

const RUNNING: Column<Experiment>[] = [
  NAME, STATE,
  { key: "progress", title: "Progress", width: "minmax(90px, 1fr)", wide: true, cell: (x) => <Progress value={Number(x.progress ?? 0)} label={`Progress of experiment ${x.id}`} tone={x.state === "STATE_PAUSED" ? "idle" : "busy"} /> },
  { key: "took", title: "For", width: "104px", end: true, wide: true, cell: (x) => <Took start={x.startTime} end={x.endTime} /> },
];
const OVER: Column<Experiment>[] = [
  NAME, STATE,
  { key: "best", title: "Best metric", width: "minmax(90px, 1fr)", end: true, wide: true, cell: (x) => <span class="cut" title={plain(x.searcherMetric)}>{x.bestTrialSearcherMetric === undefined ? "–" : metric(x.bestTrialSearcherMetric)}</span> },
  { key: "ended", title: "Ended", width: "104px", end: true, wide: true, cell: (x) => <Ago time={x.endTime} /> },
];

export function HomePage({ user }: { user: User }) {
  useTitle("");
  const mine = { userIds: [user.id], limit: SHOWN_MAX, archived: false, orderBy: "ORDER_BY_DESC" as const, brief: true };
  const live = useApi(api.getExperiments({ ...mine, sortBy: "SORT_BY_START_TIME", states: LIVE }), { every: EVERY_MS });
  const ended = useApi(api.getExperiments({ ...mine, sortBy: "SORT_BY_END_TIME", states: ENDED }), { every: EVERY_MS });
  const { since, news, markSeen } = useSeen(user.id, ended.data?.experiments ?? []);
  return (
    <div class="page">
      <header class="page-head"><h1>Home</h1><ClusterSentence /></header>
      <div class="columns">
        <div class="stack">
          <Experiments title="My running experiments" label={live.data ? String(live.data.pagination?.total ?? "") : ""} columns={RUNNING} {...live} list={live.data?.experiments}
            instead={<Empty title="Nothing of yours runs">Start an experiment with <code>det experiment create CONFIG.yaml DIRECTORY</code>.</Empty>} />
          <Experiments title={news.length ? "Ended since you last looked" : "Ended lately"} label={news.length ? String(news.length) : ""} columns={OVER} {...ended} list={news.length ? news : ended.data?.experiments.slice(0, 10)}
            action={news.length ? <Button kind="bare" onClick={markSeen}>Mark as seen</Button> : since ? <span class="muted">nothing new</span> : null}
            instead={<Empty title="Nothing has ended yet">Experiments of yours that complete, fail or are canceled are listed here.</Empty>} />
        </div>
        <ClusterLoad />
      </div>
    </div>
  );
}

/** What this reader has seen in this browser: everything that ended before the moment when it was last marked as seen. */
function useSeen(userId: number, ended: Experiment[]) {
  const name = `seen.${userId}`;
  const [since, setSince] = useState(() => readSetting(name));
  const latest = ended.reduce((found, x) => (x.endTime && x.endTime > found ? x.endTime : found), "");
  const mark = () => {
    const now = latest || new Date(0).toISOString();
    writeSetting(name, now);
    setSince(now);
  };
  // Somebody who looks for the first time has no "since": all that has ended so far counts as seen.
  useEffect(() => { if (since === null && latest) mark(); }, [since, latest]);
  return { since, news: since === null ? [] : ended.filter((x) => x.endTime && x.endTime > since), markSeen: mark };
}

interface ExperimentsProps {
  title: string;
  label: string;
  columns: Column<Experiment>[];
  list: Experiment[] | undefined;
  error: Error | null;
  instead: preact.ComponentChild;
  action?: preact.ComponentChild;
}

function Experiments({ title, label, columns, list, error, instead, action }: ExperimentsProps) {
  return (
    <section class="panel">
      <header><h2>{title} <span class="muted number">{label}</span></h2>{action}</header>
      {error && !list ? <Failure error={error} /> : (
        <Table label={title} columns={columns} count={list?.length ?? 0} at={(i) => list?.[i]} rowKey={(x) => x.id} href={(x) => to(`experiments/${x.id}`)} instead={list ? instead : <Waiting lines={4} />} />
      )}
    </section>
  );
}

function useLoad() {
  const { data, error } = useApi(api.getResourcePools({}), { every: EVERY_MS });
  const pools = data?.resourcePools ?? [];
  const sum = (of: (pool: ResourcePool) => number) => pools.reduce((total, pool) => total + of(pool), 0);
  return { pools, known: data !== undefined, error, used: sum((p) => p.slotsUsed), slots: sum((p) => p.slotsAvailable), queued: sum((p) => p.stats?.queuedCount ?? 0), agents: sum((p) => p.numAgents) };
}

function ClusterSentence() {
  const { known, used, slots, queued } = useLoad();
  return <span class="muted number">{known ? `${used} of ${count(slots, "slot")} in use, ${count(queued, "job")} queued` : ""}</span>;
}

function ClusterLoad() {
  const { pools, known, error } = useLoad();
  return (
    <section class="panel">
      <header><h2>Cluster load</h2><a href={to("cluster")}>All agents</a></header>
      <div class="body stack">
        {error && !known ? <Failure error={error} /> : !known ? <Waiting /> : pools.length === 0 ? <Empty title="No resource pools" /> : pools.map((pool) => (
          <div key={pool.name} class="stack close">
            <div class="row spread"><a class="cut" href={to(`jobs?pool=${encodeURIComponent(pool.name)}`)}>{plain(pool.name)}</a><span class="muted number">{pool.slotsUsed} / {count(pool.slotsAvailable, "slot")}</span></div>
            <Load used={pool.slotsUsed} total={pool.slotsAvailable} label={`Slots in use in pool ${plain(pool.name)}`} />
            <span class="muted number">{count(pool.numAgents, "agent")}, {count(pool.stats?.scheduledCount ?? 0, "job")} scheduled, {pool.stats?.queuedCount ?? 0} queued</span>
          </div>
        ))}
      </div>
    </section>
  );
}
