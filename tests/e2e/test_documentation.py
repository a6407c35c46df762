"""Every block of commands in the pages that people type from runs as it is printed.

A block that cannot run here has a comment above it in the page's source, which readers do not see: `<!-- not run: REASON -->`. These
reasons are printed (`pytest -s`). What has to differ, because a test owns neither the machine's ports nor its directories, is in
REPLACED and in the numbers of the guide, and nowhere else.
"""
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
from support.cluster import BUILD, ROOT, wait_for
from support.experiments import is_root
from support.ports import free_port

PAGES = ("README.md", "docs/guide.md", "docs/installation.md", "docs/python-environment.md", "docs/operations.md", "docs/tour.md")
BLOCK = re.compile(r"(?:^<!-- not run: (?P<reason>[^>]*) -->\n)?(?:^```sh\n(?P<fenced>.*?)^```$|(?<=\n\n)(?P<indented>(?:^    .*\n)+))", re.M | re.S)
TIMEOUT_S = 180

# Each has its reason; {port}, {dir} and {library} are the test's. The order counts.
REPLACED = (
    ("$PWD/build", str(BUILD)),  # the build that is tested
    ("det deploy local cluster-up", "det deploy local cluster-up --master-port {port}"),
    # systemd would run these; the commands are those of the units.
    ("systemctl enable --now determined-master",
     "determined-master --config-file {dir}/etc/determined/master.yaml --data-dir {dir}/var/lib/determined >{dir}/master.log 2>&1 & echo $! >>{dir}/pids"),
    ("systemctl restart determined-master",
     "kill $(head -n 1 {dir}/pids) && tail --pid=$(head -n 1 {dir}/pids) -f /dev/null && sed -i 1d {dir}/pids && "
     "{{ determined-master --config-file {dir}/etc/determined/master.yaml --data-dir {dir}/var/lib/determined >>{dir}/master.log 2>&1 & }} && "
     "sed -i 1i$! {dir}/pids && curl -sf --retry 60 --retry-connrefused --retry-delay 1 http://localhost:{port}/health"),
    ("systemctl enable --now determined-agent",
     "determined-agent run --config-file {dir}/etc/determined/agent.yaml --data-dir {dir}/agent >{dir}/agent.log 2>&1 & echo $! >>{dir}/pids"),
    ("chown determined ", "chown root "),  # the user is made by systemd-sysusers
    ("/usr/local/share/determined/python", "{library}"),
    ("/usr/local/share/doc/determined/examples", "{dir}/examples"),
    ("/etc/determined", "{dir}/etc/determined"),
    ("/var/lib/determined", "{dir}/var/lib/determined"),
    ("/srv/checkpoints", "{dir}/checkpoints"),
    ("/backups/", "{dir}/backups/"),
    ("/srv/new", "{dir}/new"),
    ("8080", "{port}"),
)


