// Messages of the WebSocket of updates: the subscription, the kind of object that a message is about, and the requests whose answers it makes old.
export type Kind = "projects" | "models" | "modelversions";

/** The master takes at most this many ids in one list. */
export const IDS_MAX = 10_000;

export const TOUCHED: Record<Kind, RegExp[]> = {
  projects: [/^api\/v1\/projects\//, /^api\/v1\/workspaces\b/],
  models: [/^api\/v1\/models?\b/],
  modelversions: [/^api\/v1\/models?\b/, /^api\/v1\/checkpoints?\b/],
};

/** Whether the master tells of changes now: the WebSocket is open, and its first answer has come. */
export const updates = { told: false };

/** Requests of whose changes the master tells all: models with their versions. Of projects it does not tell how many experiments they have. */
export const isTold = (path: string) => updates.told && TOUCHED.models.some((one) => one.test(path));

const NAMES: Record<string, Kind> = {
  project: "projects", projects_deleted: "projects", model: "models", models_deleted: "models", modelversion: "modelversions", modelversions_deleted: "modelversions",
};

export const subscription = ({ workspaces, users }: { workspaces: number[]; users: number[] }) => ({
  sync_id: "1",
  known: { projects: "", models: "", modelversions: "" },
  subscribe: {
    projects: { workspace_ids: workspaces, project_ids: [], since: 0 },
    models: { workspace_ids: workspaces, model_ids: [], user_ids: [], since: 0 },
    modelversions: { model_ids: [], model_version_ids: [], user_ids: users, since: 0 },
  },
});

/** What a message is about; "complete": from here on come changes only. Nothing: a message that this page does not know. */
export function kindOf(data: string): Kind | "complete" | null {
  let message: unknown;
  try {
    message = JSON.parse(data);
  } catch {
    return null;
  }
  if (typeof message !== "object" || message === null) return null;
  if ("complete" in message) return message.complete === true ? "complete" : null;
  return Object.keys(message).flatMap((name) => (Object.hasOwn(NAMES, name) ? [NAMES[name]!] : []))[0] ?? null;
}
