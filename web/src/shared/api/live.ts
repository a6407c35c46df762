// The master's updates, by one WebSocket for the page (docs/spec/updates.md). A message says which kind of object has changed; the page then asks
// again for what it shows of that kind. Pages work without the WebSocket, because they also ask for each list again at an interval (`every`).
import { root } from "@shared/lib/address";
import { send } from "./client";
import { ME, queries } from "./query";
import * as api from "./routes.gen";
import { IDS_MAX, type Kind, kindOf, subscription, TOUCHED, updates } from "./updates";

const AGAIN_MS = [1000, 2000, 5000, 10_000, 30_000];
/** Changes within this time lead to one request. */
const GATHER_MS = 80;

/** Asks for the projects and models of all workspaces, and the model versions of all users, by id. A workspace that is created later is not among them. */
async function everything() {
  const [{ workspaces }, { users }] = await Promise.all([send(api.getWorkspaces({ limit: IDS_MAX })), send(api.getUsers({ limit: IDS_MAX }))]);
  return subscription({ workspaces: workspaces.map(({ id }) => id), users: users.map(({ id }) => id) });
}

/** Keeps the connection while the page is visible. Returns a function that ends it. */
export function followUpdates(): () => void {
  let socket: WebSocket | null = null;
  let failures = 0;
  let again: ReturnType<typeof setTimeout> | undefined;
  let gathering: ReturnType<typeof setTimeout> | undefined;
  const touched = new Set<Kind>();
  const flush = () => {
    gathering = undefined;
    const paths = [...touched].flatMap((kind) => TOUCHED[kind]);
    touched.clear();
    void queries.invalidateQueries({ predicate: ({ queryKey: [path] }) => paths.some((one) => one.test(String(path))) });
  };
  const connect = () => {
    clearTimeout(again);
    if (socket || document.hidden) return;
    const made = new WebSocket(Object.assign(new URL("stream", root), { protocol: root.protocol.replace("http", "ws") }));
    let isNew = true;
    socket = made;
    made.onopen = () => void everything().then((wanted) => made.send(JSON.stringify(wanted)), () => made.close());
    made.onmessage = ({ data }: MessageEvent<string>) => {
      const kind = kindOf(data);
      if (kind === "complete") {
        // Something may have changed while there was no connection: the page asks for all that it shows.
        if (failures > 0) void queries.invalidateQueries();
        [isNew, failures] = [false, 0];
        updates.told = true;
      } else if (kind && !isNew) {
        touched.add(kind);
        gathering ??= setTimeout(flush, GATHER_MS);
      }
    };
    made.onclose = () => {
      if (socket !== made) return;
      socket = null;
      updates.told = false;
      // When a connection ends, the master is away or the session has ended: the page asks at once which of the two it is.
      if (failures++ === 0) void queries.invalidateQueries({ queryKey: [ME] });
      again = setTimeout(connect, AGAIN_MS[Math.min(failures - 1, AGAIN_MS.length - 1)]);
    };
  };
  const leave = () => {
    const open = socket;
    socket = null;
    updates.told = false;
    open?.close();
  };
  const shown = () => (document.hidden ? leave() : connect());
  document.addEventListener("visibilitychange", shown);
  connect();
  return () => {
    document.removeEventListener("visibilitychange", shown);
    clearTimeout(again);
    clearTimeout(gathering);
    leave();
  };
}
