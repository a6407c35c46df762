// What a user keeps for all browsers: saved views and their like. The master stores it as text, under a name.
import { useMemo } from "preact/hooks";
import { useApi, useChange } from "./query";
import * as api from "./routes.gen";

const PATH = "web";

export function useUserSetting<Value>(key: string, initial: Value): [Value, (value: Value) => void] {
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
  return [value, (next) => change.mutate(next)];
}
