// Conditions of the list in the API's filter language, as they stand in the address: a JSON list of [column, operator, value].
import type { ProjectColumn } from "@shared/api/routes.gen";

export interface Condition {
  column: string;
  operator: string;
  value: string;
}

export type Kind = "text" | "number" | "date" | "array";

const KINDS: Record<string, Kind> = { COLUMN_TYPE_NUMBER: "number", COLUMN_TYPE_DATE: "date", COLUMN_TYPE_ARRAY: "array" };
export const kindOf = (column: ProjectColumn | undefined): Kind => KINDS[column?.type ?? ""] ?? "text";

const EMPTY = [["isEmpty", "is empty"], ["notEmpty", "is not empty"]] as const;
const ORDERED = [["=", "is"], ["!=", "is not"], ["<", "less than"], ["<=", "at most"], [">", "more than"], [">=", "at least"]] as const;
export const OPERATORS: Record<Kind, readonly (readonly [string, string])[]> = {
  text: [["contains", "contains"], ["notContains", "does not contain"], ["=", "is"], ["!=", "is not"], ...EMPTY],
  number: [...ORDERED, ...EMPTY],
  date: [["<", "before"], [">", "after"], ...EMPTY],
  array: [["contains", "contains"], ["notContains", "does not contain"], ...EMPTY],
};
export const needsValue = (operator: string) => operator !== "isEmpty" && operator !== "notEmpty";

export function readConditions(text: string): Condition[] {
  try {
    const list = JSON.parse(text || "[]") as unknown;
    if (!Array.isArray(list)) return [];
    return list.flatMap((row): Condition[] => (Array.isArray(row) && row.length === 3 && row.every((part): part is string => typeof part === "string") ? [{ column: row[0]!, operator: row[1]!, value: row[2]! }] : []));
  } catch {
    return [];
  }
}

export const writeConditions = (all: Condition[]) => (all.length ? JSON.stringify(all.map((c) => [c.column, c.operator, c.value])) : null);

/** What the API takes; numbers as numbers. */
export function nodeOf({ column, operator, value }: Condition, columns: ProjectColumn[]) {
  const known = columns.find((c) => c.column === column);
  const kind = kindOf(known);
  const sent = !needsValue(operator) ? null : kind === "number" ? Number(value) : kind === "date" ? new Date(value).toISOString() : value;
  return { kind: "field" as const, columnName: column, operator, value: sent, ...(known ? { location: known.location, type: known.type } : {}) };
}

/** Why a condition cannot be sent as it stands. */
export function mistakeOf({ column, operator, value }: Condition, columns: ProjectColumn[]): string | undefined {
  if (!needsValue(operator)) return undefined;
  const kind = kindOf(columns.find((c) => c.column === column));
  if (value.trim() === "") return "A value is missing";
  if (kind === "number" && !Number.isFinite(Number(value))) return `${value} is no number`;
  if (kind === "date" && Number.isNaN(Date.parse(value))) return `${value} is no date`;
  return undefined;
}
