// Experiments or trials beside each other: their metrics in one chart each, hyperparameters as a table of what differs, configurations as a diff.
import { useQueries } from "@tanstack/preact-query";
import { useMemo, useState } from "preact/hooks";
import { queryOf, useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Experiment, Trial } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { to, useParameter } from "@shared/lib/address";
import { flatten } from "@shared/lib/flatten";
import { metric } from "@shared/lib/format";
import { useTitle } from "@shared/lib/hooks";
import { namesOf } from "@shared/lib/metric-names";
import { csv, saveAs } from "@shared/lib/save";
import { toYaml } from "@shared/lib/yaml";
import { Button } from "@shared/ui/Button";
import { Chart, type Series } from "@shared/ui/Chart";
import { Diff } from "@shared/ui/Diff";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { CheckField, SearchField, SelectField } from "@shared/ui/Form";
import { Sheet } from "@shared/ui/Sheet";
import { StateBadge } from "@shared/ui/StateBadge";
import { Tabs } from "@shared/ui/Tabs";
import "./experiments.css";

const MAX = 50;
const EVERY_MS = 5000;
const POINTS_MAX = 500;
const CHARTS_MAX = 24;
const TABS = [["metrics", "Metrics"], ["hyperparameters", "Hyperparameters"], ["configuration", "Configuration"]] as const;

const idsOf = (text: string) => [...new Set(text.split(",").filter((part) => /^\d{1,9}$/.test(part)).map(Number))].slice(0, MAX);

export function ComparePage() {
  useTitle("Compare");
  const [experiments, setExperiments] = useParameter("experiments");
  const [tab] = useParameter("tab", "metrics");
  const ids = idsOf(experiments);
  const results = useQueries({ queries: ids.map((experimentId) => queryOf(api.getExperiment({ experimentId }), EVERY_MS)) });
  const found = results.flatMap((result) => (result.data?.experiment ? [{ x: result.data.experiment, config: result.data.config }] : []));
  const error = results.find((result) => result.error)?.error;
  const { trials, known } = useTrials(found);
  const keep = (wanted: number[]) => setExperiments(wanted.join(",") || null);
  return (
    <div class="page">
      <header class="page-head"><h1>Compare</h1><span class="muted number">{ids.length} experiments</span></header>
      <div class="toolbar unprinted">
        {found.map(({ x }) => <span key={x.id} class="chip"><a href={to(`experiments/${x.id}`)}>{x.id} {plain(x.name).slice(0, 40)}</a><StateBadge state={x.state} /><button type="button" aria-label={`Leave out experiment ${x.id}`} onClick={() => keep(ids.filter((id) => id !== x.id))}>×</button></span>)}
        <AddField ids={ids} add={(id) => keep([...ids, id])} />
      </div>
      {error && <p class="mistake" role="alert">{error.message}</p>}
      {ids.length === 0 ? <section class="panel"><Empty title="Nothing to compare yet">Select experiments in the list and press Compare, or name one by its ID above.</Empty></section> : (
        <>
          <Tabs label="What is compared" now={tab} tabs={TABS.map(([key, title]) => ({ key, title, href: to(`compare?experiments=${ids.join(",")}&tab=${key}`) }))} />
          {found.length === 0 && !error && <section class="panel"><Waiting lines={6} /></section>}
          {tab === "metrics" && found.length > 0 && <Metrics found={found} trials={trials} known={known} />}
          {tab === "hyperparameters" && found.length > 0 && <Differences found={found} trials={trials} />}
          {tab === "configuration" && found.length > 0 && <Configurations found={found} />}
        </>
      )}
    </div>
  );
}

function AddField({ ids, add }: { ids: number[]; add: (id: number) => void }) {
  const [text, setText] = useState("");
  const submit = (event: Event) => { event.preventDefault(); const id = Number(text); if (id > 0 && !ids.includes(id)) add(id); setText(""); };
  return <form class="row" onSubmit={submit}><input class="input add" inputMode="numeric" aria-label="Experiment to add" placeholder="ID" value={text} onInput={(event) => setText(event.currentTarget.value.replace(/\D/g, ""))} /><Button type="submit" disabled={!text || ids.length >= MAX}>Add</Button></form>;
}

/** The best trial of each experiment, or its first one while there is no best: whole, with the names of its metrics. */
function useTrials(found: Found[]): { trials: Trial[]; known: boolean } {
  const firsts = useQueries({ queries: found.map(({ x }) => queryOf(api.getExperimentTrials({ experimentId: x.id, limit: 1, sortBy: "SORT_BY_BEST_VALIDATION_METRIC" }), EVERY_MS)) });
  const ids = firsts.flatMap((result) => result.data?.trials.map((t) => t.id) ?? []);
  const whole = useQueries({ queries: ids.map((trialId) => queryOf(api.getTrial({ trialId }), EVERY_MS)) });
  return { trials: whole.flatMap((result) => (result.data?.trial ? [result.data.trial] : [])), known: firsts.every((result) => result.data) && whole.every((result) => result.data) };
}

