// The kinds of tasks that people start: how each is listed, shown and ended, in one table.
import * as api from "@shared/api/routes.gen";
import type { Command, Notebook, Shell, Tensorboard } from "@shared/api/routes.gen";
import type { Call } from "@shared/api/call";

export type AnyTask = (Notebook | Shell | Command | Tensorboard) & { serviceAddress?: string; experimentIds?: number[] };
export type KindName = "notebook" | "shell" | "command" | "tensorboard";

export interface Kind {
  name: KindName;
  title: string;
  /** whether a browser can open it */
  opens: boolean;
  list: () => Call<unknown>;
  listed: (reply: never) => AnyTask[];
  kill: (id: string) => Call<unknown>;
}

export const KINDS: Kind[] = [
  { name: "notebook", title: "Notebook", opens: true, list: () => api.getNotebooks({}), listed: (reply: { notebooks: Notebook[] }) => reply.notebooks, kill: (notebookId) => api.killNotebook({ notebookId }) },
  { name: "tensorboard", title: "TensorBoard", opens: true, list: () => api.getTensorboards({}), listed: (reply: { tensorboards: Tensorboard[] }) => reply.tensorboards, kill: (tensorboardId) => api.killTensorboard({ tensorboardId }) },
  { name: "shell", title: "Shell", opens: false, list: () => api.getShells({}), listed: (reply: { shells: Shell[] }) => reply.shells, kill: (shellId) => api.killShell({ shellId }) },
  { name: "command", title: "Command", opens: false, list: () => api.getCommands({}), listed: (reply: { commands: Command[] }) => reply.commands, kill: (commandId) => api.killCommand({ commandId }) },
];

export interface TaskRow {
  kind: Kind;
  task: AnyTask;
}

/** The states of tasks have a spelling of their own. */
export const hasTaskEnded = (state: string) => state === "STATE_TERMINATED" || state === "STATE_TERMINATING";
export const isReady = (state: string) => state === "STATE_RUNNING";
export const fitsTask = ({ task, kind }: TaskRow, text: string) =>
  `${task.description} ${task.id} ${task.username} ${kind.title}`.toLowerCase().includes(text.toLowerCase());
