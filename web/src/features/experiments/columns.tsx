// The columns of the list of experiments: those that stand there at first, and any hyperparameter or metric of the project.
import type { ProjectColumn, SearchExperimentExperiment } from "@shared/api/routes.gen";
import { shownName } from "@shared/api/me";
import { plain } from "@shared/lib/ansi";
import { to } from "@shared/lib/address";
import { bytes, metric, words } from "@shared/lib/format";
import { Progress } from "@shared/ui/Progress";
import { StateBadge, toneOf } from "@shared/ui/StateBadge";
import type { Column } from "@shared/ui/Table";
import { Ago, Took } from "@shared/ui/Time";

export type Row = SearchExperimentExperiment;
const NOTHING = <span class="muted">–</span>;

export const COLUMNS: Column<Row>[] = [
  { key: "id", title: "ID", width: "66px", sort: "down", wide: true, cell: ({ experiment: x }) => <span class="muted number">{x!.id}</span> },
  { key: "name", title: "Name", width: "minmax(120px, 3fr)", sort: "up", cell: ({ experiment: x }) => (
    <>
      <a href={to(`experiments/${x!.id}`)} title={plain(x!.name)}>{plain(x!.name)}</a>
      {x!.archived && <span class="muted">archived</span>}
    </>
  ) },
  { key: "state", title: "State", width: "140px", sort: "up", cell: ({ experiment: x }) => <StateBadge state={x!.state} title={x!.failure} /> },
  { key: "progress", title: "Progress", width: "minmax(96px, 120px)", sort: "down", wide: true, cell: ({ experiment: x }) =>
    x!.progress === null ? <span class="muted">–</span> : <Progress value={Number(x!.progress)} label="Progress" tone={barTone(x!.state)} /> },
  { key: "searcherMetricsVal", title: "Best metric", width: "112px", sort: "up", end: true, wide: true, cell: ({ experiment: x }) =>
    x!.bestTrialSearcherMetric === undefined ? <span class="muted">–</span> : <span class="cut" title={plain(x!.searcherMetric)}>{metric(x!.bestTrialSearcherMetric)}</span> },
  { key: "numTrials", title: "Trials", width: "82px", sort: "down", end: true, wide: true, cell: ({ experiment: x }) => x!.numTrials.toLocaleString("en") },
  { key: "user", title: "Owner", width: "112px", sort: "up", wide: true, cell: ({ experiment: x }) => <span class="cut">{plain(shownName(x!))}</span> },
  { key: "startTime", title: "Started", width: "100px", sort: "down", wide: true, cell: ({ experiment: x }) => <Ago time={x!.startTime} /> },
  { key: "duration", title: "Took", width: "110px", sort: "down", wide: true, cell: ({ experiment: x }) => <Took start={x!.startTime} end={x!.endTime} /> },
];

function barTone(state: string) {
  const tone = toneOf(state);
  return tone === "wait" ? "idle" : tone;
}


/** Further columns of the API's list, by their names there. */
const MORE: Column<Row>[] = [
  { key: "description", title: "Description", width: "minmax(120px, 2fr)", sort: "up", wide: true, cell: ({ experiment: x }) => <span class="cut" title={plain(x!.description)}>{plain(x!.description)}</span> },
  { key: "tags", title: "Labels", width: "minmax(90px, 1fr)", wide: true, cell: ({ experiment: x }) => <span class="cut">{x!.labels.map(plain).join(", ")}</span> },
  { key: "resourcePool", title: "Pool", width: "110px", sort: "up", wide: true, cell: ({ experiment: x }) => <span class="cut">{plain(x!.resourcePool)}</span> },
  { key: "searcherType", title: "Searcher", width: "120px", sort: "up", wide: true, cell: ({ experiment: x }) => <span class="cut">{words(`X_${x!.searcherType}`)}</span> },
  { key: "searcherMetric", title: "Searcher's metric", width: "130px", wide: true, cell: ({ experiment: x }) => <span class="cut">{plain(x!.searcherMetric)}</span> },
  { key: "endTime", title: "Ended", width: "100px", sort: "down", wide: true, cell: ({ experiment: x }) => <Ago time={x!.endTime} /> },
  { key: "forkedFrom", title: "Forked from", width: "104px", sort: "down", end: true, wide: true, cell: ({ experiment: x }) => (x!.forkedFrom === null ? NOTHING : x!.forkedFrom) },
  { key: "checkpointCount", title: "Checkpoints", width: "110px", sort: "down", end: true, wide: true, cell: ({ experiment: x }) => x!.checkpointCount.toLocaleString("en") },
  { key: "checkpointSize", title: "Size", width: "96px", sort: "down", end: true, wide: true, cell: ({ experiment: x }) => bytes(x!.checkpointSize) },
];
const KNOWN = new Map([...COLUMNS, ...MORE].map((column) => [column.key, column]));
export const FIRST = COLUMNS.map((column) => column.key);

const GROUPS: Record<string, string> = { training: "avg_metrics", validation: "validation_metrics" };

/** A hyperparameter or a metric of the best trial, by the API's name of the column: hp.lr, validation.loss.min. */
function valueOf(row: Row, key: string): unknown {
  const [first, ...rest] = key.split(".");
  const trial = row.bestTrial;
  if (!trial) return undefined;
  if (first === "hp") return rest.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], trial.hparams ?? {});
  const [what, name] = [rest.at(-1)!, rest.slice(0, -1).join(".")];
  const group = (trial.summaryMetrics ?? {})[GROUPS[first!] ?? first!] as Record<string, Record<string, unknown>> | undefined;
  return group?.[name]?.[what];
}

const computed = (key: string, title: string): Column<Row> => ({
  key, title, width: "minmax(104px, 140px)", sort: "up", end: true, wide: true,
  cell: (row) => { const value = valueOf(row, key); return value === undefined ? NOTHING : <span class="cut" title={plain(metric(value))}>{plain(metric(value))}</span>; },
});

export const titleOf = (key: string) => KNOWN.get(key)?.title ?? plain(key.replace(/^hp\./, ""));
export const columnOf = (key: string): Column<Row> => KNOWN.get(key) ?? computed(key, titleOf(key));
export const isComputed = (key: string) => !KNOWN.has(key);

/** What can be chosen in this project: the list's own columns, then hyperparameters and metrics. */
export function choicesOf(columns: ProjectColumn[]): { key: string; title: string; group: string }[] {
  const groupOf = (key: string) => (key.startsWith("hp.") ? "Hyperparameters" : /^(training|validation)\./.test(key) ? "Metrics" : "Metrics of other groups");
  const computedOnes = columns.map((c) => c.column).filter((key) => /^hp\.|\.(min|max|mean|last)$/.test(key));
  return [...[...KNOWN.keys()].map((key) => ({ key, title: titleOf(key), group: "Experiment" })), ...computedOnes.map((key) => ({ key, title: titleOf(key), group: groupOf(key) }))];
}
