// What the states of experiments and trials say, beyond their names.
const LIVE = new Set(["STATE_ACTIVE", "STATE_QUEUED", "STATE_PULLING", "STATE_STARTING", "STATE_RUNNING"]);
const ENDED = new Set(["STATE_COMPLETED", "STATE_CANCELED", "STATE_ERROR", "STATE_DELETED", "STATE_DELETE_FAILED"]);

/** Whether the experiment or trial runs, or will when there are slots. */
export const isLive = (state: string) => LIVE.has(state);
export const hasEnded = (state: string) => ENDED.has(state);

/** How often a page asks again about something in this state, in ms. What has ended may still be archived or continued by somebody else. */
export const pace = (state: string | undefined) => (state !== undefined && hasEnded(state) ? 30_000 : 2500);
