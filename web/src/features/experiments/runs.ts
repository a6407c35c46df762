// Runs (trials) of a project as one flat list: the API's filter, and what can be done with many of them.
import type { Call } from "@shared/api/call";
import * as api from "@shared/api/routes.gen";
import type { FlatRun } from "@shared/api/routes.gen";
import { hasEnded, isLive } from "@shared/lib/states";

type Results = { results: { id: number; error: string }[] };

export interface RunBulk {
  verb: string;
  label: string;
  done: string;
  applies: (run: FlatRun) => boolean;
  send: (projectId: number, runIds: number[]) => Call<Results>;
  undo?: string;
  warning?: string;
}

export const RUN_BULK: RunBulk[] = [
  { verb: "pause", label: "Pause", done: "paused", undo: "resume", applies: (r) => isLive(r.state), send: (projectId, runIds) => api.pauseRuns({ projectId, runIds }) },
  { verb: "resume", label: "Activate", done: "activated", undo: "pause", applies: (r) => r.state === "STATE_PAUSED", send: (projectId, runIds) => api.resumeRuns({ projectId, runIds }) },
  { verb: "kill", label: "Kill", done: "killed", applies: (r) => !hasEnded(r.state), send: (projectId, runIds) => api.killRuns({ projectId, runIds }), warning: "They end at once. What they have done since their last checkpoints is lost." },
  { verb: "archive", label: "Archive", done: "archived", undo: "unarchive", applies: (r) => hasEnded(r.state) && !r.archived, send: (projectId, runIds) => api.archiveRuns({ projectId, runIds }) },
  { verb: "unarchive", label: "Unarchive", done: "unarchived", undo: "archive", applies: (r) => r.archived, send: (projectId, runIds) => api.unarchiveRuns({ projectId, runIds }) },
  { verb: "delete", label: "Delete", done: "being deleted", applies: (r) => hasEnded(r.state), send: (projectId, runIds) => api.deleteRuns({ projectId, runIds }), warning: "Metrics, logs and checkpoints are removed for good." },
];
export const runBulkOf = (verb: string) => RUN_BULK.find((one) => one.verb === verb)!;

type State = "all" | "active" | "completed" | "failed";
const STATES: Record<Exclude<State, "all">, string[]> = { active: ["ACTIVE", "QUEUED", "PULLING", "STARTING", "RUNNING", "PAUSED"], completed: ["COMPLETED"], failed: ["ERROR", "CANCELED"] };

const field = (columnName: string, operator: string, value: unknown) => ({ kind: "field", columnName, operator, value, location: "LOCATION_TYPE_RUN" });
const either = (children: object[]) => ({ kind: "group", conjunction: "or", children });

/** The API's filter of a search text (a part of the experiment's name, or the run's number), a state, and archived runs or none. */
export function runFilter(text: string, state: string, archived: boolean): string {
  const wanted = text.trim();
  const children: object[] = [];
  if (wanted) children.push(either([field("experimentName", "contains", wanted), ...(/^\d{1,9}$/.test(wanted) ? [field("id", "=", Number(wanted))] : [])]));
  if (state in STATES) children.push(either(STATES[state as Exclude<State, "all">].map((name) => field("state", "=", name))));
  return JSON.stringify({ filterGroup: { kind: "group", conjunction: "and", children }, showArchived: archived });
}
