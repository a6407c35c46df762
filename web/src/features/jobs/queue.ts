import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Job, LimitedJob, QueueControl } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { say, sayError } from "@shared/ui/Toast";

const nameOf = (job: LimitedJob & Partial<Job>) => job.name ?? job.jobId;

/** Changes of the queue: one request, all or nothing. */
export function useQueueChange() {
  const change = useChange((updates: Partial<QueueControl>[]) => api.updateJobQueue({ updates: updates as never }));
  const send = (updates: Partial<QueueControl>[], done: string, then?: () => void) =>
    change.mutate(updates, { onSuccess: () => { say(done); then?.(); }, onError: then ? () => {} : sayError });
  /** Puts a job before or behind another. The master refuses it where the queue's order is by priority, and says so. */
  const move = (job: LimitedJob, side: "before" | "behind", other: LimitedJob, done = `The job is ${side} “${plain(nameOf(other))}” now.`) =>
    send([{ jobId: job.jobId, ...(side === "before" ? { aheadOf: other.jobId } : { behindOf: other.jobId }) }], done);
  return {
    move,
    send,
    busy: change.isPending,
    error: change.error,
  };
}
