// The audit log, newest first, from a route that reads it from the oldest on: which span is asked for next, and what a record says.
import type { AuditRecord } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { toYaml } from "@shared/lib/yaml";

/** The master gives at most this many records at once. */
export const RECORDS_MAX = 1000;
const SPAN_MAX = RECORDS_MAX * 256;

/** Numbers of records: those after `after`, up to and with `upTo`. */
export interface Span {
  after: number;
  upTo: number;
}

/** The newest records. A span no larger than a reply is read whole, whatever the filter. */
export const newest = (head: number, base: number): Span => ({ after: Math.max(base, head - RECORDS_MAX), upTo: head });

/** The records before those of a span. A span that held few of the wanted ones is followed by a larger one, so that what is rare is found soon. */
export function older(span: Span, base: number, found: number): Span | null {
  if (span.after <= base) return null;
  const size = span.upTo - span.after;
  const next = found * 8 < RECORDS_MAX ? Math.min(SPAN_MAX, size * 4) : RECORDS_MAX;
  return { after: Math.max(base, span.after - Math.max(RECORDS_MAX, next)), upTo: span.after };
}

/** A reply that is full may have left out the span's newest records: then a span is asked for that a reply holds for certain. */
export const isWhole = (span: Span, records: AuditRecord[]) => span.upTo - span.after <= RECORDS_MAX || records.length < RECORDS_MAX;
export const narrowed = (span: Span): Span => ({ after: span.upTo - RECORDS_MAX, upTo: span.upTo });

/** Values of an object as lines: its JSON as YAML, or the text as it is. */
export function valuesOf(text: string | undefined): string {
  if (!text) return "";
  try {
    return toYaml(JSON.parse(text));
  } catch {
    return text;
  }
}

const LATELY: Record<string, string> = { insert: "created", update: "changed", delete: "deleted" };
export const deedOf = (r: AuditRecord) => `${LATELY[r.action] ?? plain(r.action)} ${plain(r.kind).replaceAll("_", " ")} ${plain(r.objectId)}`.trim();

/** Names of what differs between before and after, as "name, settings". */
export function changesOf(r: AuditRecord): string {
  try {
    const [before, after] = [JSON.parse(r.before || "{}") as Record<string, unknown>, JSON.parse(r.after || "{}") as Record<string, unknown>];
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
    return names.map(plain).join(", ");
  } catch {
    return "";
  }
}

export const fits = (r: AuditRecord, text: string) => {
  const wanted = text.toLowerCase();
  return !wanted || [r.username, r.kind, r.objectId, r.action, r.route, r.address, r.before ?? "", r.after ?? ""].some((value) => value.toLowerCase().includes(wanted));
};
