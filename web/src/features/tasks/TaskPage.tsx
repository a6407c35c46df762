import { useQuery } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { send } from "@shared/api/client";
import { useApi, useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Task } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { to } from "@shared/lib/address";
import { words } from "@shared/lib/format";
import { useTitle } from "@shared/lib/hooks";
import { toYaml } from "@shared/lib/yaml";
import { LogPanel } from "@shared/logs/LogPanel";
import { Button } from "@shared/ui/Button";
import { Confirm } from "@shared/ui/Dialog";
import { Failure, Waiting } from "@shared/ui/Empty";
import { StateBadge } from "@shared/ui/StateBadge";
import { Tabs } from "@shared/ui/Tabs";
import { Ago, Took } from "@shared/ui/Time";
import { say, sayError } from "@shared/ui/Toast";
import { Killing, useKilling } from "./Killing";
import { type AnyTask, hasTaskEnded, KINDS, type Kind } from "./kinds";
import { addressOf } from "./opening";

const EVERY_MS = 3000;
const KIND_OF: Record<string, string> = { TASK_TYPE_NOTEBOOK: "notebook", TASK_TYPE_SHELL: "shell", TASK_TYPE_COMMAND: "command", TASK_TYPE_TENSORBOARD: "tensorboard" };
const SINGLE = {
  notebook: (id: string) => send(api.getNotebook({ notebookId: id })).then(({ notebook, config }) => ({ task: notebook as AnyTask, config })),
  shell: (id: string) => send(api.getShell({ shellId: id })).then(({ shell, config }) => ({ task: shell as AnyTask, config })),
  command: (id: string) => send(api.getCommand({ commandId: id })).then(({ command, config }) => ({ task: command as AnyTask, config })),
  tensorboard: (id: string) => send(api.getTensorboard({ tensorboardId: id })).then(({ tensorboard, config }) => ({ task: tensorboard as AnyTask, config })),
};

/** A task by its id, whatever its kind is. */
export function TaskPage({ id, tab }: { id: string; tab: "logs" | "configuration" }) {
  const { data, error, refetch } = useApi(api.getTask({ taskId: id }), { every: EVERY_MS });
  const task = data?.task;
  useTitle(`Task ${id.slice(0, 8)}`);
  if (error && !task) return <Failure error={error} retry={() => void refetch()} />;
  if (!task) return <Waiting lines={6} />;
  const kind = KINDS.find((one) => one.name === KIND_OF[task.taskType]);
  return kind ? <LaunchedTask id={id} kind={kind} about={task} tab={tab} /> : <GenericTask id={id} about={task} tab={tab} />;
}

const tabsOf = (id: string) => [{ key: "logs", title: "Log", href: to(`tasks/${id}/logs`) }, { key: "configuration", title: "Configuration", href: to(`tasks/${id}/configuration`) }];

const TaskLog = ({ id, ended }: { id: string; ended: boolean }) => (
  <LogPanel id={`task ${id}`} label={`Log of task ${id}`} call={(wanted) => api.taskLogs({ taskId: id, ...wanted })} fields={(follow) => api.taskLogsFields({ taskId: id, follow })} ended={ended} />
);

const Source = ({ text }: { text: string }) => (
  <section class="panel"><pre class="source" tabIndex={0} aria-label="The configuration">{text.split("\n").map(plain).join("\n")}</pre></section>
);

