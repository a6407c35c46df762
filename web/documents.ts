// The pages of docs/ that the interface shows, as a module of its own: "virtual:documents". Each page is a file beside the scripts, which is
// loaded when somebody reads it.
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Plugin } from "vite";

const DOCS = resolve(import.meta.dirname, "../docs");

/** In this order the pages are listed. */
const GROUPS: [string, string[]][] = [
  ["Use it", ["guide", "training", "python-environment", "containers", "proxy", "switching", "glossary"]],
  ["Run a cluster", ["installation", "operations", "pools", "clouds", "tls", "sso", "ldap", "security"]],
  ["Look it up", folder("reference")],
  ["Rules, exactly", folder("spec").filter((name) => name !== "spec/README")],
  ["What differs", ["compatibility"]],
];
/** For those who change the sources, which they have at hand. */
const LEFT_OUT = ["ARCHITECTURE", "tour", "performance", "reliability"];

function folder(name: string): string[] {
  return readdirSync(join(DOCS, name)).filter((file) => file.endsWith(".md")).sort().map((file) => `${name}/${file.slice(0, -3)}`);
}

const titleOf = (name: string) => /^# (.+)$/m.exec(readFileSync(join(DOCS, `${name}.md`), "utf8"))?.[1]?.replaceAll("`", "") ?? name;

export function documents(): Plugin {
  const id = "virtual:documents";
  return {
    name: "documents",
    resolveId: (wanted) => (wanted === id ? `\0${id}` : null),
    load(wanted) {
      if (wanted !== `\0${id}`) return null;
      const listed = GROUPS.flatMap(([, names]) => names);
      const missing = readdirSync(DOCS).filter((file) => file.endsWith(".md")).map((file) => file.slice(0, -3)).filter((name) => ![...listed, ...LEFT_OUT].includes(name));
      if (missing.length) throw new Error(`docs/${missing[0]}.md is neither listed nor left out; name it in web/documents.ts`);
      const rows = GROUPS.flatMap(([group, names]) => names.map((name) => ({ group, name, title: titleOf(name) })));
      return `${rows.map(({ name }, i) => `import at${i} from ${JSON.stringify(join(DOCS, `${name}.md`) + "?url")};`).join("\n")}
export default [${rows.map((row, i) => `{...${JSON.stringify(row)}, url: at${i}}`).join(",\n")}];`;
    },
  };
}
