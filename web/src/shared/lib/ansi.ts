// Text of logs: colours of terminals become classes, and everything else that would command a terminal goes. The result is text and
// class names only, never markup.

export interface Span {
  text: string;
  className: string;
}

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
// CSI … letter; OSC … BEL or ST; other two-character escapes.
const ESCAPES = /\u001b\[([0-9;:]*)[ -/]*([@-~])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[PX^_][^\u001b]*(?:\u001b\\)?|\u001b[ -~]?/g;
// Controls but for tab, and what turns the direction of text around.
const CONTROLS = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

interface Style {
  colour: string;
  bold: boolean;
  dim: boolean;
}

const PLAIN: Style = { colour: "", bold: false, dim: false };

function apply(codes: string, style: Style): Style {
  let now = { ...style };
  const list = codes.split(/[;:]/).map(Number);
  for (let i = 0; i < list.length; i++) {
    const code = list[i]!;
    if (code === 0) now = { ...PLAIN };
    else if (code === 1) now.bold = true;
    else if (code === 2) now.dim = true;
    else if (code === 22) now.bold = now.dim = false;
    else if (code >= 30 && code <= 37) now.colour = NAMES[code - 30]!;
    else if (code >= 90 && code <= 97) now.colour = NAMES[code - 90]!;
    else if (code === 39) now.colour = "";
    // 38 and 48 have arguments: 5;N or 2;R;G;B. Of the 256 colours the first sixteen have names here.
    else if (code === 38 || code === 48) {
      const named = list[i + 1] === 5 ? list[i + 2] : undefined;
      if (code === 38) now.colour = named !== undefined && named < 16 ? NAMES[named % 8]! : "";
      i += list[i + 1] === 5 ? 2 : 4;
    }
  }
  return now;
}

const classOf = (style: Style) =>
  [style.colour && `ansi-${style.colour}`, style.bold && "ansi-bold", style.dim && "ansi-dim"].filter(Boolean).join(" ");

export function spansOf(line: string): Span[] {
  const spans: Span[] = [];
  let style = PLAIN;
  let from = 0;
  const add = (text: string) => {
    const clean = text.replace(CONTROLS, "");
    if (clean) spans.push({ text: clean, className: classOf(style) });
  };
  for (const match of line.matchAll(ESCAPES)) {
    add(line.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[2] === "m") style = apply(match[1] ?? "", style);
  }
  add(line.slice(from));
  return spans;
}

/** Names and messages that users supply, as one line: without controls and without marks that turn text around. */
export const plain = (text: string) => text.replace(CONTROLS, "");
