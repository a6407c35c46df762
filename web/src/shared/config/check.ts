// What is wrong with a configuration, while it is typed: first its YAML, then what the schema says; each with its line.
import { type Schema, Validator } from "@cfworker/json-schema";
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

const DRAFT = "7";
const validator = new Validator(schema, DRAFT, false);

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
/** Keywords of errors that say that a key is missing. */
const IS_MISSING = new Set(["required", "if", "then", "else", "allOf", "anyOf", "oneOf"]);
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

/** A map in YAML, or what is wrong with it. */
export function readMap(text: string): Checked {
  let value: unknown;
  try {
    value = load(text);
  } catch (error) {
    const { reason, mark } = error as { reason?: string; mark?: { line: number } };
    return { value: null, mistakes: [{ line: mark ? mark.line + 1 : null, text: reason ?? (error as Error).message }] };
  }
  if (value === undefined || value === null) return { value: null, mistakes: [{ line: null, text: "The configuration is empty" }] };
  if (typeof value !== "object" || Array.isArray(value)) return { value: null, mistakes: [{ line: 1, text: "A configuration is a map: key: value" }] };
  return { value: value as Record<string, unknown>, mistakes: [] };
}

type Fault = ReturnType<Validator["validate"]>["errors"][number];

/** The validator's errors as mistakes, in the order of their lines. `below`: the keys under which the text has the value that was checked. */
function mistakesOf(text: string, errors: Fault[], below: string[] = []): Mistake[] {
  const seen = new Set<string>();
  const mistakes = errors.filter((one) => !NAMELESS.has(one.keyword)).flatMap((one): Mistake[] => {
    const sentence = said(one);
    if (seen.has(sentence)) return [];
    seen.add(sentence);
    return [{ line: lineOf(text, [...below, ...one.instanceLocation.replace(/^#\/?/, "").split("/").filter(Boolean)]), text: sentence }];
  });
  return mistakes.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

export function check(text: string): Checked {
  const read = readMap(text);
  return read.value ? { value: read.value, mistakes: mistakesOf(text, validator.validate(read.value).errors) } : read;
}

// ---- policies ----

const WHOLE_FROM_0: Schema = { type: ["integer", "null"], minimum: 0 };
const DURATION: Schema = { type: ["integer", "string", "null"] };
const policySchema: Schema = {
  type: "object",
  additionalProperties: false,
  properties: {
    invariant_config: { type: ["object", "null"] },
    constraints: {
      type: ["object", "null"],
      additionalProperties: false,
      properties: {
        resources: { type: ["object", "null"], additionalProperties: false, properties: { max_slots: WHOLE_FROM_0, max_time: DURATION, max_idle_time: DURATION } },
        priority_limit: { type: ["integer", "null"], minimum: 1, maximum: 99 },
      },
    },
  },
};
const policyValidator = new Validator(policySchema, DRAFT, false);

/** Checks a configuration policy. Its invariant_config for experiments is a part of a configuration: no key in it may be wrong, and none is required. */
export function checkPolicy(text: string, ofExperiments: boolean): Checked {
  const read = readMap(text);
  if (!read.value) return read;
  const set = read.value.invariant_config;
  const parts = ofExperiments && set && typeof set === "object" && !Array.isArray(set) ? validator.validate(set).errors.filter((one) => !IS_MISSING.has(one.keyword)) : [];
  return { value: read.value, mistakes: [...mistakesOf(text, policyValidator.validate(read.value).errors), ...mistakesOf(text, parts, ["invariant_config"])] };
}
