/** Reads something that goes on, such as a stream: `read` says whether all has come, and is called again some time after it has ended without that, or
 * has failed. Returns what ends it. */
export function keepReading(read: (signal: AbortSignal) => Promise<boolean>, failed: (error: Error) => void, againMs: number): () => void {
  const stop = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const again = () => { if (!stop.signal.aborted) timer = setTimeout(run, againMs); };
  const run = () => void read(stop.signal).then(
    (over) => { if (!over) again(); },
    (error: Error) => {
      if (stop.signal.aborted) return;
      failed(error);
      again();
    },
  );
  run();
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
}
