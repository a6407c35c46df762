import { useProjects } from "@shared/api/lists";
import { plain } from "@shared/lib/ansi";
import { go } from "@shared/lib/address";
import { Menu } from "@shared/ui/Menu";

/** Which project a list shows, and a menu of the others. */
export function ProjectPicker({ id, name, part = "" }: { id: number; name: string; part?: string }) {
  const { rows, error } = useProjects({ archived: false });
  const projects = [...(rows ?? [])].sort((a, b) => a.workspaceName.localeCompare(b.workspaceName) || a.name.localeCompare(b.name));
  return (
    <Menu label={`Project ${name}`} actions={error && !rows ? [{ label: "The projects could not be read", refused: error.message, perform: () => {} }] : projects.map((p) => ({ label: `${plain(p.workspaceName)} / ${plain(p.name)}`, chosen: p.id === id, perform: () => go(`projects/${p.id}${part}`) }))}>
      <span class="cut picked">{name}</span>
    </Menu>
  );
}
