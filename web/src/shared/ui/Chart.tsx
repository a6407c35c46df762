// Lines over steps, drawn by uPlot. Gaps are gaps: NaN and the infinities are not joined over.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { metric } from "@shared/lib/format";
import { align, smooth, type Point } from "@shared/lib/series";
import { colourOf, useThemeVersion } from "@shared/lib/theme";
import { pictureOf } from "./chart-picture";
import { Copies } from "./Copies";
import "./chart.css";

export interface Series {
  key: string;
  label: string;
  points: Point[];
}

interface Props {
  label: string;
  series: Series[];
  height?: number;
  log?: boolean;
  /** 0: as reported; towards 1: the moving average of more and more points */
  smoothing?: number;
  xLabel?: string;
  /** what is written at places of the x axis, where that is no number: days, times */
  xText?: ((x: number) => string) | undefined;
  /** whether the x axis is a time, in seconds since 1970: its marks are then at whole hours and days */
  time?: boolean;
  instead?: ComponentChildren;
}

const COLOURS = 8;
/** More lines than this have no key below the chart. */
const KEYS_MAX = 24;
export const seriesToken = (i: number) => `--series-${(i % COLOURS) + 1}`;

export function Chart({ label, series, height = 220, log = false, smoothing = 0, xLabel = "step", xText, time = false, instead }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const theme = useThemeVersion();
  const [at, setAt] = useState<number | null>(null);
  const data = useMemo(() => align(series.map((s) => smooth(s.points, smoothing)), log), [series, smoothing, log]);
  const shape = `${series.map((s) => s.key).join("\n")}|${log}|${theme}|${height}`;
  const isEmpty = data[0].length === 0;

  useEffect(() => {
    if (isEmpty) return;
    const made = new uPlot(options(series, height, log, setAt, xText, time), data as uPlot.AlignedData, box.current!);
    plot.current = made;
    const resized = new ResizeObserver(([entry]) => entry && made.setSize({ width: Math.floor(entry.contentRect.width), height }));
    resized.observe(box.current!);
    return () => {
      resized.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [shape, isEmpty]);
  useEffect(() => plot.current?.setData(data as uPlot.AlignedData), [data]);

  const rows = () => {
    const [xs, ...columns] = align(series.map((s) => smooth(s.points, smoothing)), log, true);
    return [[xLabel, ...series.map((s) => s.label)], ...xs.map((x, i) => [xText ? xText(x) : x, ...columns.map((column) => column[i])])];
  };
  const index = at ?? data[0].length - 1;
  return (
    <figure class="chart" aria-label={`${label}: ${series.slice(0, KEYS_MAX).map((s) => s.label).join(", ")}`}>
      <div class="plot" ref={box} style={{ height: `${height}px` }}>{isEmpty && (instead ?? <p class="nothing">No points yet</p>)}</div>
      <figcaption class="legend">
        <span class="muted number">{isEmpty ? "" : `${xLabel} ${xText ? xText(data[0][index]!) : metric(data[0][index])}`}</span>
        {series.slice(0, KEYS_MAX).map((s, i) => (
          <span key={s.key} class="key" title={s.label}>
            <i style={{ background: `var(${seriesToken(i)})` }} />
            <span class="cut">{s.label}</span>
            <b class="number">{metric(valueNear(data[i + 1], index, at === null) ?? undefined)}</b>
          </span>
        ))}
        {series.length > KEYS_MAX && <span class="muted number">and {(series.length - KEYS_MAX).toLocaleString("en")} more</span>}
        {!isEmpty && <span class="copies unprinted"><Copies name={label} rows={rows} picture={() => pictureOf(plot.current!.ctx.canvas, label, series.map((s, i) => ({ label: s.label, token: seriesToken(i) })))} /></span>}
      </figcaption>
    </figure>
  );
}

/** The series' value at a place; where nobody points at one, the series' last value. */
function valueNear(values: (number | null | undefined)[] | undefined, index: number, last: boolean): number | null {
  for (let i = index; values && i >= 0; i--) {
    const value = values[i];
    if (typeof value === "number") return value;
    if (!last && value === null) return null;
  }
  return null;
}

function options(series: Series[], height: number, log: boolean, onMove: (index: number | null) => void, xText?: (x: number) => string, time = false): uPlot.Options {
  const grid = { stroke: colourOf("--line"), width: 1 };
  // Each reading of a colour makes the browser work out its styles.
  const colours = Array.from({ length: Math.min(COLOURS, series.length) }, (_, i) => colourOf(seriesToken(i)));
  const axis = { stroke: colourOf("--muted"), grid, ticks: { ...grid, size: 4 }, font: `11px ${getComputedStyle(document.body).fontFamily}` };
  return {
    width: 320,
    height,
    padding: [8, xText ? 28 : 20, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: true, y: false } },
    scales: { x: { time }, y: log ? { distr: 3 } : {} },
    axes: [
      { ...axis, size: 28, values: (_, ticks) => ticks.map((tick) => xText ? xText(tick) : (tick >= 10000 ? `${tick / 1000}k` : String(tick))) },
      { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : metric(tick))) },
    ],
    series: [{}, ...series.map((s, i) => {
      const colour = colours[i % COLOURS]!;
      const few = s.points.length < 40 && series.length <= KEYS_MAX;
      return { label: s.label, stroke: colour, width: 1.6, spanGaps: false, points: { show: few, size: 4, fill: colour } };
    })],
    hooks: { setCursor: [(u) => onMove(u.cursor.idx ?? null)] },
  };
}
