"""The tables of a run, between the markers of docs/performance.md and README.md."""
import re

from harness import ROOT

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"

# What the README shows of them: row → its words there.
HEADLINES = {
    "master: start on an empty directory until /health answers": "the master starts, on an empty directory, in",
    "master: start with 10,000 experiments (1,000 live), 100,000 trials": "… with 10,000 experiments, 100,000 trials",
    "master: idle memory (PSS), database included": "its memory, idle, database included",
    "determined-master, stripped": "its program",
    "det experiment list, wall clock": "`det experiment list`",
    "det deploy local cluster-up: master and agent, ready": "`det deploy local cluster-up`, until both are ready",
    "create → first line of a Python script in the log": "`det experiment create`, until a script's first line is in the log",
    "experiments created (paused, tiny context), 32 clients": "experiments created",
    "metric reports, fsynced, 16 clients, sqlite": "reports of metrics, each on disk before it is acknowledged",
    "log lines in over agents' connections, SQLite": "log lines stored",
    "scheduling by priority: everything at once": "100,000 jobs scheduled on 10,000 agents, from nothing",
    "a checkpoint's upload to a directory, of cp -r and sync -f": "a checkpoint uploaded, of the speed of `cp`",
    "PyTorchTrial: CPU of its loop, beyond a bare loop, per batch": "what PyTorchTrial adds to a batch",
}


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def replace(path, text):
    page = path.read_text()
    new, n = re.subn(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: f"{BEGIN}\n{text}\n{END}", page, flags=re.DOTALL)
    if n != 1:
        raise RuntimeError(f"{path} needs exactly one block between {BEGIN} and {END}")
    path.write_text(new)


def write(machine_line, rows):
    """rows: (what, target, measured, reference, ratio) as texts."""
    full = table(["question", "target", "measured", "reference, measured beside it", "ratio"], rows)
    replace(ROOT / "docs/performance.md", f"Machine: {machine_line}.\n\n{full}")
    measured = {row[0]: row for row in rows}
    brief = table(["", "aim", "measured"], [(words, *measured[what][1:3]) for what, words in HEADLINES.items()])
    replace(ROOT / "README.md", brief)
