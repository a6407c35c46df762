// Ctrl-K: finds any page and any object by its name or id, and goes there. The arrows choose, Enter goes.
import documents from "virtual:documents";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { shownName } from "@shared/api/me";
import { useGroups } from "@shared/api/lists";
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { go } from "@shared/lib/address";
import { words } from "@shared/lib/format";
import { useSettled } from "@shared/lib/hooks";
import { Icon, type IconName } from "@shared/ui/icons";
import { type Found, fits, ranked } from "./found";
import { pages } from "./pages";
import "./palette.css";

const EACH_MAX = 6;
const isId = (text: string) => /^\d{1,9}$/.test(text);

/** The master's filter: names that contain the text, and the experiment with this number. */
const filterOf = (text: string) => JSON.stringify({ showArchived: true, filterGroup: { kind: "group", conjunction: "or", children: [
  { kind: "field", columnName: "name", operator: "contains", value: text },
  ...(isId(text) ? [{ kind: "field", columnName: "id", operator: "=", value: Number(text) }] : []),
] } });

function useFound(typed: string): { found: Found[]; busy: boolean } {
  const text = useSettled(typed.trim(), 120);
  const some = text !== "";
  const on = { enabled: some, keep: true };
  const limit = EACH_MAX;
  const experiments = useApi(api.searchExperiments({ limit, filter: filterOf(text), sort: "id=desc", brief: true }), on);
  const trial = useApi(api.getTrial({ trialId: Number(text) || 0 }), { enabled: some && isId(text) });
  const projects = useApi(api.getWorkspaceProjects({ id: 0, name: text, limit }), on);
  const workspaces = useApi(api.getWorkspaces({ name: text, limit }), on);
  const models = useApi(api.getModels({ name: text, limit }), on);
  const users = useApi(api.getUsers({ name: text, limit }), on);
  // The API finds a group by its whole name only.
  const groups = useGroups(on);
  const agents = useApi(api.getAgents({ excludeSlots: true, excludeContainers: true }), on);
  const tasks = [useApi(api.getNotebooks({}), on).data?.notebooks, useApi(api.getShells({}), on).data?.shells, useApi(api.getCommands({}), on).data?.commands, useApi(api.getTensorboards({}), on).data?.tensorboards];
  const found = useMemo(() => {
    const list: Found[] = pages.flatMap((page): Found[] => (page.nav && fits(page.nav.title, text) ? [{ kind: "page", name: page.nav.title, detail: "", path: page.nav.at(), icon: page.nav.icon }] : []));
    if (!some) return list;
    const t = isId(text) ? trial.data?.trial : null;
    if (t) list.push({ kind: "trial", name: `Trial ${t.id}`, detail: words(t.state), path: `experiments/${t.experimentId}/trials/${t.id}`, icon: "flask" });
    for (const { experiment: x } of experiments.data?.experiments ?? [])
      if (x) list.push({ kind: "experiment", name: plain(x.name), detail: `#${x.id} ${words(x.state)}, ${plain(x.projectName)}`, path: `experiments/${x.id}`, icon: "flask", exact: String(x.id) === text });
    for (const p of projects.data?.projects ?? []) list.push({ kind: "project", name: plain(p.name), detail: plain(p.workspaceName), path: `projects/${p.id}`, icon: "folder" });
    for (const w of workspaces.data?.workspaces ?? []) list.push({ kind: "workspace", name: plain(w.name), detail: "", path: `workspaces/${w.id}`, icon: "folder" });
    for (const m of models.data?.models ?? []) list.push({ kind: "model", name: plain(m.name), detail: `${m.numVersions} versions`, path: `models/${m.id}`, icon: "cube" });
    for (const a of agents.data?.agents ?? []) if (fits(a.id, text)) list.push({ kind: "agent", name: plain(a.id), detail: a.resourcePools.map(plain).join(", "), path: `cluster?agent=${encodeURIComponent(a.id)}`, icon: "cluster" });
    for (const task of tasks.flatMap((some) => some ?? []).filter((one) => fits(one.description, text) || one.id.startsWith(text)).slice(0, EACH_MAX))
      list.push({ kind: "task", name: plain(task.description || task.id), detail: words(task.state), path: `tasks/${task.id}`, icon: "terminal" });
    for (const u of users.data?.users ?? []) list.push({ kind: "user", name: plain(shownName(u)), detail: u.displayName ? plain(u.username) : "", path: `users?q=${encodeURIComponent(u.username)}${u.active ? "" : "&all=1"}`, icon: "user" });
    for (const { group } of (groups.rows ?? []).filter((one) => fits(one.group!.name, text)).slice(0, EACH_MAX)) if (group) list.push({ kind: "group", name: plain(group.name), detail: "", path: `groups?q=${encodeURIComponent(group.name)}`, icon: "group" });
    for (const d of documents) if (fits(d.title, text)) list.push({ kind: "document", name: d.title, detail: d.group, path: `docs/${d.name}`, icon: "book" });
    return ranked(list, text);
  }, [text, experiments.data, trial.data, projects.data, workspaces.data, models.data, agents.data, users.data, groups.rows, ...tasks]);
  return { found, busy: text !== typed.trim() || experiments.isFetching };
}

/** The same without the keyboard that a phone would draw over the list of pages. */
export const PlacesOfPhone = ({ onClose }: { onClose: () => void }) => <Palette onClose={onClose} quiet />;

export function Palette({ onClose, quiet = false }: { onClose: () => void; quiet?: boolean }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const { found, busy } = useFound(text);
  const chosen = Math.min(at, Math.max(0, found.length - 1));
  useEffect(() => {
    if (!dialog.current!.open) dialog.current!.showModal();
    if (quiet) dialog.current!.focus();
    return () => dialog.current?.close();
  }, []);
  useEffect(() => { document.getElementById(`found-${chosen}`)?.scrollIntoView({ block: "nearest" }); }, [chosen]);
  const open = (one: Found | undefined) => {
    if (!one) return;
    onClose();
    go(one.path);
  };
  const pressed = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((chosen + step + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter") open(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="palette" tabIndex={-1} aria-label="Find anything" onCancel={(event) => { event.preventDefault(); onClose(); }}
      onMouseDown={(event) => event.target === event.currentTarget && onClose()}>
      <div class="palette-body">
        <label class="wanted">
          <Icon name="search" />
          <input type="text" role="combobox" aria-expanded="true" aria-controls="found" aria-activedescendant={found.length ? `found-${chosen}` : undefined} aria-label="Find anything by name or ID"
            placeholder="Find an experiment, trial, task, project, model, user, agent or page" value={text} spellcheck={false} autocomplete="off" autofocus={!quiet}
            onInput={(event) => { setText(event.currentTarget.value); setAt(0); }} onKeyDown={pressed} />
          <kbd>Esc</kbd>
        </label>
        <ul id="found" role="listbox" aria-label="What fits">
          {found.map((one, i) => (
            <li key={`${one.kind} ${one.path}`} id={`found-${i}`} role="option" aria-selected={i === chosen} onMouseMove={() => setAt(i)} onClick={() => open(one)}>
              <Icon name={one.icon as IconName} /><span class="cut">{one.name}</span><span class="muted cut detail">{one.detail}</span><span class="muted kind">{one.kind}</span>
            </li>
          ))}
        </ul>
        {found.length === 0 && <p class="muted nothing" role="status">{busy ? "Searching" : `Nothing has “${text}” in its name or as its ID.`}</p>}
      </div>
    </dialog>
  );
}

