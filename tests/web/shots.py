"""Makes pictures of every page of the web interface, and of its building blocks: shots.py DIRECTORY. `make web-shots` runs it."""
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

from support import browser  # noqa: E402
from support.ports import free_port  # noqa: E402
from support.waiting import wait_for  # noqa: E402
from world import World  # noqa: E402


OF_ADMINS = ["audit", "groups", "quotas", "policies"]


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


def main():
    out = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as directory, World(directory) as world:
        paths = world.paths()
        faults = shoot(out, f"{world.c.url}/det/", world.c.token, {**{name: path for name, path in paths.items() if name not in OF_ADMINS}, "login": "login"})
        faults += shoot(out, f"{world.c.url}/det/", world.c.admin_token(), {name: paths[name] for name in OF_ADMINS})
        with development_server(world.c.url) as url:
            faults += shoot(out, url, world.c.token, {"design": "design"}, ready=".design", tall=True)
    print(f"{len(list(out.glob('*.png')))} pictures in {out}")
    if faults:
        sys.exit("scripts complained: " + "; ".join(sorted(set(faults))))


main()
