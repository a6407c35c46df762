import { useEffect, useMemo, useState } from "preact/hooks";
import { stream } from "@shared/api/client";
import { keepReading } from "@shared/api/reading";
import * as api from "@shared/api/routes.gen";
import type { Trial, TrialProfilerMetricLabels } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { toNumber } from "@shared/lib/format";
import { hasEnded } from "@shared/lib/states";
import { Chart, seriesToken } from "@shared/ui/Chart";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { chartsOf, type Samples, type Share, sharesOf, thinned } from "./profile";
import "./profiler.css";

const AGAIN_MS = 10_000;
const SERIES_MAX = 64;
const KINDS: Record<string, Samples["kind"]> = { PROFILER_METRIC_TYPE_SYSTEM: "system", PROFILER_METRIC_TYPE_TIMING: "timing" };

async function samplesOf(trialId: number, labels: TrialProfilerMetricLabels, signal: AbortSignal): Promise<Samples> {
  const found: Samples = { name: labels.name, agent: labels.agentId, gpu: labels.gpuUuid, kind: KINDS[labels.metricType] ?? "misc", points: [], batches: [] };
  const { name, agentId, gpuUuid, metricType } = labels;
  for await (const lines of stream(api.getTrialProfilerMetrics({ labelsTrialId: trialId, labels: { name, agentId, gpuUuid, metricType } }), signal))
    for (const { batch } of lines) {
      batch?.values.forEach((value, i) => found.points.push([Date.parse(batch.timestamps[i] ?? "") / 1000, toNumber(value)]));
      found.batches.push(...(batch?.batches ?? []));
    }
  return found;
}

async function read(trialId: number, signal: AbortSignal): Promise<Samples[]> {
  const labels: TrialProfilerMetricLabels[] = [];
  for await (const lines of stream(api.getTrialProfilerAvailableSeries({ trialId, follow: false }), signal)) labels.push(...lines.flatMap((line) => line.labels));
  return Promise.all(labels.slice(0, SERIES_MAX).map((one) => samplesOf(trialId, one, signal)));
}

/** The whole profile, read again while the trial runs. */
function useProfile(trial: Trial) {
  const [all, setAll] = useState<Samples[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    const again = async (signal: AbortSignal) => {
      setAll(await read(trial.id, signal));
      setError(null);
      return hasEnded(trial.state);
    };
    return keepReading(again, setError, AGAIN_MS);
  }, [trial.id, hasEnded(trial.state)]);
  return { all, error };
}

export function Profiler({ trial }: { trial: Trial }) {
  const { all, error } = useProfile(trial);
  const start = Math.min(...(all ?? []).flatMap((one) => (one.points[0] ? [one.points[0][0]] : [])));
  const since = useMemo(() => (all ?? []).map((one): Samples => ({ ...one, points: one.points.map(([time, value]) => [time - start, value]) })), [all]);
  const shares = useMemo(() => sharesOf(since), [since]);
  const charts = useMemo(() => chartsOf(since), [since]);
  const timings = useMemo(() => shares.flatMap((share) => since.filter((one) => one.kind === "timing" && one.name === share.name)).map((one) => ({ key: one.name, label: plain(one.name), points: thinned(one.points.map(([, value], i): [number, number] => [one.batches[i] ?? i, value * 1000])) })), [since, shares]);
  if (error && !all) return <Failure error={error} />;
  if (!all) return <section class="panel"><Waiting lines={6} /></section>;
  if (all.length === 0)
    return <section class="panel"><Empty title="No profile">Set <code>profiling.enabled: true</code> in the configuration, or call <code>core_context.profiler.on()</code>: then this page shows what a batch spends its time on, beside the machine's GPUs, memory, disks and network.</Empty></section>;
  return (
    <div class="stack">
      {shares.length > 0 && <Timings shares={shares} />}
      {timings.length > 0 && <section class="panel"><header><h2>Timings by batch</h2><span class="muted">milliseconds</span></header><div class="body"><Chart label="Timings by batch" series={timings} height={220} xLabel="batch" /></div></section>}
      <div class="tiles">
        {charts.map(({ name, series }) => <section key={name} class="panel"><header><h2 class="cut">{plain(name)}</h2></header><div class="body"><Chart label={plain(name)} series={series} height={180} xLabel="second" /></div></section>)}
      </div>
    </div>
  );
}

const ms = (seconds: number) => `${(seconds * 1000).toPrecision(3)} ms`;

/** What a batch consists of: one bar, and the same as a list. */
function Timings({ shares }: { shares: Share[] }) {
  const whole = shares.reduce((sum, one) => sum + one.mean, 0);
  return (
    <section class="panel">
      <header><h2>Timings</h2><span class="muted number">a batch takes {ms(whole)}</span></header>
      <div class="body stack close">
        <div class="shares" role="img" aria-label={shares.map((one) => `${one.name} ${Math.round(one.share * 100)} %`).join(", ")}>
          {shares.map((one, i) => <i key={one.name} style={{ flexGrow: one.share, background: `var(${seriesToken(i)})` }} title={`${plain(one.name)}: ${ms(one.mean)}`} />)}
        </div>
        <dl class="share-list">
          {shares.map((one, i) => (
            <div key={one.name}><dt><i style={{ background: `var(${seriesToken(i)})` }} />{plain(one.name)}</dt><dd class="number">{(one.share * 100).toFixed(1)} %</dd><dd class="number muted">{ms(one.mean)}</dd></div>
          ))}
        </dl>
      </div>
    </section>
  );
}
