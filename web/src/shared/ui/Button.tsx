import type { ComponentChildren, JSX } from "preact";
import "./button.css";

type Kind = "plain" | "primary" | "danger" | "bare";

interface Props extends Omit<JSX.IntrinsicElements["button"], "size" | "icon"> {
  kind?: Kind;
  /** shown while what the button began is under way; the button cannot be pressed again meanwhile */
  busy?: boolean;
  icon?: boolean;
  children?: ComponentChildren;
}

export function Button({ kind = "plain", busy = false, icon = false, disabled, children, type = "button", class: more, ...rest }: Props) {
  return (
    <button {...rest} type={type} class={`button ${kind} ${icon ? "square" : ""} ${busy ? "busy" : ""} ${(more as string | undefined) ?? ""}`} disabled={disabled || busy} aria-busy={busy}>
      {children}
    </button>
  );
}
