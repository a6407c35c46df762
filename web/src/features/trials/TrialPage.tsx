import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Trial } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { flatten } from "@shared/lib/flatten";
import { bytes, metric } from "@shared/lib/format";
import { to } from "@shared/lib/address";
import { useTitle } from "@shared/lib/hooks";
import { pace } from "@shared/lib/states";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { StateBadge } from "@shared/ui/StateBadge";
import { Tabs } from "@shared/ui/Tabs";
import { Ago, Took } from "@shared/ui/Time";
import { Environment } from "./Environment";
import { Metrics } from "./Metrics";
import { Profiler } from "./Profiler";
import { TrialActions } from "./TrialActions";
import { TrialCheckpoints } from "./TrialCheckpoints";
import { TrialLogs } from "./TrialLogs";

export const TABS = [["metrics", "Metrics"], ["logs", "Logs"], ["hyperparameters", "Hyperparameters"], ["profiler", "Profiler"], ["checkpoints", "Checkpoints"], ["environment", "Environment"]] as const;
export type Tab = (typeof TABS)[number][0];

export function TrialPage({ id, tab }: { id: number; tab: Tab }) {
  const { data, error, refetch } = useApi(api.getTrial({ trialId: id }), { every: (reply) => pace(reply?.trial?.state) });
  const trial = data?.trial;
  const { data: parent } = useApi(api.getExperiment({ experimentId: trial?.experimentId ?? 0 }), { enabled: trial !== undefined && trial !== null });
  useTitle(`Trial ${id}`);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!trial) return <Waiting lines={6} />;
  const at = `experiments/${trial.experimentId}`;
  return (
    <div class={`page ${tab === "logs" ? "fills" : ""}`}>
      <header class="page-head">
        <div class="grow">
          <nav class="crumbs" aria-label="Where this is">
            <a href={to(`${at}/trials`)}>{plain(parent?.experiment?.name ?? `Experiment ${trial.experimentId}`)}</a>
          </nav>
          <div class="row wraps">
            <h1>Trial {id}</h1>
            <StateBadge state={trial.state} />
            <Summary trial={trial} />
          </div>
        </div>
        <TrialActions trial={trial} />
      </header>
      <Tabs label="Parts of the trial" now={tab} tabs={TABS.map(([key, title]) => ({ key, title, href: to(`${at}/trials/${id}/${key}`) }))} />
      {tab === "metrics" && <Metrics trial={trial} />}
      {tab === "logs" && <TrialLogs id={id} state={trial.state} />}
      {tab === "hyperparameters" && <Hyperparameters trial={trial} />}
      {tab === "profiler" && <Profiler trial={trial} />}
      {tab === "checkpoints" && <TrialCheckpoints trial={trial} />}
      {tab === "environment" && <Environment trial={trial} />}
    </div>
  );
}

function Summary({ trial }: { trial: Trial }) {
  return (
    <span class="muted number summary">
      <span>{trial.totalBatchesProcessed.toLocaleString("en")} batches</span>
      <span>started <Ago time={trial.startTime} /></span>
      <span>{trial.endTime ? "took" : "runs for"} <Took start={trial.startTime} end={trial.endTime} /></span>
      {trial.restarts > 0 && <span>{trial.restarts} {trial.restarts === 1 ? "restart" : "restarts"}</span>}
      {trial.checkpointCount > 0 && <span>{trial.checkpointCount} checkpoints, {bytes(trial.totalCheckpointSize)}</span>}
    </span>
  );
}

function Hyperparameters({ trial }: { trial: Trial }) {
  const all = Object.entries(flatten(trial.hparams ?? {}));
  return (
    <section class="panel">
      <div class="body">
        {all.length === 0 ? <Empty title="No hyperparameters">The experiment's configuration names none.</Empty> : (
          <dl class="facts">{all.map(([name, value]) => [<dt key={`${name}:`} class="mono">{plain(name)}</dt>, <dd key={name} class="mono">{plain(typeof value === "number" ? String(value) : metric(value))}</dd>])}</dl>
        )}
      </div>
    </section>
  );
}
