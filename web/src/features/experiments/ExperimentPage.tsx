import { useState } from "preact/hooks";
import { useApi, useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { type Experiment, type GetExperimentResponse, served } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { bytes, metric, words } from "@shared/lib/format";
import { go, to } from "@shared/lib/address";
import { useTitle } from "@shared/lib/hooks";
import { pace } from "@shared/lib/states";
import { Notes } from "@shared/notes/Notes";
import { hasEnded } from "@shared/lib/states";
import { say, sayError } from "@shared/ui/Toast";
import { Button } from "@shared/ui/Button";
import { Confirm } from "@shared/ui/Dialog";
import { Failure, Waiting } from "@shared/ui/Empty";
import { type Action, Menu } from "@shared/ui/Menu";
import { Progress } from "@shared/ui/Progress";
import { StateBadge } from "@shared/ui/StateBadge";
import { Tabs } from "@shared/ui/Tabs";
import { Ago, Took } from "@shared/ui/Time";
import { shownName } from "@shared/api/me";
import { useExperimentActions } from "./actions";
import { Asking } from "./Asking";
import { BestTrials } from "./BestTrials";
import { Code } from "./Code";
import { Configuration } from "./Configuration";
import { ContinueDialog } from "./ContinueDialog";
import { EditDialog } from "./EditDialog";
import { ExperimentCheckpoints } from "./ExperimentCheckpoints";
import { Hyperparameters } from "./Hyperparameters";
import { MoveDialog } from "./MoveDialog";
import { TrialsTable } from "./TrialsTable";
import "./experiments.css";

export const TABS = [["overview", "Overview"], ["trials", "Trials"], ["hyperparameters", "Hyperparameters"], ["checkpoints", "Checkpoints"], ["code", "Code"], ["configuration", "Configuration"], ["notes", "Notes"]] as const;
export type Tab = (typeof TABS)[number][0];

export function ExperimentPage({ id, tab }: { id: number; tab: Tab }) {
  const { data, error, refetch } = useApi(api.getExperiment({ experimentId: id }), { every: (reply) => pace(reply?.experiment?.state) });
  const x = data?.experiment;
  const patch = useChange((experiment: { notes: string }) => api.patchExperiment({ experimentId: id, experiment }));
  useTitle(x ? plain(x.name) : `Experiment ${id}`);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data || !x) return <Waiting lines={6} />;
  return (
    <div class={`page ${tab === "trials" ? "fills" : ""}`}>
      <Head x={x} />
      <Tabs label="Parts of the experiment" now={tab} tabs={TABS.map(([key, title]) => ({ key, title: key === "trials" ? `${title} ${x.numTrials}` : title, href: to(`experiments/${id}/${key}`) }))} />
      {tab === "overview" && <Overview data={data} x={x} />}
      {tab === "trials" && <TrialsTable id={id} state={x.state} metricName={x.searcherMetric} />}
      {tab === "hyperparameters" && <Hyperparameters x={x} smaller={isSmallerBetter(data.config)} />}
      {tab === "checkpoints" && <ExperimentCheckpoints x={x} config={data.config} />}
      {tab === "code" && <Code id={id} />}
      {tab === "configuration" && <Configuration id={id} effective={data.config} submitted={x.originalConfig} />}
      {tab === "notes" && <Notes id={`experiment ${id}`} text={x.notes} save={(notes) => patch.mutateAsync({ notes })} />}
    </div>
  );
}

const isSmallerBetter = (config: Record<string, unknown> | null) => (config?.searcher as { smaller_is_better?: boolean } | undefined)?.smaller_is_better !== false;

type Opened = "edit" | "move" | "continue" | "delete";

/** What the menu of the page has beyond the list's. */
function useMore(x: Experiment) {
  const [open, setOpen] = useState<Opened | null>(null);
  const board = useChange(() => api.launchTensorboard({ experimentIds: [x.id] }));
  const remove = useChange(() => api.deleteExperiment({ experimentId: x.id }));
  const close = () => setOpen(null);
  const ended = hasEnded(x.state);
  const actions: (Action | null)[] = [
    null,
    { label: "Edit name and labels", perform: () => setOpen("edit") },
    ...(served.has("createExperiment") ? [{ label: "New experiment from this one", perform: () => go(`create?experiment=${x.id}`) }] : []),
    { label: "Continue", refused: !ended ? "Only an experiment that has ended can be continued" : x.unmanaged ? "It did not run on this cluster" : undefined, perform: () => setOpen("continue") },
    { label: "Move to another project", perform: () => setOpen("move") },
    { label: "Open in TensorBoard", perform: () => board.mutate(undefined, { onSuccess: ({ tensorboard }) => go(`tasks/${tensorboard!.id}`), onError: sayError }) },
    { label: "Compare with others", perform: () => go(`compare?experiments=${x.id}`) },
    { label: "Delete", danger: true, refused: ended ? undefined : "Only an experiment that has ended can be deleted", perform: () => setOpen("delete") },
  ];
  const drop = () => remove.mutate(undefined, { onSuccess: () => { say(`Experiment ${x.id} is being deleted.`); go(`projects/${x.projectId}`); }, onError: (error) => { close(); sayError(error); } });
  const dialogs = (
    <>
      {open === "edit" && <EditDialog x={x} onClose={close} />}
      {open === "move" && <MoveDialog ids={[x.id]} projectId={x.projectId} onClose={close} />}
      {open === "continue" && <ContinueDialog x={x} onClose={close} />}
      {open === "delete" && <Confirm title={`Delete experiment ${x.id}?`} action="Delete" danger busy={remove.isPending} onConfirm={drop} onClose={close}>
        “{plain(x.name)}” with its {x.numTrials} {x.numTrials === 1 ? "trial" : "trials"}, their metrics and logs, and {x.checkpointCount} checkpoints ({bytes(x.checkpointSize)}) are removed for good.</Confirm>}
    </>
  );
  return { actions, dialogs };
}

