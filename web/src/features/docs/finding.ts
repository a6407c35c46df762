// Finds words in the documentation: parts of pages that have all of them, those first whose headings do.
import { type Section, sectionsOf } from "@shared/notes/headings";

export interface Page {
  name: string;
  title: string;
  sections: Section[];
}

export interface Hit {
  name: string;
  title: string;
  heading: string;
  slug: string;
  /** what stands around the first word; every second part is a word that was looked for */
  excerpt: string[];
}

export const pageOf = (name: string, title: string, source: string): Page => ({ name, title, sections: sectionsOf(withoutComments(source)) });

/** Comments are for those who write the pages. */
export const withoutComments = (source: string) => source.replace(/^<!--[\s\S]*?-->\n?/gm, "");

const HITS_MAX = 60;
const AROUND = 90;

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function excerptOf(text: string, words: string[]): string[] {
  const flat = text.replace(/^\s*\|?[\s|:-]+$/gm, "").replace(/\s*\|\s*/g, " · ").replace(/\s+/g, " ").replace(/( · )+/g, " · ").replace(/^[ ·]+|[ ·]+$/g, "");
  const any = new RegExp(`(${words.map(escaped).join("|")})`, "i");
  const at = Math.max(0, flat.search(any));
  const start = at < AROUND ? 0 : flat.lastIndexOf(" ", at - AROUND) + 1;
  const cut = flat.slice(start, at + 2 * AROUND);
  return `${start > 0 ? "… " : ""}${cut}${start + cut.length < flat.length ? " …" : ""}`.split(new RegExp(any.source, "gi"));
}

export function find(pages: Page[], wanted: string): Hit[] {
  const words = [...new Set(wanted.toLowerCase().split(/\s+/).filter(Boolean))];
  if (words.length === 0) return [];
  const hits: { hit: Hit; weight: number }[] = [];
  for (const { name, title, sections } of pages)
    for (const { heading, slug, depth, text } of sections) {
      const [head, body] = [heading.toLowerCase(), text.toLowerCase()];
      if (!words.every((word) => head.includes(word) || body.includes(word))) continue;
      const weight = words.reduce((sum, word) => sum + (head.includes(word) ? (depth === 1 ? 12 : 8) : 0) + Math.min(4, body.split(word).length - 1), 0);
      hits.push({ weight, hit: { name, title, heading: heading === title ? "" : heading, slug: heading === title ? "" : slug, excerpt: excerptOf(text, words) } });
    }
  return hits.sort((a, b) => b.weight - a.weight).slice(0, HITS_MAX).map(({ hit }) => hit);
}

/** Where a link of a page leads: to another page of the documentation, to another site, or (to the sources) nowhere. */
export function linkOf(from: string, href: string, names: ReadonlySet<string>): { name: string; slug: string } | { href: string } | null {
  if (/^(https?:|mailto:)/.test(href)) return { href };
  const [path = "", slug = ""] = href.split("#");
  if (path === "") return { name: from, slug };
  const name = new URL(path, `http://here.invalid/${from}`).pathname.slice(1).replace(/\.md$/, "");
  return path.endsWith(".md") && names.has(name) ? { name, slug } : null;
}
