import { words } from "@shared/lib/format";
import "./state.css";

type Tone = "good" | "busy" | "wait" | "bad" | "idle";

/** The tone of every state that the API names, of experiments, trials, jobs and agents. A new one is idle until it has its row here. */
const TONES: Record<string, Tone> = {
  ACTIVE: "busy", RUNNING: "busy", STARTING: "busy", PULLING: "busy", SCHEDULED: "busy", SCHEDULED_BACKFILLED: "busy",
  QUEUED: "wait", PAUSED: "idle",
  STOPPING_COMPLETED: "good", COMPLETED: "good",
  STOPPING_CANCELED: "idle", STOPPING_KILLED: "idle", CANCELED: "idle", DELETED: "idle", DELETING: "idle",
  STOPPING_ERROR: "bad", ERROR: "bad", DELETE_FAILED: "bad",
  TERMINATED: "idle", TERMINATING: "idle", WAITING: "wait", STOPPING_PAUSED: "idle",
  ENABLED: "good", DRAINING: "wait", DISABLED: "idle", LOST: "bad",
};
const MOVING = new Set(["RUNNING", "STARTING", "PULLING", "DELETING"]);

export const toneOf = (state: string): Tone => TONES[state.replace(/^STATE_/, "")] ?? "idle";

export function StateBadge({ state, title }: { state: string; title?: string | undefined }) {
  const name = state.replace(/^STATE_/, "");
  return (
    <span class={`state ${toneOf(state)} ${MOVING.has(name) || name.startsWith("STOPPING") ? "moving" : ""}`} title={title}>
      {words(`STATE_${name}`)}
    </span>
  );
}