def blocks(page):
    """(reason why it does not run, or None; its text) of each block of commands, in their order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        lines = match["fenced"] or re.sub("^    ", "", match["indented"], flags=re.M)
        found.append((match["reason"], lines))
    return found


class Reader:
    """Somebody who types what a page says, with a home and directories of their own."""

    def __init__(self, directory):
        self.dir, self.port = pathlib.Path(directory), free_port()
        self.dir.chmod(0o755)
        for name in ("home", "backups", "etc/determined", "var/lib/determined"):
            (self.dir / name).mkdir(parents=True)
        shutil.copytree(ROOT / "examples", self.dir / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        home = self.dir / "home"
        self.env = {"PATH": f"{BUILD}:{ROOT}/.venv/bin:/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "XDG_DATA_HOME": f"{home}/data",
                    "XDG_CONFIG_HOME": f"{home}/config", "DET_MASTER": f"http://localhost:{self.port}", "OMP_NUM_THREADS": "1",
                    "TERM": "dumb"}

    def here(self, text, more=()):
        meant = {printed: text_here.format(port=self.port, dir=self.dir, library=ROOT / "python") for printed, text_here in (*REPLACED, *more)}
        return re.sub("|".join(map(re.escape, meant)), lambda match: meant[match.group()], text)

    def type(self, text, stdin="", more=()):
        """Runs a block as bash does line by line: a line that fails ends it."""
        with tempfile.TemporaryFile("w+") as out:
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", self.here(text, more)], cwd=self.dir, env=self.env, input=stdin, text=True,
                                  stdout=out, stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=False)
            out.seek(0)
            said = out.read()
        assert done.returncode == 0, f"{self.here(text, more)}\n--- ended with {done.returncode}:\n{said}"
        assert "deprecated" not in said, f"the page shows an older way:\n{said}"
        return said

    def write(self, page, name):
        """The YAML of a page whose first line names the file."""
        [text] = re.findall(rf"^```yaml\n# {re.escape(name)}\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)
        pathlib.Path(self.here(name)).write_text(self.here(text))

    def end(self):
        subprocess.run(["det", "deploy", "local", "cluster-down", "--yes"], env=self.env, capture_output=True, check=False, timeout=TIMEOUT_S)
        pids = self.dir / "pids"
        for pid in reversed(pids.read_text().split() if pids.exists() else []):
            subprocess.run(["kill", pid], check=False)


@pytest.fixture
def reader():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        r = Reader(directory)
        yield r
        r.end()


def run_of(page):
    """The blocks that run; the reasons of the others are printed."""
    found = blocks(page)
    assert found, f"{page} has no blocks of commands any more: BLOCK does not find them"
    for reason, text in found:
        if reason:
            print(f"\n{page}: not run, {reason}: {text.splitlines()[0]} …")
    return [text for reason, text in found if not reason]


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / page).read_text(encoding="utf-8")):
        assert ((ROOT / page).parent / target).exists(), target


def test_every_block_of_the_readme(reader):
    for text in run_of("README.md"):
        reader.type(text)


def test_every_block_of_the_tour(reader):
    """The page is about the tree, and looks at it from its root."""
    for name in ("contract", "src", "tests"):
        (reader.dir / name).symlink_to(ROOT / name)
    (reader.dir / "build").symlink_to(BUILD)
    for text in run_of("docs/tour.md"):
        reader.type(text)


def python_of(page):
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)


def test_every_block_of_the_guide(reader):
    up, *rest = run_of("docs/guide.md")
    reader.type(up)
    # The numbers of the guide are those of a cluster in use: 7 runs, 8 and 9 may be killed, and trial 12 is over, since its log is followed.
    (reader.dir / "template.yaml").write_text("description: from a template\n")
    shutil.copy(ROOT / "examples/core_api/const.yaml", reader.dir)
    create = "det experiment create examples/core_api/const.yaml examples/core_api --config hyperparameters.epochs=1000"
    running, *others = [re.search(r"experiment (\d+)", reader.type(create + more)).group(1) for more in ("", " --paused", " --paused")]
    ids = [(" 12", " 1"), ("(12)", "(1)"), (" 7 8 9", f" {running} {others[0]} {others[1]}"), (" 7", f" {running}"), ("(7)", f"({running})"),
           ("const.yaml .", "const.yaml examples/core_api")]
    for text in rest:
        if "checkpoint download" in text:
            best = reader.type(f"det experiment list-checkpoints {running} --best 1 --csv").splitlines()[1]
            ids.append(("UUID", re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", best).group()))
        reader.type(text, more=ids)
    assert (reader.dir / "best").is_dir()
    for text in python_of("docs/guide.md"):
        (reader.dir / "block.py").write_text(reader.here(text, ids))
        # What determined.pth does after `make install` (tests/e2e/test_install.py).
        assert "accuracy" in reader.type(f"PYTHONPATH={ROOT}/python /usr/bin/python3 block.py")


@pytest.mark.skipif(not is_root(), reason="installs as root")
def test_every_block_of_the_installation(reader):
    page, word = "docs/installation.md", "A-new-Passw0rd"
    for name in ("/etc/determined/master.yaml", "/etc/determined/agent.yaml"):
        reader.write(page, name)
    for text in run_of(page):
        if "change-password" in text:  # each line asks twice; from a pipe, the first program would read the answers to all
            for line in text.splitlines():
                reader.type(line, f"{word}\n{word}\n")
            continue
        stdin = ""
        if "initial_password\n" in text and "user login" in text:
            wait_for("the first password", (reader.dir / "var/lib/determined/initial_password").exists)
            stdin = (reader.dir / "var/lib/determined/initial_password").read_text().strip() + "\n"
        if "det agent list" in text:  # the agent takes a moment to join
            before, after = text.split("det agent list")
            reader.type(before)
            wait_for("the agent", lambda: "True" in reader.type("det agent list --csv"))
            text = "det agent list" + after
        reader.type(text, stdin)


def test_every_block_of_the_python_environment(reader):
    reader.type("det deploy local cluster-up")
    for _ in range(2):
        reader.type("det experiment create examples/core_api/const.yaml examples/core_api --follow")
    for text in run_of("docs/python-environment.md"):
        reader.type(text, more=[(" 12", " 1"), (" 40", " 2")])


def test_every_block_of_operations(reader):
    reader.type("det deploy local cluster-up")
    [store] = (reader.dir / "home").rglob("determined.db")
    reader.env["DET_DATA_DIR"] = str(store.parent)  # the data directory is /var/lib/determined where the service runs
    for text in run_of("docs/operations.md"):
        reader.type(text)


def test_every_configuration_of_the_master_in_operations_is_accepted(reader):
    """One after the other, as the whole of a master.yaml; the one of PostgreSQL names a file that has to be there."""
    (reader.dir / "etc/determined/db-ca.crt").write_text("")
    found = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs/operations.md").read_text(encoding="utf-8"), re.M | re.S)
    assert any("ssl_mode: verify-full" in text for text in found)
    for text in found:
        (reader.dir / "etc/determined/master.yaml").write_text(reader.here(text))
        assert "warning" not in reader.type("determined-master config check /etc/determined/master.yaml"), text
