// The pages, by their paths. A page is loaded when somebody first goes there; one whose routes this master does not serve is left out.
import type { ComponentType, JSX } from "preact";
import { served, type User } from "@shared/api/routes.gen";
import { readSetting } from "@shared/lib/settings";
import type { IconName } from "@shared/ui/icons";

export interface Page {
  /** segments below /det/; ":name" stands for a number, ":name=a|b" for one of these words, "?" after the last one for none */
  path: string;
  /** paths at which release 0.38.1 had the page: bookmarks and links of scripts go on working */
  also?: string[];
  /** names of routes that it needs, as routes.gen.ts has them */
  needs: string[];
  load: () => Promise<(parameters: Record<string, string>, user: User) => JSX.Element>;
  nav?: { title: string; icon: IconName; at: () => string };
}

type Module<Name extends string> = Promise<Record<Name, ComponentType<never>>>;

/** The component of a module as a page. */
const component = <Name extends string>(from: () => Module<Name>, name: Name, properties: (p: Record<string, string>, user: User) => object = () => ({})) =>
  async () => {
    const Found = (await from())[name] as ComponentType<object>;
    return (parameters: Record<string, string>, user: User) => <Found {...properties(parameters, user)} />;
  };

const ALL: Page[] = [
  { path: "", also: ["dashboard"], needs: ["getExperiments", "getResourcePools"], load: component(() => import("@features/home/HomePage"), "HomePage", (_, user) => ({ user })),
    nav: { title: "Home", icon: "home", at: () => "" } },
  { path: "projects/:id", needs: ["searchExperiments", "getProject"], load: component(() => import("@features/experiments/ExperimentsPage"), "ExperimentsPage", ({ id }) => ({ project: Number(id) })),
    nav: { title: "Experiments", icon: "flask", at: () => `projects/${readSetting("project") ?? "1"}` } },
  { path: "experiments/:id/:tab=overview|trials|configuration?", needs: ["getExperiment"],
    load: component(() => import("@features/experiments/ExperimentPage"), "ExperimentPage", ({ id, tab }) => ({ key: id, id: Number(id), tab: tab ?? "overview" })) },
  { path: "experiments/:experiment/trials/:id/:tab=metrics|logs|hyperparameters?", needs: ["getTrial"],
    load: component(() => import("@features/trials/TrialPage"), "TrialPage", ({ id, tab }) => ({ key: id, id: Number(id), tab: tab ?? "metrics" })) },
  { path: "jobs", needs: ["getJobsV2", "getResourcePools"], load: component(() => import("@features/jobs/JobsPage"), "JobsPage"),
    nav: { title: "Job queue", icon: "queue", at: () => "jobs" } },
  { path: "cluster", also: ["clusters"], needs: ["getAgents", "getResourcePools"], load: component(() => import("@features/cluster/ClusterPage"), "ClusterPage"),
    nav: { title: "Cluster", icon: "cluster", at: () => "cluster" } },
  ...(import.meta.env.MODE !== "production" ? [{ path: "design", needs: [], load: component(() => import("@features/design/DesignPage"), "DesignPage"),
    nav: { title: "Design", icon: "palette" as const, at: () => "design" } }] : []),
];

export const pages = ALL.filter((page) => page.needs.every((name) => served.has(name)));

/** The parameters of an address if it is the page's. */
export function parametersOf(page: Page, path: string): Record<string, string> | null {
  for (const pattern of [page.path, ...(page.also ?? [])]) {
    const found = match(pattern, path);
    if (found) return found;
  }
  return null;
}

/** The parameters of a path if the pattern fits it. */
export function match(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern === "" ? [] : pattern.split("/");
  const given = path === "" ? [] : path.split("/");
  if (given.length > wanted.length) return null;
  const found: Record<string, string> = {};
  for (const [i, segment] of wanted.entries()) {
    const value = given[i];
    const [, name, choices, may] = /^:(\w+)(?:=([\w|]+))?(\?)?$/.exec(segment) ?? [];
    if (value === undefined && may) continue;
    if (value === undefined || (name ? !(choices ? choices.split("|").includes(value) : /^\d{1,9}$/.test(value)) : segment !== value)) return null;
    if (name) found[name] = value;
  }
  return found;
}