function Metrics({ found, trials, known }: { found: Found[]; trials: Trial[]; known: boolean }) {
  const [log, setLog] = useParameter("log");
  const [smoothing, setSmoothing] = useParameter("smooth", "0");
  const [wanted, setWanted] = useParameter("metric");
  const shownIds = trials.map((t) => t.id);
  const nameOf = (t: Trial) => `${t.experimentId} ${plain(found.find(({ x }) => x.id === t.experimentId)?.x.name ?? "")}`;
  const all = [...new Set(trials.flatMap((t) => namesOf(t.summaryMetrics).map(({ group, name }) => `${group}.${name}`)))].sort((a, b) => Number(b.startsWith("validation.")) - Number(a.startsWith("validation.")) || a.localeCompare(b));
  const metricIds = all.filter((name) => name.toLowerCase().includes(wanted.toLowerCase())).slice(0, CHARTS_MAX);
  const { data, error } = useApi(api.compareTrials({ trialIds: shownIds, metricIds, maxDatapoints: POINTS_MAX }), { every: EVERY_MS, keep: true, enabled: metricIds.length > 0 });
  const charts = useMemo(() => metricIds.map((id) => ({ id, series: (data?.trials ?? []).flatMap(({ trial, metrics }): Series[] => {
    const group = metrics.find((m) => id.startsWith(`${m.group}.`));
    const name = group ? id.slice(group.group.length + 1) : "";
    const points = (group?.data ?? []).filter((p) => p.values && name in p.values).map((p) => [p.batches, p.values![name]] as [number, unknown]);
    return points.length && trial ? [{ key: String(trial.id), label: nameOf(trial), points }] : [];
  }) })), [data, metricIds.join("\n")]);
  if (error && !data) return <Failure error={error} />;
  if (!known && trials.length === 0) return <section class="panel"><Waiting lines={6} /></section>;
  return (
    <div class="stack">
      <div class="toolbar unprinted">
        <SearchField label="Find a metric" value={wanted} onInput={(value) => setWanted(value || null)} />
        <SelectField label="Smoothing" quiet value={smoothing as "0"} options={[["0", "As reported"], ["0.6", "Smoothed"], ["0.9", "Smoother"], ["0.97", "Smoothest"]] as never} onChange={setSmoothing} />
        <CheckField label="Log scale" checked={Boolean(log)} onChange={(on) => setLog(on ? "1" : null)} />
        <span class="muted">The best trial of each experiment</span>
      </div>
      {all.length === 0 && <section class="panel"><Empty title="No metrics yet">None of these trials has reported numbers.</Empty></section>}
      <div class="tiles">
        {charts.map(({ id, series }) => <section key={id} class="panel"><header><h2 class="cut" title={plain(id)}>{plain(id)}</h2></header><div class="body"><Chart label={plain(id)} series={series} log={Boolean(log)} smoothing={Number(smoothing)} height={220} instead={data ? undefined : <p class="nothing">Loading</p>} /></div></section>)}
      </div>
    </div>
  );
}

interface Found {
  x: Experiment;
  config: Record<string, unknown> | null;
}

/** Of the best trials: one row for each hyperparameter, one column for each experiment; those that differ first. */
function Differences({ found, trials }: { found: Found[]; trials: Trial[] }) {
  const [same, setSame] = useParameter("same");
  const columns = found.map(({ x }) => flatten(trials.find((t) => t.experimentId === x.id)?.hparams ?? {}));
  const text = (value: unknown) => (value === undefined ? "–" : plain(typeof value === "string" ? value : JSON.stringify(value)));
  const names = [...new Set(columns.flatMap((one) => Object.keys(one)))].sort();
  const rows = names.map((name) => ({ name, values: columns.map((one) => one[name]), differs: new Set(columns.map((one) => text(one[name]))).size > 1 }));
  const shown = same ? rows : rows.filter((row) => row.differs);
  const save = () => saveAs("hyperparameters.csv", csv([["hyperparameter", ...found.map(({ x }) => `${x.id} ${x.name}`)], ...rows.map((row) => [row.name, ...row.values.map((value) => (typeof value === "object" ? JSON.stringify(value) : value))])]));
  return (
    <section class="panel">
      <header><CheckField label="Those that are the same, too" checked={Boolean(same)} onChange={(on) => setSame(on ? "1" : null)} /><Button kind="bare" onClick={save}>Save as CSV</Button></header>
      {shown.length === 0 ? <Empty title="No difference">All {names.length} hyperparameters are the same.</Empty> : (
        <Sheet label="Hyperparameters" name="Hyperparameter" heads={found.map(({ x }) => <><a href={to(`experiments/${x.id}`)}>{x.id}</a> {plain(x.name)}</>)}
          rows={shown.map((row) => ({ ...row, cells: row.values.map((value) => (typeof value === "number" ? metric(value) : text(value))) }))} />
      )}
    </section>
  );
}

function Configurations({ found }: { found: Found[] }) {
  const [base, setBase] = useState(String(found[0]!.x.id));
  const [other, setOther] = useState(String((found[1] ?? found[0]!).x.id));
  const options = found.map(({ x }) => [String(x.id), `${x.id} ${plain(x.name)}`] as [string, string]);
  const of = (id: string) => toYaml((found.find(({ x }) => String(x.id) === id) ?? found[0]!).config ?? {});
  if (found.length < 2) return <section class="panel"><Empty title="Only one experiment">Add another one above: then the difference of their configurations stands here.</Empty></section>;
  return (
    <section class="panel">
      <header class="wraps"><span class="row"><SelectField label="From" quiet value={base} options={options} onChange={setBase} /><span class="muted">and</span><SelectField label="To" quiet value={other} options={options} onChange={setOther} /></span></header>
      <Diff before={of(base)} after={of(other)} label={`Configuration of experiment ${base} and of experiment ${other}`} />
    </section>
  );
}
