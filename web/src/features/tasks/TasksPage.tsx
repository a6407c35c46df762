import { useQueries } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { useAll } from "@shared/api/lists";
import { queryOf } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { useUser } from "@shared/api/me";
import { plain } from "@shared/lib/ansi";
import { count, words } from "@shared/lib/format";
import { to, useParameter } from "@shared/lib/address";
import { useTitle } from "@shared/lib/hooks";
import { Button } from "@shared/ui/Button";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { CheckField, Choice, SearchField } from "@shared/ui/Form";
import { Menu } from "@shared/ui/Menu";
import { StateBadge } from "@shared/ui/StateBadge";
import { type Column, Table } from "@shared/ui/Table";
import { Ago } from "@shared/ui/Time";
import { Killing, useKilling } from "./Killing";
import { fitsTask, hasTaskEnded, KINDS, type TaskRow } from "./kinds";
import { addressOf } from "./opening";
import { StartNotebook } from "./StartNotebook";
import { StartTensorboard } from "./StartTensorboard";

const EVERY_MS = 4000;

const COLUMNS: Column<TaskRow>[] = [
  { key: "name", title: "Task", width: "minmax(140px, 3fr)", cell: ({ task }) => <a href={to(`tasks/${task.id}`)} title={plain(task.description)}>{plain(task.description) || task.id}</a> },
  { key: "kind", title: "Kind", width: "110px", wide: true, cell: ({ kind }) => kind.title },
  { key: "state", title: "State", width: "130px", cell: ({ task }) => <StateBadge state={task.state} title={task.exitStatus} /> },
  { key: "user", title: "Owner", width: "minmax(90px, 1fr)", wide: true, cell: ({ task }) => <span class="cut">{plain(task.displayName || task.username)}</span> },
  { key: "pool", title: "Pool", width: "minmax(90px, 1fr)", wide: true, cell: ({ task }) => <span class="cut">{plain(task.resourcePool)}</span> },
  { key: "start", title: "Started", width: "104px", wide: true, cell: ({ task }) => <Ago time={task.startTime} /> },
  { key: "exit", title: "How it ended", width: "minmax(110px, 2fr)", wide: true, cell: ({ task }) => <span class="cut muted" title={plain(task.exitStatus)}>{plain(task.exitStatus)}</span> },
];

/** All kinds in one list, the newest first. */
function useTasks() {
  const results = useQueries({ queries: KINDS.map((kind) => queryOf(kind.list(), EVERY_MS)) });
  const rows = KINDS.flatMap((kind, i) => (results[i]?.data === undefined ? [] : kind.listed(results[i]!.data as never).map((task): TaskRow => ({ kind, task }))));
  rows.sort((a, b) => (b.task.startTime ?? "").localeCompare(a.task.startTime ?? ""));
  return { rows, known: results.every((result) => result.data !== undefined), error: results.find((result) => result.error)?.error ?? null };
}

export function TasksPage() {
  useTitle("Tasks");
  const [text, setText] = useParameter("q");
  const [kind, setKind] = useParameter("kind", "all");
  const [mine, setMine] = useParameter("mine");
  const [ended, setEnded] = useParameter("ended");
  const [starting, setStarting] = useParameter("start");
  const user = useUser();
  const { rows, known, error } = useTasks();
  const killing = useKilling();
  const shown = rows.filter((row) => (kind === "all" || row.kind.name === kind) && (!mine || row.task.userId === user?.id) && (ended || !hasTaskEnded(row.task.state)) && fitsTask(row, text));
  const live = rows.filter(({ task }) => !hasTaskEnded(task.state)).length;
  return (
    <div class="page fills">
      <header class="page-head">
        <h1>Tasks</h1>
        <span class="muted number" aria-live="polite">{known ? `${count(live, "task")} running or waiting` : ""}</span>
        <span class="grow" />
        <Button onClick={() => setStarting("tensorboard")}>TensorBoard</Button>
        <Button kind="primary" onClick={() => setStarting("notebook")}>New notebook</Button>
      </header>
      <div class="toolbar unprinted">
        <SearchField label="Search by name, ID or owner" value={text} onInput={(value) => setText(value || null)} />
        <Choice label="Kind" quiet value={kind} onChange={setKind} options={[["all", "All"], ["notebook", "Notebooks"], ["tensorboard", "TensorBoards"], ["shell", "Shells"], ["command", "Commands"]]} />
        <CheckField label="Only mine" checked={Boolean(mine)} onChange={(on) => setMine(on ? "1" : null)} />
        <CheckField label="Ended, too" checked={Boolean(ended)} onChange={(on) => setEnded(on ? "1" : null)} />
      </div>
      <section class="panel fills">
        {error && !known ? <Failure error={error} /> : (
          <Table label="Tasks" fill columns={COLUMNS} count={shown.length} at={(i) => shown[i]} rowKey={({ task }) => task.id} href={({ task }) => to(`tasks/${task.id}`)}
            menu={(row) => <Menu label={`Actions of task ${plain(row.task.description || row.task.id)}`} actions={[
              ...(row.kind.opens ? [{ label: `Open the ${row.kind.title}`, refused: hasTaskEnded(row.task.state) ? "It has ended" : undefined, perform: () => void open(addressOf(row.task), "_blank", "noopener") }] : []),
              { label: "Kill", danger: true, refused: hasTaskEnded(row.task.state) ? "It has ended" : undefined, perform: () => killing.ask(row) },
            ]} />}
            instead={!known ? <Waiting lines={6} /> : text || kind !== "all" || mine ? <Empty title="No task fits">Nothing fits the search and the filters above.</Empty>
              : <Empty title="No task runs">Start a notebook here, or a shell with <code>det shell start</code>. Trials of experiments are on their experiments' pages.</Empty>} />
        )}
      </section>
      <GenericTasks />
      <Killing {...killing} />
      {starting === "notebook" && <StartNotebook onClose={() => setStarting(null)} />}
      {starting === "tensorboard" && <StartTensorboard onClose={() => setStarting(null)} />}
    </div>
  );
}

/** Generic tasks that run or wait; the API lists them among the jobs. */
function GenericTasks() {
  const { rows } = useAll((offset, limit) => api.getJobsV2({ offset, limit }), (reply) => reply.jobs, { every: EVERY_MS });
  const [all, setAll] = useState(false);
  const jobs = (rows ?? []).flatMap(({ full }) => (full?.type === "TYPE_GENERIC" ? [full] : []));
  if (jobs.length === 0) return null;
  return (
    <section class="panel">
      <header><h2>Generic tasks <span class="muted number">{jobs.length}</span></h2>{jobs.length > 5 && <Button kind="bare" onClick={() => setAll(!all)}>{all ? "Fewer" : "All"}</Button>}</header>
      <ul class="body stack close">
        {jobs.slice(0, all ? undefined : 5).map((job) => (
          <li key={job.jobId} class="row"><a class="cut" href={to(`tasks/${job.entityId}`)}>{plain(job.name || job.entityId)}</a><StateBadge state={job.summary?.state ?? ""} /><span class="muted cut">{plain(job.username)}, {words(job.type)}</span></li>
        ))}
      </ul>
    </section>
  );
}

