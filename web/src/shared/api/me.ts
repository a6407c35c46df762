// Who looks at the pages. The session itself is in a cookie that no script can read.
import { useApi } from "./query";
import * as api from "./routes.gen";
import { ApiError } from "./client";

const ASKED_EVERY_MS = 60_000;

export function useMe() {
  const { data, error, isPending, refetch } = useApi(api.getMe(), { every: ASKED_EVERY_MS });
  const out = error instanceof ApiError && (error.status === 401 || error.status === 403);
  return { user: out ? null : (data?.user ?? null), out, away: error && !out ? error : null, isPending, refetch };
}

/** Who looks at the page, where that is known: below the shell of a signed-in user. */
export function useUser() {
  const { data } = useApi(api.getMe());
  return data?.user ?? null;
}

export const shownName = (user: { displayName: string; username: string }) => user.displayName || user.username;
