// Markdown as elements. The text is taken apart by marked's lexer and never becomes markup: what is HTML in it is shown as text, pictures
// are links, and links lead to http, https, mail or a place of this site only.
import { type ComponentChildren, createContext, type JSX } from "preact";
import { useContext } from "preact/hooks";
import { lexer, type Token, type Tokens } from "marked";
import { plain } from "@shared/lib/ansi";
import { slugs, wordsOf } from "./headings";
import "./notes.css";

interface Reading {
  /** where a link leads; null: it is text */
  link: (href: string) => string | null;
}

const HEADINGS = ["h2", "h2", "h3", "h3", "h3", "h3"] as const;
/** Of a text that is a page by itself, the first heading is the page's. */
const HEADINGS_OF_PAGE = ["h1", "h2", "h3", "h4", "h4", "h4"] as const;

/** The address of a link if it may lead there. */
export function safeLink(href: string): string | null {
  try {
    const url = new URL(href, "http://here.invalid/");
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? (url.host === "here.invalid" ? href.replace(/^\/\/+/, "/") : url.href) : null;
  } catch {
    return null;
  }
}

/** The lexer leaves character references as they are. */
const ENTITIES: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };
/** A line that goes on in the next one is joined with it by a space. */
const text = (value: string) => plain(value.replace(/\n/g, " ").replace(/&(?:amp|lt|gt|quot|#39);/g, (found) => ENTITIES[found]!));

const Reading = createContext<Reading>({ link: safeLink });

function Link({ href, children }: { href: string; children: ComponentChildren }) {
  const safe = useContext(Reading).link(href);
  return safe ? <a href={safe} rel="noopener noreferrer nofollow" target={/^https?:/.test(safe) ? "_blank" : undefined}>{children}</a> : <>{children}</>;
}

const inside = (token: { tokens?: Token[] | undefined; text?: string }): ComponentChildren => (token.tokens ? token.tokens.map((one, i) => <One key={i} token={one} />) : text(token.text ?? ""));

function Cells({ cells, head }: { cells: Tokens.TableCell[]; head?: boolean }) {
  return <tr>{cells.map((cell, i) => (head ? <th key={i} scope="col">{inside(cell)}</th> : <td key={i}>{inside(cell)}</td>))}</tr>;
}

function One({ token }: { token: Token }): JSX.Element | null {
  switch (token.type) {
    case "space": case "def": return null;
    case "heading": { const { id } = token as { id?: string }; const Head = (id ? HEADINGS_OF_PAGE : HEADINGS)[(token as Tokens.Heading).depth - 1] ?? "h3"; return <Head id={id}>{inside(token as Tokens.Heading)}</Head>; }
    case "paragraph": return <p>{inside(token as Tokens.Paragraph)}</p>;
    case "blockquote": return <blockquote>{inside(token as Tokens.Blockquote)}</blockquote>;
    case "code": return <pre tabIndex={0}><code>{(token as Tokens.Code).text.split("\n").map(plain).join("\n")}</code></pre>;
    case "codespan": return <code>{text((token as Tokens.Codespan).text)}</code>;
    case "hr": return <hr />;
    case "br": return <br />;
    case "strong": return <strong>{inside(token as Tokens.Strong)}</strong>;
    case "em": return <em>{inside(token as Tokens.Em)}</em>;
    case "del": return <del>{inside(token as Tokens.Del)}</del>;
    case "link": return <Link href={(token as Tokens.Link).href}>{inside(token as Tokens.Link)}</Link>;
    case "image": return <Link href={(token as Tokens.Image).href}>{text((token as Tokens.Image).text) || "picture"}</Link>;
    case "list": {
      const list = token as Tokens.List;
      const items = list.items.map((item, i) => <li key={i}>{item.task && <input type="checkbox" disabled checked={Boolean(item.checked)} aria-label={item.checked ? "done" : "to do"} />}{item.tokens.map((one, at) => <One key={at} token={one} />)}</li>);
      return list.ordered ? <ol>{items}</ol> : <ul>{items}</ul>;
    }
    case "table": {
      const table = token as Tokens.Table;
      return <div class="wide" tabIndex={0}><table>{table.header.some((cell) => cell.text) && <thead><Cells cells={table.header} head /></thead>}<tbody>{table.rows.map((cells, i) => <Cells key={i} cells={cells} />)}</tbody></table></div>;
    }
    case "text": return <>{inside(token as Tokens.Text)}</>;
    case "checkbox": return null;
    default: return <>{text((token as { text?: string; raw: string }).text ?? token.raw)}</>;
  }
}

/** Gives each heading the name that links to it have. */
function named(tokens: Token[]): Token[] {
  const next = slugs();
  return tokens.map((token) => (token.type === "heading" ? Object.assign(token, { id: next(wordsOf((token as Tokens.Heading).text)) }) : token));
}

interface Props {
  source: string;
  /** whether it is a page by itself, whose headings can be linked to */
  anchors?: boolean;
  link?: Reading["link"];
}

export function Markdown({ source, anchors = false, link = safeLink }: Props) {
  const tokens = lexer(source, { gfm: true });
  return (
    <Reading.Provider value={{ link }}>
      <div class="markdown">{(anchors ? named(tokens) : tokens).map((token, i) => <One key={i} token={token} />)}</div>
    </Reading.Provider>
  );
}