function LaunchedTask({ id, kind, about, tab }: { id: string; kind: Kind; about: Task; tab: string }) {
  const { data, error, refetch } = useQuery({ queryKey: ["task", kind.name, id], queryFn: () => SINGLE[kind.name](id), refetchInterval: EVERY_MS });
  const killing = useKilling();
  const task = data?.task;
  useTitle(plain(task?.description ?? id));
  if (error && !task) return <Failure error={error} retry={() => void refetch()} />;
  if (!task) return <Waiting lines={6} />;
  const ended = hasTaskEnded(task.state);
  return (
    <div class={`page ${tab === "logs" ? "fills" : ""}`}>
      <header class="page-head">
        <div class="grow">
          <nav class="crumbs" aria-label="Where this is"><a href={to(`tasks?kind=${kind.name}`)}>{kind.title}s</a></nav>
          <div class="row wraps">
            <h1 class="cut" title={plain(task.description)}>{plain(task.description) || id}</h1>
            <StateBadge state={task.state} title={task.exitStatus} />
            <span class="muted number summary">
              <span>{plain(task.displayName || task.username)}, pool {plain(task.resourcePool)}</span>
              <span>started <Ago time={task.startTime} /></span>
              <span>{ended ? "took" : "runs for"} <Took start={task.startTime} end={about.endTime ?? (ended ? task.startTime : null)} /></span>
              {task.experimentIds && task.experimentIds.length > 0 && <span>experiments {task.experimentIds.map((x, i) => <span key={x}>{i > 0 && ", "}<a href={to(`experiments/${x}`)}>{x}</a></span>)}</span>}
            </span>
          </div>
          {ended && task.exitStatus && <p class="muted">{plain(task.exitStatus)}</p>}
        </div>
        <div class="row unprinted">
          {!ended && <Button onClick={() => killing.ask({ kind, task })}>Kill</Button>}
          {kind.opens && !ended && <a class="button primary" href={addressOf(task)} target="_blank" rel="noopener">Open the {kind.title}</a>}
        </div>
      </header>
      {kind.name === "shell" && !ended && <p class="muted">Open it in a terminal: <code>det shell open {id}</code></p>}
      <Tabs label="Parts of the task" now={tab} tabs={tabsOf(id)} />
      {tab === "logs" ? <TaskLog id={id} ended={ended} /> : <Source text={toYaml(data.config ?? {})} />}
      <Killing {...killing} />
    </div>
  );
}

/** A generic task has states and a tree of its own. */
function GenericTask({ id, about, tab }: { id: string; about: Task; tab: string }) {
  const { data } = useApi(api.getGenericTaskConfig({ taskId: id }), { enabled: about.taskType === "TASK_TYPE_GENERIC" });
  const [asking, setAsking] = useState(false);
  const kill = useChange(() => api.killGenericTask({ taskId: id }));
  const pause = useChange((on: boolean) => (on ? api.pauseGenericTask({ taskId: id }) : api.unpauseGenericTask({ taskId: id })));
  const state = (about.taskState ?? "").replace("GENERIC_TASK_", "");
  const ended = Boolean(about.endTime) || /COMPLETED|CANCELED|ERROR/.test(state);
  const paused = state === "STATE_PAUSED";
  return (
    <div class={`page ${tab === "logs" ? "fills" : ""}`}>
      <header class="page-head">
        <div class="grow">
          <nav class="crumbs" aria-label="Where this is"><a href={to("tasks")}>Tasks</a></nav>
          <div class="row wraps">
            <h1 class="mono">{id.slice(0, 13)}</h1>
            {state && <StateBadge state={`STATE_${state.replace("STATE_", "")}`} />}
            <span class="muted number summary"><span>{words(about.taskType.replace("TASK_", ""))} task</span><span>started <Ago time={about.startTime} /></span>
              {about.parentId && <span>below <a href={to(`tasks/${about.parentId}`)}>{about.parentId.slice(0, 8)}</a></span>}
              {about.childIds.length > 0 && <span>above {about.childIds.map((child) => <a key={child} href={to(`tasks/${child}`)}>{child.slice(0, 8)} </a>)}</span>}
            </span>
          </div>
        </div>
        {about.taskType === "TASK_TYPE_GENERIC" && !ended && (
          <div class="row unprinted">
            {!about.noPause && <Button busy={pause.isPending} onClick={() => pause.mutate(!paused, { onError: sayError })}>{paused ? "Go on" : "Pause"}</Button>}
            <Button onClick={() => setAsking(true)}>Kill</Button>
          </div>
        )}
      </header>
      <Tabs label="Parts of the task" now={tab} tabs={tabsOf(id)} />
      {tab === "logs" ? <TaskLog id={id} ended={ended} /> : <Source text={data?.config ?? about.config ?? ""} />}
      {asking && <Confirm title="Kill this task?" action="Kill" danger busy={kill.isPending} onClose={() => setAsking(false)}
        onConfirm={() => kill.mutate(undefined, { onSuccess: () => { setAsking(false); say("The task is being killed."); }, onError: (error) => { setAsking(false); sayError(error); } })}>
        It ends at once, and so do the tasks below it. What they have not saved is lost.</Confirm>}
    </div>
  );
}
