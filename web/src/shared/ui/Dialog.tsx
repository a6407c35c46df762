// A dialog on the browser's own <dialog>: focus stays in it, Escape closes it, and it comes back to what opened it.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./Button";
import { Icon } from "./icons";
import "./dialog.css";

interface Props {
  title: string;
  onClose: () => void;
  /** false: what it asks must be answered (a sign-in); Escape and the cross do not close it */
  closable?: boolean;
  /** for what needs room: editors, tables */
  wide?: boolean;
  children: ComponentChildren;
}

export function Dialog({ title, onClose, closable = true, wide = false, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current!;
    if (!element.open) element.showModal();
    return () => element.close();
  }, []);
  return (
    <dialog ref={dialog} class={`dialog ${wide ? "wide" : ""}`} aria-labelledby={id}
      onCancel={(event) => { event.preventDefault(); if (closable) onClose(); }}
      onMouseDown={(event) => closable && event.target === event.currentTarget && onClose()}>
      <DialogBody id={id} title={title} {...(closable ? { onClose } : {})}>{children}</DialogBody>
    </dialog>
  );
}

/** What a dialog looks like; by itself only on the page of building blocks. */
export function DialogBody({ id, title, onClose, children }: { id?: string; title: string; onClose?: () => void; children: ComponentChildren }) {
  return (
    <div class="dialog-body">
      <header>
        <h2 id={id}>{title}</h2>
        {onClose && (
          <Button kind="bare" icon aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </Button>
        )}
      </header>
      {children}
    </div>
  );
}

interface ConfirmProps {
  title: string;
  children: ComponentChildren;
  action: string;
  danger?: boolean;
  busy?: boolean;
  mistake?: string | undefined;
  onConfirm: () => void;
  onClose: () => void;
}

export function Confirm({ title, children, action, danger = false, busy = false, mistake, onConfirm, onClose }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="form" onSubmit={(event) => { event.preventDefault(); onConfirm(); }}>
        <p>{children}</p>
        {mistake && <p class="mistake" role="alert">{mistake}</p>}
        <div class="ends">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind={danger ? "danger" : "primary"} busy={busy}>{action}</Button>
        </div>
      </form>
    </Dialog>
  );
}
