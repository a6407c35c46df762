// What can be done with many experiments at once: to which of the chosen it applies, how it is said, and how it is taken back.
import * as api from "@shared/api/routes.gen";
import type { Experiment } from "@shared/api/routes.gen";
import type { Call } from "@shared/api/call";
import { hasEnded, isLive } from "@shared/lib/states";

type Results = { results: { id: number; error: string }[] };

export interface Bulk {
  verb: string;
  label: string;
  /** "12 experiments are paused." */
  done: string;
  applies: (x: Experiment) => boolean;
  send: (projectId: number, ids: number[]) => Call<Results>;
  /** what takes it back; nothing: it is asked about before */
  undo?: string;
  warning?: string;
}

export const BULK: Bulk[] = [
  { verb: "pause", label: "Pause", done: "paused", undo: "activate", applies: (x) => isLive(x.state), send: (projectId, experimentIds) => api.pauseExperiments({ projectId, experimentIds }) },
  { verb: "activate", label: "Activate", done: "activated", undo: "pause", applies: (x) => x.state === "STATE_PAUSED", send: (projectId, experimentIds) => api.activateExperiments({ projectId, experimentIds }) },
  { verb: "stop", label: "Stop", done: "stopped", applies: (x) => isLive(x.state) || x.state === "STATE_PAUSED", send: (projectId, experimentIds) => api.cancelExperiments({ projectId, experimentIds }),
    warning: "Their trials save a checkpoint and end." },
  { verb: "kill", label: "Kill", done: "killed", applies: (x) => !hasEnded(x.state), send: (projectId, experimentIds) => api.killExperiments({ projectId, experimentIds }),
    warning: "They end at once. What their trials have done since their last checkpoints is lost." },
  { verb: "archive", label: "Archive", done: "archived", undo: "unarchive", applies: (x) => hasEnded(x.state) && !x.archived, send: (projectId, experimentIds) => api.archiveExperiments({ projectId, experimentIds }) },
  { verb: "unarchive", label: "Unarchive", done: "unarchived", undo: "archive", applies: (x) => x.archived, send: (projectId, experimentIds) => api.unarchiveExperiments({ projectId, experimentIds }) },
  { verb: "delete", label: "Delete", done: "being deleted", applies: (x) => hasEnded(x.state), send: (projectId, experimentIds) => api.deleteExperiments({ projectId, experimentIds }),
    warning: "Trials, metrics, logs and checkpoints are removed for good." },
];
export const bulkOf = (verb: string) => BULK.find((one) => one.verb === verb)!;
