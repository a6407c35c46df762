// Sends requests to the master, on the session that the browser's cookie holds.
import { root } from "@shared/lib/address";
import { noteTime } from "@shared/lib/clock";
import type { Call } from "./call";

/** A refusal of the master, in its own words. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** No answer at all: the master is away, or the network. */
export class AwayError extends Error {
  constructor() {
    super("The master does not answer. This page tries again by itself.");
  }
}

async function refusal(reply: Response): Promise<ApiError> {
  const text = await reply.text();
  try {
    const { error, message } = JSON.parse(text) as { error?: { error?: string; message?: string }; message?: string };
    return new ApiError(reply.status, error?.error ?? error?.message ?? message ?? reply.statusText);
  } catch {
    return new ApiError(reply.status, `The answer was ${reply.status} ${reply.statusText}.`);
  }
}

/** Replies of 502 to 504 come from a proxy whose master is away. */
const isAway = (status: number) => status >= 502 && status <= 504;

async function request(call: Call<unknown>, signal?: AbortSignal, tag?: string): Promise<Response> {
  const headers: Record<string, string> = call.body === undefined ? {} : { "Content-Type": "application/json" };
  if (tag) headers["If-None-Match"] = tag;
  const reply = await fetch(new URL(call.path, root), {
    method: call.method,
    headers,
    body: call.body === undefined ? null : JSON.stringify(call.body),
    signal: signal ?? null,
  }).catch((error: unknown) => {
    throw error instanceof DOMException && error.name === "AbortError" ? error : new AwayError();
  });
  if (isAway(reply.status)) throw new AwayError();
  noteTime(reply.headers.get("Date"));
  if (!reply.ok && reply.status !== 304) throw await refusal(reply);
  return reply;
}

/** The last answers with a tag: when the master says that nothing has changed, the answer is the same object, and nothing is drawn. */
const answers = new Map<string, { tag: string; answer: unknown }>();
const ANSWERS_MAX = 100;

function remember(path: string, tag: string, answer: unknown): void {
  answers.delete(path);
  answers.set(path, { tag, answer });
  if (answers.size > ANSWERS_MAX) answers.delete(answers.keys().next().value!);
}

export function forgetAnswers(): void {
  answers.clear();
}

export async function send<Reply>(call: Call<Reply>, signal?: AbortSignal): Promise<Reply> {
  const known = answers.get(call.path);
  // The master makes a tag only for those who show that they know what one is.
  const reply = await request(call, signal, call.method === "GET" ? (known?.tag ?? '"none"') : undefined);
  if (reply.status === 304 && known) return known.answer as Reply;
  const answer = (await reply.json()) as Reply;
  const tag = reply.headers.get("ETag");
  if (call.method === "GET" && tag) remember(call.path, tag, answer);
  return answer;
}

/** The text of a page of the master that is no message of its API: a table as CSV. */
export const text = (path: string, signal?: AbortSignal): Promise<string> => request({ method: "GET", path, body: undefined }, signal).then((reply) => reply.text());

/** The lines of a stream, in groups as they arrive. */
export async function* stream<Line>(call: Call<Line>, signal: AbortSignal): AsyncGenerator<Line[]> {
  const reply = await request(call, signal);
  const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const parts = (rest + (value ?? "")).split("\n");
    rest = done ? "" : parts.pop()!;
    const lines = parts.filter(Boolean).map((text) => JSON.parse(text) as { result?: Line; error?: { message?: string } });
    const failed = lines.find((line) => line.error);
    const good = lines.flatMap((line) => (line.result ? [line.result] : []));
    if (good.length) yield good;
    if (failed) throw new ApiError(500, failed.error?.message ?? "The stream has ended with an error.");
    if (done) return;
  }
}
