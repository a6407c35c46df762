// The pages, by their paths. A page is loaded when somebody first goes there; one whose routes this master does not serve is left out.
import type { ComponentType, JSX } from "preact";
import { served, type User } from "@shared/api/routes.gen";
import { readSetting } from "@shared/lib/settings";
import type { IconName } from "@shared/ui/icons";

export interface Page {
  /** segments below /det/; ":name" stands for a number, ":name=a|b" for one of these words, ":name=*" for any, "?" after the last one for none */
  path: string;
  /** paths at which release 0.38.1 had the page: bookmarks and links of scripts go on working */
  also?: string[];
  /** names of routes that it needs, as routes.gen.ts has them */
  needs: string[];
  load: () => Promise<(parameters: Record<string, string>, user: User) => JSX.Element>;
  nav?: {
    title: string;
    icon: IconName;
    at: () => string;
    /** the letter after "g" that leads there */
    key?: string;
    /** whether it stands in the lower group, of what is set up rather than looked at */
    set?: boolean;
    /** whether the navigation shows it to admins only */
    admin?: boolean;
    /** whether a phone's few places at the bottom have it; everything else is found by the palette there */
    phone?: boolean;
  };
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
    nav: { title: "Home", icon: "home", at: () => "", key: "h", phone: true } },
  { path: "projects/:id", needs: ["searchExperiments", "getProject"], load: component(() => import("@features/experiments/ExperimentsPage"), "ExperimentsPage", ({ id }) => ({ key: id, project: Number(id) })),
    nav: { title: "Experiments", icon: "flask", at: () => `projects/${readSetting("project") ?? "1"}`, key: "e", phone: true } },
  { path: "projects/:id/runs", needs: ["searchRuns", "getProject"], load: component(() => import("@features/experiments/RunsPage"), "RunsPage", ({ id }) => ({ key: id, project: Number(id) })) },
  { path: "experiments/:id/:tab=overview|trials|hyperparameters|checkpoints|code|configuration|notes?", needs: ["getExperiment"],
    load: component(() => import("@features/experiments/ExperimentPage"), "ExperimentPage", ({ id, tab }) => ({ key: id, id: Number(id), tab: tab ?? "overview" })) },
  { path: "experiments/:experiment/trials/:id/:tab=metrics|logs|hyperparameters|profiler|checkpoints|environment?", needs: ["getTrial"],
    load: component(() => import("@features/trials/TrialPage"), "TrialPage", ({ id, tab }) => ({ key: id, id: Number(id), tab: tab ?? "metrics" })) },
  { path: "device", needs: ["getDeviceLogin", "answerDeviceLogin"], load: component(() => import("@features/session/DevicePage"), "DevicePage", (_, user) => ({ user })) },
  { path: "create", needs: ["createExperiment"], load: component(() => import("@features/create/CreatePage"), "CreatePage") },
  { path: "compare", needs: ["getExperiment", "compareTrials"], load: component(() => import("@features/experiments/ComparePage"), "ComparePage") },
  { path: "projects/:id/notes", needs: ["getProject", "putProjectNotes"], load: component(() => import("@features/workspaces/ProjectNotesPage"), "ProjectNotesPage", ({ id }) => ({ key: id, id: Number(id) })) },
  { path: "workspaces", needs: ["getWorkspaces"], load: component(() => import("@features/workspaces/WorkspacesPage"), "WorkspacesPage"),
    nav: { title: "Workspaces", icon: "folder", at: () => "workspaces", key: "w" } },
  { path: "workspaces/:id", needs: ["getWorkspace", "getWorkspaceProjects"], load: component(() => import("@features/workspaces/WorkspacePage"), "WorkspacePage", ({ id }) => ({ key: id, id: Number(id) })) },
  { path: "tasks", needs: ["getNotebooks", "getTensorboards", "getShells", "getCommands"], load: component(() => import("@features/tasks/TasksPage"), "TasksPage"),
    nav: { title: "Tasks", icon: "terminal", at: () => "tasks", key: "t", phone: true } },
  { path: "tasks/:id=*/:tab=logs|configuration?", needs: ["getTask", "taskLogs"],
    load: component(() => import("@features/tasks/TaskPage"), "TaskPage", ({ id, tab }) => ({ key: id, id, tab: tab ?? "logs" })) },
  { path: "models", needs: ["getModels"], load: component(() => import("@features/models/ModelsPage"), "ModelsPage"), nav: { title: "Models", icon: "cube", at: () => "models", key: "m" } },
  { path: "models/:id/:tab=versions|notes|metadata?", needs: ["getModel", "getModelVersions"], load: component(() => import("@features/models/ModelPage"), "ModelPage", ({ id, tab }) => ({ key: id, id, tab: tab ?? "versions" })) },
  { path: "models/:id/versions/:version", needs: ["getModelVersion"], load: component(() => import("@features/models/ModelPage"), "ModelVersionPage", ({ id, version }) => ({ key: `${id} ${version}`, id, version })) },
  { path: "jobs", needs: ["getJobsV2", "getResourcePools"], load: component(() => import("@features/jobs/JobsPage"), "JobsPage"),
    nav: { title: "Job queue", icon: "queue", at: () => "jobs", key: "q", phone: true } },
  { path: "cluster", also: ["clusters"], needs: ["getAgents", "getResourcePools"], load: component(() => import("@features/cluster/ClusterPage"), "ClusterPage"),
    nav: { title: "Cluster", icon: "cluster", at: () => "cluster", key: "c" } },
  { path: "usage", needs: ["resourceAllocationRaw"], load: component(() => import("@features/usage/UsagePage"), "UsagePage"), nav: { title: "Usage", icon: "chart", at: () => "usage", set: true } },
  { path: "users", needs: ["getUsers"], load: component(() => import("@features/admin/UsersPage"), "UsersPage", (_, user) => ({ user })), nav: { title: "Users", icon: "user", at: () => "users", key: "u", set: true } },
  { path: "tokens", needs: ["getAccessTokens"], load: component(() => import("@features/admin/TokensPage"), "TokensPage", (_, user) => ({ user })), nav: { title: "Access tokens", icon: "key", at: () => "tokens", set: true } },
  { path: "groups", needs: ["getGroups", "getGroup", "listRoles"], load: component(() => import("@features/admin/GroupsPage"), "GroupsPage", (_, user) => ({ user })),
    nav: { title: "Groups and roles", icon: "group", at: () => "groups", set: true } },
  { path: "groups/roles", needs: ["getGroupsAndUsersAssignedToWorkspace", "listRoles", "assignRoles"], load: component(() => import("@features/admin/RolesPage"), "RolesPage", (_, user) => ({ user })) },
  { path: "quotas", needs: ["getQuotas", "setQuota"], load: component(() => import("@features/admin/QuotasPage"), "QuotasPage", (_, user) => ({ user })), nav: { title: "Quotas", icon: "scale", at: () => "quotas", set: true } },
  { path: "policies", needs: ["getGlobalConfigPolicies", "getWorkspaceConfigPolicies"], load: component(() => import("@features/admin/PoliciesPage"), "PoliciesPage", (_, user) => ({ user })), nav: { title: "Policies", icon: "rules", at: () => "policies", set: true } },
  { path: "audit", needs: ["getAuditRecords"], load: component(() => import("@features/admin/AuditPage"), "AuditPage"), nav: { title: "Audit log", icon: "history", at: () => "audit", set: true, admin: true } },
  { path: "webhooks", needs: ["getWebhooks"], load: component(() => import("@features/admin/WebhooksPage"), "WebhooksPage"), nav: { title: "Webhooks", icon: "bell", at: () => "webhooks", set: true } },
  { path: "templates", needs: ["getTemplates", "createExperiment"], load: component(() => import("@features/admin/TemplatesPage"), "TemplatesPage"), nav: { title: "Templates", icon: "copy", at: () => "templates", set: true } },
  { path: "logs", needs: ["masterLogs"], load: component(() => import("@features/admin/MasterPages"), "MasterLogPage"), nav: { title: "Master's log", icon: "rows", at: () => "logs", set: true } },
  { path: "settings", needs: ["patchUser", "getUserSetting"], load: component(() => import("@features/settings/SettingsPage"), "SettingsPage", (_, user) => ({ user })), nav: { title: "Settings", icon: "gear", at: () => "settings", key: "s", set: true } },
  { path: "docs/:page=*/:part=*?", also: ["docs"], needs: [], load: component(() => import("@features/docs/DocsPage"), "DocsPage", ({ page, part }) => (page ? { name: part ? `${page}/${part}` : page } : {})),
    nav: { title: "Documentation", icon: "book", at: () => "docs", key: "d", set: true } },
  { path: "about", needs: ["getMaster", "getMasterConfig"], load: component(() => import("@features/admin/MasterPages"), "AboutPage"), nav: { title: "About", icon: "info", at: () => "about", set: true } },
  ...(import.meta.env.MODE !== "production" ? [{ path: "design", needs: [], load: component(() => import("@features/design/DesignPage"), "DesignPage"),
    nav: { title: "Design", icon: "palette" as const, at: () => "design", set: true } }] : []),
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
    const [, name, choices, may] = /^:(\w+)(?:=([\w|*]+))?(\?)?$/.exec(segment) ?? [];
    if (value === undefined && may) continue;
    if (value === undefined || (name ? !(choices ? choices === "*" || choices.split("|").includes(value) : /^\d{1,9}$/.test(value)) : segment !== value)) return null;
    if (name) found[name] = value;
  }
  return found;
}
