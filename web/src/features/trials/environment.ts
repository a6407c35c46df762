// What a trial ran in, as facts with names: the same names as those of `det trial compare-environments`, and the environment of the configuration.
import type { AllocationEnvironment, HostEnvironment, PythonEnvironment } from "@shared/api/routes.gen";
import { flatten } from "@shared/lib/flatten";

export type Fact = [name: string, value: string];
export type Config = Record<string, unknown> | null;

export interface Difference {
  name: string;
  first: string;
  second: string;
}

/** "2 x Tesla T4, 1 x Xeon": neighbours of one brand are counted together. */
export function devicesOf(devices: { brand: string }[]): string {
  const groups: { brand: string; n: number }[] = [];
  for (const { brand } of devices) {
    const last = groups.at(-1);
    if (last?.brand === brand) last.n++;
    else groups.push({ brand, n: 1 });
  }
  return groups.map(({ brand, n }) => `${n} x ${brand}`).join(", ");
}

const known = (facts: Fact[]) => facts.filter(([, value]) => value !== "");
const sorted = (map: Record<string, string>): Fact[] => Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));

export const machineFacts = (host: HostEnvironment | null): Fact[] => (host ? known([
  ["host", host.hostname], ["image", host.image], ["system", host.os], ["kernel", host.kernel], ["architecture", host.architecture], ["processor", host.processor],
  ["memory", Number(host.memoryBytes) > 0 ? `${Math.floor(Number(host.memoryBytes) / 1024 ** 2)} MiB` : ""], ["driver", host.driver], ["devices", devicesOf(host.devices)],
]) : []);

export const pythonFacts = (python: PythonEnvironment | null): Fact[] => (python ? known([["interpreter", python.executable], ["python", python.version]]) : []);
export const packagesOf = (python: PythonEnvironment | null): Fact[] => (python ? sorted(python.packages) : []);

const isNothing = (value: unknown) => value === null || (Array.isArray(value) && value.length === 0);

/** The part `environment` of a configuration, each key by its path, without those that hold nothing. Passwords in it are hidden by the master. */
export const configurationFacts = (config: Config): Fact[] =>
  known(Object.entries(flatten({ environment: config?.environment ?? {} })).map(([name, value]): Fact => [name, isNothing(value) ? "" : typeof value === "string" ? value : JSON.stringify(value)]));

/** The first container of the last run of which machine and Python are known, else of the last run. */
export function chosenOf(all: AllocationEnvironment[]): AllocationEnvironment | null {
  return all.reduce<AllocationEnvironment | null>((best, one) => {
    if (!best || (one.python && !best.python)) return one;
    return Boolean(one.python) === Boolean(best.python) && one.trialRunId > best.trialRunId ? one : best;
  }, null);
}

export const factsOf = (record: AllocationEnvironment | null, config: Config): Fact[] => [
  ...configurationFacts(config), ...machineFacts(record?.host ?? null), ...pythonFacts(record?.python ?? null),
  ...packagesOf(record?.python ?? null).map(([name, version]): Fact => [`package ${name}`, version]),
];

const rankOf = (name: string) => (name.startsWith("environment.") ? 0 : name.startsWith("package ") ? 2 : 1);

/** What two trials do not have in common: what their configurations ask for, then machine and Python, then packages by name. */
export function differences(first: Fact[], second: Fact[]): Difference[] {
  const [a, b] = [new Map(first), new Map(second)];
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((name) => {
    const [x, y] = [a.get(name) ?? "", b.get(name) ?? ""];
    return x === y ? [] : [{ name, first: x, second: y }];
  }).sort((x, y) => rankOf(x.name) - rankOf(y.name) || (rankOf(x.name) === 2 ? (x.name < y.name ? -1 : 1) : 0));
}
