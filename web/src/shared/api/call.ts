/** A number of the API: not-a-number and the infinities travel as texts. */
export type Double = number | "NaN" | "Infinity" | "-Infinity";

/** A request as data: what to send, and (as a type only) what comes back. routes.gen.ts makes these. */
export interface Call<Reply> {
  method: string;
  /** relative to the master's root, with its query */
  path: string;
  body: unknown;
  reply?: Reply;
}

function addParameter(to: URLSearchParams, name: string, value: unknown): void {
  if (value === undefined || value === null) return;
  if (Array.isArray(value)) for (const item of value) addParameter(to, name, item);
  else if (typeof value === "object") for (const [key, item] of Object.entries(value)) addParameter(to, `${name}.${key}`, item);
  else to.append(name, String(value));
}

export function call<Reply>(method: string, path: string, query?: Record<string, unknown>, body?: unknown): Call<Reply> {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) addParameter(parameters, name, value);
  const text = parameters.toString();
  return { method, path: text ? `${path}?${text}` : path, body };
}
