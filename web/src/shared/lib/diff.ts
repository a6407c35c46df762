// Which lines two texts have in common, and which lie in one of them only: Myers' shortest edit, for configurations and source files.
export interface DiffLine {
  kind: "same" | "gone" | "new";
  text: string;
}

/** Texts that differ in more lines than this are shown as all gone, all new: nobody reads such a diff. */
const EDITS_MAX = 2000;

export function diffLines(before: string[], after: string[]): DiffLine[] {
  const [n, m] = [before.length, after.length];
  const trace: Map<number, number>[] = [];
  let reach = new Map<number, number>([[1, 0]]);
  for (let d = 0; d <= Math.min(n + m, EDITS_MAX); d++) {
    trace.push(new Map(reach));
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && reach.get(k - 1)! < reach.get(k + 1)!) ? reach.get(k + 1)! : reach.get(k - 1)! + 1;
      while (x < n && x - k < m && before[x] === after[x - k]) x++;
      reach.set(k, x);
      if (x >= n && x - k >= m) return walked(trace, before, after, d);
    }
    reach = new Map(reach);
  }
  return [...before.map((text): DiffLine => ({ kind: "gone", text })), ...after.map((text): DiffLine => ({ kind: "new", text }))];
}

function walked(trace: Map<number, number>[], before: string[], after: string[], edits: number): DiffLine[] {
  const found: DiffLine[] = [];
  let [x, y] = [before.length, after.length];
  for (let d = edits; d > 0; d--) {
    const reach = trace[d]!;
    const k = x - y;
    const from = k === -d || (k !== d && reach.get(k - 1)! < reach.get(k + 1)!) ? k + 1 : k - 1;
    const [fromX, fromY] = [reach.get(from)!, reach.get(from)! - from];
    while (x > fromX && y > fromY) { found.push({ kind: "same", text: before[--x]! }); y--; }
    if (x > fromX) found.push({ kind: "gone", text: before[--x]! });
    else found.push({ kind: "new", text: after[--y]! });
  }
  while (x > 0) { found.push({ kind: "same", text: before[--x]! }); }
  return found.reverse();
}

/** The lines around changes; what lies between them is left out, as `null` once. */
export function hunks(lines: DiffLine[], around = 3): (DiffLine | null)[] {
  const near = lines.map((_, i) => lines.slice(Math.max(0, i - around), i + around + 1).some((line) => line.kind !== "same"));
  return lines.flatMap((line, i): (DiffLine | null)[] => (near[i] ? [line] : i > 0 && near[i - 1] === false ? [] : [null]));
}
