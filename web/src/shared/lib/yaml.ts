// Writes a value as YAML that a person can read and a parser reads back as the same value.

const PLAIN = /^[A-Za-z_./][\w ./@+-]*$/;
const WORDS = new Set(["true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"]);

function scalar(value: unknown): string {
  if (typeof value !== "string") return value === undefined ? "null" : JSON.stringify(value);
  const isPlain = PLAIN.test(value) && !WORDS.has(value.toLowerCase()) && !/ $/.test(value) && !/^\.(inf|nan)$/i.test(value) && !/^[.\d]+$/.test(value);
  return isPlain ? value : JSON.stringify(value);
}

const isEmpty = (value: object) => (Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0);

function lines(value: unknown, indent: string): string[] {
  if (typeof value !== "object" || value === null) return [indent + scalar(value)];
  if (isEmpty(value)) return [indent + (Array.isArray(value) ? "[]" : "{}")];
  if (Array.isArray(value))
    return value.flatMap((item) => {
      const [first, ...rest] = lines(item, `${indent}  `);
      return [`${indent}- ${first!.slice(indent.length + 2)}`, ...rest];
    });
  return Object.entries(value).flatMap(([key, item]) => {
    const nested = typeof item === "object" && item !== null && !isEmpty(item);
    return nested ? [`${indent}${scalar(key)}:`, ...lines(item, `${indent}  `)] : [`${indent}${scalar(key)}: ${lines(item, "")[0]}`];
  });
}

export const toYaml = (value: unknown) => lines(value, "").join("\n");
