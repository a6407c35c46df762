// What a search has found: parallel coordinates, the metric over each hyperparameter, and the learning curves, of up to 1,000 trials, which
// the master down-samples.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { stream } from "@shared/api/client";
import { keepReading } from "@shared/api/reading";
import * as api from "@shared/api/routes.gen";
import type { Experiment } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { go, to, useParameter } from "@shared/lib/address";
import { flatten } from "@shared/lib/flatten";
import { count, metric } from "@shared/lib/format";
import type { MetricName } from "@shared/lib/metric-names";
import { Chart, type Series } from "@shared/ui/Chart";
import { pictureOfSvg } from "@shared/ui/chart-picture";
import { Copies } from "@shared/ui/Copies";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { CheckField, Choice, SelectField } from "@shared/ui/Form";
import { useNarrow, useVisible } from "@shared/lib/hooks";
import { HeatMap } from "./HeatMap";
import { type Axis, axesOf, bestOf, importanceOf, placeOn, ranksOf, type SearchTrial } from "./search-data";
import { stepped, useStepping } from "./stepping";
import "./search.css";

const TRIALS_MAX = 1000;
/** Of each trial: the more lines, the fewer points of each can be told apart. */
const POINTS = { least: 50, most: 200, all: 6000 };
const pointsOf = (trials: number) => Math.max(POINTS.least, Math.min(POINTS.most, Math.floor(POINTS.all / Math.max(1, trials))));
const PERIOD_S = 10;
const AGAIN_MS = 5000;

/** The metrics that the trials have reported: all so far, then those that are new. */
function useMetrics(id: number, enabled: boolean) {
  const [found, setFound] = useState<MetricName[]>([]);
  const [error, setError] = useState<Error | null>(null);
  const visible = useVisible();
  useLayoutEffect(() => setFound([]), [id]);
  useEffect(() => {
    if (!enabled || !visible) return;
    return keepReading(async (signal) => {
      const known: MetricName[] = [];
      for await (const replies of stream(api.expMetricNames({ ids: [id], periodSeconds: PERIOD_S }), signal)) {
        known.push(...replies.flatMap((reply) => reply.metricNames));
        setFound([...known]);
        setError(null);
      }
      return true;
    }, setError, AGAIN_MS);
  }, [id, enabled, visible]);
  return { found, error };
}

