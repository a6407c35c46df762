// Numbers, times and sizes as people read them. Pure functions: the time that counts as now is an argument.

const UNITS: [number, string][] = [
  [86400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
];

/** "42 s", "3 min 20 s", "5 h 12 min", "3 d 4 h". A browser's wrong clock gives no negative time. */
export function duration(seconds: number): string {
  let rest = Math.max(0, Math.round(seconds));
  for (const [i, [size, unit]] of UNITS.entries()) {
    if (rest < size && size > 1) continue;
    const whole = Math.floor(rest / size);
    rest -= whole * size;
    const next = UNITS[i + 1];
    const less = next ? Math.floor(rest / next[0]) : 0;
    return less > 0 && next ? `${whole} ${unit} ${less} ${next[1]}` : `${whole} ${unit}`;
  }
  return "0 s";
}

/** How long ago, in one unit: "just now", "4 min ago", "2 d ago". */
export function ago(time: string, nowMs: number): string {
  const seconds = (nowMs - Date.parse(time)) / 1000;
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 45) return "just now";
  const [size, unit] = UNITS.find(([length]) => seconds >= length * 0.95) ?? [60, "min"];
  return `${Math.max(1, Math.round(seconds / size))} ${unit} ago`;
}

/** The exact time in UTC, as in logs and replies. */
export const exact = (time: string) => `${new Date(time).toISOString().replace("T", " ").slice(0, 19)} UTC`;

export function secondsBetween(start: string | null | undefined, end: string | null | undefined, nowMs: number): number | null {
  if (!start) return null;
  return ((end ? Date.parse(end) : nowMs) - Date.parse(start)) / 1000;
}

/** Four significant digits, without noise: 0.1235, 1.235e-7, 12,346. Texts for what is no number. */
export function metric(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "number") return value === null || value === undefined ? "–" : JSON.stringify(value);
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(3).replace(/\.?0+e/, "e");
  return Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
}

export function bytes(value: string | number): string {
  let size = Number(value);
  for (const unit of ["B", "KB", "MB", "GB", "TB"]) {
    if (size < 1000 || unit === "TB") return `${unit === "B" ? size : size.toPrecision(3)} ${unit}`;
    size /= 1000;
  }
  return "";
}

export const count = (n: number, one: string, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/** How long a list is, and that it is cut if it is. */
export const counted = (shown: number, total: number, one: string, many = `${one}s`) => (total > shown ? `the first ${shown.toLocaleString("en")} of ${count(total, one, many)}` : count(shown, one, many));

/** "STATE_STOPPING_CANCELED" → "stopping canceled"; "TYPE_EXPERIMENT" → "experiment". */
export const words = (name: string) => name.replace(/^[A-Z]+?_/, "").replaceAll("_", " ").toLowerCase();

/** The API's number as a number: the texts of NaN and the infinities, too. */
export const toNumber = (value: unknown) => (typeof value === "number" ? value : typeof value === "string" ? Number(value) : Number.NaN);
