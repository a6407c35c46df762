// How much of the cluster was in use. Up to a week is computed from single allocations, longer times from the sums of days.
import { useMemo } from "preact/hooks";
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { useParameter } from "@shared/lib/address";
import { now as clockNow } from "@shared/lib/clock";
import { useNow } from "@shared/lib/hooks";
import { datesOf, dayName, lastDays, useSummary } from "@shared/usage/usage";
import { utilisation } from "@shared/usage/utilisation";
import { Chart, type Series } from "@shared/ui/Chart";
import { Failure, Waiting } from "@shared/ui/Empty";
import { Choice } from "@shared/ui/Form";

const SPANS: [string, string][] = [["6", "6 hours"], ["24", "Day"], ["168", "Week"], ["720", "30 days"]];
const PARTS = 96;
const STEP_S = 60;
const HOUR_MS = 3_600_000;
const DAY_H = 24;

export function History() {
  const [hours, setHours] = useParameter("history", "24");
  const n = Number(hours) || 24;
  return (
    <section class="panel">
      <header class="wraps"><h2>Slots in use over time</h2><Choice label="Time" quiet value={hours} options={SPANS} onChange={setHours} /></header>
      <div class="body">{n > 168 ? <OverDays days={n / DAY_H} /> : <OverHours hours={n} />}</div>
    </section>
  );
}

function OverHours({ hours }: { hours: number }) {
  const now = Math.floor(useNow() / (STEP_S * 1000)) * STEP_S * 1000;
  const from = now - hours * HOUR_MS;
  const call = api.resourceAllocationRaw({ timestampAfter: new Date(from).toISOString(), timestampBefore: new Date(now).toISOString() });
  const { data, error } = useApi(call, { keep: true });
  const series = useMemo((): Series[] => {
    const { there, used } = utilisation(data?.resourceEntries ?? [], from, now, PARTS);
    return data?.resourceEntries.length ? [{ key: "used", label: "in use", points: used }, { key: "there", label: "available", points: there }] : [];
  }, [data]);
  const text = (x: number) => new Date(x * 1000).toLocaleString([], hours > DAY_H ? { weekday: "short", hour: "2-digit", minute: "2-digit", hour12: false } : { hour: "2-digit", minute: "2-digit", hour12: false });
  if (error && !data) return <Failure error={error} />;
  return data ? <Chart label="Slots" time series={series} xLabel="" xText={text} height={180} instead={<p class="nothing">No agent was connected</p>} /> : <Waiting lines={4} />;
}

function OverDays({ days }: { days: number }) {
  const span = useMemo(() => lastDays(days, clockNow()), [days]);
  const { data, error } = useSummary(span);
  const dates = datesOf(span);
  const series = useMemo((): Series[] => {
    const line = (key: string, label: string, of: (row: NonNullable<typeof data>[number]) => number): Series => ({ key, label, points: dates.map((date, i) => [i, (data ?? []).filter((row) => row.date === date).reduce((sum, row) => sum + of(row), 0) / DAY_H]) });
    return data?.length ? [line("used", "in use", (row) => row.used), line("there", "available", (row) => row.available)] : [];
  }, [data]);
  if (error && !data) return <Failure error={error} />;
  return data ? <Chart label="Slots, means of days" series={series} xLabel="" xText={(i) => dayName(dates[i])} height={180} instead={<p class="nothing">No agent was connected</p>} /> : <Waiting lines={4} />;
}