/** The trials with their points of one metric as the master sends them: first all, then what is new. */
function useSearch(x: Experiment, metric: MetricName) {
  const [trials, setTrials] = useState<SearchTrial[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const visible = useVisible();
  // As many as when the page was opened: a search that starts more trials is not read again because of it.
  const [points] = useState(() => pointsOf(x.numTrials));
  useLayoutEffect(() => setTrials(null), [x.id, metric.group, metric.name]);
  // The request need not wait for the frame that says that it is under way.
  useLayoutEffect(() => {
    if (!visible) return;
    return keepReading(async (signal) => {
      const known = new Map<number, SearchTrial>();
      const call = api.trialsSample({ experimentId: x.id, metricName: metric.name, group: metric.group, maxTrials: TRIALS_MAX, maxDatapoints: points, periodSeconds: PERIOD_S });
      for await (const replies of stream(call, signal)) {
        for (const reply of replies) {
          for (const t of reply.trials) {
            const before = known.get(t.trialId)?.points ?? [];
            // Later replies need not repeat them.
            const hparams = Object.keys(t.hparams ?? {}).length ? flatten(t.hparams!) : (known.get(t.trialId)?.hparams ?? {});
            const last = Number(before.at(-1)?.[0] ?? -1);
            const fresh = t.data.filter((p) => p.batches > last).map((p) => [p.batches, (p.values ?? {})[metric.name]] as [number, unknown]);
            known.set(t.trialId, { id: t.trialId, hparams, points: [...before, ...fresh] });
          }
          for (const gone of reply.demotedTrials) known.delete(gone);
        }
        setTrials([...known.values()].sort((a, b) => a.id - b.id));
        setError(null);
      }
      setTrials([...known.values()].sort((a, b) => a.id - b.id));
      return true;
    }, setError, AGAIN_MS);
  }, [x.id, metric.group, metric.name, visible]);
  return { trials, error };
}

export function Hyperparameters({ x, smaller }: { x: Experiment; smaller: boolean }) {
  const [view, setView] = useParameter("view", "parallel");
  const [wanted, setWanted] = useParameter("metric");
  const { found: metrics, error: lost } = useMetrics(x.id, view === "curves");
  // The other views show what the search goes by.
  const ruling: MetricName = { group: "validation", name: x.searcherMetric };
  const metric = view === "curves" && wanted.includes(".") ? { group: wanted.slice(0, wanted.indexOf(".")), name: wanted.slice(wanted.indexOf(".") + 1) } : ruling;
  const { trials, error } = useSearch(x, metric);
  const [log, setLog] = useParameter("log");
  const axes = useMemo(() => axesOf(trials ?? []), [trials]);
  const best = useMemo(() => (trials ?? []).map((t) => bestOf(t, smaller)), [trials, smaller]);
  const ranks = useMemo(() => ranksOf(best, smaller), [best, smaller]);
  const curves = useMemo(() => (trials ?? []).filter((t) => t.points.length > 0).map((t): Series => ({ key: String(t.id), label: `trial ${t.id}`, points: t.points })), [trials]);
  if (error && !trials) return <Failure error={error} />;
  const data = { x, trials: trials ?? [], axes, best, ranks };
  const options = [ruling, metric, ...metrics].map((one) => `${one.group}.${one.name}`);
  return (
    <section class="panel">
      <header class="wraps">
        <Choice label="View" quiet value={view} onChange={setView} options={[["parallel", "Parallel coordinates"], ["scatter", "Scatter"], ["heat", "Heat map"], ["curves", "Learning curves"]]} />
        <span class="row wraps">
          <span class="muted number">{trials ? `${count(trials.length, "trial")}${x.numTrials > trials.length ? ` of ${x.numTrials}` : ""}` : ""}</span>
          {view === "curves" && <SelectField label="Metric" quiet lost={lost} value={`${metric.group}.${metric.name}`} onChange={(one) => setWanted(one === options[0] ? null : one)} options={[...new Set(options)].map((one) => [one, plain(one)] as [string, string])} />}
          {view === "curves" && <CheckField label="Log scale" checked={Boolean(log)} onChange={(on) => setLog(on ? "1" : null)} />}
        </span>
      </header>
      <div class="body">
        {!trials ? <Waiting lines={6} /> : trials.length === 0 ? <Empty title="Nothing to compare yet">Trials are drawn here when they have reported {plain(metric.name)}.</Empty>
          : view === "curves" ? <Chart label={`${plain(metric.name)} of ${trials.length} trials`} series={curves} height={440} log={Boolean(log)} /> : axes.length === 0 ? <Empty title="Nothing differs">All trials have the same hyperparameters.</Empty>
          : view === "scatter" ? <Scatter {...data} /> : view === "heat" ? <HeatMap {...data} /> : <Parallel {...data} />}
      </div>
    </section>
  );
}

interface Data {
  x: Experiment;
  trials: SearchTrial[];
  axes: Axis[];
  best: (number | null)[];
  ranks: (number | null)[];
}

/** From the last series' colour for the worst to the first one's for the best. */
const colourOf = (rank: number | null) => (rank === null ? "var(--line-strong)" : `color-mix(in oklab, var(--series-1) ${Math.round(rank * 100)}%, var(--series-2))`);
const endOf = (axis: Axis, upper: boolean) => (axis.categories ? axis.categories[upper ? axis.categories.length - 1 : 0]! : metric(upper ? axis.max : axis.min));

/** A phone shows it as wide as this, and pushes it sideways. */
const NARROW_WIDTH = 640;
const WIDE = { width: 1000, height: 380, left: 60, right: 60, top: 44, bottom: 30 };

function Parallel({ x, trials, axes, best, ranks }: Data) {
  const size = useNarrow() ? { ...WIDE, width: NARROW_WIDTH } : WIDE;
  const svg = useRef<SVGSVGElement>(null);
  const good = best.filter((value) => value !== null);
  const last: Axis = { name: x.searcherMetric, categories: null, min: good.reduce((a, b) => Math.min(a, b), Infinity), max: good.reduce((a, b) => Math.max(a, b), -Infinity), log: false };
  const all = [...axes, last];
  const at = (i: number) => size.left + (i * (size.width - size.left - size.right)) / Math.max(1, all.length - 1);
  const down = (place: number) => size.height - size.bottom - place * (size.height - size.top - size.bottom);
  const path = (t: SearchTrial, i: number) => {
    const places = all.map((axis) => placeOn(axis, axis === last ? best[i] : t.hparams[axis.name]));
    return places.flatMap((place, a) => (place === null ? [] : [`${at(a).toFixed(1)},${down(place).toFixed(1)}`])).join(" ");
  };
  const order = trials.map((_, i) => i).sort((a, b) => (ranks[a] ?? -1) - (ranks[b] ?? -1));
  const open = (i: number) => go(`experiments/${x.id}/trials/${trials[i]!.id}`);
  // By keys from the best to the worst, which is drawn first.
  const fromBest = [...order].reverse();
  const { over, setOver, keys } = useStepping((from, key) => {
    const at = stepped(fromBest.length, from === null ? null : fromBest.indexOf(from), key);
    return at === null ? null : fromBest[at]!;
  }, open);
  const shown = over === null ? null : trials[over];
  const rows = () => [["trial", ...all.map((axis) => axis.name)], ...trials.map((t, i) => [t.id, ...axes.map((axis) => t.hparams[axis.name]), best[i]])];
  const title = `${plain(x.searcherMetric)} by hyperparameters`;
  return (
    <figure class="drawn broad" {...keys}>
      <svg ref={svg} viewBox={`0 0 ${size.width} ${size.height}`} role="img" aria-label={`Parallel coordinates of ${trials.length} trials over ${all.map((axis) => axis.name).join(", ")}`}>
        {order.map((i) => <polyline key={trials[i]!.id} class={over === i ? "over" : ""} points={path(trials[i]!, i)} style={{ stroke: colourOf(ranks[i]!) }} onMouseEnter={() => setOver(i)} onMouseLeave={() => setOver(null)} onClick={() => open(i)} />)}
        {all.map((axis, a) => (
          <g key={axis.name}>
            <line x1={at(a)} x2={at(a)} y1={size.top} y2={size.height - size.bottom} />
            <text x={at(a)} y={16} text-anchor="middle" class="name">{plain(axis.name).slice(0, 24)}{axis.log ? " (log)" : ""}</text>
            {axis.categories && axis.categories.length <= 12 ? axis.categories.map((name, i) => <text key={name} x={at(a) + 6} y={down(axis.categories!.length === 1 ? 0.5 : i / (axis.categories!.length - 1)) + 4}>{plain(name).slice(0, 18)}</text>)
              : <><text x={at(a)} y={size.top - 8} text-anchor="middle">{plain(endOf(axis, true)).slice(0, 18)}</text><text x={at(a)} y={size.height - size.bottom + 16} text-anchor="middle">{plain(endOf(axis, false)).slice(0, 18)}</text></>}
          </g>
        ))}
      </svg>
      <figcaption class="row spread"><span class="muted number" role="status">{shown ? <><a href={to(`experiments/${x.id}/trials/${shown.id}`)}>Trial {shown.id}</a>: {plain(x.searcherMetric)} {metric(best[over!])}; {axes.map((axis) => `${plain(axis.name)} ${plain(metric(shown.hparams[axis.name]))}`).join(", ")}</> : "A line is a trial: the more of the first colour, the better. Point at one (or press an arrow key) to read it, press it (or Enter) to open it."}</span>
        <span class="unprinted"><Copies name={title} rows={rows} picture={() => pictureOfSvg(svg.current!, title)} /></span></figcaption>
    </figure>
  );
}

const PLOT = { width: 360, height: 200, left: 52, right: 6, top: 6, bottom: 24 };
/** Between the frame and the outermost points. */
const INSET = 8;

/** The best value of each trial over each hyperparameter, those first on which it depends most. */
function Scatter({ x, trials, axes, best, ranks }: Data) {
  const good = best.filter((value) => value !== null);
  const [min, max] = [good.reduce((a, b) => Math.min(a, b), Infinity), good.reduce((a, b) => Math.max(a, b), -Infinity)];
  const sorted = axes.map((axis) => ({ axis, weight: importanceOf(axis, trials, ranks) })).sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
  return (
    <div class="scatters">
      {sorted.map(({ axis, weight }) => <Points key={axis.name} x={x} trials={trials} axis={axis} weight={weight} best={best} ranks={ranks} min={min} max={max} />)}
    </div>
  );
}

interface PointsProps extends Omit<Data, "axes"> {
  axis: Axis;
  weight: number;
  min: number;
  max: number;
}

function Points({ x, trials, axis, weight, best, ranks, min, max }: PointsProps) {
  const svg = useRef<SVGSVGElement>(null);
  const points = trials.flatMap((t, i) => {
    const [place, value] = [placeOn(axis, t.hparams[axis.name]), best[i]];
    if (place === null || value === null || value === undefined) return [];
    return [{ id: t.id, place, value, rank: ranks[i]!, text: `trial ${t.id}: ${metric(value)} at ${plain(metric(t.hparams[axis.name]))}` }];
  }).sort((a, b) => a.place - b.place);
  const open = (i: number) => go(`experiments/${x.id}/trials/${points[i]!.id}`);
  const { over, setOver, keys } = useStepping((from, key) => stepped(points.length, from, key), open);
  const title = `${plain(x.searcherMetric)} over ${plain(axis.name)}`;
  const rows = () => [["trial", axis.name, x.searcherMetric], ...trials.map((t, i) => [t.id, t.hparams[axis.name], best[i]])];
  return (
    <figure class="drawn" {...keys}>
      <figcaption class="row"><b class="cut">{plain(axis.name)}</b><span class="grow" />
        <span class="muted number" title="How strongly the metric depends on it, by ranks: 0 not at all, ±1 completely. A plus says that larger values are better.">{axis.categories ? weight.toFixed(2) : `${weight >= 0 ? "+" : "−"}${Math.abs(weight).toFixed(2)}`}</span>
        <span class="unprinted"><Copies name={title} rows={rows} picture={() => pictureOfSvg(svg.current!, title)} /></span></figcaption>
      <svg ref={svg} viewBox={`0 0 ${PLOT.width} ${PLOT.height}`} role="img" aria-label={`${x.searcherMetric} over ${axis.name}`}>
        <rect x={PLOT.left} y={PLOT.top} width={PLOT.width - PLOT.left - PLOT.right} height={PLOT.height - PLOT.top - PLOT.bottom} />
        {points.map(({ id, place, value, rank, text }, i) => {
          const height = max === min ? 0.5 : (value - min) / (max - min);
          return <circle key={id} r={over === i ? 5 : 3} class={over === i ? "over" : ""} cx={PLOT.left + INSET + place * (PLOT.width - PLOT.left - PLOT.right - 2 * INSET)} cy={PLOT.top + INSET + (1 - height) * (PLOT.height - PLOT.top - PLOT.bottom - 2 * INSET)} style={{ fill: colourOf(rank) }} onMouseEnter={() => setOver(i)} onMouseLeave={() => setOver(null)} onClick={() => open(i)}><title>{text}</title></circle>;
        })}
        <text x={PLOT.left} y={PLOT.height - 8}>{plain(endOf(axis, false)).slice(0, 16)}</text>
        <text x={PLOT.width - PLOT.right} y={PLOT.height - 8} text-anchor="end">{plain(endOf(axis, true)).slice(0, 16)}{axis.log ? " (log)" : ""}</text>
        <text x={PLOT.left - 6} y={PLOT.top + INSET + 4} text-anchor="end">{metric(max)}</text>
        {max > min && <text x={PLOT.left - 6} y={PLOT.height - PLOT.bottom - INSET + 4} text-anchor="end">{metric(min)}</text>}
      </svg>
      <p class="muted number cut said" role="status">{over === null ? "" : points[over]?.text}</p>
    </figure>
  );
}
