// Headings of a text in Markdown, and the names by which links lead to them: those that forges give them.

/** A heading, or a line, without the marks of Markdown. */
export const wordsOf = (text: string) => text.replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "").replace(/\\([^\w\s])/g, "$1").trim();

/** Makes names: of two headings that are alike, the second one gets a number. */
export function slugs(): (heading: string) => string {
  const made = new Map<string, number>();
  return (heading) => {
    const slug = heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
    const before = made.get(slug) ?? 0;
    made.set(slug, before + 1);
    return before ? `${slug}-${before}` : slug;
  };
}

export interface Section {
  /** empty for what stands before the first heading */
  heading: string;
  slug: string;
  depth: number;
  text: string;
}

/** The parts of a text, each with its heading. */
export function sectionsOf(source: string): Section[] {
  const next = slugs();
  const found: Section[] = [{ heading: "", slug: "", depth: 1, text: "" }];
  let fence = "";
  for (const line of source.split("\n")) {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (mark) fence = fence === "" ? mark : mark.startsWith(fence) ? "" : fence;
    const [, marks, words] = fence || mark ? [] : (/^(#{1,6})\s+(.*)$/.exec(line) ?? []);
    if (marks && words !== undefined) {
      const heading = wordsOf(words);
      found.push({ heading, slug: next(heading), depth: marks.length, text: "" });
    } else if (!mark) found.at(-1)!.text += `${fence ? line : wordsOf(line)}\n`;
  }
  return found.filter((section) => section.heading || section.text.trim());
}
