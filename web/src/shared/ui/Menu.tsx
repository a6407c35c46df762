// A menu of actions behind a button, by the browser's popovers: it is drawn above everything and closes by Escape or a press elsewhere.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Icon } from "./icons";
import "./button.css";
import "./menu.css";

export interface Action {
  label: string;
  perform: () => void;
  /** why it cannot be done now */
  refused?: string | undefined;
  danger?: boolean;
  chosen?: boolean;
}

interface Props {
  label: string;
  /** null draws a line */
  actions: (Action | null)[];
  /** what the button shows; three dots if nothing is given */
  children?: ComponentChildren;
  /** without a border: in heads of tables, and beside charts */
  bare?: boolean;
  above?: boolean;
}

export function Menu({ label, actions, children, bare = false, above = false }: Props) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);

  useEffect(() => {
    const element = list.current!;
    const toggled = (event: Event) => {
      const now = (event as ToggleEvent).newState === "open";
      setOpen(now);
      if (!now) return;
      place(button.current!, element, above);
      element.querySelector<HTMLElement>("button:not([aria-disabled=true])")?.focus();
    };
    const close = () => element.matches(":popover-open") && element.hidePopover();
    element.addEventListener("toggle", toggled);
    addEventListener("resize", close);
    return () => {
      element.removeEventListener("toggle", toggled);
      removeEventListener("resize", close);
    };
  }, [above]);

  const choose = (action: Action) => {
    if (action.refused) return;
    list.current!.hidePopover();
    button.current!.focus();
    action.perform();
  };
  return (
    <>
      <button ref={button} type="button" class={`button ${children && !bare ? "plain" : "bare square"} opens`} popovertarget={id} aria-haspopup="menu" aria-expanded={open} aria-label={label} title={children && !bare ? undefined : label}>
        {children ?? <Icon name="more" />}
      </button>
      <div ref={list} id={id} popover="auto" class="menu" role="menu" aria-label={label} onKeyDown={(event) => move(event, list.current!)}>
        <MenuList actions={actions} choose={choose} />
      </div>
    </>
  );
}

/** What is within a menu; by itself only on the page of building blocks. */
export function MenuList({ actions, choose }: { actions: (Action | null)[]; choose: (action: Action) => void }) {
  return (
    <>
      {actions.map((action, i) =>
        action === null ? (
          <hr key={i} />
        ) : (
          <button key={i} type="button" role="menuitem" class={action.danger ? "danger" : ""} aria-disabled={Boolean(action.refused)} title={action.refused} onClick={() => choose(action)}>
            <span class="cut">{action.label}</span>
            {action.chosen && <Icon name="check" size={14} />}
          </button>
        ),
      )}
    </>
  );
}

function place(button: HTMLElement, list: HTMLElement, above: boolean): void {
  const from = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = list;
  const left = Math.max(8, Math.min(from.left, innerWidth - width - 8));
  const isLate = from.right > innerWidth / 2;
  const fits = from.bottom + height + 8 < innerHeight;
  list.style.left = `${isLate ? Math.max(8, from.right - width) : left}px`;
  list.style.top = `${above || !fits ? Math.max(8, from.top - height - 4) : from.bottom + 4}px`;
}

function move(event: KeyboardEvent, list: HTMLElement): void {
  const items = [...list.querySelectorAll<HTMLElement>("[role=menuitem]")];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  items[(next + items.length) % items.length]?.focus();
}
