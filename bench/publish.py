"""The tables of a run, between the markers of docs/performance.md and README.md."""
import re

from harness import ROOT

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def replace(path, text):
    page = path.read_text()
    new, n = re.subn(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: f"{BEGIN}\n{text}\n{END}", page, flags=re.DOTALL)
    if n != 1:
        raise RuntimeError(f"{path} needs exactly one block between {BEGIN} and {END}")
    path.write_text(new)


def write(machine_line, rows, targets):
    """rows and targets: (what, target, measured, reference, ratio) as texts; targets are the rows that have one."""
    full = table(["question", "target", "measured", "reference, measured beside it", "ratio"], rows)
    replace(ROOT / "docs/performance.md", f"Machine: {machine_line}.\n\n{full}")
    brief = table(["", "aim", "measured"], [row[:3] for row in targets])
    replace(ROOT / "README.md", brief)
