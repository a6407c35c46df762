// The bar of a list in which some experiments are chosen: how many, and what can be done with them.
import { useState } from "preact/hooks";
import { useChange } from "@shared/api/query";
import { outcomeOf } from "@shared/api/bulk";
import type { Experiment } from "@shared/api/routes.gen";
import * as api from "@shared/api/routes.gen";
import { go } from "@shared/lib/address";
import { count } from "@shared/lib/format";
import { Button } from "@shared/ui/Button";
import { Confirm } from "@shared/ui/Dialog";
import { Menu } from "@shared/ui/Menu";
import { say, sayError } from "@shared/ui/Toast";
import { BULK, type Bulk, bulkOf } from "./bulk";
import { MoveDialog } from "./MoveDialog";

interface Props {
  projectId: number;
  chosen: Experiment[];
  total: number;
  onAll: (() => void) | undefined;
  onNone: () => void;
}

const SHOWN = ["pause", "activate", "stop", "kill", "archive"];
const COMPARE_MAX = 50;

/** One request for all of them; the message says how many it did, and why it refused the others. */
function useBulk(projectId: number) {
  const change = useChange(({ bulk, ids }: { bulk: Bulk; ids: number[] }) => bulk.send(projectId, ids));
  const perform = (bulk: Bulk, ids: number[], then?: () => void) =>
    change.mutate({ bulk, ids }, {
      onSuccess: ({ results }) => {
        then?.();
        const { done, refused } = outcomeOf(results);
        const { undo } = bulk;
        if (done.length) say(`${count(done.length, "experiment")} ${done.length === 1 ? "is" : "are"} ${bulk.done}.`, { undo: undo ? () => perform(bulkOf(undo), done) : undefined });
        if (refused.length) say(`${count(refused.length, "experiment")} refused: ${refused[0]!.error}`, { bad: true });
      },
      onError: (error) => { then?.(); sayError(error); },
    });
  return { perform, busy: change.isPending };
}

export function Picked({ projectId, chosen, total, onAll, onNone }: Props) {
  const { perform, busy } = useBulk(projectId);
  const [asking, setAsking] = useState<Bulk | null>(null);
  const [moving, setMoving] = useState(false);
  const board = useChange((experimentIds: number[]) => api.launchTensorboard({ experimentIds }));
  const fitting = (bulk: Bulk) => chosen.filter(bulk.applies).map((x) => x.id);
  const start = (bulk: Bulk) => (bulk.undo ? perform(bulk, fitting(bulk)) : setAsking(bulk));
  const none = (bulk: Bulk) => (fitting(bulk).length ? undefined : `None of the ${chosen.length} can be ${bulk.done}`);
  const ids = chosen.map((x) => x.id);
  return (
    <div class="toolbar picked-bar unprinted" role="toolbar" aria-label="Selected experiments">
      <b class="number" aria-live="polite">{chosen.length.toLocaleString("en")} selected</b>
      {BULK.filter(({ verb }) => SHOWN.includes(verb)).map((bulk) => {
        const n = fitting(bulk).length;
        return n > 0 && <Button key={bulk.verb} busy={busy} onClick={() => start(bulk)}>{bulk.label} <span class="muted number">{n}</span></Button>;
      })}
      <Button disabled={ids.length < 2 || ids.length > COMPARE_MAX} title={ids.length > COMPARE_MAX ? `At most ${COMPARE_MAX} are compared` : undefined} onClick={() => go(`compare?experiments=${ids.join(",")}`)}>Compare</Button>
      <Menu label="More for the selected experiments" actions={[
        { label: `Move ${count(ids.length, "experiment")}`, perform: () => setMoving(true) },
        { label: "Open in TensorBoard", perform: () => board.mutate(ids, { onSuccess: (reply) => go(`tasks/${reply.tensorboard!.id}`), onError: sayError }) },
        { label: `Unarchive ${fitting(bulkOf("unarchive")).length}`, refused: none(bulkOf("unarchive")), perform: () => start(bulkOf("unarchive")) },
        null,
        { label: `Delete ${fitting(bulkOf("delete")).length}`, danger: true, refused: none(bulkOf("delete")), perform: () => start(bulkOf("delete")) },
      ]} />
      <span class="grow" />
      {onAll && <Button kind="bare" onClick={onAll}>Select all {total.toLocaleString("en")}</Button>}
      <Button kind="bare" onClick={onNone}>Clear</Button>
      {asking && (
        <Confirm title={`${asking.label} ${count(fitting(asking).length, "experiment")}?`} action={`${asking.label} ${fitting(asking).length}`} danger busy={busy} onClose={() => setAsking(null)}
          onConfirm={() => perform(asking, fitting(asking), () => setAsking(null))}>
          {asking.warning} {fitting(asking).length < chosen.length && `The other ${chosen.length - fitting(asking).length} of the ${chosen.length} selected stay as they are: this does not apply to their states.`}
        </Confirm>
      )}
      {moving && <MoveDialog ids={ids} projectId={projectId} onClose={() => setMoving(false)} />}
    </div>
  );
}
