import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { go } from "@shared/lib/address";
import { Menu } from "@shared/ui/Menu";

/** Which project a list shows, and a menu of the others. */
export function ProjectPicker({ id, name, part = "" }: { id: number; name: string; part?: string }) {
  const { data } = useApi(api.getWorkspaceProjects({ id: 0, limit: 200, archived: false }));
  const projects = [...(data?.projects ?? [])].sort((a, b) => a.workspaceName.localeCompare(b.workspaceName) || a.name.localeCompare(b.name));
  return (
    <Menu label={`Project ${name}`} actions={projects.map((p) => ({ label: `${plain(p.workspaceName)} / ${plain(p.name)}`, chosen: p.id === id, perform: () => go(`projects/${p.id}${part}`) }))}>
      <span class="cut picked">{name}</span>
    </Menu>
  );
}
