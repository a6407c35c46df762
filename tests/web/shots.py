"""Makes pictures of the web interface.

shots.py DIRECTORY             of every page, and of its building blocks, in both themes and both widths; `make web-shots` runs it
shots.py --guide DIRECTORY     the ten of docs/guide.md, as WebP; `make web-pictures` runs it
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import world  # noqa: E402
from support import browser  # noqa: E402
from support.ports import free_port  # noqa: E402
from support.waiting import wait_for  # noqa: E402
from world import World  # noqa: E402

CURVE_STEPS = 1500
OF_ADMINS = ["about", "audit", "groups", "quotas", "policies"]


def shoot(out, url, token, paths, **more):
    wanted = {"url": url, "paths": paths, "out": str(out), "chromium": shutil.which("chromium"), "cookies": [{"name": "auth", "value": token}], **more}
    done = subprocess.run(["node", browser.BROWSER / "web_shots.mjs", json.dumps(wanted)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["faults"]


@contextlib.contextmanager
def development_server(master):
    """Vite's own server, which has the page of building blocks."""
    port = free_port()
    server = subprocess.Popen(["node_modules/.bin/vite", "--port", str(port), "--strictPort", "--logLevel", "error"], cwd=HERE.parents[1] / "web",
                              env={**os.environ, "DET_MASTER": master})

    def answers():
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(f"http://localhost:{port}/det/").status == 200

    try:
        wait_for("Vite's server", answers)
        yield f"http://localhost:{port}/det/"
    finally:
        server.terminate()
        server.wait()


GUIDE = ["home", "experiments", "experiment", "experiment-scatter", "trial", "trial-logs", "trial-profiler", "create", "jobs", "cluster"]


def guide(out):
    """Pictures for readers: names are ordinary ones here, and curves have some steps."""
    world.HOSTILE, world.HOSTILE_NOTES = "ocr-labels", "# Notes\n"
    with tempfile.TemporaryDirectory() as directory, World(directory) as w:
        wait_for("curves", lambda: w.c.get(f"/api/v1/trials/{w.ids['trial']}").json["trial"]["totalBatchesProcessed"] > CURVE_STEPS)
        paths = w.paths()
        shoot(out, f"{w.c.url}/det/", w.c.token, {name: paths[name] for name in GUIDE}, themes=["light"], widths=[1280], webp=True)
    print(f"{len(GUIDE)} pictures in {out}")


def main():
    if sys.argv[1] == "--guide":
        return guide(pathlib.Path(sys.argv[2]).resolve())
    out = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as directory, World(directory) as w:
        paths = w.paths()
        faults = shoot(out, f"{w.c.url}/det/", w.c.token, {**{name: path for name, path in paths.items() if name not in OF_ADMINS}, "login": "login"})
        faults += shoot(out, f"{w.c.url}/det/", w.c.admin_token(), {name: paths[name] for name in OF_ADMINS})
        with development_server(w.c.url) as url:
            faults += shoot(out, url, w.c.token, {"design": "design"}, ready=".design", tall=True)
    print(f"{len(list(out.glob('*.png')))} pictures in {out}")
    if faults:
        sys.exit("scripts complained: " + "; ".join(sorted(set(faults))))


main()
