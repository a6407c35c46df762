// The files that an experiment was created with; beside those of another experiment if one is named.
import { useMemo } from "preact/hooks";
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { FileNode } from "@shared/api/routes.gen";
import { root, useParameter } from "@shared/lib/address";
import { plain } from "@shared/lib/ansi";
import { bytes } from "@shared/lib/format";
import { useSettled } from "@shared/lib/hooks";
import { Diff } from "@shared/ui/Diff";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { AgainstField } from "@shared/ui/Form";

/** Larger files are downloaded, not shown. */
const SHOWN_MAX = 1_000_000;

interface Row {
  node: FileNode;
  depth: number;
}

const rowsOf = (nodes: FileNode[], depth = 0): Row[] =>
  [...nodes].sort((a, b) => Number(b.isDir) - Number(a.isDir) || a.name.localeCompare(b.name)).flatMap((node) => [{ node, depth }, ...rowsOf(node.files ?? [], depth + 1)]);

/** The text of a file, or nothing if it is no text. */
export function textOf(base64: string): string | null {
  const data = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  if (data.subarray(0, 8000).includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data);
  } catch {
    return null;
  }
}

export function Code({ id }: { id: number }) {
  const [path, setPath] = useParameter("file");
  const [against, setAgainst] = useParameter("against");
  const other = Number(useSettled(against)) || null;
  const { data, error } = useApi(api.getModelDefTree({ experimentId: id }));
  const rows = useMemo(() => rowsOf(data?.files ?? []), [data]);
  if (error && !data) return <Failure error={error} />;
  if (!data) return <section class="panel"><Waiting lines={6} /></section>;
  const files = rows.filter(({ node }) => !node.isDir);
  if (files.length === 0) return <section class="panel"><Empty title="No files">The experiment was created without a directory of code.</Empty></section>;
  const now = files.find(({ node }) => node.path === path) ?? files[0]!;
  return (
    <div class="code">
      <section class="panel">
        <header><h2>Files <span class="muted number">{files.length}</span></h2><a href={new URL(`experiments/${id}/model_def`, root).href} download={`experiment-${id}.tar.gz`}>Download</a></header>
        <ul class="tree">
          {rows.map(({ node, depth }) => (
            <li key={node.path} style={{ paddingLeft: `${8 + depth * 14}px` }}>
              {node.isDir ? <span class="muted cut">{plain(node.name)}/</span> : <button type="button" class="link cut" aria-current={node === now.node} onClick={() => setPath(node.path)}>{plain(node.name)}</button>}
            </li>
          ))}
        </ul>
      </section>
      <section class="panel">
        <header class="wraps">
          <h2 class="cut mono">{plain(now.node.path)}</h2>
          <AgainstField what="experiment" value={against} onChange={setAgainst} />
        </header>
        <File key={now.node.path} id={id} node={now.node} against={other} />
      </section>
    </div>
  );
}

function File({ id, node, against }: { id: number; node: FileNode; against: number | null }) {
  const large = node.contentLength > SHOWN_MAX;
  const { data, error } = useApi(api.getModelDefFile({ experimentId: id, path: node.path }), { enabled: !large });
  const { data: theirs, error: lost } = useApi(api.getModelDefFile({ experimentId: against ?? 0, path: node.path }), { enabled: against !== null && !large });
  const download = <a href={`${new URL(`experiments/${id}/file/download`, root).href}?path=${encodeURIComponent(node.path)}`} download={node.name}>Download it</a>;
  if (large) return <Empty title="A large file" action={download}>It has {bytes(node.contentLength)}.</Empty>;
  if (error) return <Failure error={error} />;
  if (!data) return <Waiting lines={8} />;
  const text = textOf(data.file);
  if (text === null) return <Empty title="This file is no text" action={download}>It has {bytes(node.contentLength)}.</Empty>;
  if (against !== null) {
    if (lost) return <Failure error={lost} />;
    return theirs ? <Diff before={textOf(theirs.file) ?? ""} after={text} label={`${node.path} of experiment ${against} and of experiment ${id}`} /> : <Waiting lines={8} />;
  }
  return <pre class="source numbered" tabIndex={0} aria-label={plain(node.path)}>{text.split("\n").map((line, i) => <span key={i}>{plain(line)}{"\n"}</span>)}</pre>;
}
