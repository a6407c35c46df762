// What is wrong with a configuration, while it is typed: first its YAML, then what the schema says; each with its line.
import { Validator } from "@cfworker/json-schema";
import { load } from "js-yaml";
import { schema } from "@shared/config/schema.gen";

export interface Mistake {
  /** counted from 1; nothing: it is about the whole */
  line: number | null;
  text: string;
}

export interface Checked {
  value: Record<string, unknown> | null;
  mistakes: Mistake[];
}

const validator = new Validator(schema, "7", false);

/** The line on which a key of nested maps stands, by indentation; lists count their items. */
export function lineOf(text: string, path: string[]): number | null {
  const lines = text.split("\n");
  let [from, indent, found] = [0, -1, null as number | null];
  for (const key of path) {
    const wanted = /^\d+$/.test(key) ? null : key;
    let [at, count, level] = [-1, -1, -1];
    for (let i = from; i < lines.length; i++) {
      const line = lines[i]!;
      if (!line.trim() || line.trim().startsWith("#")) continue;
      const depth = line.search(/[^ ]/);
      if (depth <= indent) break;
      if (level < 0) level = depth;
      if (depth !== level) continue;
      const rest = line.slice(depth).replace(/^- +/, "");
      if (wanted === null ? line[depth] === "-" && ++count === Number(key) : new RegExp(`^["']?${wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}["']?\\s*:`).test(rest)) { at = i; break; }
    }
    if (at < 0) return found;
    [from, indent, found] = [at + 1, level, at + 1];
  }
  return found;
}

const NAMELESS = new Set(["if", "then", "else", "allOf", "anyOf", "oneOf", "properties", "additionalProperties", "items", "$ref", "not"]);
/** The validator's words, as a person says it. */
const plainly = (error: string) => error
  .replace(/^Instance does not match any of \[(.*)\]\.$/, (_, all: string) => `allowed is one of ${all.split(",").filter((one) => one !== "null").join(", ").replaceAll('"', "")}`)
  .replace(/^Instance type "(\w+)" is invalid\. Expected (.*)\.$/, (_, given: string, wanted: string) => `allowed is ${wanted.replaceAll('"', "").replace(/, null$/, "").replaceAll(", ", " or ")}, not ${given}`)
  .replace(/^Instance /, "").replace(/\.$/, "");

/** One sentence for each mistake: what the validator says about groups of rules repeats what it says about their parts. */
function said({ keyword, error, instanceLocation }: { keyword: string; error: string; instanceLocation: string }): string {
  const key = instanceLocation.replace(/^#\/?/, "").replaceAll("/", ".");
  return keyword === "false" ? `There is no key ${key}` : key ? `${key}: ${plainly(error)}` : plainly(error);
}

export function check(text: string): Checked {
  let value: unknown;
  try {
    value = load(text);
  } catch (error) {
    const { reason, mark } = error as { reason?: string; mark?: { line: number } };
    return { value: null, mistakes: [{ line: mark ? mark.line + 1 : null, text: reason ?? (error as Error).message }] };
  }
  if (value === undefined || value === null) return { value: null, mistakes: [{ line: null, text: "The configuration is empty" }] };
  if (typeof value !== "object" || Array.isArray(value)) return { value: null, mistakes: [{ line: 1, text: "A configuration is a map: key: value" }] };
  const { errors } = validator.validate(value);
  const seen = new Set<string>();
  const mistakes = errors.filter((one) => !NAMELESS.has(one.keyword)).flatMap((one): Mistake[] => {
    const sentence = said(one);
    if (seen.has(sentence)) return [];
    seen.add(sentence);
    return [{ line: lineOf(text, one.instanceLocation.replace(/^#\/?/, "").split("/").filter(Boolean)), text: sentence }];
  });
  return { value: value as Record<string, unknown>, mistakes: mistakes.sort((a, b) => (a.line ?? 0) - (b.line ?? 0)) };
}
