// Short messages about what has just been done, in a corner. What failed stays until it is closed.
import { useEffect, useState } from "preact/hooks";
import { Button } from "./Button";
import { Icon } from "./icons";
import "./toast.css";

export interface Message {
  id: number;
  text: string;
  bad: boolean;
  /** what takes back what the message tells */
  undo?: (() => void) | undefined;
}

const LASTS_MS = 5000;
const UNDO_LASTS_MS = 12_000;
let messages: Message[] = [];
let nextId = 1;
let draw: (() => void) | undefined;

function change(next: Message[]): void {
  messages = next;
  draw?.();
}

export function say(text: string, { bad = false, undo }: { bad?: boolean; undo?: (() => void) | undefined } = {}): void {
  const id = nextId++;
  change([...messages.slice(-3), { id, text, bad, undo }]);
  if (!bad) setTimeout(() => change(messages.filter((m) => m.id !== id)), undo ? UNDO_LASTS_MS : LASTS_MS);
}

export const sayError = (error: Error) => say(error.message, { bad: true });

export function Toasts() {
  const [, setVersion] = useState(0);
  useEffect(() => {
    draw = () => setVersion((v) => v + 1);
    return () => {
      draw = undefined;
    };
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {messages.map((m) => <ToastBody key={m.id} message={m} onClose={() => change(messages.filter((other) => other.id !== m.id))} />)}
    </div>
  );
}

export function ToastBody({ message, onClose }: { message: Message; onClose: () => void }) {
  return (
    <div class={`toast ${message.bad ? "bad" : ""}`}>
      <span class="grow">{message.text}</span>
      {message.undo && <Button onClick={() => { onClose(); message.undo!(); }}>Undo</Button>}
      <Button kind="bare" icon aria-label="Close" onClick={onClose}>
        <Icon name="close" size={14} />
      </Button>
    </div>
  );
}
