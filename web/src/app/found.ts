// What the palette has found, best first.
export interface Found {
  kind: "page" | "experiment" | "trial" | "project" | "workspace" | "model" | "agent" | "task" | "user" | "group" | "document";
  name: string;
  detail: string;
  path: string;
  icon: string;
  /** whether what was typed is its id */
  exact?: boolean;
}

export const fits = (name: string, text: string) => name.toLowerCase().includes(text.toLowerCase());

/** Ids that are exactly what was typed, then names that begin with it, then names with a word that does; otherwise the order stays. */
export function ranked(found: Found[], text: string): Found[] {
  const wanted = text.toLowerCase();
  const rank = ({ exact, name, kind }: Found) => {
    const lower = name.toLowerCase();
    if (exact || kind === "trial") return 0;
    if (lower === wanted) return 1;
    if (lower.startsWith(wanted)) return 2;
    return lower.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(wanted)) ? 3 : 4;
  };
  return found.map((one, i) => ({ one, i, rank: rank(one) })).sort((a, b) => a.rank - b.rank || a.i - b.i).map(({ one }) => one);
}
