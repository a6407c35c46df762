// The list's request: the API's filter language and order, from what the address bar says.
import type { Order } from "@shared/ui/Table";

export interface Wanted {
  text: string;
  state: "all" | "active" | "completed" | "failed";
  owner: string | null;
  archived: boolean;
  /** conditions of the filter dialog, as the API has them */
  conditions?: { any: boolean; nodes: Node[] };
}

export interface Node {
  kind: "group" | "field";
  [member: string]: unknown;
}

const group = (conjunction: "and" | "or", children: Node[]): Node => ({ kind: "group", conjunction, children });
const field = (columnName: string, operator: string, value: unknown): Node => ({ kind: "field", columnName, operator, value });

const ENDED: Record<"completed" | "failed", string[]> = { completed: ["COMPLETED"], failed: ["ERROR", "CANCELED"] };
const LAST = ["COMPLETED", "ERROR", "CANCELED", "DELETED", "DELETE_FAILED", "DELETING"];

/** The text is looked for in names and descriptions; a number is an id, too. */
const ofText = (text: string): Node =>
  group("or", [
    field("name", "contains", text),
    field("description", "contains", text),
    ...(/^\d{1,9}$/.test(text) ? [field("id", "=", Number(text))] : []),
  ]);

const ofState = (state: Wanted["state"]): Node =>
  state === "active" ? group("and", LAST.map((name) => field("state", "!=", name))) : group("or", ENDED[state as "completed" | "failed"].map((name) => field("state", "=", name)));

export function filterOf({ text, state, owner, archived, conditions }: Wanted): string {
  const children: Node[] = [];
  if (text.trim()) children.push(ofText(text.trim()));
  if (state !== "all") children.push(ofState(state));
  if (conditions?.nodes.length) children.push(group(conditions.any ? "or" : "and", conditions.nodes));
  if (owner) children.push(field("user", "=", owner));
  return JSON.stringify({ filterGroup: group("and", children), showArchived: archived });
}

/** "name" and "-name" in the address; "startTime=desc" for the API. */
export const orderOf = (text: string): Order => (text.startsWith("-") ? { key: text.slice(1), down: true } : { key: text, down: false });
export const textOf = ({ key, down }: Order) => (down ? `-${key}` : key);
export const sortOf = ({ key, down }: Order) => `${key}=${down ? "desc" : "asc"}`;