function Head({ x }: { x: Experiment }) {
  const actions = useExperimentActions();
  const more = useMore(x);
  const [first, ...rest] = actions.actionsOf(x);
  return (
    <header class="page-head">
      <div class="grow">
        <nav class="crumbs" aria-label="Where this is">
          <a href={to(`projects/${x.projectId}`)}>{plain(x.workspaceName)} / {plain(x.projectName)}</a>
        </nav>
        <div class="row wraps">
          <h1 class="cut" title={plain(x.name)}>{plain(x.name)}</h1>
          <span class="muted number">#{x.id}</span>
          <StateBadge state={x.state} />
          {x.archived && <span class="muted">archived</span>}
        </div>
      </div>
      <div class="row unprinted">
        {first && !first.refused && <Button busy={actions.busy} onClick={first.perform}>{first.label}</Button>}
        <Menu label={`Actions of experiment ${x.id}`} actions={[...(first?.refused ? [first, ...rest] : rest), ...more.actions]} />
      </div>
      <Asking actions={actions} />
      {more.dialogs}
    </header>
  );
}

function Overview({ data, x }: { data: GetExperimentResponse; x: Experiment }) {
  const waits = data.jobSummary?.reason;
  return (
    <div class="stack">
      {x.failure && <p class="mistake" role="status">{plain(x.failure)} <FailedLog x={x} /></p>}
      {waits && <p class="notice" role="status">Waiting: {plain(waits)}</p>}
      <div class="columns">
        <BestTrials x={x} />
        <section class="panel">
          <header><h2>Facts</h2></header>
          <div class="body"><Facts x={x} /></div>
        </section>
      </div>
    </div>
  );
}

/** "trial 22 failed: exit code 1" leads to that trial's log. */
function FailedLog({ x }: { x: Experiment }) {
  const trial = /^trial (\d+) /.exec(x.failure ?? "")?.[1];
  return trial ? <a href={to(`experiments/${x.id}/trials/${trial}/logs`)}>Its log</a> : null;
}

function Facts({ x }: { x: Experiment }) {
  return (
    <dl class="facts">
      <dt>Progress</dt>
      <dd>{x.progress === null ? "–" : <Progress value={Number(x.progress)} label="Progress" />}</dd>
      <dt>Best {plain(x.searcherMetric)}</dt>
      <dd class="number">
        {x.bestTrialSearcherMetric === undefined ? "–" : <><b>{metric(x.bestTrialSearcherMetric)}</b>{x.bestTrialId !== undefined && <> in <a href={to(`experiments/${x.id}/trials/${x.bestTrialId}`)}>trial {x.bestTrialId}</a></>}</>}
      </dd>
      <dt>Started</dt>
      <dd><Ago time={x.startTime} /></dd>
      <dt>{x.endTime ? "Took" : "Runs for"}</dt>
      <dd><Took start={x.startTime} end={x.endTime} /></dd>
      <dt>Owner</dt>
      <dd>{plain(shownName({ displayName: x.displayName, username: x.username }))}</dd>
      <dt>Searcher</dt>
      <dd>{words(`X_${x.searcherType}`)}, {x.numTrials} {x.numTrials === 1 ? "trial" : "trials"}</dd>
      <dt>Resource pool</dt>
      <dd>{plain(x.resourcePool)}</dd>
      <dt>Checkpoints</dt>
      <dd>{x.checkpointCount} ({bytes(x.checkpointSize)})</dd>
      {x.forkedFrom !== null && <><dt>Forked from</dt><dd><a href={to(`experiments/${x.forkedFrom}`)}>experiment {x.forkedFrom}</a></dd></>}
      {x.labels.length > 0 && <><dt>Labels</dt><dd>{x.labels.map(plain).join(", ")}</dd></>}
      {x.description && <><dt>Description</dt><dd>{plain(x.description)}</dd></>}
    </dl>
  );
}
