// The documentation: pages of docs/, which are files beside the scripts, with a list of the pages and a search over all of them.
import documents from "virtual:documents";
import { useQueries } from "@tanstack/preact-query";
import { useEffect, useMemo } from "preact/hooks";
import { text } from "@shared/api/client";
import { go, to, useAddress, useParameter } from "@shared/lib/address";
import { count } from "@shared/lib/format";
import { useSettled, useTitle } from "@shared/lib/hooks";
import { sectionsOf } from "@shared/notes/headings";
import { Markdown, safeLink } from "@shared/notes/Markdown";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { SearchField } from "@shared/ui/Form";
import { Icon } from "@shared/ui/icons";
import { find, linkOf, pageOf, withoutComments } from "./finding";
import "./docs.css";

const FIRST = documents[0]!.name;
const NAMES = new Set(documents.map(({ name }) => name));
const pathOf = (name: string, slug = "") => `docs/${name}${slug ? `#${slug}` : ""}`;

/** The sources of pages. They change with the master's version only. */
const useSources = (names: string[]) => useQueries({ queries: documents.filter(({ name }) => names.includes(name)).map(({ url }) => ({ queryKey: [url], queryFn: ({ signal }: { signal: AbortSignal }) => text(url, signal), staleTime: Infinity })) });

export function DocsPage({ name = FIRST }: { name?: string }) {
  const [wanted, setWanted] = useParameter("q");
  const found = documents.find((one) => one.name === name);
  useTitle(found?.title ?? "Documentation");
  return (
    <div class="page docs">
      <aside class="docs-side unprinted">
        <SearchField label="Search all pages" value={wanted} onInput={(value) => setWanted(value || null)} />
        <Contents now={wanted ? "" : name} />
      </aside>
      {wanted.trim() ? <Hits wanted={wanted} /> : found ? <Page key={name} name={name} /> : <Empty page title="There is no such page" action={<a href={to(pathOf(FIRST))}>To the first page</a>}>The documentation has no page {name}.</Empty>}
    </div>
  );
}

/** All pages by their groups; on a phone a list to choose from. */
function Contents({ now }: { now: string }) {
  const groups = [...new Set(documents.map(({ group }) => group))];
  return (
    <>
      <span class="select only-narrow">
        <select class="input" aria-label="Page" value={now} onChange={(event) => go(pathOf(event.currentTarget.value))}>
          {now === "" && <option value="">Pages</option>}
          {groups.map((group) => <optgroup key={group} label={group}>{documents.filter((one) => one.group === group).map(({ name, title }) => <option key={name} value={name}>{title}</option>)}</optgroup>)}
        </select>
        <Icon name="down" size={14} />
      </span>
      <nav class="docs-nav not-narrow" aria-label="Pages of the documentation">
        {groups.map((group) => (
          <section key={group}>
            <h2>{group}</h2>
            {documents.filter((one) => one.group === group).map(({ name, title }) => <a key={name} href={to(pathOf(name))} aria-current={name === now ? "page" : undefined}>{title}</a>)}
          </section>
        ))}
      </nav>
    </>
  );
}

function Page({ name }: { name: string }) {
  const [{ data, error, refetch }] = useSources([name]) as [ReturnType<typeof useSources>[number]];
  const source = useMemo(() => withoutComments(data ?? ""), [data]);
  const parts = useMemo(() => sectionsOf(source).filter(({ depth, heading }) => heading && depth === 2), [source]);
  useAddress(); // another part of the same page is another address
  const { hash } = location;
  useEffect(() => {
    const at = hash ? document.getElementById(decodeURIComponent(hash.slice(1))) : null;
    if (at) at.scrollIntoView();
    else document.getElementById("content")?.scrollTo(0, 0);
  }, [source, hash]);
  const link = (href: string) => {
    const target = linkOf(name, href, NAMES);
    return target === null ? null : "href" in target ? safeLink(target.href) : to(pathOf(target.name, target.slug));
  };
  const shown = useMemo(() => <Markdown source={source} anchors link={link} />, [source]);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <section class="panel docs-text"><Waiting lines={8} /></section>;
  return (
    <>
      <article class="docs-text">{shown}</article>
      {parts.length > 1 && (
        <nav class="docs-parts unprinted" aria-label="On this page">
          <h2>On this page</h2>
          {parts.map(({ heading, slug }) => <a key={slug} href={to(pathOf(name, slug))}>{heading}</a>)}
        </nav>
      )}
    </>
  );
}

function Hits({ wanted }: { wanted: string }) {
  const all = useSources(documents.map(({ name }) => name));
  const settled = useSettled(wanted, 120);
  const sources = all.map(({ data }) => data);
  const error = all.find((one) => one.error)?.error;
  const ready = sources.every((one) => one !== undefined);
  const pages = useMemo(() => (ready ? documents.map(({ name, title }, i) => pageOf(name, title, sources[i]!)) : []), [ready]);
  const hits = useMemo(() => find(pages, settled), [pages, settled]);
  if (error) return <Failure error={error} retry={() => all.forEach(({ refetch }) => void refetch())} />;
  if (!ready) return <section class="panel docs-text"><Waiting lines={8} /></section>;
  return (
    <section class="docs-text stack" aria-label="What was found">
      <h1>Documentation</h1>
      <p class="muted" role="status">{hits.length === 0 ? `No page has ${JSON.stringify(settled.trim())}.` : `${count(hits.length, "part")} of pages with “${settled.trim()}”`}</p>
      <ul class="hits">
        {hits.map((hit) => (
          <li key={`${hit.name} ${hit.slug}`}>
            <a href={to(pathOf(hit.name, hit.slug))}>{hit.title}{hit.heading && <> <span class="muted">›</span> {hit.heading}</>}</a>
            <p>{hit.excerpt.map((part, i) => (i % 2 ? <mark key={i}>{part}</mark> : part))}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
