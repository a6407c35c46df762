#!/usr/bin/env python3
"""A provider of machines for a pool of type `command`, as a pattern for your own cloud.

Its "machines" are agents on this very machine, so it runs without a cloud: each has a directory below
`settings.directory`. For a cloud, replace launch(), list() and terminate() by calls of its API; main() can stay.

The master asks by lines of JSON on standard input, and reads one line of JSON for each on standard output. What goes to
standard error stands in the master's log.
"""

import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import time


class Machines:
    def __init__(self, question):
        """`question` is the first one, "open": the pool's settings, the tags of its machines, the master's address."""
        settings = question["provider"]["settings"]
        self.program = settings.get("agent_program", "determined-agent")
        self.directory = pathlib.Path(settings["directory"]) / question["tags"]["determined-resource-pool"]
        self.directory.mkdir(parents=True, exist_ok=True)
        self.processes = {}

    def launch(self, question):
        """Launches n machines and returns their ids. The agent on each must have the machine's id."""
        launched = []
        for _ in range(question["n"]):
            name = f"machine-{secrets.token_hex(4)}"
            place = self.directory / name
            place.mkdir()
            config = place / "agent.json"
            config.touch(mode=0o600)  # the configuration holds the agents' token
            config.write_text(json.dumps({**question["agent"], "agent_id": name}))
            with open(place / "agent.log", "w") as log:
                process = subprocess.Popen(
                    [self.program, "run", "--config-file", config, "--data-dir", place],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            (place / "pid").write_text(str(process.pid))
            self.processes[name] = process
            launched.append(name)
        return {"launched": launched}

    def list(self, question):
        """All machines with the pool's tags: pending, running, ending (the cloud takes it back soon) or stopped."""
        return {"instances": [self.describe(place) for place in sorted(self.directory.iterdir())]}

    def describe(self, place):
        words = (place / "agent.log").read_text(errors="replace").splitlines() if (place / "agent.log").exists() else []
        ending = (place / "ending").exists()
        running = self.runs(place)
        return {
            "id": place.name,
            "state": ("ending" if ending else "running") if running else "stopped",
            "launched": place.stat().st_ctime if not (place / "pid").exists() else (place / "pid").stat().st_mtime,
            "detail": "someone pays more" if ending else "" if running or not words else words[-1],
        }

    def runs(self, place):
        process = self.processes.get(place.name)
        if process:  # The command line of a program that starts is empty for a moment, so that it does not tell.
            return process.poll() is None
        try:
            return b"determined-agent" in pathlib.Path(f"/proc/{(place / 'pid').read_text()}/cmdline").read_bytes()
        except OSError:
            return False

    def terminate(self, question):
        place = self.directory / question["instance"]
        while self.runs(place):
            os.killpg(int((place / "pid").read_text()), signal.SIGTERM)
            time.sleep(0.1)
        shutil.rmtree(place, ignore_errors=True)
        return {}


def main():
    machines = None
    for line in sys.stdin:
        question = json.loads(line)
        try:
            if question["do"] == "open":
                machines, answer = Machines(question), {}
            else:
                answer = getattr(machines, question["do"])(question)
        except Exception as e:  # the pool shows the text, and the master asks again later
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps({"id": question["id"], **answer}), flush=True)


if __name__ == "__main__":
    main()
