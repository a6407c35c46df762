// The directory of code that an experiment is created with, from files that were chosen or dropped.
import type { File as ContextFile } from "@shared/api/routes.gen";

export interface Entry {
  path: string;
  file: File;
}

/** The master refuses more than this in all. */
export const TOTAL_MAX = 95_000_000;
const LEFT_OUT = /(^|\/)(\.git|__pycache__|\.DS_Store|node_modules|\.venv)(\/|$)/;

const REGULAR = 48;

/** Drops the folder's own name, and what nobody wants to run: caches, repositories. */
export function entriesOf(files: Iterable<Entry>): Entry[] {
  const all = [...files].filter(({ path }) => !LEFT_OUT.test(path));
  const tops = new Set(all.map(({ path }) => path.split("/")[0]));
  const nested = tops.size === 1 && all.every(({ path }) => path.includes("/"));
  return all.map(({ path, file }) => ({ path: nested ? path.slice(path.indexOf("/") + 1) : path, file })).sort((a, b) => a.path.localeCompare(b.path));
}

export const chosen = (list: FileList) => entriesOf([...list].map((file) => ({ path: file.webkitRelativePath || file.name, file })));

async function walk(entry: FileSystemEntry, found: Entry[], before = ""): Promise<void> {
  const path = before + entry.name;
  if (entry.isFile) {
    found.push({ path, file: await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)) });
    return;
  }
  if (LEFT_OUT.test(path)) return;
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  // A reader gives at most a hundred at a time, and nothing at the end.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const one of some) await walk(one, found, `${path}/`);
  }
}

export async function dropped(items: DataTransferItemList): Promise<Entry[]> {
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const found: Entry[] = [];
  for (const entry of entries) await walk(entry, found);
  return entriesOf(found);
}

async function base64(file: File): Promise<string> {
  const data = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let i = 0; i < data.length; i += 32768) text += String.fromCharCode(...data.subarray(i, i + 32768));
  return btoa(text);
}

export const packed = (entries: Entry[]): Promise<ContextFile[]> =>
  Promise.all(entries.map(async ({ path, file }) => ({ path, type: REGULAR, content: await base64(file), mtime: String(Math.floor(file.lastModified / 1000)), mode: 0o644, uid: 0, gid: 0 })));
