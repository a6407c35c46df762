// What stands where there is nothing to show: because there is nothing, because it is not there yet, or because it failed.
import type { ComponentChildren } from "preact";
import { AwayError } from "@shared/api/client";
import { Button } from "./Button";
import "./empty.css";

interface Props {
  title: string;
  children?: ComponentChildren;
  action?: ComponentChildren;
  /** whether it stands for a whole page, whose heading it then is */
  page?: boolean;
}

export function Empty({ title, children, action, page = false }: Props) {
  return (
    <div class="empty">
      {page ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children && <p>{children}</p>}
      {action}
    </div>
  );
}

export function Failure({ error, retry }: { error: Error; retry?: () => void }) {
  return (
    <div class="empty" role="alert">
      <h2>{error instanceof AwayError ? "The master is away" : "This could not be read"}</h2>
      <p>{error.message}</p>
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

/** Grey lines where text will stand; they have its height, so that nothing jumps. */
export function Waiting({ lines = 3 }: { lines?: number }) {
  return (
    <div class="waiting" role="status" aria-busy="true" aria-label="Loading">
      {Array.from({ length: lines }, (_, i) => (
        <i key={i} class={`w${(i * 5) % 4}`} />
      ))}
    </div>
  );
}
