// What a user keeps for all browsers: saved views and their like. The master stores it as text, under a name.
import { useMemo } from "preact/hooks";
import { useApi, useChange } from "./query";
import * as api from "./routes.gen";

const PATH = "web";

/** `isRead` is false until the master has said what it keeps: what is saved before that would replace it. `save` ends when the master has kept it. */
export function useUserSetting<Value>(key: string, initial: Value): { value: Value; isRead: boolean; save: (value: Value) => Promise<unknown> } {
  const { data } = useApi(api.getUserSetting());
  const text = data?.settings.find((setting) => setting.key === key && setting.storagePath === PATH)?.value;
  const change = useChange((value: Value) => api.postUserSetting({ settings: [{ key, storagePath: PATH, value: JSON.stringify(value) }] }));
  const value = useMemo(() => {
    try {
      return text ? (JSON.parse(text) as Value) : initial;
    } catch {
      return initial;
    }
  }, [text]);
  return { value, isRead: data !== undefined, save: (next) => change.mutateAsync(next) };
}
