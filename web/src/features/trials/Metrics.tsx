import { useMemo } from "preact/hooks";
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Trial } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { useParameter } from "@shared/lib/address";
import { pace } from "@shared/lib/states";
import { Chart } from "@shared/ui/Chart";
import { Empty, Failure } from "@shared/ui/Empty";
import { CheckField, SearchField, SelectField } from "@shared/ui/Form";
import { type Axis, axesOf, chartsOf, namesOf } from "@shared/lib/metric-names";

const POINTS_MAX = 1000;
const CHARTS_MAX = 24;
/** Groups that the profiler's tab shows. */
const PROFILE = new Set(["timings", "cpu", "memory", "disk", "network", "gpu"]);
const AXES: Record<Axis, string> = { batches: "By batches", epoch: "By epochs", seconds: "By seconds", hours: "By hours" };
const X_LABELS: Record<Axis, string> = { batches: "step", epoch: "epoch", seconds: "second", hours: "hour" };
const SMOOTHING = [["0", "As reported"], ["0.6", "Smoothed"], ["0.9", "Smoother"], ["0.97", "Smoothest"]] as const;

/** One chart for each name of a metric; what training and validation report under one name is drawn together. */
export function Metrics({ trial }: { trial: Trial }) {
  const [log, setLog] = useParameter("log");
  const [smoothing, setSmoothing] = useParameter("smooth", "0");
  const [wanted, setWanted] = useParameter("metric");
  const [axis, setAxis] = useParameter("axis", "batches");
  const every = pace(trial.state);
  const names = useMemo(() => namesOf(trial.summaryMetrics).filter(({ group }) => !PROFILE.has(group)), [trial.summaryMetrics]);
  const fitting = names.filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase()));
  const shown = [...new Set(fitting.map(({ name }) => name))].slice(0, CHARTS_MAX);
  const metricIds = fitting.filter(({ name }) => shown.includes(name)).map(({ group, name }) => `${group}.${name}`);
  const { data, error } = useApi(api.compareTrials({ trialIds: [trial.id], metricIds, maxDatapoints: POINTS_MAX }), { every, keep: true, enabled: metricIds.length > 0 });
  const metrics = data?.trials[0]?.metrics ?? [];
  const charts = useMemo(() => chartsOf(shown, fitting, metrics, axis as Axis, trial.startTime), [shown.join("\n"), data, axis]);
  if (names.length === 0)
    return <section class="panel"><Empty title="No metrics yet">Charts are drawn here as soon as the trial reports numbers. Its logs tell how far it is.</Empty></section>;
  return (
    <div class="stack">
      <div class="toolbar unprinted">
        <SearchField label="Find a metric" value={wanted} onInput={(value) => setWanted(value || null)} />
        <SelectField label="Smoothing" quiet value={smoothing as "0"} options={SMOOTHING as never} onChange={setSmoothing} />
        <SelectField label="Horizontal axis" quiet value={axis as Axis} options={axesOf(metrics).map((one) => [one, AXES[one]] as [Axis, string])} onChange={(one) => setAxis(one)} />
        <CheckField label="Log scale" checked={Boolean(log)} onChange={(on) => setLog(on ? "1" : null)} />
        {shown.length === CHARTS_MAX && <span class="muted">The first {CHARTS_MAX} of {new Set(fitting.map(({ name }) => name)).size} are shown; search for others.</span>}
      </div>
      {error && !data && <Failure error={error} />}
      {fitting.length === 0 && <section class="panel"><Empty title="No metric fits">None of the {names.length} names has “{wanted}” in it.</Empty></section>}
      <div class="tiles">
        {charts.map((chart) => (
          <section key={chart.name} class="panel">
            <header><h2 class="cut" title={plain(chart.name)}>{plain(chart.name)}</h2></header>
            <div class="body"><Chart label={plain(chart.name)} series={chart.series} log={Boolean(log)} smoothing={Number(smoothing)} height={200} xLabel={X_LABELS[axis as Axis] ?? "step"} instead={data ? undefined : <p class="nothing">Loading</p>} /></div>
          </section>
        ))}
      </div>
    </div>
  );
}
