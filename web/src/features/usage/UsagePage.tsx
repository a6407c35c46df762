import { useMemo } from "preact/hooks";
import { plain } from "@shared/lib/ansi";
import { now } from "@shared/lib/clock";
import { to, useParameter } from "@shared/lib/address";
import { count } from "@shared/lib/format";
import { useTitle } from "@shared/lib/hooks";
import { type By, datesOf, dayName, type Days, lastDays, linkOf, type Total, totalsOf, useShares, useSummary, wholeOf } from "@shared/usage/usage";
import { Chart, type Series } from "@shared/ui/Chart";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { Choice, SelectField } from "@shared/ui/Form";
import { Load } from "@shared/ui/Progress";
import { type Column, Table } from "@shared/ui/Table";
import "./usage.css";

const SPANS: [string, string][] = [["7", "7 days"], ["30", "30 days"], ["90", "90 days"], ["365", "12 months"]];
const BY: [By, string][] = [["username", "User"], ["workspace", "Workspace"], ["experiment", "Experiment"], ["resource_pool", "Resource pool"], ["experiment_label", "Label"], ["task_type", "Kind of task"], ["agent", "Agent"]];
const LINES_MAX = 8;

const hours = (value: number) => (value === 0 ? "0" : value < 0.01 ? "< 0.01" : value < 10 ? value.toPrecision(2) : Math.round(value).toLocaleString("en"));
const money = (value: number | null) => (value === null ? "–" : value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 }));
const percent = (part: number | null) => (part === null ? "–" : `${Math.round(part * 100)} %`);

export function UsagePage() {
  useTitle("Usage");
  const [span, setSpan] = useParameter("days", "30");
  const [by, setBy] = useParameter("by", "username");
  const days = useMemo(() => lastDays(Number(span) || 30, now()), [span]);
  const summary = useSummary(days);
  const shares = useShares(days, by as By);
  const totals = useMemo(() => totalsOf(shares.data ?? []).filter((t) => t.used > 0), [shares.data]);
  const all = wholeOf(summary.data ?? []);
  const priced = totals.some((t) => t.cost !== null);
  const title = BY.find(([key]) => key === by)?.[1] ?? by;
  return (
    <div class="page">
      <header class="page-head"><h1>Usage</h1><span class="grow" /><a class="button unprinted" href={linkOf(days, by as By)} download={`usage-by-${by}.csv`}>CSV</a></header>
      <div class="toolbar unprinted">
        <Choice label="Time" quiet value={span} options={SPANS} onChange={setSpan} />
        <SelectField label="By" quiet value={by} options={BY.map(([key, text]) => [key, `By ${text.toLowerCase()}`] as [string, string])} onChange={setBy} />
        <span class="muted">Days and months are those of UTC.</span>
      </div>
      {summary.error && !summary.data ? <Failure error={summary.error} /> : <Figures all={all} known={summary.data !== undefined} />}
      <section class="panel"><header><h2>Slot-hours over time</h2></header><div class="body">
        {shares.data ? <Over days={days} totals={totals} /> : shares.error ? <Failure error={shares.error} /> : <Waiting lines={5} />}
      </div></section>
      {(shares.data || !shares.error) && <section class="panel">
        <Table label={`Usage by ${title.toLowerCase()}`} columns={columnsOf(title, by as By, all.used, priced)} count={totals.length} at={(i) => totals[i]} rowKey={(t) => t.key}
          instead={shares.data ? <Empty title="Nothing was used">No slot was in use in this time.</Empty> : <Waiting lines={4} />} />
      </section>}
    </div>
  );
}

function Figures({ all, known }: { all: ReturnType<typeof wholeOf>; known: boolean }) {
  const figures: [string, string, string][] = [
    ["Used", hours(all.used), "slot-hours"], ["Available", hours(all.available), "slot-hours"], ["Idle", percent(all.idle), "of what was available"], ["Failed", hours(all.failed), "slot-hours"], ["Cost", money(all.cost), all.cost === null ? "no pool has a price" : "at today's prices"],
  ];
  return (
    <dl class="figures panel" aria-busy={!known}>
      {figures.map(([name, value, unit]) => <div key={name}><dt>{name}</dt><dd><b class="number">{known ? value : "…"}</b> <span class="muted">{unit}</span></dd></div>)}
    </dl>
  );
}

/** One line for each of the largest, and one for all others together. */
function Over({ days, totals }: { days: Days; totals: Total[] }) {
  const dates = useMemo(() => datesOf(days), [days]);
  const series = useMemo((): Series[] => {
    const line = (key: string, label: string, some: Total[]): Series => ({ key, label, points: dates.map((date, i) => [i, some.reduce((sum, t) => sum + (t.byDate.get(date) ?? 0), 0)]) });
    const rest = totals.slice(LINES_MAX);
    return [...totals.slice(0, LINES_MAX).map((t) => line(t.key, plain(t.key) || "none", [t])), ...(rest.length ? [line("", `${count(rest.length, "other")}`, rest)] : [])];
  }, [totals, dates]);
  return <Chart label="Slot-hours" series={series} xLabel="" xText={(i) => dayName(dates[i])} height={240} instead={<p class="nothing">Nothing was used</p>} />;
}

const columnsOf = (title: string, by: By, all: number, priced: boolean): Column<Total>[] => [
  { key: "key", title, width: "minmax(130px, 2fr)", cell: ({ key }) => by === "experiment" && /^\d+$/.test(key) ? <a href={to(`experiments/${key}`)}>Experiment {key}</a> : <span class="cut">{plain(key) || "none"}</span> },
  { key: "used", title: "Slot-hours", width: "96px", end: true, cell: (t) => hours(t.used), text: (t) => String(t.used) },
  { key: "share", title: "Share", width: "76px", end: true, cell: (t) => percent(all > 0 ? t.used / all : null) },
  { key: "bar", title: "", width: "minmax(80px, 2fr)", wide: true, head: <span class="unseen">Share as a bar</span>, cell: (t) => <Load used={t.used} total={all} label={`Share of ${plain(t.key)}`} /> },
  { key: "failed", title: "Failed", width: "86px", end: true, wide: true, cell: (t) => hours(t.failed), text: (t) => String(t.failed) },
  ...(priced ? [{ key: "cost", title: "Cost", width: "100px", end: true, cell: (t: Total) => money(t.cost) }] : []),
];
