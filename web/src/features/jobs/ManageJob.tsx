import { useState } from "preact/hooks";
import type { QueueControl } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { words } from "@shared/lib/format";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { SelectField, TextField } from "@shared/ui/Form";
import type { AnyJob } from "./JobsPage";
import { useQueueChange } from "./queue";

interface Props {
  job: AnyJob;
  pools: string[];
  fair: boolean;
  onClose: () => void;
}

const PRIORITY_MAX = 99;

/** Priority (or weight) and pool of a job. Only what was changed is sent, each as a change of its own, all in one request. */
export function ManageJob({ job, pools, fair, onClose }: Props) {
  const before = fair ? String(job.weight) : String(job.priority);
  const [value, setValue] = useState(before);
  const [pool, setPool] = useState(job.resourcePool);
  const { send, busy, error } = useQueueChange();
  const number = Number(value);
  const mistake = value.trim() === "" || !Number.isFinite(number) || (fair ? number <= 0 : !Number.isInteger(number) || number < 1 || number > PRIORITY_MAX)
    ? fair ? "A weight is a number above 0" : `A priority is a whole number from 1 to ${PRIORITY_MAX}` : undefined;
  const changes: Partial<QueueControl>[] = [
    ...(value !== before ? [{ jobId: job.jobId, ...(fair ? { weight: number } : { priority: number }) }] : []),
    ...(pool !== job.resourcePool ? [{ jobId: job.jobId, resourcePool: pool }] : []),
  ];
  const submit = (event: Event) => {
    event.preventDefault();
    if (mistake) return;
    if (changes.length === 0) onClose();
    else send(changes, "The job is changed.", onClose);
  };
  return (
    <Dialog title="Manage job" onClose={onClose}>
      <form class="form" onSubmit={submit} noValidate>
        <p class="muted">{words(job.type)} “{plain(job.name ?? job.jobId)}”{job.username ? `, of ${plain(job.username)}` : ""}</p>
        <TextField label={fair ? "Weight" : "Priority"} inputMode="decimal" value={value} onInput={setValue} mistake={mistake}
          hint={fair ? "Experiments share the pool's slots in proportion to their weights." : "1 runs first, 99 last."} />
        <SelectField label="Resource pool" value={pool} options={pools.map((name) => [name, plain(name)] as [string, string])} onChange={setPool} />
        {error && <p class="mistake" role="alert">{error.message}</p>}
        <div class="ends">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={busy}>OK</Button>
        </div>
      </form>
    </Dialog>
  );
}
