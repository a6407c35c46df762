#!/usr/bin/env python3
"""Measures and prints the numbers of docs/performance.md: bench/run.py [--publish] [NAME...]

Without names all questions, in about six minutes; a name asks one (--list shows them). Results go into build/bench.json as well.
--publish puts the table into docs/performance.md and what counts most into README.md. Nothing here fails because of a time.
"""
import argparse
import json
import sys
import time

import ask_agents
import ask_api
import ask_checkpoints
import ask_commands
import ask_containers
import ask_core
import ask_history
import ask_hostile
import ask_launch
import ask_logins
import ask_logs
import ask_metrics
import ask_notebooks
import ask_postgres
import ask_programs
import ask_proxy
import ask_shells
import ask_store
import ask_tasks
import ask_tls
import ask_training
import ask_tunnel
import ask_updates
import ask_waiting
import ask_web
import publish
from harness import BUILD, QUESTIONS, machine

# In this order they are asked.
NAMES = [name for module in (ask_programs, ask_history, ask_hostile, ask_api, ask_tls, ask_logins, ask_waiting, ask_tasks, ask_containers, ask_commands, ask_tunnel,
                             ask_notebooks, ask_shells, ask_logs,
                             ask_store, ask_core, ask_postgres, ask_metrics, ask_launch, ask_training, ask_checkpoints,
                             ask_agents, ask_proxy, ask_updates, ask_web)
         for name, function in QUESTIONS.items() if function.__module__ == module.__name__]


def number(value):
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def cells(row):
    """A row as texts: what, target, measured, reference, ratio."""
    target = ""
    if row.target:
        sign, bound = row.target.split()
        target = f"{sign} {number(float(bound))} {row.unit}"
    reference = f"{row.reference}: {number(row.reference_value)}" if row.reference else ""
    return (row.what, target, f"{number(row.value)} {row.unit}", reference, number(row.ratio))


def print_row(row):
    what, target, measured, reference, ratio = cells(row)
    verdict = {None: " ", True: "+", False: "-"}[row.met]
    print(f"{verdict} {what:<62} {target:>12} {measured:>16}   {reference}{f'  (x {ratio})' if ratio else ''}", flush=True)


def machine_line(m):
    return (f"{m['cpu']}, {m['cores']} cores, {m['memory_gb']} GB, Linux {m['kernel']}, fsync {m['fsync_ms']} ms, "
            f"load {m['load']} at the start; {m['date']}, commit {m['commit']}")


def ask(name):
    rows = []
    for row in QUESTIONS[name]():
        print_row(row)
        rows.append(row)
    return rows


def as_json(m, rows):
    return {"machine": m, "rows": [
        {"question": name, "what": row.what, "target": row.target, "unit": row.unit, "value": row.value, "runs": row.runs,
         "reference": row.reference, "reference_value": row.reference_value, "ratio": row.ratio, "met": row.met}
        for name, row in rows]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--publish", action="store_true", help="write the tables of docs/performance.md and README.md")
    parser.add_argument("--list", action="store_true", help="list the questions")
    args = parser.parse_args()
    if args.list:
        for name in NAMES:
            print(f"{name:<14} {QUESTIONS[name].__doc__.splitlines()[0]}")
        return
    unknown = [name for name in args.names if name not in QUESTIONS]
    if unknown:
        sys.exit(f"unknown question {unknown[0]}; there are {', '.join(NAMES)}")
    if args.publish and args.names:
        sys.exit("--publish wants all questions of one run")

    begin, m = time.monotonic(), machine()
    print(machine_line(m))
    rows = [(name, row) for name in args.names or NAMES for row in ask(name)]
    (BUILD / "bench.json").write_text(json.dumps(as_json(m, rows), indent=1) + "\n")
    targets = [row.met for _, row in rows if row.met is not None]
    print(f"{sum(targets)} of {len(targets)} targets met, {time.monotonic() - begin:.0f} s; runs and references: {BUILD / 'bench.json'}")
    if args.publish:
        publish.write(machine_line(m), [cells(row) for _, row in rows])


main()
