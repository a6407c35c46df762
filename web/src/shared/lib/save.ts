// Gives the reader a file that the page has made.
const TYPES: Record<string, string> = { csv: "text/csv", json: "application/json", yaml: "application/yaml", txt: "text/plain" };

export function saveAs(name: string, content: string | Blob): void {
  const blob = typeof content === "string" ? new Blob([content], { type: TYPES[name.split(".").pop()!] ?? "text/plain" }) : content;
  const url = URL.createObjectURL(blob);
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A cell that a spreadsheet would take for a formula is quoted as text. */
const cell = (value: unknown) => {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?[\d.]+(e[+-]?\d+)?$/i.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export const csv = (rows: unknown[][]) => `${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;

/** "Usage by user" as usage-by-user.csv. */
export const fileName = (name: string, ending: string) => `${name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 80) || "table"}.${ending}`;
