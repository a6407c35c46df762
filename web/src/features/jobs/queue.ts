import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { LimitedJob, QueueControl } from "@shared/api/routes.gen";
import { say, sayError } from "@shared/ui/Toast";

/** Changes of the queue: one request, all or nothing. */
export function useQueueChange() {
  const change = useChange((updates: Partial<QueueControl>[]) => api.updateJobQueue({ updates: updates as never }));
  const send = (updates: Partial<QueueControl>[], done: string, then?: () => void) =>
    change.mutate(updates, { onSuccess: () => { say(done); then?.(); }, onError: then ? () => {} : sayError });
  return {
    move: (job: LimitedJob, ahead: LimitedJob) => send([{ jobId: job.jobId, aheadOf: ahead.jobId }], "The job is the first of its queue now."),
    send,
    busy: change.isPending,
    error: change.error,
  };
}
